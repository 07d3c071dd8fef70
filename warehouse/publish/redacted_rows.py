"""Take withheld names out of the rows of a snapshot: out of every text, id and address.

Names that an operator withheld go from every row. Names of parties that were not established to be
organisations go from every release of their process, because a person who is a supplier in one
release may be mentioned in the title of another. A name that the process also has as that of an
established organisation is none: the withheld spelling is the organisation's.

DuckDB finds the few rows that contain a word of a name that concerns them; Python decides.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.names.reading import withheld_party_key
from warehouse.names.redaction import Redaction, open_names, redaction_of, strings_in
from warehouse.names.spellings import NameFinder, Words, may_be_somebody, names_in, search_words
from warehouse.publish.left_out import ROW_IDS, STORED_ROW
from warehouse.publish.snapshot import Snapshot
from warehouse.record.relations import create_table, sql_text
from warehouse.record.tables import (
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
    arrow_schema,
    record_schema,
)
from warehouse.shared.data_files import sql_file
from warehouse.tables.entities import NAME_LISTS
from warehouse.tables.sighting import Sighting

# Which rows stay in another form, in the words of the table ``left_out``.
PARTIES = "withheld: the party, whose name is removed"
TEXTS = "withheld: a name, which is removed from the texts of the row"
IDS = "withheld: a name, which is removed from the ids or the address of the row"

# How columns are read, in whichever table they are; all other columns of text are texts. Those that
# every row has, such as licence and method, have words of our own.
_IDS = ("publication", "ocid", "release_id", "document_id")
_ADDRESSES = ("source_ref", "source_url", "link", "document_url")
_OURS = frozenset({*Sighting.model_fields, "service_id", "withheld_names"})
# If one of these has a name, the party is withheld.
_OF_PARTY = ("name", "party_key", "identifier_scheme", "identifier_id")
_BATCH = 2_000
# Words that may be written letter by letter, as initials are.
_SPELLED = 4
_PLAIN = "replace(translate(strip_accents(lower({})), 'ªº', 'ao'), 'ß', 'ss')"
_SQL = sql_file(
    __name__,
    "redacted_rows",
    fragments={
        "stored_row": ", ".join(STORED_ROW),
        "row_ids": ROW_IDS,
        "same_reading": " AND ".join(f"fixed.{name} = stored.{name}" for name in STORED_ROW),
    },
)

Scope = tuple[str, ...]
Names = Mapping[Scope, frozenset[Words]]
Row = dict[str, Any]
_decode_list = msgspec.json.Decoder(list[str]).decode


@dataclass(frozen=True)
class Everywhere:
    """What an operator withheld of the whole record: names, and parties by their key."""

    names: frozenset[Words] = frozenset()
    keys: frozenset[tuple[str, str]] = frozenset()


def redact_rows(
    snapshot: Snapshot, tables: Sequence[RecordTable], everywhere: Everywhere, secret: bytes
) -> None:
    """Read the given tables of a snapshot without withheld names; call it before they are copied.

    Every row that this changes is listed with the rows that are left out.
    """
    names: Names = {}
    withheld: dict[Scope, set[str]] = {}
    if TENDER_RELEASES in tables:
        names = names_by_process(snapshot, secret)
        redaction = _RowRedaction(snapshot, TENDER_PARTIES, names, everywhere, secret, withheld)
        redaction.apply()
        # Before the releases: they say how many of their parties are withheld.
        redaction = _RowRedaction(snapshot, TENDER_RELEASES, names, everywhere, secret, withheld)
        redaction.apply()
    for table in tables:
        if table not in (TENDER_RELEASES, TENDER_PARTIES):
            of_rows = _names_by_row(snapshot, table, secret)
            _RowRedaction(snapshot, table, of_rows, everywhere, secret, withheld).apply()


class NamePlace(NamedTuple):
    """A value of a stored row that contains a name, and the passage that is the name."""

    table: RecordTable
    column: str
    value: str
    passage: str
    row: Row


def find_names(snapshot: Snapshot, names: frozenset[Words]) -> Iterator[NamePlace]:
    """Yield every place at which a stored row has one of some names, in any spelling."""
    finder = NameFinder(names)
    for table in RECORD_TABLES:
        rows = _RowRedaction(snapshot, table, {}, Everywhere(names), b"", {})
        for row in (row for batch in rows.candidates() for row in batch):
            for column in rows.columns:
                value = row[column]
                if not isinstance(value, str):
                    continue
                for text in strings_in(value) if column == "release" else (value,):
                    if finder.may_have(text):
                        for passage in finder.passages(text):
                            written = text[passage.start : passage.end]
                            yield NamePlace(table, column, text, written, row)


def names_by_process(snapshot: Snapshot, secret: bytes) -> Names:
    """Return the names of withheld parties by process, without those established.

    An ocid is that of one process, whichever portal is read.
    """
    found = _opened(snapshot, TENDER_RELEASES, ("ocid",), secret)
    if found:
        parties = snapshot.stored(TENDER_PARTIES)
        named = f"SELECT DISTINCT ocid, name FROM {parties} WHERE name IS NOT NULL"
        _drop_established(found, snapshot.rows(named))
    return {key: frozenset(names) for key, names in found.items() if names}


def _names_by_row(snapshot: Snapshot, table: RecordTable, secret: bytes) -> Names:
    if "withheld_names" not in record_schema(table).names:
        return {}
    found = _opened(snapshot, table, ("source", "service_id"), secret)
    if found:
        named = f"SELECT DISTINCT source, service_id, legal_name FROM {snapshot.stored(table)}"
        _drop_established(found, snapshot.rows(f"{named} WHERE legal_name IS NOT NULL"))
    return {key: frozenset(names) for key, names in found.items() if names}


def _drop_established(found: Mapping[Scope, set[Words]], rows: Iterable[tuple[Any, ...]]) -> None:
    """Drop names that are also those of established organisations, given by scope."""
    for *scope, written in rows:
        if names := found.get(tuple(scope)):
            # "Council of the City of Nowhere" is "Nowhere City Council".
            established = {frozenset(name) for name in names_in(written)}
            names -= {name for name in names if frozenset(name) in established}


def _opened(
    snapshot: Snapshot, table: RecordTable, scope: Sequence[str], secret: bytes
) -> dict[Scope, set[Words]]:
    columns = ", ".join((*scope, "withheld_names"))
    sealed = f"""SELECT DISTINCT {columns} FROM {snapshot.stored(table)}
        WHERE withheld_names IS NOT NULL"""
    found: dict[Scope, set[Words]] = {}
    # The same few people are parties of many releases.
    opened: dict[str, tuple[Words, ...]] = {}
    for *key, text in snapshot.rows(sealed):
        if text not in opened:
            names = (name for written in open_names(secret, text) for name in names_in(written))
            opened[text] = tuple(filter(may_be_somebody, names))
        found.setdefault(tuple(key), set()).update(opened[text])
    return found


@dataclass
class _RowRedaction:
    """Takes names out of the rows of one table.

    ``withheld`` collects the keys of parties that are withheld from now on, by release.
    """

    snapshot: Snapshot
    table: RecordTable
    names: Names
    everywhere: Everywhere
    secret: bytes
    withheld: dict[Scope, set[str]]

    def apply(self) -> None:
        """Replace the rows that contain a name."""
        if not (self.names or self.everywhere.names or self.everywhere.keys):
            return
        # In a folder of its own: it is not one of the tables of the snapshot.
        path = self.snapshot.folder / "withheld" / f"{self.table.name}.parquet"
        path.parent.mkdir(exist_ok=True)
        if self._write(path):
            self._replace(f"read_parquet({sql_text(str(path))})")

    @cached_property
    def _scope(self) -> tuple[str, ...]:
        names = record_schema(self.table).names
        if "ocid" in names:
            return ("ocid",)
        return ("source", "service_id") if "service_id" in names else ("source",)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that are searched and may change."""
        schema = arrow_schema(self.table.row)
        read = (*_IDS, *_ADDRESSES, "parties_withheld")
        return [
            field.name
            for field in schema
            if field.name in read or (field.type == pa.string() and field.name not in _OURS)
        ]

    def _write(self, path: Path) -> int:
        """Write every row that contains a name, without it; return how many there are."""
        schema = record_schema(self.table)
        fields = [schema.field(name) for name in (*STORED_ROW, *self.columns)]
        rule = pa.field("rule", pa.string())
        count = 0
        with pq.ParquetWriter(path, pa.schema([*fields, rule])) as file:
            for batch in self.candidates():
                rows = [row for row in map(self._redacted, batch) if row is not None]
                count += len(rows)
                if rows:
                    file.write_table(pa.Table.from_pylist(rows, file.schema))
        return count

    def candidates(self) -> Iterator[list[Row]]:
        """Yield the rows that have a word of a name that concerns them, or a withheld party."""
        sql = self.snapshot.sql
        _SQL.run(sql, "contains_any")
        _create(sql, "withheld_words", self._scope, self.names)
        keys = text_table(sorted(self.everywhere.keys), "source", "party_key")
        create_table(sql, "withheld_keys", keys)
        create_table(sql, "releases_withholding", text_table(sorted(self.withheld), *_OF_RELEASE))
        also = {
            TENDER_PARTIES: "(source, party_key) IN (FROM withheld_keys)",
            TENDER_RELEASES: "(source, ocid, release_id) IN (FROM releases_withholding)",
        }
        columns = self.columns
        texts = [name for name in columns if name != "parties_withheld"]
        decoded = [f"url_decode({name})" for name in columns if name in _ADDRESSES]
        statement = _SQL.statement(
            "rows_with_names",
            stored=self.snapshot.stored(self.table),
            scope=", ".join(self._scope),
            columns=", ".join(dict.fromkeys((*STORED_ROW, "source", *self._scope, *columns))),
            plain=_PLAIN.format(f"concat_ws(' ', {', '.join((*texts, *decoded))})"),
            also=also.get(self.table, "FALSE"),
        )
        with self.snapshot.cursor() as cursor:
            words = _search_list(self.everywhere.names)
            given = {"everywhere": words, "everywhere_short": _short(words)}
            query = cursor.execute(statement, given)
            header = [column[0] for column in query.description or ()]
            while rows := query.fetchmany(_BATCH):
                yield [dict(zip(header, row, strict=True)) for row in rows]

    def _redacted(self, row: Row) -> Row | None:
        """Return a row without names, with the rule that lists it; None if it has none."""
        scope = tuple(row[name] for name in self._scope)
        names = self.names.get(scope, frozenset())
        redaction = redaction_of(names, self.everywhere.names, self.secret)
        changed = {
            name: _replaced(redaction, name, row[name])
            for name in self.columns
            if isinstance(row[name], str)
        }
        rule = TEXTS
        if any(changed.get(name) != row[name] for name in (*_IDS, *_ADDRESSES) if name in changed):
            rule = IDS
        if self.table == TENDER_PARTIES and self._is_withheld(redaction, row):
            rule = PARTIES
            key = withheld_party_key(self.secret, row["source"], row["party_key"])
            changed |= dict.fromkeys((*_OF_PARTY, "org_evidence")) | {"party_key": key}
            release = tuple(row[name] for name in _OF_RELEASE)
            self.withheld.setdefault(release, set()).add(row["party_key"])
        if self.table == TENDER_RELEASES:
            changed |= self._of_release(row)
        if all(row[name] == value for name, value in changed.items()):
            return None
        return {**row, **changed, "rule": rule}

    def _is_withheld(self, redaction: Redaction, row: Row) -> bool:
        if row["name"] is None:
            return False
        by_key = (row["source"], row["party_key"]) in self.everywhere.keys
        return by_key or any(
            redaction.withholds(row[name]) for name in _OF_PARTY if row[name] is not None
        )

    def _of_release(self, row: Row) -> Row:
        """Return the columns of a release that follow from its withheld parties."""
        keys = self.withheld.get(tuple(row[name] for name in _OF_RELEASE), set())
        count = row["parties_withheld"] + len(keys)
        if row["buyer_key"] not in keys:
            return {"parties_withheld": count}
        key = withheld_party_key(self.secret, row["source"], row["buyer_key"])
        return {"parties_withheld": count, "buyer_key": key}

    def _replace(self, redacted: str) -> None:
        """Read the table with its redacted rows, and list them."""
        listed = {"stored": self.snapshot.stored(self.table), "table_name": self.table.name}
        _SQL.run(self.snapshot.sql, "list_replaced", fill={**listed, "redacted": redacted})
        replaced = ", ".join(
            f"CASE WHEN fixed.sighting IS NULL THEN stored.{name} ELSE fixed.{name} END AS {name}"
            for name in self.columns
        )
        # The snapshot puts its stored rows in.
        rows = _SQL.statement(
            "with_redacted", stored="{stored}", redacted=redacted, replaced=replaced
        )
        self.snapshot.replace_rows(self.table, f"({rows})")


