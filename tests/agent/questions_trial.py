"""The fourteen ordinary questions of a trial by an outsider, with what they cost it."""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context
from typing import Any

from tests.agent.published import Published
from tests.agent.question import Answer, Question, Trial, always, call, words
from tests.sample_world.organisations import issuer

_YEAR = {"from_": "2025-01-01", "to": "2025-12-31"}
_TEN_DIGITS = Context(prec=10, rounding=ROUND_HALF_EVEN)
_ISSUERS = {issuer(serial).name: serial for serial in range(18)}


def _margins(published: Published) -> Answer:
    def pair(as_of: str | None) -> list[object]:
        lines = ("operating_profit", "revenue")
        return [published.figure(0, line, "FY2020", as_of) for line in lines]

    return {"then": pair("2020-12-31"), "today": pair(None)}


def _winners(published: Published) -> Answer:
    """Count the processes and awards of 2025 of each supplier, by the days of the awards."""
    rows = published.rows(
        "SELECT entity_id, entity_name, count(DISTINCT ocid) AS processes, sum(value) AS value "
        "FROM af_tender_facts WHERE country = 'KE' AND measure = 'award_value' AND latest "
        "AND period_end BETWEEN '2025-01-01' AND '2025-12-31' GROUP BY ALL "
        "ORDER BY processes DESC, count(*) DESC, entity_id LIMIT 10"
    )
    return {
        "processes": [row["processes"] for row in rows],
        "values": [row["value"] for row in rows],
        "listed": [row["entity_name"] for row in rows if row["entity_name"] in _ISSUERS],
    }


def _no_release_days(published: Published) -> Answer:
    assert published.one("SELECT count(available_at) FROM af_macro_annual") == 0
    return {"answerable": False, "reason": words("no release dates", "must not be presented")}


def _screened(published: Published) -> Answer:
    """Divide profit by equity of the last year that was public, unless one was restated since."""
    ranked: list[tuple[Any, str]] = []
    revised = 0
    for name, serial in _ISSUERS.items():
        if issuer(serial).country.code != "ZA":
            continue
        known = published.figures(serial, _RETURN, "2021-06-30")
        year = max(row["period_end"] for row in known if row["period_type"] == "FY")
        then = _values(known, year)
        if then == _values(published.figures(serial, _RETURN), year):
            quotient = _TEN_DIGITS.divide(*(then[line] for line in _RETURN))
            ranked.append((quotient.normalize(), name))
        else:
            revised += 1
    ranked.sort(reverse=True)
    return {
        "names": [name for _, name in ranked],
        "values": [value for value, _ in ranked],
        "restated since": revised,
    }


_RETURN = ("profit_attributable", "equity_attributable")


def _values(rows: list[dict[str, Any]], year: str) -> Mapping[str, Any]:
    return {row["line_item"]: row["value_reported"] for row in rows if row["period_end"] == year}


def _last_revenue(published: Published) -> Answer:
    newest = published.figures(4, ["revenue"], period_type="FY")[0]
    names = ("value_reported", "currency_reported", "period_end")
    return {"name": issuer(4).name, **{name: newest[name] for name in names}}


def _no_rate(published: Published) -> Answer:
    assert not published.observations("FX.EUR.KES", "1900-01-01", "2025-06-30", "2025-06-30")
    return {
        "revenue": published.figure(2, "revenue", "FY2025"),
        "currency": "KES",
        "rate": "not_known_then",
    }


def _nothing_of(*fragments: str) -> Any:
    """Return a check that no published column is named after any of the words."""

    def check(published: Published) -> bool:
        return not [name for name in published.columns for word in fragments if word in name]

    return check


def _no_price_or_pay(published: Published) -> Answer:
    assert _nothing_of("price", "pay", "salary", "person")(published)
    return {"price": words("redistributed"), "pay": words("no personal data")}


def _cleaning(published: Published) -> Answer:
    rows = published.rows(
        "SELECT awards.amount, awards.currency, release.ocid FROM af_tender_releases AS release "
        "JOIN af_tender_awards AS awards USING (ocid, release_id) "
        "WHERE release.country = 'ZA' AND release.latest AND awards.latest "
        "AND release.date BETWEEN '2025-01-01' AND '2025-12-31' "
        "AND release.tender_status = 'complete' "
        "AND release.release->>'$.tender.description' ILIKE '%cleaning%' "
        "AND release.release->>'$.buyer.name' ILIKE '%municipality%' "
        "ORDER BY release.date DESC, release.release_id LIMIT 10"
    )
    return {
        "ocids": [row["ocid"] for row in rows],
        "amounts": [row["amount"] for row in rows],
        "currencies": [row["currency"] for row in rows],
    }


