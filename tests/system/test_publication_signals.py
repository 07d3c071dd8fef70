"""Signals once more from the exported tenders alone: counts and coverage reconcile.

The files show no withheld party. Where a release neither states how many tendered nor shows
every party, what is reckoned here says so by the least and the most that it can be.
"""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Context, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.helpers.installation import sample_home, settings_of
from warehouse.serve.exports import PublishedExports

Row = dict[str, Any]
FINAL = {"complete": False, "cancelled": True, "unsuccessful": True, "withdrawn": True}
COUNTRIES = ("ZA", "KE", "CO")
# Closings: the fifth day of a month.
DAYS = (date(2024, 2, 5), date(2024, 7, 5), date(2026, 4, 5))


@dataclass
class ProcessState:
    """State of a process as known on a day."""

    opened: date | None = None
    stated: Row = field(default_factory=dict)
    tenderers: int | None = None
    unsure: bool = False


@dataclass(frozen=True)
class Files:
    """The exported files, as lists of rows."""

    folder: Path

    @cache  # noqa: B019
    def rows(self, key: str) -> list[Row]:
        return list(pq.read_table(self.folder / f"{key}.parquet").to_pylist())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    exports = settings_of(sample_home(tmp_path_factory)).exports
    return Files(Path(exports) / PublishedExports(exports).latest())


def rows_known(rows: list[Row], day: date, country: str) -> list[Row]:
    return [
        row
        for row in rows
        if row["country"] == country
        and row["available_at"] <= day
        and (row["superseded_at"] is None or row["superseded_at"] > day)
    ]


@cache
def processes(files: Files, day: date, country: str) -> dict[str, ProcessState]:
    """Merge the releases known on a day, the newest statement of each member last."""
    tendering = defaultdict(set)
    for party in files.rows("af-tender-parties"):
        if party["role"] == "tenderer" and not party["withdrawn"]:
            tendering[party["ocid"], party["release_id"]].add(party["party_id"])
    processes_by_ocid: dict[str, ProcessState] = defaultdict(ProcessState)
    releases = [
        row
        for row in rows_known(files.rows("af-tender-releases"), day, country)
        if not row["withdrawn"]
    ]
    for row in sorted(releases, key=lambda row: (row["date"] or row["available_at"], row["tag"])):
        process = processes_by_ocid[row["ocid"]]
        if process.opened is None and "tender" in json.loads(row["release"]):
            process.opened = row["date"] or row["available_at"]
        members = ("category", "tender_status", "procurement_method", "tender_start", "tender_end")
        process.stated |= {name: row[name] for name in members if row[name] is not None}
        listed = len(tendering[row["ocid"], row["release_id"]])
        if row["number_of_tenderers"]:
            process.tenderers, process.unsure = row["number_of_tenderers"], False
        elif listed or row["parties_withheld"]:
            process.unsure |= bool(row["parties_withheld"])
            process.tenderers = listed or process.tenderers
    return processes_by_ocid


def panel(files: Files, key: str, day: date, country: str, measure: str) -> dict[Any, Row]:
    """Return the rows of a panel for the whole country, as known on a day."""
    return {
        (row["month"], row["dimension_value"]): row
        for row in rows_known(files.rows(key), day, country)
        if row["measure"] == measure
        and (row["dimension"] != "category" or "share" in measure)
        and not (row["dimension"] == "category" and measure != "category_share_count")
    }


def months(processes_by_ocid: dict[str, ProcessState], day: date) -> dict[date, list[ProcessState]]:
    """Group processes by the closed months that are still revised on a day."""
    last = (day - timedelta(days=5)).replace(day=1)
    first = date(last.year - 3, last.month, 1)
    opened = defaultdict(list)
    for process in processes_by_ocid.values():
        if process.opened and first <= process.opened.replace(day=1) <= last:
            opened[process.opened.replace(day=1)].append(process)
    return opened


def share(met: list[bool | None]) -> tuple[Decimal | None, int, int]:
    """Return the share of true values, the number of values, and the number that is stated."""
    stated = [item for item in met if item is not None]
    value = Context(prec=10).divide(Decimal(sum(stated)), Decimal(len(stated))) if stated else None
    return value, len(met), len(stated)


