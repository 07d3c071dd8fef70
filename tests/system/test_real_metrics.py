"""Metrics of real filings against the filings themselves, read anew from the JSON."""

import gzip
import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from assets.filings import companyfacts
from tests.helpers.metric_answers import staged
from tests.helpers.real_files import REAL_FILES, load
from warehouse.record.landing import Document
from warehouse.record.store import Record

Row = dict[str, Any]
# Taxonomy, element, unit, first and last day.
Line = tuple[str, str, str, str | None, str]
# Two values this close are one figure in two scales.
ROUNDING = Decimal("0.001")


@dataclass
class Filings:
    """What every filing of an issuer states."""

    stated: dict[tuple[Line, Decimal], set[str]] = field(default_factory=lambda: defaultdict(set))
    values: dict[Line, set[Decimal]] = field(default_factory=lambda: defaultdict(set))
    # Elements that one filing states over each span of a year's length.
    years: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def read(cls, body: bytes) -> "Filings":
        filings, elements = cls(), defaultdict(set)
        facts = json.loads(body, parse_float=Decimal, parse_int=Decimal)["facts"]
        for taxonomy, of_taxonomy in facts.items():
            for element, described in of_taxonomy.items():
                for unit, records in described["units"].items():
                    for item in records:
                        start, end = item.get("start"), item["end"]
                        line = (taxonomy, element, unit, start, end)
                        filings.stated[line, item["val"]].add(item["accn"])
                        filings.values[line].add(item["val"])
                        if is_year(start, end) and end <= item["filed"]:
                            elements[start, end, item["accn"]].add(element)
        for (start, end, _), named in elements.items():
            known = filings.years.get((start, end), 0)
            filings.years[start, end] = max(known, len(named))
        return filings

    def publications(self, line: Line, value: Decimal) -> set[str]:
        return self.stated.get((line, value), set())

    def sums(self, line: Line, value: Decimal) -> set[str]:
        """Return the filings in which a line and others of the same day add up to a value."""
        of_day: dict[str, list[tuple[Line, Decimal]]] = defaultdict(list)
        for (other, number), filings in self.stated.items():
            if other[2:] == line[2:]:
                for filing in filings:
                    of_day[filing].append((other, number))
        return {
            filing
            for filing, stated in of_day.items()
            for first, part in stated
            if first == line
            for others in chain(combinations(stated, 1), combinations(stated, 2))
            if part + sum(number for _, number in others) == value
        }


def is_year(start: str | None, end: str) -> bool:
    if start is None:
        return False
    return 350 <= (date.fromisoformat(end) - date.fromisoformat(start)).days + 1 <= 380


@pytest.fixture(scope="module")
def issuers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Filings], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("real")
    record, filings = Record(str(folder / "record")), {}
    for path in sorted((REAL_FILES / "filings" / "companyfacts_2021").glob("*.json.gz"))[::6]:
        body = gzip.decompress(path.read_bytes())
        parsed = companyfacts.parse(document_of(path, body), body)
        load(record, "fundamentals", parsed)
        filings[parsed.rows["fundamentals"][0]["service_id"]] = Filings.read(body)
    return filings, staged(record, folder / "stage")


def document_of(path: Path, body: bytes) -> Document:
    digest, day = hashlib.sha256(body).hexdigest(), datetime(2026, 11, 14, tzinfo=UTC)
    url = f"https://data.sec.gov/api/xbrl/companyfacts/{path.name.removesuffix('.gz')}"
    return Document(digest, "sec", url, "public-domain", day, 200, {}, len(body))


def lines_of(row: Row) -> list[tuple[str, bool, Line, Decimal]]:
    """Return line item, whether it is last year's, what it was read from, and its value."""
    lines: list[tuple[str, bool, Line, Decimal]] = []
    for figure in json.loads(row["inputs"], parse_float=Decimal, parse_int=Decimal):
        taxonomy, element, _, unit = figure["source_ref"].partition("#/facts/")[2].split("/")[:4]
        is_prior = figure["period_end"] != str(row["period_end"])
        line = (taxonomy, element, unit, None, figure["period_end"])
        lines.append((figure["line_item"], is_prior, line, figure["value"]))
    return lines


def with_start(line: Line, filings: Filings, row: Row, is_prior: bool) -> list[Line]:
    """Return the line as a balance and as a flow over the year."""
    if not is_prior:
        return [line, (*line[:3], str(row["period_start"]), line[4])]
    before = str(row["period_start"] - timedelta(days=1))
    spans = [start for start, end in filings.years if end == before]
    return [line, *((*line[:3], start, line[4]) for start in spans)]


@pytest.mark.nightly
@pytest.mark.shared
def test_some_filing_states_all_inputs_of_every_metric(
    issuers: tuple[dict[str, Filings], dict[str, Any]],
) -> None:
    filings, tables = issuers
    rows = tables["metrics"].to_pylist()
    of_two = 0
    for row in rows:
        issuer = filings[row["service_id"]]
        this_year: list[Any] = []
        prior: list[Any] = []
        for item, is_prior, line, value in lines_of(row):
            lines = with_start(line, issuer, row, is_prior)
            stated = set().union(*(issuer.publications(each, value) for each in lines))
            # A sum of lines, such as all borrowings, names the first of its parts.
            if not stated:
                stated = set().union(*(issuer.sums(each, value) for each in lines))
            assert stated, (row, item)
            (prior if is_prior else this_year).append((item, line, stated, lines))
        together = set.intersection(*(stated for _, _, stated, _ in this_year))
        assert together, row
        for item, line, stated, lines in prior:
            if together & stated:
                continue
            # two publications: the same element, and last year's value was never another
            of_two += 1
            assert line[:3] in [other[:3] for name, other, _, _ in this_year if name == item], row
            values = set().union(*(issuer.values.get(each, set()) for each in lines))
            assert max(values) - min(values) <= ROUNDING * abs(max(values)), row
    assert len(rows) > 1_000 and of_two < len(rows) / 20


@pytest.mark.nightly
@pytest.mark.shared
def test_no_issuer_is_shown_with_an_older_year_than_its_filings_have(
    issuers: tuple[dict[str, Filings], dict[str, Any]],
) -> None:
    filings, tables = issuers
    shown = [row for row in tables["metrics"].to_pylist() if row["answers_until"] is None]
    for row in shown:
        # single figures over other twelve months are no years
        full = [end for (_, end), lines in filings[row["service_id"]].years.items() if lines >= 8]
        assert not full or str(row["period_end"]) >= max(full), row
    assert len({row["service_id"] for row in shown}) > 15
