"""Quarantined rows of every source: describe one, retry many."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from assets.ingest.failures import may_name_people
from assets.ingest.quarantine import document_of, excerpt, retry
from assets.ingest.sources import sources_of
from assets.parsing.limits import DocumentLimits
from pipelines.progress_display import progress_bar
from warehouse.errors import SankofaError
from warehouse.record.landing import open_landing
from warehouse.record.quarantine import QuarantinedRow
from warehouse.record.store import Record
from warehouse.record.worlds import require_withheld_key
from warehouse.settings import Settings
from warehouse.tables import RetryEntry

_HIDDEN = "not shown: a document of this source can hold personal data"


def describe_row(settings: Settings, refusal: QuarantinedRow) -> dict[str, object]:
    """Return all details of a quarantined row, its document and its location there."""
    landing = open_landing(settings)
    sources = {source.key: source for source in sources_of(settings)}
    document = document_of(landing, refusal)
    if document is None:
        text = "not shown: the document is not landed; fetch it again"
    elif document.removal is not None:
        text = f"not shown: {document.removal.words}"
    elif may_name_people(sources.get(refusal.source)):
        text = _HIDDEN
    else:
        text = excerpt(landing, document, refusal) or "not shown: it is no text, or too long"
    return {
        "id": refusal.quarantine_id,
        "source": refusal.source,
        "table": refusal.table_name,
        "reason": refusal.reason,
        "address": None if document is None else document.url,
        "location": refusal.source_ref,
        "sha256": refusal.document,
        "observed_at": None if document is None else document.observed_at,
        "quarantined_at": refusal.quarantined_at,
        "load_id": refusal.load_id,
        "became": refusal.became,
        "retried_at": refusal.retried_at,
        "excerpt": text,
    }


def retry_each(
    settings: Settings, record: Record, chosen: Sequence[QuarantinedRow]
) -> Iterator[tuple[str, list[RetryEntry]]]:
    """Retry rows source by source; yield each source with the outcomes of its rows."""
    landing = open_landing(settings)
    require_withheld_key(settings.withheld_key, landing.world())
    sources = {source.key: source for source in sources_of(settings)}
    in_order = sorted(chosen, key=lambda row: row.source)
    for key, refusals in groupby(in_order, key=lambda row: row.source):
        if key not in sources:
            raise SankofaError(f"unknown source: {key}; its documents cannot be read again")
        with progress_bar() as bar:
            step = bar.add_task(f"{key}: reading again", total=None)
            rows = retry(
                record,
                landing,
                sources[key].with_withheld_key(settings.withheld_key),
                list(refusals),
                lambda done, total, step=step: bar.update(step, completed=done, total=total),  # type: ignore[misc]
                settings.processes,
                DocumentLimits.of(settings),
            )
        yield key, rows
