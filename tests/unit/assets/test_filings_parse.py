"""Parsers of filings: every figure becomes a row, everything else a rejection with a reason."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.entities.identifiers import mint
from assets.filings import companyfacts, submissions, xbrl_reports
from assets.filings.issuers import service_id_of
from assets.filings.periods import fiscal_label, period_type, years_of
from tests.helpers.filings import (
    ACCN_1,
    ACCN_2,
    LEI,
    company,
    document,
    fact,
    filer,
    locations,
    read,
    real,
    real_rows,
    reasons,
    report,
    report_fact,
    rows,
)
from tests.helpers.parsed_rows import has_columns
from warehouse.record.incoming import to_arrow
from warehouse.record.tables import ENTITIES, FUNDAMENTALS, RECORD_TABLES
from warehouse.tables.fundamentals import PeriodType

TABLES = {table.name: table for table in RECORD_TABLES}
PARSERS = (companyfacts.parse, submissions.parse, xbrl_reports.parse)


def test_a_fact_becomes_a_row_with_all_its_columns() -> None:
    parsed = read({"Revenue": {"ZAR": [fact(val=2577800000)]}})

    (row,) = rows(parsed)
    assert has_columns(row, FUNDAMENTALS)
    assert row["service_id"] == mint("cik", "0001172724")
    assert (row["line_item"], row["statement"]) == ("revenue", "income")
    assert row["value_reported"] == Decimal(2577800000)
    assert (row["unit"], row["currency_reported"]) == ("ZAR", "ZAR")
    assert (row["period_type"], row["fiscal_label"]) == ("FY", "FY2018")
    assert (row["period_start"], row["period_end"]) == (date(2018, 1, 1), date(2018, 12, 31))
    assert (row["available_at"], row["publication"]) == (date(2019, 3, 29), ACCN_1)
    assert (row["basis"], row["accounting_standard"]) == ("consolidated/ifrs", "ifrs")
    assert row["source_ref"].endswith("#/facts/ifrs-full/Revenue/units/ZAR/0")
    assert to_arrow(FUNDAMENTALS, rows(parsed))[1] == []


def test_a_cik_is_the_same_as_a_number_and_as_padded_text() -> None:
    bodies = [company({"ifrs-full": {}}, cik) for cik in (1172724, "0001172724")]
    assert service_id_of(1172724) == service_id_of("0001172724")
    assert all(reasons(companyfacts.parse(document(body), body)) == [] for body in bodies)


@pytest.mark.parametrize("digits", ["1234567890123456.78", "0.1", "-0.10", "5E+3", "1e-7", "12"])
def test_every_digit_survives(digits: str) -> None:
    body = company({"ifrs-full": {"Assets": {"units": {"USD": [fact(start="-", val="@")]}}}})
    body = body.replace(b'"@"', digits.encode())

    (row,) = rows(companyfacts.parse(document(body), body))

    assert row["value_reported"] == Decimal(digits)
    assert str(row["value_reported"]) == str(Decimal(digits))


@given(value=st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_any_number_survives(value: Decimal) -> None:
    body = company({"ifrs-full": {"Assets": {"units": {"USD": [fact(start="-", val="@")]}}}})
    body = body.replace(b'"@"', f"{value:f}".encode())
    (row,) = rows(companyfacts.parse(document(body), body))
    assert row["value_reported"] == value


def test_a_comparative_is_a_sighting_of_its_own() -> None:
    later = fact(accn=ACCN_2, filed="2020-04-06", fy=2019)
    parsed = read({"Revenue": {"USD": [fact(), later]}})
    assert [row["publication"] for row in rows(parsed)] == [ACCN_1, ACCN_2]
    # The filing of 2019 calls all its columns FY2019.
    assert [row["fiscal_label"] for row in rows(parsed)] == ["FY2018", "FY2018"]


def test_another_unit_is_another_figure() -> None:
    parsed = read({"BasicEarningsLossPerShare": {"TWD/shares": [fact()], "USD/shares": [fact()]}})
    units = {(row["unit"], row["currency_reported"]) for row in rows(parsed)}
    assert units == {("TWD/shares", "TWD"), ("USD/shares", "USD")}


def test_shares_have_no_currency() -> None:
    (row,) = rows(read({"NumberOfSharesOutstanding": {"shares": [fact(start="-")]}}))
    assert (row["unit"], row["currency_reported"]) == ("shares", None)


@pytest.mark.parametrize(
    ("element", "unit"),
    [
        ("NumberOfSharesOutstanding", "pure"),
        ("NumberOfSharesOutstanding", "USD"),
        ("Revenue", "USD/shares"),
        ("Revenue", "Person"),
        ("BasicEarningsLossPerShare", "shares"),
        ("BasicEarningsLossPerShare", "USD/ounce"),
    ],
)
def test_a_unit_that_the_line_item_cannot_have_is_rejected(element: str, unit: str) -> None:
    start = "-" if element.startswith("Number") else "2018-01-01"
    parsed = read({element: {unit: [fact(start=start)]}})
    assert rows(parsed) == [] and f"unit '{unit}'" in reasons(parsed)[0]


@pytest.mark.parametrize("unit", ["USD/shares", "USD-per-shares", "USD"])
def test_an_amount_per_share_has_one_unit_however_the_source_writes_it(unit: str) -> None:
    parsed = read({"BasicEarningsLossPerShare": {unit: [fact()]}})
    assert {row["unit"] for row in rows(parsed)} == {"USD/shares"}


@pytest.mark.parametrize("values", [[-43000000], [-43000, 8000], [27000000, Decimal("0.32")]])
def test_an_amount_scaled_like_the_statements_is_none_per_share(values: list[Any]) -> None:
    years = (("2017-01-01", "2017-12-31"), ("2018-01-01", "2018-12-31"))
    facts = [
        fact(val=float(value), start=start, end=end)
        for value, (start, end) in zip(values, years, strict=False)
    ]
    parsed = read({"BasicEarningsLossPerShare": {"USD": facts}})
    refused = [value for value in values if value % 1000 == 0]
    assert len(rows(parsed)) == len(values) - len(refused)
    assert [("scaled" in reason) for reason in reasons(parsed)] == [True] * len(refused)


@pytest.mark.parametrize("diluted", [5000, 4987])
def test_a_share_may_earn_thousands_in_a_currency_of_small_worth(diluted: int) -> None:
    per_share = {"BasicEarningsLossPerShare": 5000, "DilutedEarningsLossPerShare": diluted}
    parsed = read({name: {"KRW": [fact(val=value)]} for name, value in per_share.items()})
    assert [row["value_reported"] for row in rows(parsed)] == [5000, diluted]
    assert reasons(parsed) == []


def test_ifrs_and_us_gaap_are_two_bases() -> None:
    (row,) = rows(read({"Assets": {"USD": [fact(start="-")]}}, "us-gaap"))
    assert (row["basis"], row["accounting_standard"]) == ("consolidated/us-gaap", "us-gaap")


def test_an_element_outside_the_table_is_not_read() -> None:
    parsed = read({"NoElementOfOurs": {"USD": [{"rubbish": True}]}})
    assert rows(parsed) == [] and reasons(parsed) == []


def test_elements_that_agree_become_one_row_of_the_preferred_element() -> None:
    elements = {
        "Revenues": {"USD": [fact()]},
        "RevenueFromContractWithCustomerExcludingAssessedTax": {"USD": [fact()]},
    }
    (row,) = rows(read(elements, "us-gaap"))
    assert row["element"] == "us-gaap:Revenues"


def test_elements_of_equal_rank_that_disagree_are_all_rejected() -> None:
    elements = {
        "PartnersCapital": {"USD": [fact(start="-")]},
        "MembersEquity": {"USD": [fact(start="-", val=99)]},
    }
    parsed = read(elements, "us-gaap")
    assert rows(parsed) == []
    # Each of them states two lines: all equity, and that of the owners.
    assert len(reasons(parsed)) == 4 and "disagree" in reasons(parsed)[0]


def test_the_same_fact_twice_in_a_filing_is_two_rows() -> None:
    assert len(rows(read({"Revenue": {"USD": [fact(), fact()]}}))) == 2


def test_two_values_of_a_figure_in_one_filing_are_rejected() -> None:
    parsed = read({"Revenue": {"USD": [fact(), fact(val=101)]}})
    assert rows(parsed) == []
    assert len(reasons(parsed)) == 2 and "different values" in reasons(parsed)[0]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"end": "2922-12-31"}, "believe"),
        ({"end": "2018-02-30"}, "calendar"),
        ({"end": "20181231"}, "not a date"),
        ({"end": "-"}, "end: missing"),
        ({"start": 20180101}, "not a date"),
        ({"start": "2019-01-01"}, "before it starts"),
        ({"filed": "-"}, "filed: missing"),
        ({"filed": "2018-06-30"}, "after the filing"),
        ({"accn": "-"}, "accn: missing"),
        ({"accn": "latest"}, "accession number"),
        ({"val": None}, "val: missing"),
        ({"val": "100"}, "not a number"),
        ({"val": True}, "not a number"),
    ],
)
def test_an_unreadable_fact_is_rejected_with_its_json_pointer(
    changes: dict[str, Any], word: str
) -> None:
    parsed = read({"BasicEarningsLossPerShare": {"EUR/shares": [fact(), fact(**changes)]}})
    assert len(rows(parsed)) == 1
    assert locations(parsed) == ["/facts/ifrs-full/BasicEarningsLossPerShare/units/EUR~1shares/1"]
    assert word in reasons(parsed)[0]


def test_a_balance_with_a_period_is_rejected() -> None:
    assert "instant" in reasons(read({"Assets": {"USD": [fact()]}}))[0]


def test_a_flow_without_a_start_has_the_period_type_other() -> None:
    (row,) = rows(read({"Revenue": {"USD": [fact(start="-")]}}))
    assert (row["period_type"], row["period_start"]) == ("OTHER", None)


def test_period_types_follow_from_length_and_fiscal_year() -> None:
    year = fact(start="2018-07-01", end="2019-06-30", filed="2019-09-01")
    spans = {
        ("2018-07-01", "2018-09-30"): "Q1",
        ("2018-10-01", "2018-12-31"): "Q2",
        ("2019-04-01", "2019-06-30"): "Q4",
        ("2018-07-01", "2018-12-31"): "H1",
        ("2019-01-01", "2019-06-30"): "H2",
        ("2018-07-01", "2019-03-31"): "9M",
        ("2018-10-01", "2019-06-30"): "OTHER",
        ("2019-07-01", "2019-09-30"): "Q1",
        ("2018-07-01", "2018-08-31"): "OTHER",
        ("2018-07-01", "2019-06-30"): "FY",
    }
    facts = [fact(start=start, end=end, filed="2019-11-01") for start, end in spans]
    parsed = read({"Revenue": {"USD": [year, *facts]}})
    period_types = {
        (str(r["period_start"]), str(r["period_end"])): r["period_type"] for r in rows(parsed)
    }
    assert period_types == spans


def test_weeks_instead_of_months_make_the_same_quarters() -> None:
    years = years_of([(date(2018, 12, 30), date(2019, 12, 28))])
    assert period_type((date(2019, 3, 31), date(2019, 6, 29)), years) == "Q2"
    assert period_type((date(2019, 12, 29), date(2020, 3, 28)), years) == "Q1"


@pytest.mark.parametrize(
    ("start", "end", "kind", "label"),
    [
        ("2020-01-01", "2020-12-31", "FY", "FY2020"),
        ("2019-07-01", "2020-06-30", "FY", "FY2020"),
        ("2020-02-02", "2021-01-30", "FY", "FY2021"),
        # A year of 53 weeks that ends on the first days of January.
        ("2019-12-30", "2021-01-03", "FY", "FY2020"),
        ("2020-01-17", "2021-01-16", "FY", "FY2021"),
        ("2019-07-01", "2019-12-31", "H1", "H1 FY2020"),
        ("2020-01-01", "2020-06-30", "H2", "H2 FY2020"),
        ("2020-10-01", "2020-12-31", "Q1", "Q1 FY2021"),
        ("2020-12-29", "2021-03-30", "Q1", "Q1 FY2021"),
        ("2020-04-05", "2020-07-04", "Q2", "Q2 FY2020"),
        ("2020-07-01", "2020-09-30", "Q3", "Q3 FY2020"),
        ("2020-10-04", "2021-01-02", "Q4", "Q4 FY2020"),
        ("2020-01-01", "2020-09-30", "9M", "9M FY2020"),
        ("2020-01-01", "2020-02-29", "OTHER", None),
    ],
)
def test_a_label_is_made_from_the_period(
    start: str, end: str, kind: PeriodType, label: str | None
) -> None:
    assert fiscal_label((date.fromisoformat(start), date.fromisoformat(end)), kind) == label


def test_a_balance_has_the_label_of_the_period_that_it_ends() -> None:
    revenue = [fact(start="2019-01-01", end="2019-12-31", filed="2020-11-01")]
    revenue += [
        fact(start=day, end="2020-06-30", filed="2020-11-01")
        for day in ("2020-01-01", "2020-04-01")
    ]
    days = ("2019-12-31", "2020-06-30", "2020-08-15")
    assets = [fact(start="-", end=day, filed="2020-11-01") for day in days]
    parsed = read({"Revenue": {"USD": revenue}, "Assets": {"USD": assets}})
    labels = [row["fiscal_label"] for row in rows(parsed) if row["line_item"] == "total_assets"]
    assert labels == ["FY2019", "H1 FY2020", None]


def test_a_year_that_is_filed_later_does_not_tell_what_a_quarter_was() -> None:
    quarter = {"start": "2016-01-01", "end": "2016-03-31"}
    facts = [
        fact(start="2015-01-01", end="2015-12-31", filed="2016-03-01"),
        fact(**quarter, accn=ACCN_2, filed="2016-07-29"),
        fact(start="2015-04-01", end="2016-03-31", accn="0001193125-21-000001", filed="2021-01-01"),
    ]
    balance = fact(start="-", end="2016-03-31", accn=ACCN_2, filed="2016-07-29")
    parsed = read({"Revenue": {"USD": facts}, "Assets": {"USD": [balance]}})
    assert [row["fiscal_label"] for row in rows(parsed)] == [
        "FY2015",
        "Q1 FY2016",
        "FY2016",
        "Q1 FY2016",
    ]


def test_a_half_year_between_two_fiscal_years_belongs_to_neither() -> None:
    years = years_of(
        [(date(2009, 7, 1), date(2010, 6, 30)), (date(2011, 1, 1), date(2011, 12, 31))]
    )
    assert period_type((date(2010, 7, 1), date(2010, 12, 31)), years) == "OTHER"


def test_a_quarter_of_an_unknown_year_is_other() -> None:
    (row,) = rows(read({"Revenue": {"USD": [fact(end="2018-03-31")]}}))
    assert row["period_type"] == "OTHER"


BROKEN = [
    b"",
    b"\xef\xbb\xbf",
    b"<html>busy</html>",
    b"\xff\xfe{}",
    b"[" * 90_000,
    b"null",
    b"[]",
    b'{"cik": 1, "facts": {"ifrs-full": {"Revenue": {"units": ',
    b'{"cik": 1, "facts": {"ifrs-full": {"Revenue": {"units": {"USD": [{"val": NaN}]}}}}}',
]


@pytest.mark.parametrize("body", BROKEN)
@pytest.mark.parametrize("parse", PARSERS)
def test_a_body_of_another_format_is_one_rejection(parse: Any, body: bytes) -> None:
    parsed = parse(document(body), body)
    assert not any(parsed.rows.values())
    assert len(reasons(parsed)) == 1 and locations(parsed) == [""]


@given(body=st.binary() | st.text().map(str.encode))
@pytest.mark.parametrize("parse", PARSERS)
def test_no_bytes_ever_raise(parse: Any, body: bytes) -> None:
    parsed = parse(document(body), body)
    assert len(reasons(parsed)) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=JSON)
def test_any_fact_is_a_row_or_a_rejection(value: Any) -> None:
    parsed = read({"Revenue": {"USD": [fact(), value]}})
    assert len(rows(parsed)) + len(reasons(parsed)) in (1, 2)


@given(name=st.sampled_from(sorted(fact())), value=JSON)
def test_any_member_is_read_or_rejected(name: str, value: Any) -> None:
    parsed = read({"Revenue": {"USD": [fact() | {name: value}]}})
    accepted, misfits = to_arrow(FUNDAMENTALS, rows(parsed))
    assert accepted.num_rows + len(misfits) + len(reasons(parsed)) == 1


def test_a_filer_of_annual_reports_is_an_organisation_with_its_identifiers() -> None:
    body = filer(lei="989900FICTIONAL00170")
    parsed = submissions.parse(document(body), body)

    (entity,) = parsed.rows["entities"]
    assert has_columns(entity, ENTITIES)
    assert entity["service_id"] == mint("cik", "0001172724")
    assert (entity["jurisdiction"], entity["country"]) == ("ZA", "ZA")
    assert entity["available_at"] == date(2026, 2, 1)
    assert entity["publication"] == "0001172724-26-000002"
    assert json.loads(entity["other_names"]) == ["Fictional Gold & Silver Ltd"]
    assert entity["former_names"] == entity["other_names"]
    identifiers = {(row["id_type"], row["id_value"]) for row in parsed.rows["identifiers"]}
    assert identifiers == {
        ("cik", "0001172724"),
        ("lei", "989900FICTIONAL00170"),
        ("ticker", "XNYS:FGL"),
        ("ticker", "OTC:FGLB"),
    }
    for name, table_rows in parsed.rows.items():
        assert to_arrow(TABLES[name], table_rows)[1] == []


def test_blanks_of_any_kind_in_a_name_are_one_blank() -> None:
    body = filer(
        name="FICTIONAL\u00a0GOLD \t LTD ",
        formerNames=[{"name": "FICTIONAL  SILVER LTD"}, {"name": "FICTIONAL SILVER\nLTD"}],
    )

    (entity,) = submissions.parse(document(body), body).rows["entities"]
    assert entity["legal_name"] == "FICTIONAL GOLD LTD"
    assert entity["former_names"] == '["FICTIONAL SILVER LTD"]'


def test_a_person_who_files_holdings_is_neither_stored_nor_named() -> None:
    recent = {"accessionNumber": ["0001"], "filingDate": ["2026-01-01"], "form": ["4"]}
    body = filer(name="Doe Jane Q", filings={"recent": recent})
    parsed = submissions.parse(document(body), body)
    assert not any(parsed.rows.values())
    assert reasons(parsed) == ["no annual report: not established to be an issuer"]


def test_an_lei_with_wrong_check_digits_is_rejected() -> None:
    body = filer(lei="2138002QX8KZTPLXS799")
    parsed = submissions.parse(document(body), body)
    assert parsed.rows["entities"][0]["lei"] is None
    assert locations(parsed) == ["/lei"]


def test_a_ticker_without_a_market_is_rejected() -> None:
    body = filer(tickers=["FGL"], exchanges=[], lei=None)
    parsed = submissions.parse(document(body), body)
    assert locations(parsed) == ["/tickers/0"]


def test_an_older_page_without_filings_is_read_without_rows_or_rejections() -> None:
    page = json.dumps({name: [] for name in ("accessionNumber", "filingDate", "form")}).encode()
    url = "https://data.sec.gov/submissions/CIK0001172724-submissions-001.json"
    parsed = submissions.parse(document(page, url), page)
    assert (parsed.rows, parsed.rejected) == ({}, {})


def test_only_what_looks_like_an_older_page_is_taken_for_one() -> None:
    url = "https://data.sec.gov/submissions/CIK0001172724-submissions-001.json"
    for page in (b"{}", b'{"form": 1}', b"[]"):
        assert len(reasons(submissions.parse(document(page, url), page))) == 1


def test_a_period_of_a_report_ends_on_the_day_before_midnight() -> None:
    balance = report_fact(concept="ifrs-full:Assets", period="2024-01-01T00:00:00")
    parsed = report(report_fact(), balance)
    flow, assets = rows(parsed)
    assert flow["value_reported"] == Decimal("1234567890123456.78")
    assert (flow["period_start"], flow["period_end"]) == (date(2023, 1, 1), date(2023, 12, 31))
    assert (flow["period_type"], assets["period_type"]) == ("FY", "INSTANT")
    assert (flow["unit"], flow["service_id"]) == ("EUR", mint("lei", LEI))
    assert has_columns(flow, FUNDAMENTALS)
    assert to_arrow(FUNDAMENTALS, rows(parsed))[1] == []


PAGE = "https://www.sec.gov/Archives/edgar/data/1172724/000119312519000001"
PAGE += f"/{ACCN_1}-index.htm"


@pytest.mark.parametrize(
    ("url", "page"),
    [
        (
            "https://data.sec.gov/api/xbrl/companyfacts/CIK0001172724.json",
            PAGE,
        ),
        # An address is never made up from that of another publisher.
        ("https://example.org/CIK0001172724.json", None),
        ("https://sec.gov.example.org/CIK0001172724.json", None),
    ],
)
def test_a_figure_names_the_filing_that_states_it(url: str, page: str | None) -> None:
    body = company({"ifrs-full": {"Revenue": {"units": {"ZAR": [fact(form="20-F/A")]}}}})
    (row,) = rows(companyfacts.parse(document(body, url), body))
    named = row["document_id"], row["form"], row["document_url"]
    assert named == (ACCN_1, "20-F/A", page)


def test_a_figure_of_a_fact_without_a_form_has_none() -> None:
    (row,) = rows(read({"Revenue": {"ZAR": [fact(form="-")]}}))
    assert (row["document_id"], row["form"]) == (ACCN_1, None)


def test_a_report_without_a_date_added_has_no_available_at() -> None:
    (undated,) = rows(report(report_fact()))
    assert undated["available_at"] is None and undated["available_at_evidence"] is None
    (dated,) = rows(report(report_fact(), **{"X-Date-Added": "2023-11-09 00:00:00"}))
    assert dated["available_at"] == date(2023, 11, 9)
    assert dated["available_at_evidence"] == "published"


def test_segments_and_text_are_out_of_scope_and_a_report_of_nothing_else_says_so() -> None:
    segment = report_fact(**{"ifrs-full:SegmentsAxis": "x:GoldMember"})
    text = report_fact("Some words", concept="ifrs-full:DisclosureOfX")
    assert reasons(report(segment, text, report_fact())) == []
    parsed = report(segment, text)
    (reason,) = reasons(parsed)
    assert rows(parsed) == [] and "2 facts" in reason and "none is of a line item" in reason


def test_a_rounded_value_in_the_same_report_is_rejected() -> None:
    parsed = report(report_fact("1234567", decimals=0), report_fact("1200000", decimals=-5))
    assert [row["value_reported"] for row in rows(parsed)] == [Decimal(1234567)]
    assert "rounding" in reasons(parsed)[0]


def test_two_precise_values_of_one_figure_are_rejected() -> None:
    parsed = report(report_fact("1234567", decimals=0), report_fact("1234570", decimals=0))
    assert rows(parsed) == [] and len(reasons(parsed)) == 2


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"value": None}, "no value"),
        ({"value": "NaN"}, "not a number"),
        ({"entity": "scheme:989900FICTIONAL00171"}, "LEI"),
        ({"entity": "other:989900FICTIONAL00170"}, "LEI"),
        ({"period": "2024-01-01T00:00:00"}, "no duration"),
        ({"period": "2023-01-01T00:00:00/2024-01-01T12:00:00"}, "midnight"),
        ({"decimals": 1e40}, "decimals"),
    ],
)
def test_an_unreadable_fact_of_a_report_is_rejected_with_a_reason(
    changes: dict[str, Any], word: str
) -> None:
    parsed = report(report_fact(**changes))
    assert rows(parsed) == [] and locations(parsed) == ["/facts/f-0"]
    assert word in reasons(parsed)[0]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("folder", "parse"),
    [
        ("companyfacts", companyfacts.parse),
        ("submissions", submissions.parse),
        ("filings-xbrl-org", xbrl_reports.parse),
    ],
)
def test_every_row_of_a_real_file_fits_its_table(folder: str, parse: Any) -> None:
    for path, body in real(folder):
        parsed = parse(document(body, path.as_uri()), body)
        found = sum(map(len, parsed.rows.values())) + len(reasons(parsed))
        assert found > 0, path
        for name, table_rows in parsed.rows.items():
            assert to_arrow(TABLES[name], table_rows)[1] == [], path


@pytest.mark.shared
@pytest.mark.parametrize(
    ("line_item", "day", "first", "second"),
    [
        ("cfo", date(2017, 12, 31), Decimal(762400000), Decimal(732000000)),
        ("total_assets", date(2018, 12, 31), Decimal(6104300000), Decimal(5909700000)),
    ],
)
def test_gold_fields_restatements_are_two_sightings_of_one_figure(
    line_item: str, day: date, first: Decimal, second: Decimal
) -> None:
    sightings = [
        row
        for row in real_rows("CIK0001172724.trimmed.json")
        if row["line_item"] == line_item and row["period_end"] == day
    ]
    assert len({tuple(row[name] for name in FUNDAMENTALS.identity) for row in sightings}) == 1
    values = {(row["available_at"], row["value_reported"]) for row in sightings}
    assert {(date(2019, 3, 29), first), (date(2020, 4, 6), second)} <= values


@pytest.mark.shared
def test_gold_fields_change_of_standard_is_not_a_restatement() -> None:
    all_rows = real_rows("CIK0001172724.trimmed.json")
    standards = {
        row["accounting_standard"] for row in all_rows if row["line_item"] == "total_assets"
    }
    assert standards == {"ifrs", "us-gaap"}
    assert all(row["accounting_standard"] in row["basis"] for row in all_rows)
