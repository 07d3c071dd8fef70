"""A claim is true of the figure that it names, on the day that it names, and of no other."""

import gzip
import hashlib
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assets.filings import companyfacts
from tests.helpers.facts import fact
from tests.helpers.installation import sample_home, settings_of
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import REAL
from tests.helpers.publishing import publish
from tests.helpers.real_files import REAL_FILES
from tests.helpers.real_files import load as load_parsed
from tests.helpers.record_rows import load, observation
from tests.helpers.seed import seed_of_this_run
from tests.helpers.served_claims import (
    observation_claims,
    of_figures,
    served_figures,
    verdicts,
    wrong,
)
from warehouse.contract.problems import Problem
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, MACRO_SERIES
from warehouse.serve.build import Mart

RESTATED = date(2020, 3, 30)
ALL = 1_000_000
QUARTER: dict[str, Any] = {
    "period_type": "Q3",
    "period_start": date(2019, 7, 1),
    "period_end": date(2019, 9, 30),
    "fiscal_label": "Q3 FY2019",
    "available_at": date(2019, 11, 1),
}
NINE_MONTHS: dict[str, Any] = {**QUARTER, "period_type": "9M", "period_start": date(2019, 1, 1)}
NINE_MONTHS["fiscal_label"] = "9M FY2019"
DOLLARS: dict[str, Any] = {"unit": "USD", "currency_reported": "USD"}
CPI = {"series": "CPI.ZAF", "series_type": "cpi", "frequency": "monthly", "unit": "index"}


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Mart:
    folder = tmp_path_factory.mktemp("claims")
    record = Record(str(folder / "record"))
    load(
        record,
        FUNDAMENTALS,
        # Stated in rand, with dollars for the convenience of readers; then restated.
        fact("1540545000"),
        fact("1500000001", item="profit"),
        fact("88000000", **DOLLARS),
        fact("1540546000", available_at=RESTATED, publication="a-2"),
        # A quarter, and the nine months that end with it.
        fact("131", item="profit", **QUARTER),
        fact("462", item="profit", **NINE_MONTHS),
        # Of the group and of the company alone.
        fact("700", item="total_equity", basis="consolidated/ifrs"),
        fact("300", item="total_equity", basis="separate/ifrs"),
        # In dollars alone, in a filing that is in rand.
        fact("42", item="cfo", **DOLLARS),
        fact("900", item="gross_profit"),
        fact(None, item="gross_profit", available_at=RESTATED, publication="a-2"),
        fact("5000", item="shares_outstanding", unit="shares", currency_reported=None),
    )
    months = {"period_start": date(2024, 10, 1), "period_end": date(2024, 10, 31), **CPI}
    day = date(2024, 11, 20)
    load(
        record,
        MACRO_SERIES,
        observation("148.4", day, **{**months, "available_at": day, "base_period": "2015=100"}),
        observation(
            "120.6",
            day,
            **{**months, "available_at": date(2025, 2, 19), "base_period": "2020=100"},
        ),
    )
    publish(record, folder / "marts")
    return Mart(folder / "marts")


@pytest.mark.parametrize(
    ("claim", "verdict", "words"),
    [
        ({"value": 1540546000}, "matches", "the latest that is known"),
        ({"value": 1540545000}, "superseded", "since 2020-03-30 it is another: see known_then"),
        (
            {"value": 1540545000, "as_of": "2019-12-31"},
            "matches",
            "2020-03-30 it is another: see known_now",
        ),
        ({"value": 1540545000, "as_of": "2020-03-30"}, "superseded", "see known_then"),
        ({"value": 1500000000}, "matches_rounded", "the exact value is 1540546000"),
        ({"value": 2000000000}, "differs", "see known_then"),
        ({"value": f"1540546000.{'0' * 30}1"}, "differs", "see known_then"),
        ({"value": 88000000}, "differs", "We also have it in USD"),
        ({"value": 88000000, "currency": "USD"}, "matches", ""),
        ({"value": 1540546000, "currency": "KES"}, "not_held", "in USD, ZAR, not in KES"),
        ({"value": 1540546000, "as_of": "2019-12-31"}, "not_knowable_then", "must not be"),
        ({"value": 1540545000, "as_of": "2019-03-28"}, "not_knowable_then", "must not be"),
        ({"line_item": "profit", "period": "2019-Q3", "value": 131}, "matches", ""),
        ({"line_item": "profit", "period": "Q3 FY2019", "value": 131}, "matches", ""),
        ({"line_item": "profit", "period": "2019-Q3", "value": 462}, "differs", ""),
        ({"line_item": "profit", "period": "2019-09-30", "value": 462}, "matches", ""),
        ({"line_item": "profit", "period": "9M FY2019", "value": 462}, "matches", ""),
        ({"line_item": "profit", "period": "2019-09-30", "value": 500}, "differs", "2 figures"),
        ({"line_item": "profit", "period": "2017", "value": 1}, "not_held", "FY2018 to 2018-12-31"),
        ({"line_item": "total_equity", "value": 300}, "matches", ""),
        ({"line_item": "total_equity", "value": 400}, "differs", "2 figures of this period"),
        ({"line_item": "cfo", "value": 42}, "not_held", "in USD, not in the currency in which"),
        ({"line_item": "cfo", "value": 42, "currency": "USD"}, "matches", ""),
        ({"line_item": "gross_profit", "value": 900}, "superseded", "withdrawn later"),
        (
            {"line_item": "gross_profit", "value": 900, "as_of": "2019-12-31"},
            "matches",
            "withdrawn later",
        ),
        ({"line_item": "gross_profit", "value": 901}, "differs", "had been withdrawn"),
        ({"line_item": "shares_outstanding", "value": 5000}, "matches", ""),
        (
            {"line_item": "shares_outstanding", "value": 5000, "currency": "ZAR"},
            "not_held",
            "leave currency out",
        ),
    ],
)
def test_a_claim_is_judged_by_the_figure_of_its_own_period_unit_and_basis(
    invented: Mart, claim: dict[str, Any], verdict: str, words: str
) -> None:
    whole = {"service_id": "DCTEST1", "line_item": "revenue", "period": "FY2018", **claim}
    (row,) = verdicts(invented, [whole])
    assert row["verdict"] == verdict, row
    assert words in row["detail"], row
    exact = Decimal(1540546000) if verdict == "matches_rounded" else None
    assert row["exact"] == exact
    assert (row["deviation"] is None) is (exact is None)
    assert len(row["candidates"]) == (2 if "2 figures" in words else 0)


