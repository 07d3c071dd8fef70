"""Rows of a table by their amount, largest first, currency by currency: nothing is converted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nsmallest

from warehouse.serve.build import Build
from warehouse.serve.engines import FileReader
from warehouse.serve.packs import rows_by_number
from warehouse.serve.rows import Condition, Key, Order, equal, fetch_keyed, matching

_LARGEST_FIRST = Order("amount DESC, row_number")
# Comes after every row of a file.
_AFTER_ALL = 1 << 31


def largest(
    build: Build,
    table: str,
    files: Sequence[FileReader],
    where: Sequence[Condition],
    limit: int | None,
    after: Key | None,
) -> list[tuple[Key, bytes]]:
    """Return the rows that follow a key: those in the currency of most amounts, largest first.

    Then those in other currencies, and last those without an amount, in the order of the files.
    """
    found: list[tuple[Key, bytes]] = []
    for currency in _currencies(table, files, where):
        if after is not None and after[0] != currency:
            continue
        of_currency = [*where, *equal(amount_currency=currency)]
        remaining = None if limit is None else limit - len(found)
        found += (
            ((currency, *key), row)
            for key, row in _of_one(build, table, files, of_currency, remaining, after)
        )
        after = None
        if len(found) == limit:
            break
    return found


def _currencies(
    table: str, files: Sequence[FileReader], where: Sequence[Condition]
) -> Iterator[str]:
    """Yield the currencies of rows, that of most amounts first; '' comes last."""
    conditions, values = matching(table, where)
    statement = f"SELECT amount_currency, count(*) FROM {table} WHERE {conditions} GROUP BY 1"
    counts = Counter[str]()
    for file in files:
        counts.update({str(currency): count for currency, count in file.run(statement, values)})
    yield from sorted(filter(None, counts), key=lambda currency: (-counts[currency], currency))
    yield ""


def _of_one(
    build: Build,
    table: str,
    files: Sequence[FileReader],
    where: Sequence[Condition],
    limit: int | None,
    after: Key | None,
) -> Iterator[tuple[Key, bytes]]:
    """Yield the rows in one currency, largest first, those of equal amounts in their order."""
    labels = [file.label for file in files]
    places: list[tuple[float, int, int]] = []
    for place, file in enumerate(files):
        following = list(where)
        if after is not None:
            last, least = labels.index(after[2]), float(after[1])
            begin = int(after[3]) if place == last else 0 if place > last else _AFTER_ALL
            sql = "(amount < ? OR (amount = ? AND row_number > ?))"
            following.append(Condition(sql, (least, least, begin)))
        rows = fetch_keyed(build, "amount", table, following, _LARGEST_FIRST, limit, None, [file])
        places += ((-amount, place, int(key[1])) for key, (amount,) in rows)
    places = sorted(places) if limit is None else nsmallest(limit, places)
    numbers: list[list[int]] = [[] for _ in files]
    for _, place, number in places:
        numbers[place].append(number)
    bodies = [
        iter(rows_by_number(file, wanted)) for file, wanted in zip(files, numbers, strict=True)
    ]
    for amount, place, number in places:
        yield (repr(-amount), labels[place], str(number)), next(bodies[place])
