"""Pages of rows, and the conditions that queries share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cmp_to_key, partial
from heapq import merge
from itertools import chain, islice
from re import compile as pattern
from typing import Any, Literal

import msgspec

from warehouse.publish.file_labels import may_have, no_later_day
from warehouse.publish.row_json import NEVER
from warehouse.publish.tables import MART_TABLES, RUNS
from warehouse.record.as_of import Vintages
from warehouse.serve.build import Build
from warehouse.serve.engines import FileReader, SqlRows
from warehouse.serve.packs import PackedRows, latest_rows, rows_by_number

# What a question asks for: conditions on columns, and an order.

# Where a row lies: the label of its file and its number there, or what else a read continues from.
Key = tuple[str, ...]
# The order in which rows lie in a file.
IN_ORDER = "row_number"


class Condition(msgspec.Struct, frozen=True):
    """An SQL condition with the values of its placeholders.

    ``column`` is set if the column is compared with the values: it may decide in which files, and
    where in them, the rows lie.
    """

    sql: str
    values: tuple[object, ...] = ()
    column: str = ""
    compared: Literal["=", "IN", ">=", "<="] = "="


# Matches nothing.
NO_ROW = Condition("1 = 0")


@dataclass(frozen=True)
class Order:
    """An order of rows in every file, and how rows of several files are merged.

    ``merged_by`` are key columns, each perhaps followed by DESC. Without them the files follow each
    other.
    """

    sql: str
    merged_by: tuple[str, ...] = ()


IN_ORDER_OF_FILE = Order(IN_ORDER)


# Questions to several files: which can have such rows, and how their rows are merged.
#
# A question that names what decides the file of a row (an organisation, a country) goes to that
# file only, and one that bounds the day only to files with such days. Any other goes to every
# file. Files that follow each other are read until there are enough rows. Otherwise each file
# gives its first rows, and these are merged in the order of the table.

# Rows that are read of each of several files first, and more than any file has.
_FIRST_OF_A_FILE = 8
_ALL_ROWS = 1 << 40
# Comes after every row of a file.
_AFTER_ALL = 1 << 31
# After which row a file is read, by its label.
Begins = Mapping[str, int]
# Rows, each with its file.
Found = list[tuple[FileReader, tuple[Any, ...]]]


def files_for(build: Build, table: str, where: Sequence[Condition]) -> Sequence[FileReader]:
    """Return the files in which rows that match every condition can lie."""
    split, files = build.split(table), build.files(table)
    if split is None or len(files) == 1:
        return files
    since, until = "", NEVER
    for condition in where:
        if not condition.column:
            continue
        value = str(condition.values[0])
        if condition.column == split.by and condition.compared in ("=", "IN"):
            values = map(str, condition.values)
            labels = {f.label for each in values for f in build.files_with(table, split.by, each)}
            files = [file for file in files if file.label in labels]
        elif condition.column == split.day:
            since = max(since, value) if condition.compared != "<=" else since
            until = min(until, value) if condition.compared != ">=" else until
    if since or until != NEVER:
        files = [file for file in files if may_have(file.label, since, until)]
    return files


def columns_to_merge(
    build: Build, table: str, where: Sequence[Condition], order: Order
) -> Sequence[str]:
    """Return the columns by which rows of files are merged: none if the files follow each other."""
    same = {condition.column for condition in where if condition.compared == "="}
    differing = [name for name in order.merged_by if name.partition(" ")[0] not in same]
    split = build.split(table)
    # The files of a value follow each other, newest first.
    if split is not None and differing[-1:] == [f"{split.day} DESC"]:
        is_decided = split.by in same or split.by in differing
        return differing[:-1] if is_decided else differing
    return differing


def begin_after(
    table: str, files: Sequence[FileReader], order: Order, merged_by: Sequence[str], after: Key
) -> Begins:
    """Return in which files rows follow a key, and after which row of each they begin."""
    label, number = after[0], int(after[1])
    place = [file.label for file in files].index(label)
    if not merged_by:
        begins = {file.label: _before_first(order) for file in files[place + 1 :]}
        return {label: number, **begins}
    columns = _names(order.merged_by)
    last = _values(files[place], table, columns, number)
    return {
        file.label: number
        if file.label == label
        # Rows that are equal in these columns have the order of their files.
        else _last_before(file, table, order, last, is_equal_before=position < place)
        for position, file in enumerate(files)
    }


def _last_before(
    file: FileReader, table: str, order: Order, last: Sequence[Any], is_equal_before: bool
) -> int:
    """Return the number of the last row of a file that does not follow some values.

    The rows of a file have the order of the table, so that they can be halved.
    """
    columns = _names(order.merged_by)
    statement = f"SELECT coalesce(max(row_number), 0) FROM {table}"
    count = int(file.query(statement)[0][0])
    is_reversed = _is_reversed(order)
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        number = count - middle if is_reversed else middle + 1
        compared = _compare(_values(file, table, columns, number), last, order.merged_by)
        if compared < 0 or (compared == 0 and is_equal_before):
            low = middle + 1
        else:
            high = middle
    return count + 1 - low if is_reversed else low


def _compare(row: Sequence[Any], other: Sequence[Any], merged_by: Sequence[str]) -> int:
    """Return whether a row comes before (-1) or after (1) another, or is equal (0)."""
    for mine, theirs, name in zip(row, other, merged_by, strict=True):
        if mine == theirs:
            continue
        return 1 if (mine > theirs) != name.endswith(" DESC") else -1
    return 0


def _values(file: FileReader, table: str, columns: Sequence[str], number: int) -> Sequence[Any]:
    statement = f"SELECT {', '.join(columns)} FROM {table} WHERE row_number = ?"
    return file.query(statement, number)[0]


def _following(
    where: Sequence[Condition], order: Order, begins: Begins | None
) -> Sequence[Condition]:
    """Add the condition whose value says after which row a file is read."""
    if begins is None:
        return where
    return [*where, Condition("row_number < ?" if _is_reversed(order) else "row_number > ?")]


def _is_reversed(order: Order) -> bool:
    return order.sql.endswith("row_number DESC")


def _before_first(order: Order) -> int:
    return _AFTER_ALL if _is_reversed(order) else 0


def _names(merged_by: Sequence[str]) -> list[str]:
    return [name.partition(" ")[0] for name in merged_by]


def select_all(
    build: Build,
    columns: str,
    table: str,
    files: Sequence[FileReader],
    where: Sequence[Condition],
    order: Order,
    merged_by: Sequence[str],
    limit: int | None,
    begins: Begins | None = None,
) -> Found:
    """Read columns of the first rows of several files, each row with its file.

    A file is read once its rows can be next, and no further than they are needed.
    """
    merging = _names(merged_by)
    if merging and begins is None:
        begins = dict.fromkeys((file.label for file in files), _before_first(order))
    where, split = _following(where, order, begins), build.split(table)
    statement, values = row_statement(", ".join([columns, *merging]), table, where, order)
    is_by_day = split is not None and merged_by[:1] == [f"{split.day} DESC"]

    def rows_of(file: FileReader) -> Iterator[tuple[FileReader, tuple[Any, ...]]]:
        if is_by_day:
            # Comes before its rows: until then the file need not be opened.
            yield file, (no_later_day(file.label), *merging[1:])
        # Of many files whose rows are merged, most give one row to a page, or none.
        size = _ALL_ROWS if limit is None else _FIRST_OF_A_FILE if merging else limit
        own = values if begins is None else [*values, begins[file.label]]
        while True:
            rows = file.run(f"{statement} LIMIT {size:d}", own)
            yield from ((file, row) for row in rows)
            if len(rows) < size:
                return
            # The number of a row is the last column before those that are merged by.
            own, size = [*own[:-1], rows[-1][-len(merging) - 1]], size * 4

    files = files if begins is None else [file for file in files if file.label in begins]
    if not merging:
        return list(islice(chain.from_iterable(map(rows_of, files)), limit))
    by_columns = cmp_to_key(partial(_compare, merged_by=merged_by))
    # Rows that are equal in these columns have the order of their files.
    merged = merge(*map(rows_of, files), key=lambda found: by_columns(found[1][-len(merged_by) :]))
    rows = (found for found in merged if len(found[1]) > len(merging))
    return [(file, row[: -len(merging)]) for file, row in islice(rows, limit)]


def row_statement(
    columns: str, table: str, where: Sequence[Condition], order: Order = IN_ORDER_OF_FILE
) -> tuple[str, list[object]]:
    """Return a statement for any file, and the values of its placeholders."""
    conditions, values = matching(table, where)
    return f"SELECT {columns} FROM {table} WHERE {conditions} ORDER BY {order.sql}", values


def matching(table: str, where: Sequence[Condition]) -> tuple[str, list[object]]:
    """Return what a row of any file of a table must meet, and the values of its placeholders."""
    conditions, values = list[str](), list[object]()
    for condition in where:
        conditions.append(condition.sql)
        values += condition.values
        # Instead of an index: the rows of the value are a run.
        if condition.column == _RUN_BY[table] and condition.compared == "=":
            conditions.append(_IN_RUN)
            values += condition.values * 2
    return " AND ".join(conditions) or "1 = 1", values


_RUN_BY = {table.name: table.run_by or None for table in MART_TABLES}
_IN_RUN = (
    f"row_number >= (SELECT first_row FROM {RUNS} WHERE value = ?) "
    f"AND row_number <= (SELECT last_row FROM {RUNS} WHERE value = ?)"
)
_ROW_COLUMN = pattern(r"row\b")
_LISTED_IN = {table.name: table.listed_in for table in MART_TABLES if table.listed_in}
_SPLIT_BY = {table.name: table.files.by for table in MART_TABLES if table.files is not None}
_KEYS = {table.name: table.keys for table in MART_TABLES}
_MERGED_BY = {table.name: table.merged_by for table in MART_TABLES}
KeyedRows = list[tuple[Key, tuple[Any, ...]]]


class RowPage(msgspec.Struct, frozen=True):
    """Rows as JSON bytes, from one build; ``truncated`` if there are more.

    ``keys`` has where each row lies: a read with the key of a row continues after it. ``resume`` is
    where a read continues that stopped before it had found enough rows.
    """

    rows: Sequence[bytes]
    truncated: bool
    data_version: str
    notice: str
    keys: Sequence[Key] = ()
    resume: Key | None = None

    def key_of(self, number: int) -> Key | None:
        """Return the key to continue after a row, counted from 1; None if the list has no pages."""
        if number == len(self.rows) and self.resume is not None:
            return self.resume
        return self.keys[number - 1] if number and len(self.keys) else None

    def json_chunks(self) -> Sequence[bytes | memoryview]:
        """Return byte chunks that concatenate to comma-separated JSON rows."""
        rows = self.rows
        return rows.runs() if isinstance(rows, PackedRows) else [b",".join(rows)]

    def with_rows(self, rows: list[bytes]) -> "RowPage":
        """Return the same page with other rows."""
        return msgspec.structs.replace(self, rows=rows)


def cap_at_today(as_of: date) -> str:
    """Return a day as it is compared in SQL; a future day counts as today, in UTC."""
    # What will be known is still open: the answer for a future day would change until then.
    return min(as_of, datetime.now(UTC).date()).isoformat()


def published_by(as_of: date | None, column: str = "available_at") -> list[Condition]:
    """Match rows that were public by a day, whether or not they were superseded since."""
    return [] if as_of is None else [Condition(f"{column} <= ?", (cap_at_today(as_of),))]


def known_on(as_of: date | None, vintages: Vintages = "latest") -> list[Condition]:
    """Match rows that were known on ``as_of``; a row without a date never was."""
    published = published_by(as_of)
    if vintages == "all":
        return published
    if vintages == "as_reported":
        return [*published, Condition("vintage = 1 AND withdrawn = 0")]
    if as_of is None:
        return [Condition("latest = 1")]
    # Half-open: on the day a vintage is superseded, the next one counts. The end itself is never
    # served: it would reveal the future of as_of.
    return [*published, Condition("superseded_at > ? AND withdrawn = 0", (cap_at_today(as_of),))]


def equal(**values: str | None) -> list[Condition]:
    """Match rows by column values; a column whose value is None is not filtered."""
    return [
        Condition(f"{name} = ?", (storable(value),), name)
        for name, value in values.items()
        if value is not None
    ]


def one_of(name: str, values: Sequence[object]) -> Condition:
    """Match rows in which a column has one of the values."""
    return Condition(f"{name} IN ({', '.join('?' * len(values))})", tuple(values), name, "IN")


def storable(text: str) -> str:
    """Return a text as it is stored: no NUL, and only what UTF-8 can encode."""
    return text.replace("\0", "\u2400").encode(errors="replace").decode()


def alpha_2(build: Build, country: str | None) -> str | None:
    """Return a country, given as alpha-2 or alpha-3, as alpha-2; an unknown one as it is."""
    if country is None or len(country) == 2:
        return None if country is None else country.upper()
    statement = "SELECT country FROM {table} WHERE country_iso3 = ?"
    rows = build.rows("countries", statement, country.upper())
    return str(rows[0][0]) if rows else country.upper()


def alpha_3(build: Build, country: str) -> str:
    """Return a country, given as alpha-2 or alpha-3, as alpha-3; an unknown one as it is."""
    if len(country) == 3:
        return country.upper()
    statement = "SELECT country_iso3 FROM {table} WHERE country = ?"
    rows = build.rows("countries", statement, country.upper())
    return str(rows[0][0]) if rows else country.upper()


def in_country(country: str | None) -> list[Condition]:
    """Match rows of a country, given as alpha-2 or alpha-3 in any case."""
    if country is None:
        return []
    return equal(**{"country" if len(country) == 2 else "country_iso3": country.upper()})


def between(name: str, from_: date | None, to: date | None) -> list[Condition]:
    """Match rows with a date between two days, both included."""
    bounds: list[Condition] = []
    if from_ is not None:
        bounds.append(Condition(f"{name} >= ?", (from_.isoformat(),), name, ">="))
    if to is not None:
        bounds.append(Condition(f"{name} <= ?", (to.isoformat(),), name, "<="))
    return bounds


def fetch_rows(
    build: Build,
    columns: str,
    table: str,
    where: Iterable[Condition],
    order: Order | None = None,
    limit: int | None = None,
) -> SqlRows:
    """Read columns of the rows that match every condition, by default in the table's order.

    ``columns`` may begin with ``row``, the JSON from the packs.
    """
    return [row for _, row in fetch_keyed(build, columns, table, where, order, limit)]


def fetch_keyed(
    build: Build,
    columns: str,
    table: str,
    where: Iterable[Condition],
    order: Order | None = None,
    limit: int | None = None,
    after: Key | None = None,
    files: Sequence[FileReader] | None = None,
) -> KeyedRows:
    """Read rows as ``fetch_rows`` does, each with its key; only those after a key, if one is given.

    A key is valid for the build, the conditions and the order that it came with.
    """
    where = list(where)
    files = files_for(build, table, where) if files is None else files
    with_row = _ROW_COLUMN.match(columns) is not None
    # The body of a row is read only once it is known to be among the first.
    columns = _ROW_COLUMN.sub("row_number", columns) + ", row_number"
    if order is None and len(files) > 1 and (listed_in := _LISTED_IN.get(table)):
        by_value = _by_value(build, columns, table, listed_in, where, limit, after)
        found = list(islice(by_value, limit))
    else:
        order = Order(IN_ORDER, _MERGED_BY[table]) if order is None else order
        merged_by = columns_to_merge(build, table, where, order) if len(files) > 1 else ()
        begins = None if after is None else begin_after(table, files, order, merged_by, after)
        found = select_all(build, columns, table, files, where, order, merged_by, limit, begins)
    keys = [(file.label, str(row[-1])) for file, row in found]
    rows = _with_bodies(found) if with_row else [row for _, row in found]
    return [(key, row[:-1]) for key, row in zip(keys, rows, strict=True)]


def _by_value(
    build: Build,
    columns: str,
    table: str,
    listed_in: str,
    where: Sequence[Condition],
    limit: int | None,
    after: Key | None,
) -> Iterator[tuple[FileReader, tuple[Any, ...]]]:
    """Yield the rows of one value after the other, from the files in which these lie.

    There can be hundreds of files, of which the first rows need few.
    """
    by, known = _SPLIT_BY[table], _KEYS[listed_in]
    of_values = [each for each in where if each.column in known]
    if after is not None:
        (file,) = (file for file in build.files(table) if file.label == after[0])
        ((begin,),) = file.query(f"SELECT {by} FROM {table} WHERE row_number = ?", int(after[1]))
        of_values.append(Condition(f"{by} >= ?", (begin,)))
    for value in distinct_values(build, by, listed_in, of_values, _ALL_ROWS):
        own = [*equal(**{by: value}), *where]
        if after is not None and value == begin:
            own.append(Condition("row_number > ?", (int(after[1]),)))
        files = build.files_with(table, by, value)
        yield from select_all(build, columns, table, files, own, IN_ORDER_OF_FILE, (), limit)


def _with_bodies(found: Found) -> SqlRows:
    """Return rows with their JSON in place of their numbers, read file by file."""
    readers = {file.label: file for file, _ in found}
    numbers: dict[str, list[int]] = {label: [] for label in readers}
    for file, row in found:
        numbers[file.label].append(row[0])
    bodies = {
        label: iter(rows_by_number(readers[label], wanted)) for label, wanted in numbers.items()
    }
    return [(next(bodies[file.label]), *row[1:]) for file, row in found]


def distinct_values(
    build: Build, column: str, table: str, where: Sequence[Condition], limit: int
) -> list[str]:
    """Return the values of a text column in rows that match, in byte order."""
    statement, bound = row_statement(f"DISTINCT {column}", table, where, Order(column))
    values: set[str] = set()
    for file in files_for(build, table, where):
        rows = file.run(f"{statement} LIMIT {limit:d}", bound)
        values.update(str(value) for (value,) in rows)
    return sorted(values)[:limit]


def latest_on(
    build: Build,
    table: str,
    key: str,
    as_of: date | None,
    limit: int | None,
    after: Key | None = None,
) -> RowPage:
    """Return the rows of a key that were the latest known on a day, from their packs."""
    key = storable(key)
    day = None if as_of is None else cap_at_today(as_of)
    place = None if after is None else (after[0], int(after[1]))
    rows, truncated = latest_rows(build, table, key, day, limit, place)
    return RowPage(rows, truncated, build.data_version, build.notice, _PackedKeys(rows))


@dataclass(frozen=True)
class _PackedKeys(Sequence[Key]):
    """Keys of packed rows, each made when it is needed: mostly only that of the last row is."""

    rows: PackedRows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        file, row_number = self.rows.place(index)
        return file.label, str(row_number)


def fetch_page(
    build: Build,
    table: str,
    where: Iterable[Condition],
    limit: int | None,
    order: Order | None = None,
    after: Key | None = None,
) -> RowPage:
    """Return the rows that match every condition, at most ``limit``."""
    # One row more than the limit tells whether the page is truncated.
    one_more = None if limit is None else limit + 1
    keyed = fetch_keyed(build, "row", table, where, order, one_more, after)
    return make_page(build, [(key, row[0]) for key, row in keyed], limit)


def make_page(build: Build, rows: Sequence[tuple[Key, bytes]], limit: int | None) -> RowPage:
    """Return a page of rows that were fetched with one more than ``limit``."""
    within = rows if limit is None else rows[:limit]
    bodies, keys = [row for _, row in within], [key for key, _ in within]
    truncated = len(rows) > len(within)
    return RowPage(bodies, truncated, build.data_version, build.notice, keys)


def page_of(
    build: Build, rows: Sequence[bytes], limit: int | None, after: Key | None = None
) -> RowPage:
    """Return a page of a list that is always made as a whole, such as a ranking by relevance."""
    begin = 0 if after is None else int(after[0])
    numbered = [((str(number),), row) for number, row in enumerate(rows, 1)]
    return make_page(build, numbered[begin:], limit)