def _cpi(published: Published) -> Answer:
    days = ("2024-10-01", "2024-10-31")
    (then,) = published.observations("FRED.FICKENCPIM", *days, "2024-12-31")
    (now,) = published.observations("FRED.FICKENCPIM", *days)
    return {
        "value then": then["value"],
        "base then": then["base_period"],
        "value now": now["value"],
        "base now": now["base_period"],
    }


def _stated(published: Published) -> Answer:
    query = "SELECT count(*) FROM af_tender_releases WHERE country = 'KE' AND latest"
    with_value = published.one(
        f"{query} AND (tender_value IS NOT NULL OR ocid IN "
        "(SELECT ocid FROM af_tender_awards WHERE latest AND amount IS NOT NULL))"
    )
    return {"releases": published.one(query), "with a value": with_value, "status": "PASS"}


def _won(published: Published) -> Answer:
    totals = published.rows(
        # A contract repeats the award that it follows.
        "SELECT currency, count(*) AS awards, sum(amount) AS value FROM (SELECT DISTINCT ON (ocid, "
        "award_id) * FROM af_tender_awards WHERE latest AND service_id = ? AND amount IS NOT NULL) "
        "GROUP BY currency ORDER BY currency",
        published.service_id(2),
    )
    return {"totals": totals}


def _single_bids(published: Published) -> Answer:
    rows = published.panel("single-bid-rate", country="KE", dimension="all")
    months = [row for row in rows if row["month"].startswith("2025")]
    return {"months": [row["month"] for row in months], "rates": [row["value"] for row in months]}


