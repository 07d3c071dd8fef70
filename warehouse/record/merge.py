"""Compare a load with the record: which rows are new, and which figures were withdrawn.

A publication may be read many times. The record stores a reading only if its content differs from
the reading before it. If a publication changed without a new date, it was edited silently: the
new content was known from the day on which we read it, not before.

Almost every sighting is either new or already stored once with the same content, which its hashes
alone tell. Only the few others are compared reading by reading, in SQL.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from warehouse.record.as_of import standing_rows, vintages_query
from warehouse.record.landing import Document
from warehouse.record.relations import sql_text
from warehouse.record.row_index import (
    SMALL_FILE,
    FileIndex,
    IntArray,
    column_as_numpy,
    content_hashes,
    parallel_map,
    small_index,
)
from warehouse.record.store import DataFile, Record
from warehouse.record.tables import RecordTable, unstamped_schema
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import BadTable
from warehouse.tables.sighting import FIRST_READ

# Rows that newer code no longer reads in a document that was read before.
#
# A new version of a parser reads every landed document again. What it reads differently replaces
# the earlier reading; what it no longer reads at all would stay for ever, since nothing is
# deleted. So a copy of such a row is appended that takes it back. A pinned data_version keeps its
# answer: the row counted until the load that retracted it.

_SQL = sql_file(__name__, "merge")
# One reading of a publication: a document at a moment.
_READ_ROW = ("sighting", "figure_check", "document", "observed_at")
# Rows from which on files are searched by several threads.
_MANY_ROWS = 10_000


@dataclass
class Rereading:
    """Documents that other code has read before, and what is read in them now.

    A large document is appended in parts: ``finished`` is false until the last one, since a row
    that is missing from one part may be in the next.
    """

    documents: Sequence[Document]
    finished: bool = True
    _readings: dict[str, list[pa.Table]] = field(default_factory=dict)

    def add(self, table: RecordTable, rows: pa.Table) -> None:
        """Note hashed rows that are read now."""
        self._readings.setdefault(table.name, []).append(rows.select(_READ_ROW))

    def readings(self, table: RecordTable) -> pa.Table:
        """Return what has been read of a table so far."""
        return pa.concat_tables(self._readings[table.name])


def retractions(
    record: Record, table: RecordTable, delta: DeltaTable, rereading: Rereading | None
) -> pa.Table:
    """Return a retracting row for each stored row that the documents no longer give."""
    schema = unstamped_schema(table)
    if rereading is None or not rereading.finished or not rereading.documents:
        return schema.empty_table()
    documents = pa.table(
        {
            "document": [document.sha256 for document in rereading.documents],
            "observed_at": pa.array(
                [document.observed_at for document in rereading.documents],
                pa.timestamp("us", "UTC"),
            ),
            "url": [document.url for document in rereading.documents],
            "source": [document.source for document in rereading.documents],
        }
    )
    cursor = record.connection.cursor()
    try:
        cursor.register("reread", documents)
        cursor.register("read_now", rereading.readings(table))
        stored = standing_rows(
            record.relation(table.name, delta),
            schema.names,
            "document IN (SELECT document FROM reread)",
        )
        columns = ", ".join(f"stored.{name}" for name in schema.names)
        stale = _SQL.query(cursor, "stale", fill={"columns": columns, "stored": stored})
        stale = stale.to_arrow_table()
    finally:
        cursor.close()
    flags = {"retracted": True, "again": True}
    for name, flag in flags.items():
        position = stale.schema.get_field_index(name)
        values = pa.repeat(pa.scalar(flag), len(stale))
        stale = stale.set_column(position, stale.schema.field(position), values)
    return stale.cast(schema)


@dataclass(frozen=True)
class MergeResult:
    """The incoming rows to append, and the numbers of those that contradict each other."""

    new: pa.Table  # row, available_at, is_dated_by_reading, again
    contradictions: list[int]


@dataclass(frozen=True)
class CompleteScope:
    """All that a publisher has of a scope, as one document showed it.

    ``scope`` maps identity columns to their values. With ``address``, only what was last read
    from that URL belongs to the scope.
    """

    scope: dict[str, str]
    observed_at: datetime
    document: str
    source_ref: str
    address: str | None = None


def merge(
    record: Record,
    table: RecordTable,
    delta: DeltaTable,
    incoming: pa.Table,
    retracted: pa.Table | None = None,
) -> MergeResult:
    """Compare hashed rows with the files that can contain them.

    ``retracted`` is given if other code has read the documents before: rows that it read and this
    code does not. Then a row counts as stored only if every column is as it was, not its content
    alone.
    """
    files = touched_files(record, delta, table, incoming)
    if retracted is not None:
        new, undecided = np.arange(0), np.arange(len(incoming))
    else:
        folder = record.index_folder(table.name)
        new, undecided, files = _compare_hashes(folder, files, incoming)
    first_readings = _first_readings(incoming, new)
    if not len(undecided):
        return MergeResult(first_readings, [])
    rows = incoming.take(pa.array(undecided)).append_column("row", pa.array(undecided))
    relation = record.relation(table.name, delta, files)
    compared = tuple(table.row.model_fields) if retracted is not None else ()
    changed, contradictions = _compare_readings(record, relation, rows, compared, retracted)
    return MergeResult(pa.concat_tables([first_readings, changed]), contradictions)


def touched_files(
    record: Record, delta: DeltaTable, table: RecordTable, incoming: pa.Table
) -> list[DataFile]:
    """Return the files whose range of the cluster column contains any of the incoming values."""
    values = sorted(incoming[table.cluster].unique().to_pylist())
    files = record.files(table.name, delta)
    return [file for file in files if _in_range(values, file.low, file.high)]


def _in_range(values: list[str], lowest: str | None, highest: str | None) -> bool:
    """Return whether any of the sorted values can lie between the two."""
    if lowest is None or highest is None:
        return True
    # The smallest value that is not below the range: if it lies above, so do all others.
    position = bisect_left(values, lowest)
    # A long text is cut in the statistics: what starts like the maximum may be in the file.
    return position < len(values) and (
        values[position] <= highest or values[position].startswith(highest)
    )


def _compare_hashes(
    folder: Path, files: list[DataFile], incoming: pa.Table
) -> tuple[IntArray, IntArray, list[DataFile]]:
    """Return the numbers of new rows, of those that hashes do not decide, and the files of these.

    The files are those that have any of the rows: usually few of those that could have them.
    """
    order = np.argsort(column_as_numpy(incoming, "sighting"))
    names = ("sighting", "content", "observed_at", "figure_check")
    sighting, content, observed_at, check = (
        column_as_numpy(incoming, name)[order] for name in names
    )
    times_stored = np.zeros(len(order), np.int64)
    same = np.zeros(len(order), bool)
    # A few rows are found sooner than a thread is told to look for them.
    look = parallel_map if len(order) > _MANY_ROWS else map
    with_rows: list[DataFile] = []
    for file, found in zip(
        files, look(lambda each: _matches(folder, each, sighting), files), strict=True
    ):
        index, (first, counts) = found
        in_file = np.flatnonzero(counts)
        if not len(in_file):
            continue
        with_rows.append(file)
        times_stored += counts
        position = first[in_file]
        # A reading made before the stored one is not the same, even if its content is: it may be
        # the one that dates the publication. Nor is the stored one, read again: a reading before it
        # that turned up late may have moved its day.
        same[in_file] = (
            (index.content[position] == content[in_file])
            & (index.check[position] == check[in_file])
            & (index.observed_at[position] < observed_at[in_file])
        )
    # Of several readings of a publication, stored or in this load, the one before each decides:
    # that is left to SQL.
    repeated = _repeated(sighting)
    new = (times_stored == 0) & ~repeated
    stored = (times_stored == 1) & same & ~repeated
    return np.sort(order[new]), np.sort(order[~new & ~stored]), with_rows


def _matches(
    folder: Path, file: DataFile, sighting: IntArray
) -> tuple[FileIndex, tuple[IntArray, IntArray]]:
    index_of = small_index if file.rows <= SMALL_FILE else FileIndex
    try:
        index = index_of(folder, file.path, file.rows)
    except FileNotFoundError:
        # A compaction deleted it between the check and the opening; the second try writes it.
        index = index_of(folder, file.path, file.rows)
    return index, index.find(sighting)


def _repeated(ordered: IntArray) -> npt.NDArray[np.bool_]:
    """Return which of the sorted values occur more than once."""
    repeated = np.zeros(len(ordered), bool)
    equals_next = ordered[1:] == ordered[:-1]
    repeated[1:] |= equals_next
    repeated[:-1] |= equals_next
    return repeated


def _first_readings(incoming: pa.Table, rows: IntArray) -> pa.Table:
    available_at = incoming["available_at"].combine_chunks().take(pa.array(rows))
    no = pa.repeat(pa.scalar(False), len(rows))
    columns = {"row": pa.array(rows), "available_at": available_at}
    return pa.table({**columns, "is_dated_by_reading": no, "again": no})


def _compare_readings(
    record: Record,
    relation: str,
    rows: pa.Table,
    compared: tuple[str, ...],
    retracted: pa.Table | None,
) -> tuple[pa.Table, list[int]]:
    """Compare the readings of each publication; ``compared`` must be equal besides the content."""
    cursor = record.connection.cursor()
    cursor.register("incoming", rows)
    contradictions = _SQL.query(cursor, "contradictory").to_arrow_table()
    cursor.register("contradictions", contradictions)
    columns = ", ".join(dict.fromkeys((*_READING_COLUMNS, *compared)))
    # The day is not among them: _SAME_READING compares it as it would be assigned now.
    also_equal = "".join(
        f" AND stored.{name} IS NOT DISTINCT FROM {_ASSIGNED.get(name, f'dated.{name}')}"
        for name in compared
        if name != "available_at"
    )
    stored = standing_rows(
        relation,
        dict.fromkeys((*_READING_COLUMNS, *compared, "load_seq")),
        "sighting IN (SELECT sighting FROM incoming)",
    )
    if retracted is not None:
        cursor.register("retracted_now", retracted.select(_READ_ROW))
        stored = f"FROM ({stored}) ANTI JOIN retracted_now USING ({', '.join(_READ_ROW)})"
    cursor.register("stored", cursor.sql(stored).to_arrow_table())
    same_reading = _SAME_READING + also_equal if compared else _STORED_READING
    fill = {"columns": columns, "same_moment": _SAME_MOMENT, "same_reading": same_reading}
    changed = _SQL.query(cursor, "changed", fill=fill).to_arrow_table()
    cursor.close()
    return changed, list(contradictions["row"].to_pylist())


# How the day of a row is known, in the tables that say so.
_EVIDENCE = "available_at_evidence"
_READING_COLUMNS = (*_READ_ROW, "content", "available_at")
_SAME_MOMENT = """stored.sighting = dated.sighting AND stored.figure_check = dated.figure_check
          AND stored.observed_at = dated.observed_at"""
_SAME_READING = f"""{_SAME_MOMENT} AND stored.content = dated.content
          AND stored.available_at IS NOT DISTINCT FROM dated.known_from"""
# How the day of a silent edit is known does not follow from the document: see with_days.
_ASSIGNED = {
    _EVIDENCE: f"""CASE WHEN dated.is_dated_by_reading
          THEN '{FIRST_READ}' ELSE dated.{_EVIDENCE} END"""
}
# For the same code the day of a reading only moves on, when an earlier reading turns up late. It
# seems to move back if the earlier reading was erased: what was known then stays as it is dated.
_STORED_READING = f"""{_SAME_MOMENT} AND stored.content = dated.content
          AND (stored.available_at IS NOT DISTINCT FROM dated.known_from
            OR stored.available_at > dated.known_from)"""


def withdrawals(
    record: Record,
    table: RecordTable,
    delta: DeltaTable,
    incoming: pa.Table,
    rejected: pa.Table,
    complete: CompleteScope | None,
) -> pa.Table:
    """Return a withdrawing row for each figure of the scope that is no longer shown.

    A figure that is only among the ``rejected`` rows is shown as well. Only figures read before
    the scope was observed can be missing from it. An empty scope withdraws nothing: a source that
    returns nothing has failed, it has not withdrawn everything.
    """
    schema = unstamped_schema(table)
    if complete is None or not len(incoming):
        return schema.empty_table()
    not_identity = set(complete.scope) - set(table.identity)
    if not_identity:
        raise BadTable(f"{table.name}: {sorted(not_identity)[0]!r} does not identify a figure")
    relation = record.relation(table.name, delta)
    observed_at = f"TIMESTAMPTZ '{complete.observed_at.astimezone(UTC).isoformat()}'"
    read_before = f"(SELECT * FROM {relation} WHERE observed_at < {observed_at})"
    scope = " AND ".join(f"{name} = {sql_text(value)}" for name, value in complete.scope.items())
    current = record.query(
        vintages_query(table, read_before, columns=schema.names, where=scope or "TRUE")
    )
    if complete.address is not None:
        current = current.filter(pc.starts_with(current["source_ref"], f"{complete.address}#"))
    missing = _without(current, "figure", incoming["figure"])
    missing = _without(missing, "figure", rejected["figure"])
    # If the same document is loaded again, it has withdrawn these figures already.
    withdrawn = record.query(
        f"SELECT sighting FROM {relation} WHERE withdrawn AND observed_at = {observed_at}"
    )
    missing = _without(missing, "sighting", withdrawn["sighting"])
    return _withdrawing_rows(table, missing.select(schema.names).cast(schema), complete)


def _without(rows: pa.Table, column: str, values: pa.ChunkedArray) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows[column], values.combine_chunks())))


def _withdrawing_rows(table: RecordTable, rows: pa.Table, complete: CompleteScope) -> pa.Table:
    count = len(rows)
    observed_at = pa.scalar(complete.observed_at, pa.timestamp("us", "UTC"))
    day = pa.scalar(complete.observed_at.astimezone(UTC).date(), pa.date32())
    # Where no day of publication is known there is none of the withdrawal either.
    available_at = pc.if_else(rows["available_at"].is_valid(), day, pa.scalar(None, pa.date32()))
    changes = {
        "available_at": available_at,
        "observed_at": pa.repeat(observed_at, count),
        "document": pa.repeat(pa.scalar(complete.document), count),
        "source_ref": pa.repeat(pa.scalar(complete.source_ref), count),
        "withdrawn": pa.repeat(pa.scalar(True), count),
        "again": pa.repeat(pa.scalar(True), count),
        **{name: pa.nulls(count, rows.schema.field(name).type) for name in table.content},
    }
    if _EVIDENCE in rows.column_names:
        # That a figure is gone is known because we looked.
        is_dated = available_at.is_valid()
        changes[_EVIDENCE] = pc.if_else(
            is_dated, pa.scalar(FIRST_READ), pa.scalar(None, pa.string())
        )
    for name, values in changes.items():
        rows = _with_column(rows, name, values)
    # The hash comes last: it covers the columns that have just been emptied.
    return _with_column(rows, "content", content_hashes(table, rows))


def with_days(rows: pa.Table, new: pa.Table) -> pa.Table:
    """Return the rows of publications with the days from which their content was known.

    A day may differ from the publication's own: a silent edit counts from when we read it.
    """
    if _EVIDENCE in rows.column_names:
        evidence = pc.if_else(new["is_dated_by_reading"], pa.scalar(FIRST_READ), rows[_EVIDENCE])
        rows = _with_column(rows, _EVIDENCE, evidence)
    return _with_column(rows, "available_at", new["available_at"])


def _with_column(rows: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    position = rows.schema.get_field_index(name)
    return rows.set_column(position, rows.schema.field(position), values)
