"""Signals compared with a plain model, on random worlds and on the sample world."""

import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from assets.derive.signals import signals
from tests.helpers.installation import loaded_record
from tests.helpers.nightly import times
from tests.helpers.organisations import derive_organisations
from tests.helpers.signals_world import (
    FIRST,
    SEEN,
    SIGNAL_TABLES,
    TenderRows,
    TenderWorld,
    add_countries,
    award,
)
from tests.models import signals_model as model
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES

Row = dict[str, Any]
Tables = tuple[list[Row], list[Row], list[Row]]


def derived(record: Record, folder: Path) -> Tables:
    """Return the signals of a record, and the releases and parties they are derived from."""
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with Snapshot(folder, record, loads, "test") as snapshot:
        snapshot.copy_record(SIGNAL_TABLES)
        snapshot.add(derive_organisations(snapshot))
        snapshot.add(signals(snapshot))
        names = ("signals", "tender_releases", "tender_parties")
        rows, releases, parties = (snapshot.read(f"FROM {name}").to_pylist() for name in names)
    return rows, releases, parties


def compare(tables: Tables, country: str, days: list[date]) -> int:
    """Compare every month at some closings with the model; return the number of compared rows."""
    rows, releases, parties = (
        [row for row in table if row["country"] == country] for table in tables
    )
    first = model.month_of(min(row["available_at"] for row in releases))
    compared = 0
    for day in days:
        known = list(rows_known_on(rows, day))
        check_empty_months(known, releases)
        panel_rows = {key(row): answer_of(row) for row in known}
        processes = model.processes(releases, parties, day)
        last = model.month_of(day - timedelta(days=5))
        months = [model.shifted(last, -back) for back in range(37)]
        present = set(panel_rows)
        in_scope: set[model.Key] = set()
        for month in sorted(month for month in months if month >= first):
            answers = reckoned(processes, month, first)
            in_scope |= {name for name in answers if name[-1] is None}
            if model.published_on(releases, month, day):
                assert {(month, *name) for name in in_scope} <= present
            for name, expected in answers.items():
                assert panel_rows.pop((month, *name), None) == expected, (day, month, name)
                compared += 1
        unexpected = {
            name: answer
            for name, answer in panel_rows.items()
            if name[0] in months and name[1] != LISTED
        }
        # The remaining rows have no value: no observation, or a share of nothing.
        assert not {name: answer for name, answer in unexpected.items() if answer[0]}
    return compared


def check_empty_months(known: list[Row], releases: list[Row]) -> None:
    """Check that an empty month begins only when the country is known to have published on."""
    for row in known:
        # A later vintage without processes says that those of the one before are gone.
        if row["n_eligible"] == 0 and row["vintage"] == 1:
            assert model.published_on(releases, row["month"], row["available_at"]), row


LISTED = "listed-award-intensity"


def reckoned(
    processes: list[model.ModelProcess], month: date, first: date
) -> dict[model.Key, model.Answer]:
    answers = model.by_tender(processes, month) | model.by_first_award(processes, month, first)
    panels = {"awards": "award-concentration", "buyers": "buyer-supplier-concentration"}
    for (measure, currency), figure in model.concentrated(processes, month, first).items():
        answers[panels["awards"], measure, "all", currency] = figure
    for buyer in {process.buyer for process in processes if process.buyer}:
        if buyer.startswith("withheld:"):
            continue
        for (measure, currency), figure in model.concentrated(
            processes, month, first, buyer
        ).items():
            answers[panels["buyers"], measure, buyer, currency] = figure
    for panel, measure, answer in (
        ("procurement-demand", "momentum_3m_yoy", model.momentum(processes, month, first)),
        (
            "supplier-newcomer-rate",
            "newcomer_award_share",
            model.newcomers(processes, month, first),
        ),
    ):
        if answer is not None:
            answers[panel, measure, "all", None] = answer
    return answers


def rows_known_on(rows: list[Row], day: date) -> Iterator[Row]:
    """Yield the rows known on a day; rows by category are tested by hand."""
    for row in rows:
        shares = row["measure"].startswith("category_share")
        if (row["dimension"] == "category" and not shares) or row["measure"] == "named_buyer_share":
            continue
        until = row["superseded_at"]
        if row["available_at"] <= day and (until is None or day < until):
            yield row


