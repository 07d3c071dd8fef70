"""The rule book: what must hold for a row of the record, each rule stated once.

A rule is one SQL condition about one row. It is enforced

- at the ``append``: a row that fails is quarantined with the reason, the others go on;
- at the ``snapshot`` of a publication: a stored row that fails, because the rule is younger than
  the row, is left out of the build and counted; only if it fails for more than ``BLOCKS_ABOVE``
  of the rows of a table, or of one source in it, is nothing published, since the rule may
  be at fault;
- in the ``audit``, which looks again at what is about to be served, and refuses it.

So a stricter rule holds from the next publication on, and nothing is read again. Whether a name
is an organisation's cannot be said in SQL: those rules are in ``quality.personal_data_audit``.
Rules about derived tables are about our own mistakes, and always block: ``quality.suites``.

Reasons are part of the id of a quarantined row. With another wording, a row that is refused again
would be quarantined a second time.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Literal, get_args, get_origin

import pyarrow as pa
from sqlmodel import SQLModel

from warehouse.record.tables import RECORD_TABLES, RecordTable, incoming_schema
from warehouse.shared.data_files import csv_rows
from warehouse.tables.sighting import LICENSE_CLASSES

# A date outside these is an error of the source, or of the parser.
EARLIEST, LATEST = date(1800, 1, 1), date(2199, 12, 31)
# The largest share of the rows of a table, or of one source in it, that one rule leaves out
# without stopping the publication.
BLOCKS_ABOVE = Decimal("0.05")
SERVED_LICENCES = tuple(name for name in LICENSE_CLASSES if name != "restricted")
SERVICE_ID = "^DC[0-9A-Z]+$"
COUNTRY = "^[A-Z]{2}$"
ISO3 = CURRENCY = "^[A-Z]{3}$"
# The forms of values, by the names that ``rules.csv`` has for them.
_PATTERNS = {
    "service_id": SERVICE_ID,
    "country": COUNTRY,
    "iso3": ISO3,
    "currency": CURRENCY,
    "lei": "^[0-9A-Z]{18}[0-9]{2}$",
    "web_address": "^https?://[^ ]+$",
}

Stage = Literal["append", "snapshot", "audit"]
# Rules that a column of a load meets as a whole, or not: nothing is missing, nothing is empty.
Kind = Literal["present", "not empty", "value"]
# Null keys: the storage format itself refuses them.
_APPEND: tuple[Stage, ...] = ("append",)
_ALWAYS: tuple[Stage, ...] = ("append", "snapshot", "audit")
_NOT_AUDITED: tuple[Stage, ...] = ("append", "snapshot")


@dataclass(frozen=True)
class RowRule:
    """A condition that every row of a table must meet: SQL that is true, or null.

    ``words`` name the rule where rows are counted, ``reason`` says what is wrong with a value of
    ``column``. A rule about the form of a value has a ``pattern``, one about its vocabulary the
    ``allowed`` values. ``kind`` lets a load skip rules that a whole column meets.
    """

    column: str
    condition: str
    words: str
    reason: str
    stages: tuple[Stage, ...] = _ALWAYS
    pattern: str | None = None
    allowed: tuple[str, ...] = ()
    kind: Kind = "value"

    @property
    def fails(self) -> str:
        """The condition of the rows that fail."""
        # A comparison with a missing value is null; whether it may be missing is a rule of its own.
        return f"({self.condition}) IS FALSE"


def _listed_rule(row: Mapping[str, str]) -> RowRule:
    """Return a rule of ``rules.csv``, which has a condition, or the name of a pattern."""
    column, stages = row["column"], _NOT_AUDITED if row["audited"] == "no" else _ALWAYS
    if not row["pattern"]:
        return RowRule(column, row["condition"], row["words"], row["reason"], stages)
    pattern = _PATTERNS[row["pattern"]]
    # regexp_matches and not a full match: the patterns have their anchors, for Python as well.
    condition = f"regexp_matches({column}, '{pattern}')"
    reason = f"{{!r:.80}} {row['reason']}"
    return RowRule(column, condition, row["words"], reason, stages, pattern=pattern)


# The rules of single tables. A release is served byte for byte, so it must be an object with only
# some members: text that is no JSON has no keys, and that of an object starts like one.
_LISTED = [(row["tables"].split(), _listed_rule(row)) for row in csv_rows(__name__, "rules")]
_SERVED = ", ".join(f"'{name}'" for name in SERVED_LICENCES)
LICENSED = RowRule(
    "license_class",
    f"coalesce(license_class, '') IN ({_SERVED})",
    "every row has a licence that permits serving it",
    "{!r} may not be served",
)
_PERIOD = RowRule(
    "period_end",
    "period_end >= period_start",
    "no period ends before it starts",
    "{} lies before the start of the period",
)


@cache
def rules_of(table: RecordTable) -> tuple[RowRule, ...]:
    """Return the rules of a table; of several that a row fails, the first is named."""
    return (
        *_rules_of_columns(table),
        *_rules_of_every_row(table),
        *_allowed_values(table.row),
        *(rule for tables, rule in _LISTED if table.name in tables),
    )


def rules_version() -> str:
    """Return a version made from the content of all rules."""
    content = [(table.name, rules_of(table)) for table in RECORD_TABLES]
    return f"rows-{hashlib.sha256(repr(content).encode()).hexdigest()[:16]}"


def _rules_of_columns(table: RecordTable) -> Iterator[RowRule]:
    """Yield what follows from the type of each column."""
    for field in incoming_schema(table):
        name = field.name
        if not field.nullable:
            words = f"{name} is not null"
            yield RowRule(name, f"{name} IS NOT NULL", words, "is missing", _APPEND, kind="present")
        if pa.types.is_string(field.type) and not field.nullable:
            audited = name in ("source", "source_ref", "document")
            stages = _ALWAYS if audited else _NOT_AUDITED
            condition, words = f"coalesce({name}, '') <> ''", f"every row has a {name}"
            yield RowRule(name, condition, words, "is empty", stages, kind="not empty")
        if pa.types.is_date32(field.type) or pa.types.is_timestamp(field.type):
            kind = "DATE" if pa.types.is_date32(field.type) else "TIMESTAMPTZ"
            bounds = f"{kind} '{EARLIEST}' AND {kind} '{LATEST}'"
            yield RowRule(
                name,
                f"{name} BETWEEN {bounds}",
                f"{name} lies between {EARLIEST} and {LATEST}",
                f"{{}} is not a date between {EARLIEST} and {LATEST}",
                _NOT_AUDITED,
            )


def _rules_of_every_row(table: RecordTable) -> Iterator[RowRule]:
    yield LICENSED
    # No document can be read before it was published.
    yield RowRule(
        "available_at",
        "available_at <= CAST(observed_at AS DATE)",
        "no row is available after the day it was read",
        "{} lies after the day on which the document was read",
    )
    if "available_at_evidence" in table.row.model_fields:
        yield RowRule(
            "available_at_evidence",
            "available_at_evidence IS NULL OR available_at IS NOT NULL",
            "only of a day that is known is it said how",
            "{!r} is stated of a day that is not known",
        )
    for name in table.content:
        yield RowRule(
            name,
            f"NOT withdrawn OR {name} IS NULL",
            f"a withdrawal has no {name}",
            "{!r} is stated in a withdrawal",
            _NOT_AUDITED,
        )
    if "period_start" in table.row.model_fields:
        yield _PERIOD


def _allowed_values(row: type[SQLModel]) -> Iterator[RowRule]:
    """Yield a rule for each column whose type is a Literal."""
    for name, field in row.model_fields.items():
        # The annotation itself, or a member of ``Literal[...] | None``.
        for annotation in (field.annotation, *get_args(field.annotation)):
            # The rule of licences checks that one: not every class that exists may be served.
            if get_origin(annotation) is Literal and name != "license_class":
                allowed = tuple(sorted(get_args(annotation)))
                values = ", ".join(f"'{value}'" for value in allowed)
                yield RowRule(
                    name,
                    f"{name} IN ({values})",
                    f"{name} is one of its allowed values",
                    "{!r:.80} is not an allowed value",
                    allowed=allowed,
                )
