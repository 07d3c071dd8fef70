"""Questions to several files: which can have such rows, and how their rows are merged.

A question that names what decides the file of a row (an organisation, a country) is asked of that
file, and one that bounds the day only of files with such days. Any other is asked of every file.
Files that follow each other are read until there are enough rows. Otherwise each file gives its
first rows, and these are merged in the order of the table.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from warehouse.mart.file_labels import last_year, may_have
from warehouse.mart.row_json import NEVER
from warehouse.read.conditions import IN_ORDER_OF_FILE, Condition, Key, Order
from warehouse.read.engines import FileReader, SqlRows
from warehouse.read.mart import Build

# Comes after every row of a file.
_NO_ROW = 1 << 31
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
        if condition.column == split.by and condition.compared == "=":
            files = build.files_with(table, split.by, value) or ()
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
    return _NO_ROW if _is_reversed(order) else 0


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
    """Read columns of the first rows of several files, each row with its file."""
    merging = _names(merged_by)
    selected = ", ".join([columns, *merging])
    statement, values = row_statement(selected, table, _following(where, order, begins), order)
    files = files if begins is None else [file for file in files if file.label in begins]
    rows: dict[str, SqlRows] = {}
    count = 0
    for since, together in _in_time(build, table, files, merged_by):
        remaining = limit if limit is None or merging else limit - count
        limited = statement if remaining is None else f"{statement} LIMIT {remaining:d}"
        for file in together:
            own = values if begins is None else [*values, begins[file.label]]
            rows[file.label] = file.run(limited, own)
            count += len(rows[file.label])
        if limit is None or count < limit:
            continue
        # Without a day that is merged by, all files are read together.
        if not (merging and since) or limit <= sum(
            row[-len(merging)] >= since for found in rows.values() for row in found
        ):
            break
    found = [(file, row) for file in files for row in rows.get(file.label, ())]
    if not merging:
        return found
    merged = _merged(found, merged_by)[:limit]
    return [(file, row[: -len(merging)]) for file, row in merged]


def _in_time(
    build: Build, table: str, files: Sequence[FileReader], merged_by: Sequence[str]
) -> Iterable[tuple[str, Sequence[FileReader]]]:
    """Return files that are read together, and since when no file that follows has rows."""
    split = build.split(table)
    if not merged_by:
        return [("", [file]) for file in files]
    if split is None or merged_by[0] != f"{split.day} DESC":
        return [("", files)]
    years: dict[str, list[FileReader]] = {}
    for file in files:
        # A file with all years is in front.
        year = last_year(file.label)
        years.setdefault(NEVER if year is None else year, []).append(file)
    return [(year, years[year]) for year in sorted(years, reverse=True)]


def select(
    file: FileReader,
    columns: str,
    table: str,
    where: Sequence[Condition],
    order: Order,
    limit: int | None = None,
    begins: Begins | None = None,
) -> SqlRows:
    """Read columns of the rows of one file that match every condition."""
    statement, values = row_statement(columns, table, _following(where, order, begins), order)
    if begins is not None:
        values.append(begins[file.label])
    limited = statement if limit is None else f"{statement} LIMIT {limit:d}"
    return file.run(limited, values)


def row_statement(
    columns: str, table: str, where: Sequence[Condition], order: Order = IN_ORDER_OF_FILE
) -> tuple[str, list[object]]:
    """Return a statement for any file, and the values of its placeholders."""
    conditions = " AND ".join([condition.sql for condition in where]) or "1 = 1"
    values = [value for condition in where for value in condition.values]
    return (
        f"SELECT {columns} FROM {table} WHERE {conditions} ORDER BY {order.sql}",
        values,
    )


def _merged(found: Found, merged_by: Sequence[str]) -> Found:
    """Return rows of several files in the order of their last columns; equal ones stay in order."""
    # Python compares text by code points, which is the order of the bytes of UTF-8. The rows of a
    # file are sorted already, which makes sorting all of them fast.
    end = 0
    for is_descending, names in groupby(reversed(merged_by), lambda name: name.endswith(" DESC")):
        begin = end - len([*names])
        columns = slice(begin, end or None)
        # What is unknown is stored as empty text, which is before every other: as in the files.
        found = sorted(found, key=lambda item: item[1][columns], reverse=is_descending)
        end = begin
    return found
