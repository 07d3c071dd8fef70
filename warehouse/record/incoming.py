"""Rows before they enter the record: typed as the record is, complete and plausible.

A row that does not fit the types of its table, or fails a rule of the rule book, is rejected with
its column, its number and the reason; the others go on.

The texts of the reasons are part of the id of a quarantined row. With another wording, a row that
is refused again would be quarantined a second time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.record.relations import local_reader
from warehouse.record.rules import RowRule, rules_of
from warehouse.record.tables import RecordTable, incoming_schema
from warehouse.shared.errors import BadTable

# What Arrow raises for a value that its column cannot store exactly.
MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)

# The first reason against each rejected row, by row number.
Reasons = dict[int, str]


@dataclass(frozen=True)
class RejectedRow:
    """A row that was read but not accepted: its document, its location there, the reason.

    ``partial``: only a part of a record, or what is none of ours; so it hides no figure that seems
    to be missing.
    """

    document: str
    source_ref: str
    reason: str
    row: int | None = None
    partial: bool = False

    @property
    def reason_with_row(self) -> str:
        """The reason, with the row number where the location alone is not enough."""
        return self.reason if self.row is None else f"row {self.row}, {self.reason}"


def to_arrow(
    table: RecordTable, rows: Sequence[Mapping[str, Any]]
) -> tuple[pa.Table, list[RejectedRow]]:
    """Return the table that ``append`` takes, and the rows that do not fit its types."""
    schema = incoming_schema(table)
    columns = set(schema.names)
    try:
        if all(row.keys() <= columns for row in rows):
            return _table(schema, rows), []
        raise ValueError("a row has a column that the table has not")
    except MISFITS:
        if len(rows) == 1:
            (row,) = rows
            document, source_ref = str(row.get("document", "")), str(row.get("source_ref", ""))
            reason = _misfit(schema, row) or "its values do not fit their columns"
            return schema.empty_table(), [RejectedRow(document, source_ref, reason, 0)]
    # Converting whole columns is fast but does not tell which row failed: each half is tried.
    half = len(rows) // 2
    (first, misfits), (second, others) = to_arrow(table, rows[:half]), to_arrow(table, rows[half:])
    later = [replace(row, row=(row.row or 0) + half) for row in others]
    return pa.concat_tables([first, second]), [*misfits, *later]


def _table(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _misfit(schema: pa.Schema, row: Mapping[str, Any]) -> str | None:
    unknown = set(row) - set(schema.names)
    if unknown:
        return f"{sorted(unknown)[0]}: no such column"
    for field in schema:
        value = row.get(field.name)
        try:
            pa.array([value], field.type)
        except MISFITS as error:
            return f"{field.name}: {value!r:.80} does not fit {field.type} ({error})"
    return None


@dataclass(frozen=True)
class CheckedRows:
    """The rows that may enter the record, and those that may not.

    ``rows`` have their number in the load in the column ``incoming_row``. ``shown`` are the
    rejected rows of which it is known which figure they are about: the publisher shows it, though
    not in a form that may be stored.
    """

    rows: pa.Table
    shown: pa.Table
    rejected: list[RejectedRow]


def check_rows(table: RecordTable, incoming: pa.Table) -> CheckedRows:
    """Check every row of a load by the rules of its table."""
    schema = incoming_schema(table)
    if not incoming.schema.equals(schema):
        columns = sorted({field.name for field in {*incoming.schema} ^ {*schema}})
        raise BadTable(
            f"{table.name}: its columns are not those of the record ({', '.join(columns)}); "
            "nothing was written"
        )
    numbers = pa.array(np.arange(len(incoming)))
    numbered = incoming.append_column("incoming_row", numbers)
    reasons: Reasons = {}
    for rule, row in _faults(rules_of(table), numbered):
        value = _printable(incoming[rule.column][row])
        reasons.setdefault(row, f"{rule.column}: {rule.reason.format(value)}")
    if not reasons:
        return CheckedRows(numbered, schema.empty_table(), [])
    is_rejected = pc.is_in(numbers, pa.array(sorted(reasons)))
    shown = _with_identity(table, numbered.filter(is_rejected)).select(schema.names)
    accepted = numbered.filter(pc.invert(is_rejected))
    return CheckedRows(accepted, shown, _rejected(incoming, reasons))


def _with_identity(table: RecordTable, rejected: pa.Table) -> pa.Table:
    """Return the rejected rows whose identity columns fail no rule."""
    rules = [rule for rule in rules_of(table) if rule.column in table.identity]
    unknown = pa.array([row for _, row in _faults(rules, rejected)], pa.int64())
    return rejected.filter(pc.invert(pc.is_in(rejected["incoming_row"], unknown)))


def _rejected(incoming: pa.Table, reasons: Reasons) -> list[RejectedRow]:
    numbers = sorted(reasons)
    rows = incoming.select(["document", "source_ref"]).take(pa.array(numbers)).to_pylist()
    return [
        RejectedRow(row["document"] or "", row["source_ref"] or "", reasons[number], number)
        for number, row in zip(numbers, rows, strict=True)
    ]


def _faults(all_rules: Sequence[RowRule], numbered: pa.Table) -> Iterator[tuple[RowRule, int]]:
    """Yield every row that fails a rule, with the first rule it fails."""
    # A null, or an empty text, is rare, and Arrow tells at once that a column has none.
    rules = [rule for rule in all_rules if _may_fail(rule, numbered[rule.column])]
    if not rules:
        return
    cases = " ".join(f"WHEN {rule.fails} THEN {number}" for number, rule in enumerate(rules))
    cursor = local_reader().cursor()
    try:
        cursor.register("incoming", numbered)
        found = cursor.sql(
            f"SELECT * FROM (SELECT incoming_row, CASE {cases} END AS rule FROM incoming) "
            "WHERE rule IS NOT NULL ORDER BY incoming_row"
        ).fetchall()
    finally:
        cursor.close()
    for row, number in found:
        yield rules[number], row


def _may_fail(rule: RowRule, values: pa.ChunkedArray) -> bool:
    if rule.kind == "present":
        return bool(values.null_count)
    return rule.kind != "not empty" or bool(pc.any(pc.equal(values, "")).as_py())


def _printable(value: pa.Scalar) -> object:
    """Return a value as Python has it; a date or time beyond its range as the stored number."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.cast(pa.int32() if pa.types.is_date32(value.type) else pa.int64()).as_py()