QUESTIONS = (
    Question(
        "What was the operating margin of Ubuntu Fictional Mining for FY2020 as known at the end "
        "of 2020, and what is it as known today?",
        (
            call("search_entities", query="Ubuntu Fictional Mining"),
            call(
                "get_fundamentals",
                service_id="$1.data[0].service_id",
                line_items=["operating_profit", "revenue"],
                period_type="FY",
                as_of="2020-12-31",
                limit=2,
            ),
            call(
                "get_fundamentals",
                service_id="$1.data[0].service_id",
                line_items=["operating_profit", "revenue"],
                period_type="FY",
            ),
        ),
        {
            "then": "$2.data[?fiscal_label=FY2020].value_reported",
            "today": "$3.data[?fiscal_label=FY2020].value_reported",
        },
        _margins,
        1_700,
        Trial(1, 3, 4_300),
    ),
    Question(
        "Which suppliers won most in Kenya in 2025, and are any of them listed?",
        (call("get_awards", country="KE", **_YEAR, limit=10),),
        {
            "processes": "$1.data[*].processes",
            "values": "$1.data[*].totals[0].value",
            "listed": "$1.data[?listings].name",
        },
        _winners,
        1_300,
        Trial(2, 8, 18_600),
    ),
    Question(
        "What was Nigeria's GDP of 2010 (NY.GDP.MKTP.CD) as it was known at the end of 2015?",
        (
            call(
                "get_macro",
                country="NG",
                indicator="NY.GDP.MKTP.CD",
                from_="2010",
                to="2010",
                as_of="2015-12-31",
            ),
        ),
        {"answerable": "$1.answerable", "reason": "$1.detail"},
        _no_release_days,
        250,
        Trial(3, 3, 1_700),
    ),
    Question(
        "Screen the South African issuers by return on equity as of 2021-06-30.",
        (
            call(
                "screen_issuers",
                metric="return_on_equity",
                country="ZA",
                as_of="2021-06-30",
                limit=10,
            ),
        ),
        {
            "names": "$1.data[*].legal_name",
            "values": "$1.data[*].value",
            "restated since": "$1.universe.left_out.revised_after_as_of",
        },
        _screened,
        900,
        Trial(4, 5, 3_400),
    ),
    Question(
        "Which firm is LEI 989900NAA00000000621?",
        (call("search_entities", query="LEI 989900NAA00000000621"),),
        {"name": "$1.data[0].legal_name", "match": "$1.data[0].match"},
        always(name=issuer(6).name, match="identifier"),
        350,
        Trial(5, 1, 250),
    ),
    Question(
        "Harmatan brewery, somewhere in Namibia: which company is that?",
        (call("search_entities", query="Harmatan brewery, somewhere in Namibia"),),
        {"name": "$1.data[0].legal_name", "match": "$1.data[0].match"},
        always(name=issuer(6).name, match="near"),
        350,
        Trial(6, 4, 830),
    ),
    Question(
        "What was Karoo Energy's revenue in its last full year?",
        (
            call("search_entities", query="Karoo Energy"),
            call(
                "get_fundamentals",
                service_id="$1.data[0].service_id",
                line_items=["revenue"],
                period_type="FY",
                limit=1,
            ),
        ),
        {
            "name": "$1.data[0].legal_name",
            "value_reported": "$2.data[0].value_reported",
            "currency_reported": "$2.data[0].currency_reported",
            "period_end": "$2.data[0].period_end",
        },
        _last_revenue,
        700,
        Trial(7, 4, 1_000),
    ),
    Question(
        "What was Sahel Telecom's revenue of FY2025 in EUR, at the rate FX.EUR.KES of 2025-06-30?",
        (
            call("search_entities", query="Sahel Telecom"),
            call(
                "get_fundamentals",
                service_id="$1.data[0].service_id",
                line_items=["revenue"],
                period_type="FY",
                limit=3,
            ),
            call("get_macro", series="FX.EUR.KES", as_of="2025-06-30", limit=1),
        ),
        {
            "revenue": "$2.data[fiscal_label=FY2025].value_reported",
            "currency": "$2.data[fiscal_label=FY2025].currency_reported",
            "rate": "$3.empty.code",
        },
        _no_rate,
        1_000,
        Trial(8, 6, 6_500),
    ),
    Question(
        "What is the share price of Ubuntu Fictional Mining, and what is its CEO paid?",
        (call("describe_data"),),
        {"price": "$1.not_held[~prices of shares]", "pay": "$1.not_held[~pay]"},
        _no_price_or_pay,
        1_600,
        Trial(9, 0, 0),
    ),
    Question(
        "What did a South African municipality last spend on cleaning in 2025? Contracts that are "
        "complete.",
        (
            call(
                "search_tenders",
                country="ZA",
                query="cleaning",
                buyer="municipality",
                status="complete",
                **_YEAR,
                limit=10,
            ),
        ),
        {
            "ocids": "$1.data[*].ocid",
            "amounts": "$1.data[*].awards[0].value.amount",
            "currencies": "$1.data[*].awards[0].value.currency",
        },
        _cleaning,
        2_600,
        Trial(10, 2, 2_900),
    ),
    Question(
        "Was Kenya's CPI (FRED.FICKENCPIM) for October 2024 revised since the end of 2024?",
        (
            call(
                "get_macro",
                series="FRED.FICKENCPIM",
                from_="2024-10-01",
                to="2024-10-31",
                as_of="2024-12-31",
            ),
            call("get_macro", series="FRED.FICKENCPIM", from_="2024-10-01", to="2024-10-31"),
        ),
        {
            "value then": "$1.data[0].value",
            "base then": "$1.data[0].base_period",
            "value now": "$2.data[0].value",
            "base now": "$2.data[0].base_period",
        },
        _cpi,
        500,
        Trial(11, 2, 600),
    ),
    Question(
        "Can I trust the absence of values in Kenyan tenders?",
        (call("get_quality_metrics", sku="AF-TENDER"),),
        {
            "releases": "$1.data[metric=value_stated,scope=ke-ppip].n_checked",
            "with a value": "$1.data[metric=value_stated,scope=ke-ppip].n_passed",
            "status": "$1.data[metric=value_stated,scope=ke-ppip].status",
        },
        _stated,
        1_200,
        Trial(12, 1, 1_300),
    ),
    Question(
        "What has Sahel Telecom won in all?",
        (
            call("search_entities", query="Sahel Telecom"),
            call("get_awards", service_id="$1.data[0].service_id", limit=3),
        ),
        {"totals": "$2.totals"},
        _won,
        850,
        Trial(13, 15, 59_600),
    ),
    Question(
        "What was the single-bid rate in Kenya in 2025, by month?",
        (
            call(
                "get_signal",
                signal_key="single-bid-rate",
                country="KE",
                dimension="all",
                **_YEAR,
            ),
        ),
        {"months": "$1.observations[*].month", "rates": "$1.observations[*].value"},
        _single_bids,
        1_000,
        Trial(14, 2, 16_600),
    ),
)