_OF_RELEASE = ("source", "ocid", "release_id")


def _replaced(redaction: Redaction, column: str, value: str) -> str | None:
    """Return the value of a column of text without names."""
    if column in _IDS:
        return redaction.identifier(value)
    if column in _ADDRESSES:
        return redaction.address(value)
    if column == "release":
        return redaction.release(value)
    if column in NAME_LISTS:
        return _without_names(redaction, value)
    if column in ("legal_name", "buyer_key", *_OF_PARTY, "org_evidence"):
        # A name that contains a withheld one goes as a whole; keys follow from their party.
        return None if column == "legal_name" and redaction.withholds(value) else value
    return redaction.text(value)


def _without_names(redaction: Redaction, value: str) -> str | None:
    """Return a JSON list of names without those that contain a withheld one."""
    try:
        names = _decode_list(value)
    except msgspec.DecodeError:
        return redaction.text(value)
    kept = [name for name in names if not redaction.withholds(name)]
    return value if kept == names else msgspec.json.encode(kept).decode() if kept else None


def _search_list(names: Iterable[Words]) -> list[str]:
    return sorted({word for name in names for word in search_words(name)})


def _short(words: Iterable[str]) -> list[str]:
    return [word for word in words if len(word) <= _SPELLED]


def _create(sql: Any, table: str, scope: Sequence[str], names: Names) -> None:
    """Create a table of the words to search for in the rows of each scope."""
    columns: dict[str, pa.Array] = {
        column: pa.array([key[number] for key in names], pa.string())
        for number, column in enumerate(scope)
    }
    words = [_search_list(of) for of in names.values()]
    columns["words"] = pa.array(words, pa.list_(pa.string()))
    columns["short_words"] = pa.array(map(_short, words), pa.list_(pa.string()))
    create_table(sql, table, pa.table(columns))


def text_table(rows: Iterable[Sequence[str | None]], *names: str) -> pa.Table:
    """Return rows of texts as a table, also if there are none."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = [pa.array(list(values), pa.string()) for values in columns]
    return pa.table(arrays, names=list(names))
