"""``python -m tests.helpers.figures_report [MARTS]``: figures compared with an independent reading.

For each of twelve lines and every fiscal year of every real issuer: the value of the first filing
that states it, as the product has it: right, in other precision, wrong or missing. The product's
figures are those of its parser, or of the build published at MARTS. What differs is listed.
"""

import gzip
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from assets.filings import companyfacts
from assets.filings.issuers import service_id_of
from tests.helpers.independent_facts import LINES, Stated, is_financial, load, stated_figures
from tests.helpers.paths import REAL
from tests.helpers.reads import facts_known
from warehouse.record.landing import Document
from warehouse.serve.build import Mart

FOLDERS = (
    "filings_macro/filings/companyfacts",
    "filings_macro/filings/companyfacts_2021",
    "more/sec/companyfacts_2021-07",
)
OUTCOMES = ("right", "other precision", "wrong", "missing")
# Accounting standard, line, unit, first and last day.
Figure = tuple[str, str, str, str, str]
Rows = Callable[[Path], Iterable[dict[str, Any]]]


def real_companies() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((REAL / folder).glob("CIK*.json*"))


@dataclass
class Report:
    """Outcomes by line, what differs, and which issuers have revenue in their newest year."""

    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    differences: list[str] = field(default_factory=list)
    # Non-financial issuers: whether the files state, and the product has, that revenue.
    revenue: list[tuple[bool, bool]] = field(default_factory=list)

    def total(self) -> Counter[str]:
        return sum(self.outcomes.values(), Counter())


def parsed_rows(path: Path) -> Iterable[dict[str, Any]]:
    """Return the rows that the parser reads in a file."""
    body = path.read_bytes()
    body = gzip.decompress(body) if path.suffix == ".gz" else body
    digest = hashlib.sha256(body).hexdigest()
    day = datetime(2026, 11, 14, tzinfo=UTC)
    document = Document(digest, "real", path.as_uri(), "public-domain", day, 200, {}, len(body))
    return companyfacts.parse(document, body).rows.get("fundamentals", [])


def report(paths: Iterable[Path], rows_of: Rows = parsed_rows) -> Report:
    """Compare the figures of issuers with what their files state."""
    result = Report()
    for path in paths:
        _add(result, path, rows_of(path))
    return result


def _add(result: Report, path: Path, rows: Iterable[dict[str, Any]]) -> None:
    company = load(path)
    stored: dict[Figure, list[tuple[str, Decimal]]] = defaultdict(list)
    for row in rows:
        start = "" if row["period_start"] is None else str(row["period_start"])
        figure = row["line_item"], row["unit"], start, str(row["period_end"])
        value = Decimal(row["value_reported"])
        stored[row["accounting_standard"], *figure].append((str(row["available_at"]), value))
    first: dict[Figure, Stated] = {}
    for standard, taxonomy in (("us-gaap", "us-gaap"), ("ifrs", "ifrs-full")):
        for each in stated_figures(company, taxonomy):
            first.setdefault((standard, each.line, each.unit, each.start, each.end), each)
    for key, each in first.items():
        outcome = _outcome(each, stored.get(key, []))
        result.outcomes[each.line][outcome] += 1
        if outcome in ("wrong", "missing"):
            found = ", ".join(str(value) for _, value in stored.get(key, [])[:3])
            result.differences.append(
                f"{outcome}: {' '.join(key)} of {path.name} in {each.accession}: {each.value}, "
                f"stored {found or 'nothing'}"
            )
    years = [key[4] for key in first if key[3]]
    if years and not is_financial(company):
        newest = max(years)
        of_newest = [key for key in first if key[1] == "revenue" and key[4] == newest]
        result.revenue.append((bool(of_newest), any(key in stored for key in of_newest)))


def _outcome(stated: Stated, stored: list[tuple[str, Decimal]]) -> str:
    # The filing itself may have been left out as a mere repetition: then another one states it.
    in_filing = [value for day, value in stored if day == stated.filed]
    values = in_filing or [value for _, value in stored]
    if not values:
        return "missing"
    if stated.value in values:
        return "right"
    return "other precision" if any(_rounded(stated.value, other) for other in values) else "wrong"


def _rounded(one: Decimal, other: Decimal) -> bool:
    coarse = max(_scale(one), _scale(other))
    return coarse > 0 and abs(one - other) < Decimal(10) ** coarse


def _scale(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def published_rows(mart: Mart, path: Path) -> Iterable[dict[str, Any]]:
    """Return every vintage of the issuer of a file in the published build."""
    page = facts_known(mart, service_id_of(load(path)["cik"]), vintages="all")
    return [json.loads(row, parse_float=Decimal) for row in page.rows] if page is not None else []


def table(result: Report) -> str:
    lines = [f"{'line':28}" + "".join(f"{name:>18}" for name in OUTCOMES)]
    counts = [*((line, result.outcomes[line]) for line in LINES), ("all", result.total())]
    for line, count in counts:
        lines.append(f"{line:28}" + "".join(f"{count[name]:>18}" for name in OUTCOMES))
    stated = [has for states, has in result.revenue if states]
    lines.append(
        f"non-financial issuers with revenue in their newest year: {sum(stated)} of {len(stated)} "
        f"whose files state it, of {len(result.revenue)} in all"
    )
    return "\n".join(lines)


def main() -> None:
    if len(sys.argv) > 1:
        with closing(Mart(sys.argv[1])) as mart:
            result = report(real_companies(), lambda path: published_rows(mart, path))
    else:
        result = report(real_companies())
    print(table(result))
    print("\n".join(sorted(result.differences)))


if __name__ == "__main__":
    main()
