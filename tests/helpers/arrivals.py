"""Random histories of one figure, as they might arrive."""

from datetime import date, timedelta
from typing import get_args

from hypothesis import strategies as st

from tests.helpers.facts import fact
from tests.models.record_model import ModelSighting
from warehouse.record.as_of import Vintages

DAYS = [date(2019, 1, 1) + timedelta(days=30 * step) for step in range(6)]
MODES: tuple[Vintages, ...] = get_args(Vintages)
sightings = st.builds(
    ModelSighting,
    item=st.sampled_from(["revenue", "profit"]),
    available_at=st.sampled_from(DAYS),
    publication=st.sampled_from([f"p{n}" for n in range(4)]),
    value=st.sampled_from(["1", "2", "1234567890123456.78", None]),
)
# A publication has one value for a figure, on one day.
histories = st.lists(
    sightings,
    min_size=1,
    max_size=12,
    unique_by=lambda sighting: (sighting.item, sighting.available_at, sighting.publication),
)


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[ModelSighting], list[list[ModelSighting]]]:
    """A history, and the batches it arrives in: shuffled, with duplicates."""
    history = draw(histories)
    duplicates = draw(st.lists(st.sampled_from(history), max_size=4))
    shuffled = draw(st.permutations([*history, *duplicates]))
    size = draw(st.integers(1, len(shuffled)))
    return history, [shuffled[start : start + size] for start in range(0, len(shuffled), size)]


def row(sighting: ModelSighting) -> dict[str, object]:
    publication = f"{sighting.available_at}/{sighting.publication}"
    return fact(
        sighting.value,
        item=sighting.item,
        available_at=sighting.available_at,
        publication=publication,
        document=f"document of {publication}",
    )
