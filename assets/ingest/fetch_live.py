"""The live way of a source: from its configured address to the landing."""

from assets.entities.fetch import FETCH as ENTITIES
from assets.fetching.client import Client, Progress
from assets.fetching.fetchers import Window, base_of, kept_in
from assets.filings.fetch import FETCH as FILINGS
from assets.ingest.load import land_all
from assets.macro.fetch import FETCH as MACRO
from assets.source import Source, refuse_restricted
from assets.tenders.fetch import FETCH as TENDERS
from warehouse.record.landing import Landing

FETCH = {**TENDERS, **FILINGS, **MACRO, **ENTITIES}

# Sources that can be asked for a part: of days, or of issuers; the others show all they have.
CADENCE = {
    "za-etenders": "daily",
    "ke-ppip": "monthly",
    "ecb": "monthly",
    "sec-submissions": "by issuer",
    "sec-companyfacts": "by issuer",
}


def land_live(
    landing: Landing, source: Source, window: Window, progress: Progress | None = None
) -> tuple[int, int]:
    """Fetch what a source shows of a window and land it; say how many came and were new."""
    refuse_restricted(source)
    key = source.key
    with Client(kept=kept_in(landing, key), progress=progress) as client:
        return land_all(landing, FETCH[key](client, base_of(key), window))
