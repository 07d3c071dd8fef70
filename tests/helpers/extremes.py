"""``python -m tests.helpers.extremes [N] [METRIC…]``: the extreme metrics of real issuers.

For every metric of metrics-v1, or those named: the N (10) largest and smallest latest values, each
with its inputs as their filings state them. Parser, record, snapshot and metrics are the product's.
At the end, how many issuers of each kind have each metric, and how many figures have each mark.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from assets.filings.issuers import service_id_of
from tests.helpers.facts import facts
from tests.helpers.figures_report import parsed_rows, real_companies
from tests.helpers.independent_facts import kind_of, load
from tests.helpers.metric_answers import staged
from tests.helpers.paths import REAL
from warehouse.methodology.metrics import FORMULA_BY_SLUG
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

Row = dict[str, Any]
MARKS = ("apparent_restatement", "conflicts_with")


def every_company() -> Iterator[Path]:
    yield from real_companies()
    yield from sorted((REAL / "starter").glob("companyfacts*/CIK*.json*"))


def latest_metrics(files: Iterable[Iterable[Row]]) -> list[Row]:
    """Derive the metrics of the rows of files, and return those that answer today."""
    with tempfile.TemporaryDirectory() as temporary:
        record = Record(str(Path(temporary, "record")))
        rows = [row for of_file in files for row in of_file]
        append(record, FUNDAMENTALS, facts(*rows), Load("real", ("files",)))
        tables = staged(record, Path(temporary, "stage"))
    return [row for row in tables["metrics"].to_pylist() if row["answers_until"] is None]


def extremes(metrics: Iterable[Row], metric: str, count: int) -> list[Row]:
    """Return the largest and then the smallest values of a metric, once each."""
    ordered = sorted(
        (row for row in metrics if row["metric"] == metric),
        key=lambda row: Decimal(row["value"]),
        reverse=True,
    )
    return ordered[:count] + ordered[max(count, len(ordered) - count) :]


@cache
def _company(path: Path) -> dict[str, Any]:
    return load(path)


def _in_filing(source_ref: str) -> tuple[str, str, Row]:
    """Return issuer, element and fact of a source_ref, as the file has them."""
    address, _, pointer = source_ref.partition("#")
    company = _company(Path(unquote(urlsplit(address).path)))
    value: Any = company
    members = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for member in members:
        value = value[int(member)] if isinstance(value, list) else value[unquote(member)]
    return company["entityName"], ":".join(members[1:3]), value


def lines(row: Row) -> Iterator[str]:
    """Yield a value, and a line for each of its inputs."""
    inputs = json.loads(row["inputs"], parse_float=Decimal, parse_int=Decimal)
    stated = [(given, *_in_filing(given["source_ref"])) for given in inputs]
    value = Decimal(row["value"])
    yield f"{value:>18,.4f} {row['unit']:5} {stated[0][1]}, {row['period_end']}, {row['currency']}"
    for given, _, element, fact in stated:
        period = f"{fact['start']}/{fact['end']}" if fact.get("start") else f"{fact['end']}"
        written = "" if fact["val"] == given["value"] else f" (the filing: {fact['val']:,})"
        yield (
            f"    {given['line_item']:26} {given['value']:>26,}{written} v{given['vintage']} "
            f"{element} {period} {fact['accn']} {fact.get('form')} {fact['filed']}"
        )


def coverage(metrics: Iterable[Row], paths: Iterable[Path]) -> Iterator[str]:
    """Yield how many issuers of each kind have each metric; the kind is read independently."""
    kinds = {service_id_of(_company(path)["cik"]): kind_of(_company(path)) for path in paths}
    issuers = Counter(kinds.values())
    found = Counter((row["metric"], kinds[row["service_id"]]) for row in metrics)
    yield f"{'':28}" + "".join(f"{kind:>24}" for kind in sorted(issuers))
    for metric in FORMULA_BY_SLUG:
        shares = (
            f"{found[metric, kind]:>9} of {issuers[kind]:>4} "
            f"({found[metric, kind] / issuers[kind]:>4.0%})"
            for kind in sorted(issuers)
        )
        yield f"{metric:28}" + "".join(f"{share:>24}" for share in shares)


def marks(rows: Iterable[Row]) -> Iterator[str]:
    """Yield how many rows have each mark."""
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        found.update((mark, row[mark]) for mark in MARKS if row.get(mark))
    for (mark, kind), count in sorted(found.items(), key=lambda pair: (pair[0][0], -pair[1])):
        yield f"{count:>8} {mark} {kind}"


def main(arguments: list[str], show: Callable[[str], None] = print) -> None:
    count = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 10
    rows = [list(parsed_rows(path)) for path in every_company()]
    metrics = latest_metrics(rows)
    for metric in arguments or FORMULA_BY_SLUG:
        found = extremes(metrics, metric, count)
        total = sum(row["metric"] == metric for row in metrics)
        show(f"\n## {metric}: {total} issuers")
        for row in found:
            for line in lines(row):
                show(line)
    show("\n## issuers with each metric")
    for line in coverage(metrics, every_company()):
        show(line)
    show(f"\n## marks of {sum(map(len, rows))} figures")
    for line in marks(row for of_file in rows for row in of_file):
        show(line)


if __name__ == "__main__":
    main(sys.argv[1:])
