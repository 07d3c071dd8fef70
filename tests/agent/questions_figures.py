"""Figures of issuers: claims with every verdict, units, currencies, lines that are not reported."""

from collections.abc import Callable

from tests.agent.published import Published
from tests.agent.question import Answer, Call, Question, always, call, words
from tests.sample_world.organisations import issuer
from tests.sample_world.stories import LONG_VALUE

_UBUNTU = call("search_entities", query="Ubuntu Fictional Mining")
_ID = "$1.data[0].service_id"


def _figures(line: str, **others: object) -> Call:
    return call("get_fundamentals", service_id=_ID, line_items=[line], period_type="FY", **others)


def _claim(value: int, period: str, as_of: str) -> tuple[Call, ...]:
    claim = call(
        "check_claim",
        service_id=_ID,
        line_item="revenue",
        period=period,
        value=value,
        as_of=as_of,
    )
    return _UBUNTU, claim


_VERDICT = {
    "verdict": "$2.verdict",
    "then": "$2.known_then.value_reported",
    "now": "$2.known_now.value_reported",
}


def _restated(published: Published) -> Answer:
    then, now = (published.figure(0, "revenue", "FY2020", day) for day in ("2020-12-31", None))
    assert then != now
    return {"verdict": "matches", "then": then, "now": now}


def _later(published: Published) -> Answer:
    return {**_restated(published), "verdict": "not_knowable_then"}


def _settled(verdict: str) -> Callable[[Published], Answer]:
    def known(published: Published) -> Answer:
        now = published.figure(0, "revenue", "FY2020")
        assert now == published.figure(0, "revenue", "FY2020", "2021-12-31")
        return {"verdict": verdict, "then": now, "now": None}

    return known


def _before_all(published: Published) -> Answer:
    assert published.figures(0, ["revenue"])[-1]["fiscal_label"] > "FY2012"
    return {"verdict": "not_held", "then": None, "now": None}


def _quarter(published: Published) -> Answer:
    quarter = ("FRED.FICZAFGDPQ", "2024-01-01", "2024-03-31")
    (then,) = published.observations(*quarter, "2024-05-15")
    (now,) = published.observations(*quarter)
    unit = "Billions of National Currency"
    return {"verdict": "differs", "then": then["value"], "unit": unit, "now": now["value"]}


def _two_currencies(published: Published) -> Answer:
    rows = published.figures(5, ["revenue"], period_type="FY")
    currencies = [row["currency_reported"] for row in rows]
    assert set(currencies) == {"GHS", "USD"}
    return {"currencies": currencies, "values": [row["value_reported"] for row in rows]}


def _own_and_dollars(published: Published) -> Answer:
    rows = published.figures(6, ["revenue"], fiscal_label="FY2024", period_type="FY")
    by_currency = {row["currency_reported"]: row["value_reported"] for row in rows}
    return {"own": by_currency["NAD"], "dollars": by_currency["USD"]}


def _kinds(published: Published) -> Answer:
    rows = published.rows(
        "SELECT fiscal_label, restatement_kind FROM af_fund_facts WHERE service_id = ? "
        "AND line_item = 'revenue' AND period_type = 'FY' AND restatement_kind IS NOT NULL "
        "ORDER BY period_end DESC, vintage",
        published.service_id(14),
    )
    return {
        "years": [row["fiscal_label"] for row in rows],
        "kinds": [row["restatement_kind"] for row in rows],
    }


def _in_the_paper(published: Published) -> Answer:
    then, now = (published.figure(0, "revenue", "FY2020", day) for day in ("2020-12-31", None))
    return {
        "verdicts": ["superseded", "superseded", "matches"],
        "exact": then,
        "was": then,
        "is": now,
    }


def _profit(published: Published) -> Answer:
    return {"instead": ["profit"], "value": published.figure(0, "profit", "FY2024")}


def _no_revenue(published: Published) -> Answer:
    assert not published.figures(12, ["revenue"])
    newest = published.figures(12, ["total_operating_income"], period_type="FY")[0]
    return {
        "code": "not_held_together",
        "lines": words("total_operating_income", "interest_income"),
        "value": newest["value_reported"],
    }


def _half(published: Published) -> Answer:
    newest = published.figures(11, ["revenue"], period_type="H1")[0]
    return {"value": newest["value_reported"], "ends": newest["period_end"]}


def _exact(published: Published) -> Answer:
    assert published.figures(8, ["total_assets"])[0]["value_reported"] == LONG_VALUE
    return {"value": LONG_VALUE}


def _growth(published: Published) -> Answer:
    now, before = published.figures(16, ["revenue"], period_type="FY")[:2]
    return {
        "inputs": [now["value_reported"], before["value_reported"]],
        "ends": now["period_end"],
    }


