"""Quality floors: what is measured in each dataset, how, and the minimum that passes.

A measurement is a statement over the tables of a snapshot that returns a row per ``scope``: with
``n_checked`` and ``n_passed``, of which the share is taken, or with a ``value``. If it returns no
row there was nothing to check, and the floor is UNMEASURED. A floor that ``blocks`` stops the
publication: only our own mistake can miss it. One that depends on what, how much or how often a
source publishes does not: it turns red, and the data is published.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

from quality.catalogue import Tables
from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.suites import SNAPSHOT_RULES, key_of
from warehouse.record.rules import LICENSED, rules_of
from warehouse.record.tables import (
    FILINGS,
    FUNDAMENTALS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.shared.data_files import csv_rows, sql_file
from warehouse.tables.operations import QualityMetric, QualityStatus

# The parameter of a statement for the time of the measurement.
MEASURED_AT = "$measured_at"

ALL = Decimal(1)
DAYS_SINCE_NEW = "days_since_new"
# A month of a panel is compared with so many before it, if it has values in so many of them. In
# the panels of honest portals none is four times as large; an error that reaches a panel multiplies
# it by thousands.
MONTHS_BEFORE, FEWEST_MONTHS, MOST_TIMES = 24, 6, Decimal(100)


@dataclass(frozen=True)
class Floor:
    """One measurement and what passes: at least ``floor``, or at most if ``is_maximum``.

    ``by_scope`` has other floors for some scopes. ``scope`` is that of the UNMEASURED row if
    there is nothing to check.
    """

    sku: str
    dimension: str
    metric: str
    scope: str
    statement: str
    floor: Decimal
    unit: str = "share"
    is_maximum: bool = False
    blocks: bool = True
    by_scope: Mapping[str, Decimal] = field(default_factory=dict)

    def of(self, scope: str) -> Decimal:
        """Return the floor of a scope."""
        return self.by_scope.get(scope, self.floor)

    def passes(self, value: Decimal, scope: str) -> bool:
        """Return whether a measured value of a scope passes."""
        return value <= self.of(scope) if self.is_maximum else value >= self.of(scope)


# What each metric measures, for readers.
MEANINGS = {
    row["metric"]: row["meaning"].format(MONTHS_BEFORE=MONTHS_BEFORE)
    for row in csv_rows(__name__, "meanings")
}

_TABLES = {
    "AF-FUND": (FUNDAMENTALS, FILINGS),
    "AF-TENDER": (TENDER_RELEASES, TENDER_PARTIES),
    "AF-MACRO": (MACRO_ANNUAL, MACRO_SERIES),
}
_SQL = sql_file(
    __name__,
    "floors",
    fragments={
        "months_before": str(MONTHS_BEFORE),
        "fewest_months": str(FEWEST_MONTHS),
        "most_times": str(MOST_TIMES),
    },
)
_PROVENANCE = ("source_ref", "document", "observed_at", "method", "provenance_id")


def _completeness(table: RecordTable) -> Mapping[str, Iterable[str]]:
    """Return the conditions of the rule book that the completeness of a table measures."""
    stated = [(rule.words, rule.condition) for rule in rules_of(table)]
    audited = [(rule.words, rule.condition) for rule in SNAPSHOT_RULES]
    return {
        "provenance_complete": [
            condition for words, condition in (*stated, *audited) if words in PRESENCE_RULES
        ],
        "licence_complete": [LICENSED.condition],
    }


# The rules of the book that say that a row has its provenance.
PRESENCE_RULES = frozenset(
    words
    for name in _PROVENANCE
    for words in (f"every row has a {name}", f"every row has an {name}", f"{name} is not null")
)


def _share(table: str, conditions: Iterable[str], among: str = "TRUE", scope: str = "") -> str:
    """Return SQL that counts the rows of a table that meet all conditions, per ``scope``."""
    condition = " AND ".join(f"({each})" for each in conditions)
    return _SQL.statement(
        "share", table=table, condition=condition, among=among, scope=scope or f"'{table}'"
    )


def _one_value(table: RecordTable) -> str:
    series = [name for name in table.identity if name not in ("unit", "base_period")]
    return _SQL.statement("one_value_per_period", table=table.name, series=", ".join(series))


def _days_since_new(*tables: RecordTable) -> str:
    rows = " UNION ALL ".join(
        f"SELECT source, available_at, publication, observed_at FROM {table.name} "
        "WHERE NOT withdrawn"
        for table in tables
    )
    return _SQL.statement("days_since_new", rows=rows)


def _not_found(words: str) -> str:
    """Return the condition of the rows that meet a rule of the organisation check."""
    (rule,) = (rule for rule in PERSONAL_DATA_RULES if rule.words == words)
    return f"row_id NOT IN (SELECT row_id FROM {rule.failing})"


def _of_record(table: RecordTable, words: str) -> str:
    (rule,) = (rule for rule in rules_of(table) if rule.words == words)
    return rule.condition


def _floor(row: Mapping[str, str]) -> Floor:
    """Return the floor of a line of ``floors.csv``: of a share of rows, or of a statement.

    Some floors are low with cause: many portals publish values only with awards, and parties are
    resolved by number or exact name only, so that many real matches are missed.
    """
    named = {
        "most_times": MOST_TIMES,
        "without_contact": _not_found("no served release contains a contact"),
        "with_evidence": _of_record(
            TENDER_PARTIES, "a named party has evidence that it is an organisation"
        ),
        "established": _not_found("a named party is established as an organisation, not a person"),
    }
    conditions = [each.format_map(named) for each in row["conditions"].split("; ") if each]
    return Floor(
        row["sku"],
        row["dimension"],
        row["metric"],
        row["scope"],
        _share(row["scope"], conditions, row["among"], row["by"])
        if conditions
        else _SQL[row["metric"]],
        Decimal(row["floor"].format_map(named)),
        unit=row["unit"],
        is_maximum=row["unit"] == "times",
        blocks=row["blocks"] == "yes",
    )


FLOORS: tuple[Floor, ...] = (
    *(
        Floor(sku, "completeness", metric, table.name, _share(table.name, conditions), ALL)
        for sku, tables in _TABLES.items()
        for table in tables
        for metric, conditions in _completeness(table).items()
    ),
    *(
        Floor(
            *(sku, "uniqueness", "key_unique", table.name),
            _SQL.statement("unique_keys", table=table.name, key=", ".join(key_of(table))),
            ALL,
        )
        for sku, tables in _TABLES.items()
        for table in tables
    ),
    *(
        Floor("AF-MACRO", "uniqueness", "one_value_per_period", table.name, _one_value(table), ALL)
        for table in _TABLES["AF-MACRO"]
    ),
    *(
        Floor(
            *(sku, "freshness", DAYS_SINCE_NEW, "sources", _days_since_new(*tables), Decimal(7)),
            unit="days",
            is_maximum=True,
            blocks=False,
        )
        for sku, tables in (_TABLES | {"AF-TENDER": (TENDER_RELEASES,)}).items()
    ),
    *map(_floor, csv_rows(__name__, "floors")),
)
# Datasets and metrics whose floor is the most that passes.
MAXIMUMS = {(floor.sku, floor.metric) for floor in FLOORS if floor.is_maximum}


def with_freshness(new_within: Mapping[str, int], is_sample: bool = False) -> tuple[Floor, ...]:
    """Return the floors with the days within which each source has something new, as a rule.

    Sample data does not age: its age is that on the last day on which something new was read.
    """
    days = {source: Decimal(number) for source, number in new_within.items()}
    until = "max(max(last_read)) OVER ()" if is_sample else MEASURED_AT
    return tuple(
        replace(floor, by_scope=days, statement=floor.statement.replace(MEASURED_AT, until))
        if floor.metric == DAYS_SINCE_NEW
        else floor
        for floor in FLOORS
    )


# Truncated, not rounded: one failing row among very many must never look like none.
_TEN_DIGITS = Context(prec=10, rounding=ROUND_DOWN)


def measure(
    tables: Tables, measured_at: datetime, floors: Iterable[Floor] = FLOORS
) -> list[tuple[Floor, QualityMetric]]:
    """Measure every floor; one with nothing to check is UNMEASURED, which is never a pass."""
    return [(floor, row) for floor in floors for row in _measure_floor(tables, floor, measured_at)]


def _measure_floor(tables: Tables, floor: Floor, measured_at: datetime) -> Iterator[QualityMetric]:
    timestamp = f"TIMESTAMPTZ '{measured_at.astimezone(UTC).isoformat()}'"
    scopes = [
        row
        for row in tables.read(floor.statement.replace(MEASURED_AT, timestamp)).to_pylist()
        # A row that counted nothing is as good as none: UNMEASURED, and not 0 of 0.
        if row["n_checked"]
    ]
    scopes.sort(key=lambda row: str(row["scope"]))
    for row in scopes or [{"scope": floor.scope}]:
        value = _value(row)
        yield QualityMetric(
            sku=floor.sku,
            dimension=floor.dimension,
            metric=floor.metric,
            scope=row["scope"],
            value=value,
            unit=floor.unit,
            floor=floor.of(row["scope"]),
            status=_status(floor, value, row["scope"]),
            n_checked=_count(row, "n_checked"),
            n_passed=_count(row, "n_passed"),
            measured_at=measured_at,
            data_version=tables.data_version,
        )


def _status(floor: Floor, value: Decimal | None, scope: str) -> QualityStatus:
    if value is None:
        return "UNMEASURED"
    return "PASS" if floor.passes(value, scope) else "FAIL"


def _value(row: dict[str, Any]) -> Decimal | None:
    if row.get("value") is not None:
        # Without the digits that a binary fraction, or a column of so many digits, adds.
        return Decimal(str(row["value"])).normalize() + 0
    if row.get("n_passed") is None:
        return None
    return _TEN_DIGITS.divide(Decimal(row["n_passed"]), Decimal(row["n_checked"]))


def _count(row: dict[str, Any], name: str) -> int | None:
    return None if row.get(name) is None else int(row[name])
