"""Derived figures and metrics-ttm of real filings against the filings, read anew from the JSON."""

import gzip
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from assets.derive.derived_figures import TABLE, derived_figures
from assets.derive.later_statements import mark_later_statements
from assets.derive.metrics_ttm import metrics_ttm
from assets.filings import companyfacts
from tests.helpers.real_files import REAL_FILES, filed_until, load
from tests.system.test_real_metrics import document_of
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, RECORD_TABLES

Row = dict[str, Any]
# Taxonomy, element and unit of a concept.
Concept = tuple[str, str, str]
Span = tuple[str, str]
FILES = sorted((REAL_FILES / "filings" / "companyfacts_2021").glob("*.json.gz"))
# Files of a few kilobytes that state interim periods, under both taxonomies.
FEW = ("CIK0001333141", "CIK0000937966", "CIK0001172724")
PROOFS = {"one filing", "one day", "repeated", "parts"}
LENGTHS = {1: (80, 100), 2: (170, 190), 3: (260, 280), 4: (350, 380)}


@dataclass
class Filings:
    """What every filing of an issuer states: by place, by concept and period, by filing."""

    at: dict[str, Row] = field(default_factory=dict)
    of: dict[Concept, dict[Span, list[Row]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    @classmethod
    def read(cls, body: bytes) -> "Filings":
        filings = cls()
        facts = json.loads(body, parse_float=Decimal, parse_int=Decimal)["facts"]
        for taxonomy, elements in facts.items():
            for element, described in elements.items():
                for unit, records in described["units"].items():
                    for number, record in enumerate(records):
                        item = record | {"concept": (taxonomy, element, unit)}
                        filings.at[f"#/facts/{taxonomy}/{element}/units/{unit}/{number}"] = item
                        if "start" in item and item["end"] <= item["filed"]:
                            filings.of[item["concept"]][item["start"], item["end"]].append(item)
        return filings

    def restated(self, concept: Concept, after: str, until: str) -> bool:
        """Return whether a filing of those days states a value that no earlier one had stated."""
        for items in self.of[concept].values():
            known = [item for item in items if item["filed"] <= after]
            later = [item for item in items if after < item["filed"] <= until]
            for item in later:
                if known and not any(self.is_same(item, each) for each in known):
                    return True
                known.append(item)
        return False

    def is_same(self, item: Row, other: Row) -> bool:
        """Return whether two values are one but for rounding, or their sums with others are."""
        return is_rounded(item["val"], other["val"]) or bool(
            self.wholes(item) & self.wholes(other) - {item["val"], other["val"]}
        )

    def wholes(self, item: Row) -> set[Decimal]:
        """Return a stated value, and the sums with others that its filing states of the period."""
        others = (
            each["val"]
            for concept, spans in self.of.items()
            if concept[2] == item["concept"][2]
            for each in spans.get((item["start"], item["end"]), ())
            if each["accn"] == item["accn"]
        )
        return {item["val"], *(item["val"] + other for other in others)}

    def repeated(self, concept: Concept, day: str) -> bool:
        """Return whether a filing of a day repeats a value of an earlier one."""
        return any(
            {item["val"] for item in items if item["filed"] == day}
            & {item["val"] for item in items if item["filed"] < day}
            for items in self.of[concept].values()
        )


def is_rounded(one: Decimal, other: Decimal) -> bool:
    """Return whether one of two values is the other with fewer digits, up to the million."""
    steps = [Decimal(10) ** digits for digits in range(7)]
    largest = max(step for step in steps if one % step == 0 or other % step == 0)
    return abs(one - other) < largest or one == other


def days_of(start: str, end: str) -> int:
    return (date.fromisoformat(end) - date.fromisoformat(start)).days + 1


def length(start: str, end: str) -> int | None:
    days = days_of(start, end)
    return next((name for name, (low, high) in LENGTHS.items() if low <= days <= high), None)


def next_day(day: str) -> str:
    return str(date.fromisoformat(day) + timedelta(days=1))


@dataclass
class World:
    """The filings of issuers, their reported figures, and what is derived from them."""

    filings: dict[str, Filings]
    figures: list[Row]
    derived: list[Row]
    metrics: list[Row]


def world_of(paths: list[Path], folder: Path, until: str | None = None) -> World:
    """Read files, of them only what was filed until a day, and derive."""
    record, filings = Record(str(folder / "record")), {}
    for path in paths:
        body = path.read_bytes()
        body = gzip.decompress(body) if path.suffix == ".gz" else body
        if until is not None:
            body = filed_until(body, until)
        parsed = companyfacts.parse(document_of(path, body), body)
        if parsed.rows["fundamentals"]:
            load(record, "fundamentals", parsed)
            filings[parsed.rows["fundamentals"][0]["service_id"]] = Filings.read(body)
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder / "stage", record, loads, "20990101.1") as snapshot:
        mark_later_statements(snapshot)
        snapshot.copy_record([FUNDAMENTALS])
        snapshot.add(derived_figures(snapshot))
        snapshot.add(metrics_ttm(snapshot))
        names = ("fundamentals", TABLE, "metrics_ttm")
        rows = [snapshot.read(f"FROM {name}").to_pylist() for name in names]
    return World(filings, *rows)


def check_proofs(world: World) -> Counter[str]:
    """Check every value against its filings; count what proves it, and what needs a reason."""
    proofs: Counter[str] = Counter()
    for row in world.derived:
        if row["value"] is None:
            continue
        filings = world.filings[row["service_id"]]
        inputs = json.loads(row["inputs"], parse_float=Decimal, parse_int=Decimal)
        items = [filings.at["#" + each["source_ref"].partition("#")[2]] for each in inputs]
        for each, item in zip(inputs, items, strict=True):
            assert each["document_id"] == item["accn"]
            # The sum of two parts, where a filing states no total.
            assert each["value"] in filings.wholes(item)
            assert (each["period_start"], each["period_end"]) == (item["start"], item["end"])
            # The filing was there by the day, and so was the fact.
            assert max(each["available_at"], item["filed"]) <= str(row["available_at"])
        assert sum(each["sign"] * each["value"] for each in inputs) == row["value"]
        assert days_join(inputs) == (str(row["period_start"]), str(row["period_end"]))
        concepts = {item["concept"] for item in items}
        assert len(concepts) == 1 and row["unit"] in concepts.copy().pop()[2]
        # Of sums of parts, whose parts may move between them, this reader knows no more.
        is_sum = any(each["value"] != item["val"] for each, item in zip(inputs, items, strict=True))
        proofs["parts" if is_sum else proof(filings, concepts.pop(), items)] += 1
    return proofs


def days_join(inputs: list[Row]) -> Span:
    """Return the days that remain if those of the negative input are taken from the others."""
    signs: Counter[int] = Counter()
    for each in inputs:
        first = date.fromisoformat(each["period_start"]).toordinal()
        last = date.fromisoformat(each["period_end"]).toordinal()
        for day in range(first, last + 1):
            signs[day] += each["sign"]
    remaining = sorted(day for day, sign in signs.items() if sign)
    assert all(signs[day] == 1 for day in remaining)
    assert remaining == list(range(remaining[0], remaining[-1] + 1))
    return str(date.fromordinal(remaining[0])), str(date.fromordinal(remaining[-1]))


def proof(filings: Filings, concept: Concept, items: list[Row]) -> str:
    if len({item["accn"] for item in items}) == 1:
        return "one filing"
    first, last = min(item["filed"] for item in items), max(item["filed"] for item in items)
    if first == last:
        return "one day"
    if filings.restated(concept, first, last):
        return "restated"
    return "repeated" if filings.repeated(concept, last) else "nothing repeated"


def line_of(row: Row) -> tuple[str, ...]:
    return row["service_id"], row["line_item"], row["unit"], row["basis"]


def derivable(world: World) -> tuple[Counter[str], int]:
    """Return what became of every period that arithmetic alone could give, and how many there are.

    The figures are those of the lines as they are today, of one element.
    """
    lines: dict[tuple[str, ...], dict[Span, Row]] = defaultdict(dict)
    for row in world.figures:
        if row["latest"] and row["period_start"] and row["unit"] == row["currency_reported"]:
            lines[line_of(row)][str(row["period_start"]), str(row["period_end"])] = row
    rows = defaultdict(list)
    for row in world.derived:
        if row["superseded_at"] is None:
            rows[line_of(row), str(row["period_start"]), str(row["period_end"])].append(row)
    became: Counter[str] = Counter()
    possible = 0
    for line, figures in lines.items():
        found: dict[Span, list[Decimal]] = defaultdict(list)
        for (start, end), row in figures.items():
            for (other, until), shorter in figures.items():
                lengths = length(start, end), length(other, until)
                if other == start and lengths in ((2, 1), (3, 2), (4, 3), (4, 2)):
                    value = row["value_reported"] - shorter["value_reported"]
                    found[next_day(until), end].append(value)
                if lengths[1] == 4 and lengths[0] in (1, 2, 3) and next_day(until) == start:
                    for (begin, before), same in figures.items():
                        if begin == other and length(begin, before) == lengths[0]:
                            whole = shorter["value_reported"] + row["value_reported"]
                            value = whole - same["value_reported"]
                            found[next_day(before), end].append(value)
        for days, values in found.items():
            if length(*days) not in (1, 2, 4) or days in figures:
                continue
            possible += 1
            (given,) = rows[(line, *days)]
            if given["value"] is not None:
                assert given["value"] in values
            became[given["reason"] or "value"] += 1
    return became, possible


def known_on(rows: list[Row], day: date) -> set[tuple[Any, ...]]:
    shown = ("service_id", "line_item", "unit", "basis", "period_start", "period_end", "value")
    return {
        tuple(row[name] for name in (*shown, "reason", "vintage", "available_at"))
        for row in rows
        if row["available_at"] <= day < (row["superseded_at"] or date.max)
    }


def metrics_on(world: World, day: date) -> set[tuple[Any, ...]]:
    shown = ("service_id", "metric", "value", "period_end", "answers_from")
    return {tuple(row[name] for name in shown) for row in answer_on(world.metrics, day)}


def answer_on(rows: list[Row], day: date) -> list[Row]:
    return [row for row in rows if row["answers_from"] <= day < (row["answers_until"] or date.max)]


def check_days_of_metrics(world: World) -> int:
    """Check each value on the day before each of its inputs was filed: absent, or an earlier one.

    The days are those of the filings, and not those of our rows. Return how many were looked at.
    """
    of_metric: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in world.metrics:
        filings, inputs = world.filings[row["service_id"]], json.loads(row["inputs"])
        places = ["#" + each["source_ref"].partition("#")[2] for each in inputs]
        days = {date.fromisoformat(filings.at[place]["filed"]) for place in places}
        of_metric[row["service_id"], row["metric"]].append({**row, "filed": days})
    looked_at = 0
    for rows in of_metric.values():
        for row in rows:
            for day in row["filed"]:
                before = answer_on(rows, day - timedelta(days=1))
                assert len(before) <= 1 and row not in before, row
                for earlier in before:
                    assert max(earlier["filed"]) < day, (row, earlier)
                    assert earlier["answers_from"] < row["answers_from"]
                looked_at += 1
    return looked_at


def test_figures_of_some_filers_are_what_their_filings_prove(tmp_path: Path) -> None:
    paths = [path for path in FILES if path.name.startswith(FEW)]
    world = world_of(paths, tmp_path)
    proofs = check_proofs(world)
    assert set(proofs) <= PROOFS and proofs.total() > 50
    assert check_days_of_metrics(world) > 10


@pytest.mark.nightly
@pytest.mark.shared
def test_every_figure_of_all_files_is_what_its_filings_prove(tmp_path: Path) -> None:
    world = world_of(FILES, tmp_path)
    proofs = check_proofs(world)
    became, possible = derivable(world)
    print(proofs, became, possible)
    assert set(proofs) <= PROOFS
    assert became.total() == possible and became["value"] > 2_500
    assert check_days_of_metrics(world) > 5_000


@pytest.mark.nightly
@pytest.mark.shared
def test_a_past_day_has_what_the_filings_until_then_give(tmp_path: Path) -> None:
    whole = world_of(FILES[::12], tmp_path / "whole")
    days = sorted({row["available_at"] for row in whole.derived})
    for number, day in enumerate(days[:: len(days) // 8]):
        before = day - timedelta(days=1)
        by_then = world_of(FILES[::12], tmp_path / str(number), str(before))
        assert known_on(whole.derived, before) == known_on(by_then.derived, before)
        assert metrics_on(whole, before) == metrics_on(by_then, before)
        assert not any(row["available_at"] > before for row in by_then.derived)