def key(row: Row) -> tuple[Any, ...]:
    value = row["dimension_value"]
    value = value.partition("/")[2] if row["dimension"] == "buyer" else value
    return row["month"], row["signal_key"], row["measure"], value, row["currency"]


def answer_of(row: Row) -> model.Answer:
    return row["value"], row["n_eligible"], row["n_observed"], row["n_withheld"]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return derived(loaded_record(tmp_path_factory), tmp_path_factory.mktemp("stage"))


@pytest.mark.parametrize("country", ["ZA", "KE", "CO"])
def test_the_sample_world_agrees_with_the_model(sample: Tables, country: str) -> None:
    days = [date(2022, 2, 5), date(2023, 1, 5), date(2024, 7, 5), date(2026, 4, 5)]
    assert compare(sample, country, days) > 400


def test_counts_add_up_in_every_row_of_the_sample_world(sample: Tables) -> None:
    rows, _, _ = sample
    assert rows
    for row in rows:
        assert 0 <= row["n_observed"] <= row["n_eligible"]
        assert (row["value"] is None) == (row["n_observed"] == 0)
        assert row["available_at"] >= row["closed_at"] > row["month"]
        if row["n_eligible"]:
            assert abs(row["coverage"] * row["n_eligible"] - row["n_observed"]) < Decimal("1e-6")
        if row["unit"] in ("share", "index") and row["value"] is not None:
            assert 0 <= row["value"] <= 1


def test_a_value_is_its_numerator_divided_by_its_denominator(sample: Tables) -> None:
    rows, _, _ = sample
    fractions = {row["measure"] for row in rows if row["numerator"] is not None}
    # Neither quantiles nor squares of shares have parts that could be added up.
    without = {"supplier_hhi", "buyer_hhi", "median_days", "median_tenderers", "ratio_median"}
    without |= {"p10_tenderers", "p90_tenderers", "p90_days", "ratio_p25", "ratio_p75"}
    assert fractions == {row["measure"] for row in rows if row["value"] is not None} - without
    for row in rows:
        parts = (row["numerator"], row["denominator"])
        if row["measure"] not in fractions or row["value"] is None:
            assert parts == (None, None)
        else:
            assert row["value"] == model.ten(Fraction(parts[0]) / Fraction(parts[1]))


def test_the_parts_of_twelve_months_add_up_to_the_year(sample: Tables) -> None:
    rows, releases, parties = ([row for row in table if row["country"] == "ZA"] for table in sample)
    day, year = date(2026, 4, 5), 2025
    parts: dict[tuple[str, str, str | None], list[Fraction]] = {}
    for row in rows_known_on(rows, day):
        if row["month"].year == year and row["numerator"] is not None:
            sums = parts.setdefault(
                (row["measure"], row["dimension_value"], row["currency"]), [Fraction(), Fraction()]
            )
            sums[0] += Fraction(row["numerator"])
            sums[1] += Fraction(row["denominator"])
    opened = [
        process
        for process in model.processes(releases, parties, day)
        if process.opened is not None and process.opened.year == year
    ]
    bids = [process.bidders for process in opened if process.bidders]
    assert parts["single_bid_rate", "all", None] == [bids.count(1), len(bids)]
    assert parts["mean_tenderers", "all", None] == [sum(bids), len(bids)]
    money = [
        process
        for process in opened
        if process.category and process.value and process.currency == "ZAR"
    ]
    works = [process.value for process in money if process.category == "works"]
    assert works
    assert parts["category_share_value", "works", "ZAR"] == [
        sum(filter(None, works)),
        sum(process.value for process in money if process.value),
    ]


def test_vintages_of_a_row_follow_one_another(sample: Tables) -> None:
    rows, _, _ = sample
    chains: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        chains.setdefault((row["country"], row["dimension"], *key(row)), []).append(row)
    assert max(map(len, chains.values())) > 1
    for chain in chains.values():
        assert [row["vintage"] for row in chain] == list(range(1, len(chain) + 1))
        for before, after in pairwise(chain):
            assert before["superseded_at"] == after["available_at"] > before["available_at"]
            parts = ("numerator", "denominator")
            assert (answer_of(before), *map(before.get, parts)) != (
                *(answer_of(after), *map(after.get, parts)),
            )
        assert chain[-1]["superseded_at"] is None


