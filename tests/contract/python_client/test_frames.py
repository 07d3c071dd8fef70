"""Frames of the Python client: the digits, types and reasons of the API, as known on a day."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sankofa_client import (
    BadRequest,
    Sankofa,
)

from tests.helpers.contract_client import Contract

ISSUER, LEI = "DCHGWRYXXDHC", "989900ZAA00000000081"
OTHER = "DCGV4AEW02H8"
WITH_HALF_YEARS = "DC02ZW80GE30"
PANEL = "single-bid-rate"

# Each method, and the request that has the same rows.
Ask = Callable[[Sankofa, bool], pd.DataFrame]
QUESTIONS: dict[str, tuple[Ask, str]] = {
    "facts": (
        lambda s, exact: s.facts("XJSE:UBF0", as_of="2021-12-31", decimals=exact),
        f"/v1/fundamentals/{ISSUER}?as_of=2021-12-31",
    ),
    "facts of several": (
        lambda s, exact: s.facts(
            [LEI, OTHER], line_items=["revenue", "profit"], vintages="all", decimals=exact
        ),
        f"/v1/fundamentals?service_ids={ISSUER},{OTHER}&line_items=revenue,profit&vintages=all",
    ),
    "derived facts": (
        lambda s, exact: s.facts(WITH_HALF_YEARS, derived=True, decimals=exact),
        f"/v1/fundamentals/{WITH_HALF_YEARS}?derived=true",
    ),
    "adjusted facts": (
        lambda s, exact: s.facts(LEI, adjust="splits", decimals=exact),
        f"/v1/fundamentals/{ISSUER}?adjust=splits",
    ),
    "filings": (
        lambda s, exact: s.filings("XJSE:UBF0", form="20-F", to="2022-12-31", decimals=exact),
        f"/v1/filings?service_id={ISSUER}&form=20-F&to=2022-12-31",
    ),
    "metrics": (
        lambda s, exact: s.metrics(LEI, as_of=date(2020, 12, 31), decimals=exact),
        f"/v1/metrics/{ISSUER}?as_of=2020-12-31",
    ),
    "metrics of twelve months": (
        lambda s, exact: s.metrics(LEI, metric_set="metrics-ttm", decimals=exact),
        f"/v1/metrics/{ISSUER}?metric_set=metrics-ttm",
    ),
    "screen": (
        lambda s, exact: s.screen("net_margin", as_of="2020-12-31", decimals=exact),
        "/v1/screen?metric=net_margin&as_of=2020-12-31",
    ),
    "series": (
        lambda s, exact: s.series(
            "FX.EUR.ZAR", frequency="daily", from_="2026-01-01", decimals=exact
        ),
        "/v1/macro?series=FX.EUR.ZAR&frequency=daily&from=2026-01-01",
    ),
    "indicators": (
        lambda s, exact: s.indicators("ZA", from_=2020, decimals=exact),
        "/v1/macro?country=ZA&from=2020",
    ),
    "tenders": (
        lambda s, exact: s.tenders("KE", as_of="2026-03-31", decimals=exact),
        "/v1/tenders?country=KE&as_of=2026-03-31",
    ),
    "signal": (
        lambda s, exact: s.signal(PANEL, country="KE", dimension="all", decimals=exact),
        f"/v1/signals/{PANEL}?country=KE&dimension=all",
    ),
    "signal with a category": (
        lambda s, exact: s.signal("procurement-demand", category="works", decimals=exact),
        "/v1/signals/procurement-demand?category=works",
    ),
    "suppliers": (
        lambda s, exact: s.suppliers("KE", from_="2026-01-01", decimals=exact),
        "/v1/awards?country=KE&from=2026-01-01&order=value",
    ),
    "awards": (
        lambda s, exact: s.awards("XJSE:UBF0", decimals=exact),
        f"/v1/awards?service_id={ISSUER}",
    ),
    "changes": (
        lambda s, exact: s.changes("2020-01-01", dataset="AF-MACRO", decimals=exact),
        "/v1/changes?since=2020-01-01&dataset=AF-MACRO",
    ),
    "search": (
        lambda s, exact: s.search("fictional", kind="organisation", limit=40),
        "/v1/search?query=fictional&kind=organisation&limit=40",
    ),
    "rows": (
        lambda s, exact: s.rows("/v1/shared/facts", entity_id="ZAF", decimals=exact),
        "/v1/shared/facts?entity_id=ZAF",
    ),
    "rows with a number or a word": (
        lambda s, exact: s.rows("/v1/quality-metrics/AF-FUND", decimals=exact),
        "/v1/quality-metrics/AF-FUND",
    ),
}


def rows_of_api(service: Contract, path: str) -> list[dict[str, Any]]:
    """Return all rows of a list, every number as the text that was sent."""
    rows: list[dict[str, Any]] = []
    url = path
    while True:
        answer = service.get(url)
        assert answer.status == 200, answer.raw
        body = json.loads(answer.raw, parse_float=str, parse_int=str)
        rows += body["observations" if "observations" in body else "data"]
        # A limit in the path is the number of requested rows in all.
        if body["next_cursor"] is None or "limit=" in path:
            return rows
        url = f"{path}{'&' if '?' in path else '?'}cursor={body['next_cursor']}"


def as_sent(value: Any) -> Any:
    """Return a value of a DataFrame as the API writes it, numbers as text."""
    if isinstance(value, dict):
        return {name: as_sent(member) for name, member in value.items()}
    if isinstance(value, list):
        return [as_sent(member) for member in value]
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return None
    if isinstance(value, pd.Timestamp):
        return value.strftime("%Y-%m-%d") if value.tzinfo is None else value.isoformat()
    if isinstance(value, bool | str):
        return value
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def as_compared(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its times in one form: the API writes Z, pandas +00:00."""
    return {
        name: pd.Timestamp(value).isoformat() if name in ("observed_at", "measured_at") else value
        for name, value in row.items()
    }


