"""Read lists of ISO 10383, in the columns before and since 2022, and write ``mics.csv`` from them.

``python -m tests.helpers.mic_lists 2025-01-29=ISO10383_MIC.csv …`` adds lists to it, each with
the day on which it was published or seen at the latest. A market has a row for each list that says
something new of it: that is its vintage of that day.

The list is free to use, as others say of the registration authority that publishes it; no licence
is in its files (https://www.iso20022.org/market-identifier-codes). No table of the record has
markets: no answer is about one, and the MIC of a listing is data of the list that states it. So the
lists are data of the code, as currencies and countries are.
"""

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from pathlib import Path

from assets.entities.identifiers import is_lei
from assets.parsing.tables import Names, Wanted, table_rows
from tests.helpers.paths import ROOT

MICS = ROOT / "assets/entities/mics.csv"
_MIC = re.compile("[A-Z0-9]{4}")
_DAY = re.compile("([0-9]{4})([0-9]{2})([0-9]{2})")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_KINDS = {"o": "operating", "oprt": "operating", "s": "segment", "sgmt": "segment"}


@dataclass(frozen=True)
class Market:
    """A market as one list has it; what the list does not state is empty.

    Lists before 2022 state months only, and neither LEIs nor markets that have expired.
    """

    mic: str
    operating_mic: str
    kind: str
    country: str
    status: str
    acronym: str
    lei: str
    created: str
    updated: str
    expired: str
    listed_on: str

    @property
    def content(self) -> "Market":
        """What makes a vintage: all but the day of the list."""
        return replace(self, listed_on="")


def vintages() -> tuple[Market, ...]:
    """Return every vintage of every market, by MIC, in order of the lists."""
    with MICS.open(encoding="utf-8", newline="") as lines:
        return tuple(Market(**row) for row in csv.DictReader(lines))


def _names(*names: str) -> Names:
    """Return names of a column, also as XML writes them, which has no blanks in names."""
    escaped = str.maketrans({" ": "_x0020_", "/": "_x002f_", "(": "_x0028_", ")": "_x0029_"})
    return (*names, *(name.translate(escaped) for name in names))


_COLUMNS: Mapping[str, Names] = {
    "mic": _names("mic"),
    "operating_mic": _names("operating mic"),
    "kind": _names("oprt/sgmt", "o/s"),
    "country": _names("iso country code (iso 3166)"),
    "status": _names("status"),
    "acronym": _names("acronym"),
    "lei": _names("lei"),
    "created": _names("creation date"),
    "updated": _names("last update date", "status date"),
    "expired": _names("expiry date"),
}
_OPTIONAL = ("lei", "expired", "acronym")
_WANTED = Wanted(
    tuple(names for member, names in _COLUMNS.items() if member not in _OPTIONAL),
    tuple(_COLUMNS[member] for member in _OPTIONAL),
)


def read_list(body: bytes, listed_on: date) -> tuple[list[Market], list[str]]:
    """Return the markets of a list, and why other rows are none."""
    markets: list[Market] = []
    problems: list[str] = []
    for location, row in table_rows(body, _WANTED):
        try:
            if isinstance(row, str):
                raise ValueError(row)
            markets.append(_market(row, listed_on))
        except ValueError as error:
            problems.append(f"{location}: {error}")
    counts = Counter(market.mic for market in markets)
    twice = {mic for mic, count in counts.items() if count > 1}
    problems += [f"{mic}: the list has it more than once" for mic in sorted(twice)]
    return [each for each in markets if each.mic not in twice], problems


def _market(row: Mapping[str, str], listed_on: date) -> Market:
    texts = {
        member: next((row[name].strip() for name in names if row.get(name, "").strip()), "")
        for member, names in _COLUMNS.items()
    }
    for member in ("mic", "operating_mic"):
        if not _MIC.fullmatch(texts[member]):
            raise ValueError(f"{texts[member]!r:.20} is no MIC")
    if texts["kind"].lower() not in _KINDS:
        raise ValueError(f"{texts['kind']!r:.20} is neither operating nor a segment")
    if texts["lei"] and not is_lei(texts["lei"]):
        raise ValueError(f"{texts['lei']!r:.30} is no LEI: its check digits are wrong")
    days = {member: _stated_day(texts[member]) for member in ("created", "updated", "expired")}
    kind, status = _KINDS[texts["kind"].lower()], texts["status"].lower()
    return Market(**texts | days | {"kind": kind, "status": status}, listed_on=str(listed_on))


def _stated_day(text: str) -> str:
    """Return a day, or the month where the list states no more; empty if it states none."""
    if day := _DAY.fullmatch(text):
        return str(date(*map(int, day.groups())))
    month, _, year = text.lower().partition(" ")
    if month in _MONTHS and re.fullmatch("[0-9]{4}", year):
        return f"{year}-{_MONTHS.index(month) + 1:02}"
    # "Before June 2005" is no date.
    if text and "before" not in month:
        raise ValueError(f"{text!r:.30} is no date")
    return ""


def with_list(known: Iterable[Market], listed: Iterable[Market]) -> list[Market]:
    """Return every vintage: a market of the later list has a new one if something changed."""
    ordered = sorted([*known, *listed], key=lambda each: (each.mic, each.listed_on))
    kept: list[Market] = []
    for market in ordered:
        before = kept[-1] if kept and kept[-1].mic == market.mic else None
        if before is None or before.content != market.content:
            kept.append(market)
    return kept


def write(markets: Iterable[Market], path: Path = MICS) -> None:
    """Write vintages of markets as CSV."""
    with path.open("w", encoding="utf-8", newline="") as target:
        names = [field.name for field in fields(Market)]
        writer = csv.DictWriter(target, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(market) for market in markets)


def main(arguments: list[str]) -> None:
    """Add the lists of the command line to ``mics.csv``, and print what was not read."""
    markets = list(vintages())
    for argument in arguments:
        day, _, name = argument.partition("=")
        listed, problems = read_list(Path(name).read_bytes(), date.fromisoformat(day))
        markets = with_list(markets, listed)
        print(f"{name}: {len(listed)} markets, {len(problems)} rows not read")
        print(*problems, sep="\n")
    write(markets)


if __name__ == "__main__":
    main(sys.argv[1:])