_DAYS = st.dates(date(2022, 1, 1), date(2024, 8, 31))
_PARTIES = st.sampled_from(["P1", "P2", "P3", "P4", "withheld:1", "withheld:2"])
_AMOUNTS = st.decimals("0.01", 10**15, places=2)
_MONEY = st.none() | _AMOUNTS.map(str)
_AWARDS = st.lists(
    st.builds(
        award,
        st.sampled_from("ab"),
        st.none() | _DAYS,
        _MONEY,
        st.lists(_PARTIES, max_size=2, unique=True).map(tuple),
        st.sampled_from(["ZAR", "USD"]),
        status=st.sampled_from(["active", "active", "cancelled"]),
    ),
    max_size=2,
    unique_by=lambda made: made["id"],
)
_RELEASES = st.fixed_dictionaries(
    {
        "ocid": st.sampled_from([f"o{number}" for number in range(8)]),
        "day": _DAYS,
        "number": st.sampled_from("123"),
        "awards": _AWARDS,
        "tender": st.booleans(),
        "buyer_key": st.none() | _PARTIES,
        "bidders": st.lists(_PARTIES, max_size=3, unique=True),
        "category": st.sampled_from([None, "works", "goods"]),
        "tender_status": st.sampled_from([None, "active", "complete", "cancelled"]),
        "procurement_method": st.sampled_from([None, "open", "direct"]),
        "number_of_tenderers": st.sampled_from([None, 0, 1, 2, 5]),
        "tender_value": st.none() | _AMOUNTS,
        "tender_currency": st.sampled_from([None, "ZAR", "USD"]),
        "tender_start": st.none() | _DAYS,
        "tender_end": st.none() | _DAYS,
    }
)
_WORLDS = st.lists(
    _RELEASES,
    min_size=1,
    max_size=30,
    unique_by=lambda made: (made["ocid"], made["number"], made["day"]),
)
_HISTORIES = st.tuples(_WORLDS, _DAYS, st.sampled_from(["test", "added-later"]))


def made(worlds: list[list[Row]]) -> tuple[Tables, list[str]]:
    """Derive the panels of some worlds, each a country; equal numbers are vintages of a release."""
    countries = []
    for releases in worlds:
        country = TenderRows()
        country.release("ocds-first", FIRST, tender=False)
        for release in releases:
            copied = [dict(award) for award in release["awards"]]
            mark = {"publication": f"{release['day']} {release['number']}"}
            country.release(**release | {"awards": copied} | mark)
        countries.append(country)
    with tempfile.TemporaryDirectory() as folder:
        world = TenderWorld(Record(f"{folder}/record"), Path(folder, "stage"))
        codes = add_countries(world, countries)
        world.load()
        return derived(world.record, world.folder), codes


# Worlds take seconds, so shrinking failing ones would exceed the time limit of a test.
@settings(
    max_examples=times(1),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(_HISTORIES, min_size=4, max_size=4))
def test_random_worlds_agree_with_the_model_and_later_releases_change_no_earlier_row(
    histories: list[tuple[list[Row], date, str]],
) -> None:
    whole = [
        [release | ({"source": portal} if release["day"] > day else {}) for release in releases]
        for releases, day, portal in histories
    ]
    before = [
        [release for release in releases if release["day"] <= day] for releases, day, _ in histories
    ]
    tables, codes = made(whole)
    (rows_before, _, _), _ = made(before)
    for code, (_, day, _) in zip(codes, histories, strict=True):
        compare(tables, code, [date(2023, 2, 5), date(2024, 3, 5), date(2024, 9, 5)])
        known, then = (
            [
                row | {"superseded_at": None}
                for row in rows
                if row["country"] == code and row["available_at"] <= day
            ]
            for rows in (tables[0], rows_before)
        )
        assert known == then


def test_the_days_of_these_tests_are_closings() -> None:
    assert FIRST < date(2022, 1, 1) < date(2024, 9, 5) < SEEN
