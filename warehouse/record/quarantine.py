"""What is quarantined, as it is read: each refusal with what became of it last."""

from dataclasses import dataclass
from datetime import datetime

from warehouse.errors import SankofaError
from warehouse.record.store import Record
from warehouse.tables import RetryOutcome

_SHORTEST = 6


@dataclass(frozen=True)
class QuarantinedRow:
    """One quarantined record; ``became`` is None while it was not read again."""

    quarantine_id: str
    source: str
    table_name: str
    document: str
    source_ref: str
    reason: str
    load_id: str
    quarantined_at: datetime
    became: RetryOutcome | None
    retried_at: datetime | None


@dataclass(frozen=True)
class QuarantineGroup:
    """Refusals of one source and table for one reason; ``open`` are those not read since."""

    source: str
    table_name: str
    reason: str
    records: int
    open: int
    documents: int
    last_quarantined_at: datetime
    example: str


def quarantine_groups(
    record: Record, source: str | None = None, reason: str | None = None, most: int | None = None
) -> list[QuarantineGroup]:
    """Count what is quarantined by source, table and reason, the most first."""
    limit = "" if most is None else f"LIMIT {most:d}"
    found = record.query(
        "SELECT source, table_name, reason, count(*) AS records, "
        "count(*) FILTER (became IS DISTINCT FROM 'read') AS open, "
        "count(DISTINCT document) AS documents, "
        "max(quarantined_at) AS last_quarantined_at, min(quarantine_id) AS example "
        f"FROM {_quarantine_relation(record)} WHERE {_asked(source, reason)} "
        "GROUP BY source, table_name, reason "
        f"ORDER BY records DESC, source, table_name, reason {limit}"
    )
    return [QuarantineGroup(**row) for row in found.to_pylist()]


def quarantined_rows(
    record: Record, source: str | None = None, reason: str | None = None
) -> list[QuarantinedRow]:
    """Give every refusal of a source for a reason, or all, in the order they were met."""
    return _listed(record, _asked(source, reason))


def quarantined_row(record: Record, name: str) -> QuarantinedRow:
    """Give the refusal of an id, or of how an id begins."""
    if len(name) < _SHORTEST:
        raise SankofaError(f"{name!r} is too short; give at least {_SHORTEST} signs of the id")
    found = _listed(record, f"starts_with(quarantine_id, {_text(name)})")
    if not found:
        raise SankofaError(
            f"nothing quarantined has the id {name!r}; see `sankofa quarantine list`"
        )
    if len(found) > 1:
        raise SankofaError(f"{len(found)} ids begin with {name!r}; give more of it")
    return found[0]


def _listed(record: Record, which: str) -> list[QuarantinedRow]:
    found = record.query(
        f"SELECT * FROM {_quarantine_relation(record)} WHERE {which} "
        "ORDER BY quarantined_at, quarantine_id"
    )
    return [QuarantinedRow(**row) for row in found.to_pylist()]


def _quarantine_relation(record: Record) -> str:
    """Write the relation of all refusals, each with the last that became of it."""
    return (
        "(SELECT kept.*, last.became, last.retried_at "
        f"FROM {record.relation('quarantine')} AS kept LEFT JOIN "
        "(SELECT quarantine_id, arg_max(became, retried_at) AS became, "
        f"max(retried_at) AS retried_at FROM {record.relation('retries')} GROUP BY quarantine_id) "
        "AS last USING (quarantine_id))"
    )


def _asked(source: str | None, reason: str | None) -> str:
    asked = ["TRUE"]
    if source is not None:
        asked.append(f"source = {_text(source)}")
    if reason is not None:
        asked.append(f"contains(lower(reason), {_text(reason.lower())})")
    return " AND ".join(asked)


def _text(value: str) -> str:
    """Write a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
