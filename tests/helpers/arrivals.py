"""Random histories of one figure, as they might arrive."""

from datetime import date, timedelta
from typing import get_args

from hypothesis import strategies as st

from tests.helpers.facts import fact
from tests.models.record_model import Said
from warehouse.record.as_of import Vintages

DAYS = [date(2019, 1, 1) + timedelta(days=30 * step) for step in range(6)]
MODES: tuple[Vintages, ...] = get_args(Vintages)
said = st.builds(
    Said,
    item=st.sampled_from(["revenue", "profit"]),
    available_at=st.sampled_from(DAYS),
    publication=st.sampled_from([f"p{n}" for n in range(4)]),
    value=st.sampled_from(["1", "2", "1234567890123456.78", None]),
)
# A publication says one thing of a figure, on one day.
histories = st.lists(
    said, min_size=1, max_size=12, unique_by=lambda s: (s.item, s.available_at, s.publication)
)


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[Said], list[list[Said]]]:
    """A history, and the batches it arrives in: shuffled, with duplicates."""
    history = draw(histories)
    again = draw(st.lists(st.sampled_from(history), max_size=4))
    shuffled = draw(st.permutations([*history, *again]))
    size = draw(st.integers(1, len(shuffled)))
    return history, [shuffled[at : at + size] for at in range(0, len(shuffled), size)]


def row(each: Said) -> dict[str, object]:
    publication = f"{each.available_at}/{each.publication}"
    return fact(
        each.value,
        item=each.item,
        available_at=each.available_at,
        publication=publication,
        document=f"document of {publication}",
    )
