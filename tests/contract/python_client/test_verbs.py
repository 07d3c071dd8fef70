"""What the client makes of rows: companies, wide statements, vintages, flat tables, verdicts."""

from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sankofa_client import HigherTierNeeded, Sankofa

from tests.helpers.contract_client import Contract

ISSUER, LEI = "DCHGWRYXXDHC", "989900ZAA00000000081"


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_statement_is_lines_by_periods_as_known_on_the_day(
    service: Contract, sankofa: Sankofa
) -> None:
    company = sankofa.company("XJSE:UBF0")
    statement = company.statement(as_of="2021-12-31", decimals=True)
    path = f"/v1/fundamentals/{ISSUER}?as_of=2021-12-31&period_type=FY&publication=newest"
    rows = service.get(path).rows

    stacked: Any = statement.stack().dropna()
    cells = {(name, str(day.date())): value for (name, day), value in stacked.items()}
    assert {place: str(value) for place, value in cells.items()} == {
        (row["line_item"], row["period_end"]): str(row["value_reported"]) for row in rows
    }
    assert list(statement.index[:2]) == ["revenue", "cost_of_sales"]
    assert statement.columns.is_monotonic_increasing
    assert (statement.attrs["currency"], statement.attrs["as_of"]) == ("ZAR", "2021-12-31")
    balance = company.statement("balance", as_of="2021-12-31", decimals=True)
    parts = balance.loc[["total_liabilities", "total_equity"]].sum()
    assert list(parts) == list(balance.loc["total_assets"])