def agrees(row: Row, met: list[bool | None]) -> None:
    value, eligible, observed = share(met)
    assert (row["value"], row["n_eligible"], row["n_observed"]) == (value, eligible, observed), row
    covered = Context(prec=10).divide(Decimal(observed), Decimal(eligible))
    assert row["coverage"] == covered


def days_open(process: ProcessState) -> int | None:
    start, end = (process.stated.get(name) for name in ("tender_start", "tender_end"))
    return (end - start).days if start and end and end >= start else None


def was_short(process: ProcessState) -> bool | None:
    length = days_open(process)
    return None if length is None else length < 15


def ended_without_award(process: ProcessState) -> bool | None:
    return FINAL.get(process.stated.get("tender_status", ""))


RATES: dict[tuple[str, str], Callable[[ProcessState], bool | None]] = {
    ("cancellation-rate", "cancellation_rate"): ended_without_award,
    ("submission-window", "share_under_15_days"): was_short,
}


@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize(("key", "measure"), RATES)
def test_rates_are_those_of_the_exported_releases(
    files: Files, key: str, measure: str, country: str
) -> None:
    compared = 0
    for day in DAYS:
        panel_rows = panel(files, key, day, country, measure)
        for month, opened in months(processes(files, day, country), day).items():
            agrees(panel_rows[month, "all"], [RATES[key, measure](item) for item in opened])
            compared += 1
    assert compared > 30


@pytest.mark.parametrize("country", COUNTRIES)
def test_methods_are_those_of_the_exported_releases(files: Files, country: str) -> None:
    compared = 0
    for day in DAYS:
        panel_rows = panel(files, "procurement-method-mix", day, country, "method_share")
        for month, opened in months(processes(files, day, country), day).items():
            stated = [item.stated.get("procurement_method") for item in opened]
            for method in ("open", "selective", "limited", "direct"):
                matches = [None if item is None else item == method for item in stated]
                agrees(panel_rows[month, method], matches)
                compared += 1
    assert compared > 100


@pytest.mark.parametrize("country", COUNTRIES)
def test_demand_is_that_of_the_exported_releases(files: Files, country: str) -> None:
    compared = 0
    for day in DAYS:
        panel_rows = panel(files, "procurement-demand", day, country, "category_share_count")
        for month, opened in months(processes(files, day, country), day).items():
            stated = [item.stated.get("category") for item in opened]
            for category in {item for item in stated if item}:
                matches = [None if item is None else item == category for item in stated]
                agrees(panel_rows[month, category], matches)
                compared += 1
    assert compared > 30


def test_single_bids_are_those_of_the_exported_releases(files: Files) -> None:
    exact = 0
    for country in COUNTRIES:
        for day in DAYS:
            panel_rows = panel(files, "single-bid-rate", day, country, "single_bid_rate")
            for month, opened in months(processes(files, day, country), day).items():
                row = panel_rows[month, "all"]
                assert row["n_eligible"] == len(opened)
                sure = [item for item in opened if not item.unsure]
                if len(sure) == len(opened):
                    tenderers = [item.tenderers for item in opened]
                    agrees(row, [None if item is None else item == 1 for item in tenderers])
                    exact += row["n_observed"] > 0
                counted = sum(item.tenderers is not None for item in sure)
                assert counted <= row["n_observed"] <= counted + len(opened) - len(sure)
    assert exact


def test_awards_are_stated_by_their_releases_and_counted_once(files: Files) -> None:
    awards = files.rows("af-tender-awards")
    states: dict[Any, int] = defaultdict(int)
    for row in files.rows("af-tender-releases"):
        if row["release"] is not None:
            states[row["ocid"], row["release_id"], row["vintage"]] += len(
                json.loads(row["release"]).get("awards", [])
            )
    award_counts: dict[Any, int] = defaultdict(int)
    for award in awards:
        award_counts[award["ocid"], award["release_id"], award["vintage"]] += 1
    assert award_counts == {key: number for key, number in states.items() if number}
    dated = {
        (day, row["award_date"])
        for country in COUNTRIES
        for day in DAYS
        for row in rows_known(awards, day, country)
        if row["award_date"]
    }
    assert dated and all(award_date <= day for day, award_date in dated)