def _least_indebted(published: Published) -> Answer:
    kenyan = {issuer(serial).name for serial in range(18) if issuer(serial).country.code == "KE"}
    return {"covered": len(kenyan), "left out": 1}


QUESTIONS = (
    Question(
        "On 2020-12-31, was it known that Ubuntu Fictional Mining had a revenue of 970,481,000 in "
        "FY2020?",
        _claim(970_481_000, "FY2020", "2020-12-31"),
        _VERDICT,
        _restated,
        700,
    ),
    Question(
        "Somebody says that at the end of 2020 Ubuntu Fictional Mining's revenue of FY2020 was "
        "known to be 931,662,000.",
        _claim(931_662_000, "FY2020", "2020-12-31"),
        _VERDICT,
        _later,
        700,
    ),
    Question(
        "Was 931,662,000 the revenue of Ubuntu Fictional Mining for FY2020 as known at the end of "
        "2021?",
        _claim(931_662_000, "FY2020", "2021-12-31"),
        _VERDICT,
        _settled("matches"),
        600,
    ),
    Question(
        "Was 950 million the revenue of Ubuntu Fictional Mining for FY2020 as known at the end of "
        "2021?",
        _claim(950_000_000, "FY2020", "2021-12-31"),
        _VERDICT,
        _settled("differs"),
        600,
    ),
    Question(
        "Was Ubuntu Fictional Mining's revenue of FY2012 800 million, as known at the end of 2013?",
        _claim(800_000_000, "FY2012", "2013-12-31"),
        _VERDICT,
        _before_all,
        500,
    ),
    Question(
        "A table in thousand rand gives 970,481 as revenue of Ubuntu Fictional Mining in FY2020. "
        "Was that public at the end of 2020?",
        _claim(970_481_000, "FY2020", "2020-12-31"),
        _VERDICT,
        _restated,
        700,
    ),
    Question(
        "The same table as if it were in single rand: was 970,481 the revenue of Ubuntu Fictional "
        "Mining in FY2020, at the end of 2021?",
        _claim(970_481, "FY2020", "2021-12-31"),
        _VERDICT,
        _settled("differs"),
        600,
    ),
    Question(
        "Ubuntu Fictional Mining's revenue of FY2020 is 970,481,000 in one newspaper of today, 970 "
        "million in another, and 931,662,000 in a third. Which is right?",
        (
            _UBUNTU,
            call(
                "check_claim",
                claims=[
                    {"service_id": _ID, "line_item": "revenue", "period": "2020", "value": value}
                    for value in (970_481_000, 970_000_000, 931_662_000)
                ],
            ),
        ),
        {
            "verdicts": "$2.data[*].verdict",
            "exact": "$2.data[1].exact",
            "was": "$2.data[0].matched.value_reported",
            "is": "$2.data[0].known_then.value_reported",
        },
        _in_the_paper,
        1_100,
    ),
    Question(
        "Was Ubuntu Fictional Mining's revenue of 2020 970 million USD?",
        (
            _UBUNTU,
            call(
                "check_claim",
                service_id=_ID,
                line_item="revenue",
                period="2020",
                value=970_000_000,
                currency="USD",
            ),
        ),
        {"verdict": "$2.verdict", "reason": "$2.detail"},
        always(verdict="not_held", reason=words("in ZAR, not in USD")),
        500,
    ),
    Question(
        "Kenya's CPI (FRED.FICKENCPIM) of October 2024 was 148.4, says a report of 2025-01-31. "
        "Is that right today?",
        (
            call(
                "check_claim",
                series="FRED.FICKENCPIM",
                period="2024-10",
                value=148.4,
                as_of="2025-01-31",
            ),
        ),
        {
            "verdict": "$1.verdict",
            "base then": "$1.known_then.base_period",
            "base now": "$1.known_now.base_period",
        },
        always(verdict="matches", **{"base then": "2015=100", "base now": "2020=100"}),
        350,
    ),
    Question(
        "Was South Africa's GDP (FRED.FICZAFGDPQ) of 2024-Q1 5 billion, as known on 2024-05-15?",
        (
            call(
                "check_claim",
                series="FRED.FICZAFGDPQ",
                period="2024-Q1",
                value=5,
                as_of="2024-05-15",
            ),
        ),
        {
            "verdict": "$1.verdict",
            "then": "$1.known_then.value",
            "unit": "$1.known_then.unit",
            "now": "$1.known_now.value",
        },
        _quarter,
        350,
    ),
    Question(
        "Was it known on 2021-12-31 that Nigeria's GDP (NY.GDP.MKTP.CD) of 2020 was 100 billion?",
        (
            call(
                "check_claim",
                indicator="NY.GDP.MKTP.CD",
                country="NG",
                period="2020",
                value=100_000_000_000,
                as_of="2021-12-31",
            ),
        ),
        {"verdict": "$1.verdict", "then": "$1.known_then", "reason": "$1.detail"},
        always(verdict="not_knowable_then", then=None, reason=words("must not be presented")),
        350,
    ),
    Question(
        "Add up the revenue of Savanna Logistics over all years.",
        (call("search_entities", query="Savanna Logistics"), _figures("revenue")),
        {
            "currencies": "$2.data[*].currency_reported",
            "values": "$2.data[*].value_reported",
        },
        _two_currencies,
        1050,
    ),
    Question(
        "What was the revenue of Harmattan Breweries in FY2024, in its own currency and in USD?",
        (call("search_entities", query="Harmattan Breweries"), _figures("revenue")),
        {
            "own": "$2.data[fiscal_label=FY2024,currency_reported=NAD].value_reported",
            "dollars": "$2.data[fiscal_label=FY2024,currency_reported=USD].value_reported",
        },
        _own_and_dollars,
        1_300,
    ),
    Question(
        "Did Ndovu Chemicals of Ghana restate its revenue, or is that inflation accounting?",
        (
            call("search_entities", query="Ndovu Chemicals", country="GH"),
            _figures("revenue", vintages="all"),
        ),
        {
            "years": "$2.data[?restatement_kind].fiscal_label",
            "kinds": "$2.data[?restatement_kind].restatement_kind",
        },
        _kinds,
        1_100,
    ),
    Question(
        "What was the net income of Ubuntu Fictional Mining in FY2024?",
        (
            _UBUNTU,
            call("get_fundamentals", service_id=_ID, line_items=["net_income"]),
            call("get_fundamentals", service_id=_ID, line_items="$2.nearest", period_type="FY"),
        ),
        {"instead": "$2.nearest", "value": "$3.data[fiscal_label=FY2024].value_reported"},
        _profit,
        1_210,
    ),
    Question(
        "What was the revenue of Dodo Bank in its last year?",
        (
            call("search_entities", query="Dodo Bank"),
            _figures("revenue"),
            _figures("total_operating_income", limit=1),
        ),
        {
            "code": "$2.empty.code",
            "lines": "$2.empty.detail",
            "value": "$3.data[0].value_reported",
        },
        _no_revenue,
        900,
    ),
    Question(
        "What was the last half-year revenue (H1) of Lagune Ports?",
        (
            call("search_entities", query="Lagune Ports"),
            call(
                "get_fundamentals",
                service_id=_ID,
                line_items=["revenue"],
                period_type="H1",
                limit=1,
            ),
        ),
        {"value": "$2.data[0].value_reported", "ends": "$2.data[0].period_end"},
        _half,
        700,
    ),
    Question(
        "What are the total assets of Atlas Pharma, to the cent?",
        (
            call("search_entities", query="Atlas Pharma"),
            call("get_fundamentals", service_id=_ID, line_items=["total_assets"], limit=1),
        ),
        {"value": "$2.data[0].value_reported"},
        _exact,
        700,
    ),
    Question(
        "How fast did the revenue of Marula Stores grow in its last year?",
        (
            call("search_entities", query="Marula Stores"),
            call("get_metrics", service_id=_ID, metric="revenue_growth"),
        ),
        {"inputs": "$2.data[0].inputs[*].value", "ends": "$2.data[0].period_end"},
        _growth,
        700,
    ),
    Question(
        "What is the return on equity of Karoo Energy?",
        (
            call("search_entities", query="Karoo Energy"),
            call("get_metrics", service_id=_ID, metric="return_on_equity"),
        ),
        {"code": "$2.empty.code", "reason": "$2.empty.detail"},
        always(code="not_computable", reason=words("denominator_not_positive", "not above zero")),
        600,
    ),
    Question(
        "What was the operating margin of Ubuntu Fictional Mining as known at the end of 2020?",
        (
            _UBUNTU,
            call("get_metrics", service_id=_ID, metric="operating_margin", as_of="2020-12-31"),
            call(
                "get_fundamentals",
                service_id=_ID,
                line_items=["revenue", "operating_profit"],
                as_of="2020-12-31",
                limit=2,
            ),
        ),
        {"reason": "$2.empty.detail", "labels": "$3.data[*].fiscal_label"},
        always(reason=words("has been revised since", "fundamentals"), labels=["FY2020", "FY2020"]),
        900,
    ),
    Question(
        "Which Kenyan issuer has the lowest debt to equity (debt_to_equity)?",
        (call("screen_issuers", metric="debt_to_equity", country="KE", order="asc", limit=3),),
        {"covered": "$1.universe.covered", "left out": "$1.universe.left_out.input_not_reported"},
        _least_indebted,
        900,
    ),
)