def test_a_statement_is_in_the_currency_in_which_the_issuer_reports_unless_one_is_chosen(
    sankofa: Sankofa, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = sankofa.facts(ISSUER, period_type="FY", statement="income")
    newest = facts[facts["period_end"] == facts["period_end"].max()]
    translated = newest.assign(currency_reported="USD", value_reported=1.0)
    both = pd.concat([facts, translated])
    both.attrs.update(facts.attrs)
    company = sankofa.company(ISSUER)
    monkeypatch.setattr(company, "facts", lambda **_: both)

    assert company.statement().equals(sankofa.company(ISSUER).statement("income"))
    assert company.statement().attrs["other_currency"] == ["USD"]
    # A translation is of few periods; an issuer that changed its currency has the new one alone.
    changed = facts.assign(
        currency_reported=facts["currency_reported"].where(
            facts["period_end"] < facts["period_end"].max(), "USD"
        )
    )
    monkeypatch.setattr(company, "facts", lambda **_: changed)
    assert company.statement().attrs["currency"] == "USD"
    assert company.statement().attrs["other_currency"] == ["ZAR"]
    monkeypatch.setattr(company, "facts", lambda **_: both)
    assert set(company.statement(currency="USD").stack()) == {1.0}
    with pytest.raises(ValueError, match="there are ZAR, USD"):
        company.statement(currency="EUR")
    monkeypatch.setattr(company, "facts", lambda **_: pd.concat([newest, translated]))
    with pytest.raises(ValueError, match="pass currency="):
        company.statement()


def test_vintages_are_every_value_of_a_line_by_period(sankofa: Sankofa) -> None:
    history: Any = sankofa.company(LEI).vintages("revenue")
    assert list(history.loc["2020-06-30", "value_reported"]) == [970481000.0, 931662000.0]
    assert history.index.is_monotonic_increasing
    then: Any = sankofa.company(LEI).vintages("revenue", as_of="2020-12-31", decimals=True)
    assert list(then.loc["2020-06-30", "value_reported"]) == [Decimal(970481000)]


def test_a_company_shows_itself_in_a_notebook_and_asks_as_the_client_does(
    sankofa: Sankofa, monkeypatch: pytest.MonkeyPatch
) -> None:
    company = sankofa.company("XJSE:UBF0")
    assert (
        repr(company)
        == f"Company('XJSE:UBF0', 'Ubuntu Fictional Mining Ltd', service_id='{ISSUER}')"
    )
    pd.testing.assert_frame_equal(company.filings(), sankofa.filings("XJSE:UBF0"))
    pd.testing.assert_frame_equal(company.metrics(), sankofa.metrics("XJSE:UBF0"))
    pd.testing.assert_frame_equal(company.elements(), sankofa.elements("XJSE:UBF0"))
    pd.testing.assert_frame_equal(company.awards(), sankofa.awards("XJSE:UBF0"))

    monkeypatch.setattr(company, "name", "<script>")
    texts: list[str] = []
    parser = HTMLParser()
    monkeypatch.setattr(parser, "handle_data", texts.append)
    monkeypatch.setattr(parser, "handle_starttag", lambda tag, attrs: texts.append(f"<{tag}"))
    parser.feed(company._repr_html_())
    assert {"<a", "XJSE:UBF0", LEI, ISSUER} <= set(map(str.strip, texts)) | {"XJSE:UBF0"}
    assert "<script" not in texts


def test_a_narrow_frame_has_its_provenance_in_attributes(sankofa: Sankofa) -> None:
    whole = sankofa.facts(["XJSE:UBF0"], line_items="revenue", narrow=False)
    narrow = sankofa.facts(["XJSE:UBF0"], line_items="revenue")
    provenance = narrow.attrs["provenance"]
    assert [name for name in whole if name not in provenance] == list(narrow)
    assert provenance["license_class"] == sorted(set(whole["license_class"]))
    assert "source_ref" in provenance and "source_ref" not in narrow
    assert list(narrow.columns[:2]) == ["service_id", "identifier"]
    assert set(narrow["identifier"]) == {"XJSE:UBF0"}


def test_every_vintage_of_a_series_is_that_of_the_bulk_file(
    service: Contract, sankofa: Sankofa
) -> None:
    series = "FRED.FICKENGDPQ"
    with (
        Sankofa(service.server.address, service.key("sample")) as client,
        pytest.raises(HigherTierNeeded),
    ):
        client.series(series, vintages="all")
    every = sankofa.series(series, vintages="all")
    latest = sankofa.series(series)
    assert every.index.names == ["period_end", "vintage"] and len(every) > len(latest)
    last = every[~every["withdrawn"].astype(bool)].groupby(level="period_end")["value"].last()
    pd.testing.assert_series_equal(last, latest["value"])
    assert latest.index.is_monotonic_increasing and latest.index.name == "period_end"

    day = every["available_at"].sort_values().iloc[len(every) // 2]
    known = sankofa.series(series, vintages="all", as_of=day)
    assert 0 < len(known) < len(every) and known["available_at"].max() <= day
    of_country = sankofa.series(country="ke", as_of=day, vintages="all")
    assert len(of_country) > 0 and set(of_country["country"]) == {"KE"}
    then = sankofa.series(series, as_of=day)["value"]
    pd.testing.assert_series_equal(known.groupby(level="period_end")["value"].last(), then)
    assert not {"superseded_at", "latest"} & set(every)
    assert len(sankofa.series(series, vintages="all", limit=3)) == 3
    kenyan = sankofa.series(as_of=day, country="KEN", vintages="all")
    assert set(kenyan["country"]) == {"KE"} and series in set(kenyan["series"])


@pytest.mark.parametrize("decimals", [False, True])
def test_flat_tenders_have_the_values_of_their_releases(decimals: bool, sankofa: Sankofa) -> None:
    flat = sankofa.tenders("KE", flat=True, decimals=decimals)
    nested = sankofa.tenders("KE", decimals=decimals)
    assert len(flat) == len(nested) > 100

    def amount(members: Any) -> Any:
        return ((members or {}).get("value") or {}).get("amount")

    assert list(flat["value"].dropna()) == [
        value for value in nested["tender"].map(amount) if value is not None
    ]
    one_each = nested["awards"].map(lambda awards: isinstance(awards, list) and len(awards) == 1)
    awarded = nested[one_each]["awards"].map(lambda awards: amount(awards[0]))
    assert list(flat[one_each]["award_value"].dropna()) == list(awarded.dropna())
    assert flat["value"].dtype == (object if decimals else "float64")
    assert flat["tender_end"].dtype == "datetime64[us]"
    assert not {"buyer", "tender", "awards", "contracts"} & set(flat)
    assert flat["suppliers"].notna().sum() > 10 and flat["buyer_name"].notna().all()
    nothing = sankofa.tenders("KE", query="nothing at all", flat=True, decimals=decimals)
    assert len(nothing) == 0 and set(nothing) == set(flat)


def test_flat_suppliers_have_a_row_for_each_currency(sankofa: Sankofa) -> None:
    nested = sankofa.suppliers("KE", decimals=True)
    flat = sankofa.suppliers("KE", flat=True, decimals=True)
    totals = [total for totals in nested["totals"] for total in totals]
    assert len(totals) > 10
    assert [total["value"] for total in totals] == list(flat["value"].dropna())
    assert [total["currency"] for total in totals] == list(flat["currency"].dropna())


def test_what_a_supplier_won_is_found_by_the_id_that_the_list_gives(sankofa: Sankofa) -> None:
    suppliers = sankofa.suppliers("KE")
    (unregistered, *_) = suppliers[suppliers["service_id"].isna()]["party_id"]
    assert len(sankofa.awards(unregistered)) > 0


def test_a_frame_of_chosen_members_has_no_others(sankofa: Sankofa) -> None:
    frame = sankofa.rows(f"/v1/fundamentals/{ISSUER}", fields="value_reported,line_item")
    assert list(frame) == ["value_reported", "line_item"] and frame.notna().all(axis=None)


def test_a_table_is_matched_with_its_columns_and_its_index(
    service: Contract, sankofa: Sankofa
) -> None:
    names = ["Dodo Fictional Bank PLC", "Dodo Bank", None] * 10
    table = pd.DataFrame({"name": names, "country": "KE", "amount": range(30)}, index=range(7, 37))
    table["id_value"] = [None, None, LEI] * 10
    table.loc[table["id_value"].notna(), "country"] = None
    with Sankofa(service.server.address, service.key("sample")) as client:
        # More rows than a key of this tier gets in one answer.
        matched = client.match(table)
    pd.testing.assert_frame_equal(matched[list(table)], table)
    assert list(matched["service_id"].notna()) == [True, False, True] * 10
    assert set(matched.loc[matched["id_value"].notna(), "service_id"]) == {ISSUER}
    assert matched["candidates"].iloc[1] and matched.attrs["data_version"]
    pd.testing.assert_frame_equal(sankofa.match(table), matched)


def test_claims_are_judged_in_their_order(sankofa: Sankofa) -> None:
    claim = {"service_id": ISSUER, "line_item": "revenue", "period": "FY2020"}
    values = [970481000, Decimal("931662000"), 1.5] * 9
    days = [pd.Timestamp(2020, 12, 31), None, None] * 9
    claims = [
        {**claim, "value": value, "as_of": day} for value, day in zip(values, days, strict=True)
    ]
    judged = sankofa.claims(claims)
    assert list(judged["verdict"]) == ["matches", "matches", "differs"] * 9
    assert list(judged["value"]) == values
    assert judged["known_then"].iloc[2]["value_reported"] == 931662000
    pd.testing.assert_frame_equal(sankofa.claims(pd.DataFrame(claims)), judged)


def test_the_catalogue_names_what_other_methods_take(sankofa: Sankofa) -> None:
    series = sankofa.catalogue("series", country="KE")
    assert "FRED.FICKENGDPQ" in set(series["name"])
    assert set(sankofa.catalogue("line_item")["name"]) <= set(sankofa.line_items())
    assert sankofa.line_items()[0] == "revenue"