def as_rows(frame: pd.DataFrame, members: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame as the API sends them, in its order of rows."""
    if "identifier" not in members:
        # What the caller passed; it is no member of a row.
        frame = frame.drop(columns="identifier", errors="ignore")
    if frame.index.name == "period_end":
        frame = frame.reset_index().iloc[::-1]
    rows = frame.astype(object).to_dict("records")
    return [{str(name): as_sent(value) for name, value in row.items()} for row in rows]


@pytest.fixture(scope="module")
def sankofa(service: Contract) -> Iterator[Sankofa]:
    """A client whose frames have every column."""
    with Sankofa(service.server.address, service.key(), narrow=False) as client:
        yield client


@pytest.mark.parametrize("method", QUESTIONS)
def test_every_digit_of_a_decimal_frame_is_the_one_that_the_api_sends(
    method: str, service: Contract, sankofa: Sankofa
) -> None:
    ask, path = QUESTIONS[method]
    frame, expected = ask(sankofa, True), rows_of_api(service, path)

    found = as_rows(frame, expected[0])
    assert expected
    assert [as_compared(row) for row in found] == [as_compared(row) for row in expected]
    assert frame.attrs["data_version"] == service.mart.build().data_version
    assert frame.attrs["license"].startswith("FICTIONAL")
    assert frame.attrs["empty"] is None


@pytest.mark.parametrize(
    "method", [name for name in QUESTIONS if name not in ("search", "changes")]
)
def test_a_float_is_the_nearest_to_the_digits_of_the_api(
    method: str, service: Contract, sankofa: Sankofa
) -> None:
    floats, exact = QUESTIONS[method][0](sankofa, False), QUESTIONS[method][0](sankofa, True)

    numbers = [name for name in floats if floats[name].dtype == "float64"]
    assert numbers and len(floats) == len(exact)
    for name in numbers:
        expected = [None if value is None else float(value) for value in exact[name]]
        assert [None if value != value else value for value in floats[name]] == expected


@pytest.mark.parametrize("method", QUESTIONS)
def test_columns_have_the_types_of_the_description_of_the_api(
    method: str, service: Contract, sankofa: Sankofa
) -> None:
    ask, path = QUESTIONS[method]
    rows, frame = rows_of_api(service, path), ask(sankofa, False)
    frame = frame.reset_index() if frame.index.name else frame
    assert set(frame.columns) | {"identifier"} == {*rows[0], "identifier"}
    for name, dtype in frame.dtypes.items():
        if name in ("period_end", "available_at", "month", "date"):
            assert dtype == "datetime64[us]", name
        if name in ("observed_at", "measured_at"):
            assert dtype == "datetime64[us, UTC]", name
        if name in ("vintage", "rank", "n_eligible"):
            assert dtype == "int64", name


def test_an_empty_answer_has_the_columns_and_says_why(sankofa: Sankofa) -> None:
    empty = sankofa.series("FX.EUR.ZAX")
    some = sankofa.series("FX.EUR.ZAR", limit=1)

    assert len(empty) == 0 and len(some) == 1
    assert empty.dtypes.to_dict() == some.dtypes.to_dict()
    assert empty.attrs["empty"]["code"] == "value_not_held"
    assert "FX.EUR.ZAR" in empty.attrs["empty"]["nearest"]
    nothing = sankofa.indicators("ZA", "NO.SUCH.CODE")
    assert "indicator" in nothing.columns and "series" not in nothing.columns


def test_a_series_of_several_frequencies_warns_unless_one_is_chosen(sankofa: Sankofa) -> None:
    with pytest.warns(UserWarning, match="several frequencies: daily, monthly"):
        mixed = sankofa.series("FX.EUR.ZAR", from_="2026-01-01")
    assert set(mixed["frequency"]) == {"daily", "monthly"}
    monthly = sankofa.series("FX.EUR.ZAR", frequency="monthly", from_="2026-01-01")
    assert set(monthly["frequency"]) == {"monthly"} and monthly.index.is_unique


def test_a_figure_is_the_one_that_was_known_on_the_day(sankofa: Sankofa) -> None:
    def revenue(day: object) -> list[float]:
        facts = sankofa.facts("XJSE:UBF0", as_of=day, line_items="revenue", period_type="FY")  # type: ignore[arg-type]
        return list(facts.loc[facts["period_end"] == "2020-06-30", "value_reported"])

    assert revenue("2020-08-31") == []
    assert revenue(date(2020, 12, 31)) == revenue(pd.Timestamp(2020, 12, 31)) == [970481000.0]
    # Restated on 4 October 2021. A point in time is its day in UTC, wherever the clock is.
    assert revenue(datetime(2021, 10, 5, 1, tzinfo=timezone(timedelta(hours=2)))) == [931662000.0]
    assert revenue(datetime(2021, 10, 4, 1, tzinfo=timezone(timedelta(hours=2)))) == [970481000.0]
    with pytest.raises(ValueError, match="NaT"):
        revenue(pd.NaT)
    with pytest.raises(BadRequest) as refused:
        revenue("")
    assert refused.value.problem["parameter"] == "as_of"


def test_attributes_survive_a_file_and_say_what_was_asked(sankofa: Sankofa, tmp_path: Path) -> None:
    ranked = sankofa.screen("net_margin", as_of="2020-12-31", limit=3)

    assert ranked.attrs["as_of"] == "2020-12-31"
    assert ranked.attrs["truncated"] is True
    assert ranked.attrs["universe"]["covered"] > ranked.attrs["universe"]["ranked"] > 3
    ranked.drop(columns="inputs").to_parquet(tmp_path / "ranked.parquet")
    assert pd.read_parquet(tmp_path / "ranked.parquet").attrs == ranked.attrs


def test_derived_figures_have_columns_of_their_own_also_if_there_are_none(
    sankofa: Sankofa,
) -> None:
    frame = sankofa.facts(WITH_HALF_YEARS, derived=True)
    empty = sankofa.facts([WITH_HALF_YEARS], derived=True, period_type="TTM")
    assert len(frame) > 10 and len(empty) == 0 and list(empty.columns) == list(frame.columns)
    assert "value_reported" not in frame and empty.attrs["empty"]["code"] == "not_computable"


def test_elements_and_the_universe_are_the_rows_of_their_lists(
    sankofa: Sankofa, service: Contract
) -> None:
    stated = sankofa.elements("XJSE:UBF0", as_of="2021-12-31")
    service_id = stated["service_id"].iloc[0]
    assert stated["figures"].sum() > 50 and stated["element"].is_unique
    element = stated["element"].iloc[0]
    values = sankofa.elements("XJSE:UBF0", element, as_of="2021-12-31")
    path = f"/v1/elements/{service_id}?element={element}&as_of=2021-12-31"
    rows = service.get(path, "professional").rows
    assert list(values["fact_id"]) == [row["fact_id"] for row in rows]
    assert list(values["value_reported"]) == [row["value_reported"] for row in rows]
    assert values["available_at"].max() <= pd.Timestamp(2021, 12, 31)

    listed = sankofa.universe("2026-02-01", exchange="XJSE")
    rows = service.get("/v1/universe?as_of=2026-02-01&exchange=XJSE", "professional").rows
    assert list(listed["ticker"]) == [row["ticker"] for row in rows] and len(rows) > 2
    assert listed.attrs["known_since"] <= "2026-02-01"
    before = sankofa.universe("2010-01-01", exchange="XJSE")
    assert len(before) == 0 and before.attrs["known_since"] == listed.attrs["known_since"]