@pytest.mark.parametrize(
    ("value", "as_of", "verdict"),
    [
        ("148.4", "2025-01-31", "matches"),
        ("148.4", None, "superseded"),
        ("120.6", "2025-01-31", "not_knowable_then"),
        ("120.6", None, "matches"),
    ],
)
def test_a_figure_on_another_base_is_explained(
    invented: Mart, value: str, as_of: str | None, verdict: str
) -> None:
    claim = {"series": "CPI.ZAF", "period": "2024-10", "value": value, "as_of": as_of}
    (row,) = verdicts(invented, [claim])
    assert row["verdict"] == verdict
    assert (
        value == "120.6" and verdict == "matches"
    ) or "rebased from 2015=100 to 2020=100" in row["detail"]
    (of_year,) = verdicts(invented, [{**claim, "period": "2024"}])
    assert of_year["verdict"] == "not_held" and "monthly figures" in of_year["detail"]


def test_the_refusal_of_one_of_several_claims_names_it(invented: Mart) -> None:
    claim = {"service_id": "DCTEST1", "line_item": "revenue", "period": "2018", "value": 1}
    for wrong_one, code in (
        ({"service_id": "DCNOBODY"}, "not_found"),
        ({"period": "lately"}, "parameter_invalid"),
        ({"line_item": None}, "parameter_conflict"),
        ({"service_id": None}, "parameter_conflict"),
        ({"country": "ZA"}, "parameter_conflict"),
        ({"service_id": None, "indicator": "NY.GDP"}, "parameter_conflict"),
        ({"service_id": None, "line_item": None, "indicator": "NY.GDP"}, "parameter_conflict"),
        ({"value": "many"}, "parameter_invalid"),
    ):
        with pytest.raises(Problem, match=r"claims\[1\]") as refused:
            verdicts(invented, [claim, {**claim, **wrong_one}])
        assert refused.value.code == code


def test_every_figure_of_the_sample_world_is_true_on_its_own_day_and_no_other_is(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    mart = Mart(settings_of(sample_home(tmp_path_factory)).marts)
    most = ALL if is_nightly() else 150
    random = Random(seed_of_this_run())
    assert wrong(mart, list(of_figures(served_figures(mart), random, most))) == []
    assert wrong(mart, list(observation_claims(mart, random, most))) == []


@pytest.mark.shared
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2, 3))]
)
def test_every_figure_of_real_filers_is_true_on_its_own_day_and_no_other_is(
    tmp_path: Path, part: int
) -> None:
    is_long = is_nightly()
    record = Record(str(tmp_path / "record"))
    paths = [path for path in real_files() if is_long or "companyfacts_" not in path.parent.name]
    for path in paths[part::4]:
        body = path.read_bytes()
        body = gzip.decompress(body) if path.suffix == ".gz" else body
        parsed = companyfacts.parse(_document(path, body), body)
        load_parsed(record, "fundamentals", parsed)
    publish(record, tmp_path / "marts")
    mart = Mart(tmp_path / "marts")
    random = Random(seed_of_this_run())
    most = ALL if is_long else 150
    assert wrong(mart, list(of_figures(served_figures(mart), random, most))) == []


def real_files() -> list[Path]:
    filings = REAL_FILES / "filings"
    folders = (
        filings / "companyfacts",
        filings / "companyfacts_2021",
        REAL / "more" / "sec" / "companyfacts_2021-07",
    )
    return [path for folder in folders for path in sorted(folder.glob("CIK*"))]


def _document(path: Path, body: bytes) -> Document:
    digest, day = hashlib.sha256(body).hexdigest(), datetime(2026, 11, 14, tzinfo=UTC)
    url = f"https://data.sec.gov/api/xbrl/companyfacts/{path.name.removesuffix('.gz')}"
    return Document(digest, "sec-companyfacts", url, "public-domain", day, 200, {}, len(body))
