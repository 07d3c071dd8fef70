"""The declaration of each source, and what this installation has stored from it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from assets.ingest.failures import in_words
from assets.ingest.load import failed_documents
from assets.source import Source, asked_url_of
from warehouse.record.landing import observed_at_of, open_landing
from warehouse.record.quarantine import sources_with_failures
from warehouse.record.store import Record, open_record
from warehouse.shared.settings import Settings

# "working": fetched with success, here or by whoever declared it. "untried": not yet.
# "refused": its licence does not permit it.
State = Literal["working", "untried", "refused"]


@dataclass(frozen=True)
class SourceStatus:
    """A source as it is declared, and what an installation has of it.

    ``asked_at`` is the mirror that requests go to instead, if any.

    ``last_success`` is when it was last fetched, ``newest_document`` when the newest one was read
    at its publisher, be it from a recording. ``failing`` are documents on which its parser fails.
    """

    source: str
    title: str
    subject: str
    license_class: str
    licence: str
    licence_stated_at: str | None
    address: str | None
    requests: tuple[str, ...]
    fetched_by: str
    requests_per_second: dict[str, float]
    tables: tuple[str, ...]
    state: State
    asked_at: str | None
    last_success: datetime | None
    documents: int
    newest_document: datetime | None
    rows: int
    failing: tuple[str, ...]


def state_of(source: Source, fetched: bool = False) -> State:
    """Return the state of a source; ``fetched``: by this installation, with success."""
    if not source.permitted:
        return "refused"
    return "working" if fetched or source.tried is not None else "untried"


def source_statuses(settings: Settings, sources: Sequence[Source]) -> list[SourceStatus]:
    """Return what an installation has of each source; nothing is fetched."""
    landing, record = open_landing(settings), open_record(settings)
    rows, failed_sources = _rows_by_source(record, sources), sources_with_failures(record)
    statuses = []
    for source in sources:
        keys, last_fetched = landing.keys(source.key), landing.last_fetched(source.key)
        is_mirrored, has_failed = source.key in settings.source_urls, source.key in failed_sources
        failures = failed_documents(record, landing, source) if has_failed else []
        statuses.append(
            SourceStatus(
                source.key,
                source.title,
                source.subject,
                source.license_class,
                source.license_name,
                source.license_url,
                source.base_url,
                requests_of(source),
                fetched_by(source),
                dict(source.rates),
                tuple(table.name for table in source.tables),
                state=state_of(source, fetched=last_fetched is not None),
                asked_at=asked_url_of(source, settings) if is_mirrored else None,
                last_success=last_fetched,
                documents=len(keys),
                newest_document=max(map(observed_at_of, keys), default=None),
                rows=rows[source.key],
                failing=tuple(f"{failure.url}: {in_words(failure)}" for failure in failures),
            )
        )
    return statuses


def fetched_by(source: Source) -> str:
    """Return in which parts a source is fetched."""
    if source.fetch is None:
        return "recordings only"
    return {None: "whole", "daily": "day", "monthly": "month", "by issuer": "issuer"}[
        source.cadence
    ]


def requests_of(source: Source) -> tuple[str, ...]:
    """Return the requests of a source with their whole addresses."""
    return tuple(_absolute(source.base_url or "", request) for request in source.requests)


def _absolute(base_url: str, request: str) -> str:
    """Return a request with its whole address: "POST /v3/mapping" has a method and a path."""
    method, _, address = request.rpartition(" ")
    if "://" not in address:
        address = f"{base_url.rstrip('/')}/{address.lstrip('/')}"
    return f"{method} {address}".strip()


def _rows_by_source(record: Record, sources: Sequence[Source]) -> Counter[str]:
    """Count rows by source, in the tables of these sources."""
    counts = Counter[str]()
    for table in {table.name: table for source in sources for table in source.tables}.values():
        if record.stored_table(table.name) is None:
            continue
        relation = record.relation(table.name)
        rows = record.query(f"SELECT source, count(*) AS rows FROM {relation} GROUP BY source")
        counts.update({row["source"]: row["rows"] for row in rows.to_pylist()})
    return counts
