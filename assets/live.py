"""The live way of a source: from its configured address to the landing."""

from datetime import date

from assets.entities.fetch import FETCH as ENTITIES
from assets.fetching import Window, base_of, kept_in
from assets.filings.fetch import FETCH as FILINGS
from assets.http import Client, Progress
from assets.load import land_all
from assets.macro.fetch import FETCH as MACRO
from assets.tenders.fetch import FETCH as TENDERS
from warehouse.landing import Landing

FETCH = {**TENDERS, **FILINGS, **MACRO, **ENTITIES}

# Sources that can be asked for a span of days; the others show all they have.
CADENCE = {"za-etenders": "daily", "ke-ppip": "monthly", "ecb": "monthly"}


def land_live(
    landing: Landing,
    key: str,
    from_: date | None = None,
    to: date | None = None,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Fetch what a source shows of a span and land it; say how many came and were new."""
    with Client(kept=kept_in(landing, key), progress=progress) as client:
        return land_all(landing, FETCH[key](client, base_of(key), Window(from_, to)))
