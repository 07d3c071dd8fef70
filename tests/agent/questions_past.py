"""What was known on a day: figures, panels, parties and rates that became public only later."""

from tests.agent.published import Published
from tests.agent.question import Answer, Question, call, words
from tests.sample_world.organisations import issuer

_UBUNTU = call("search_entities", query="Ubuntu Fictional Mining")
_ID = "$1.data[0].service_id"
_KENYA = {"signal_key": "single-bid-rate", "country": "KE", "dimension": "all"}
_NOT_KNOWN = {"code": "$1.empty.code", "reason": "$1.empty.detail"}


def _newest_then(published: Published) -> Answer:
    newest = published.figures(0, ["revenue"], "2021-07-31", period_type="FY")[0]
    assert newest["fiscal_label"] == "FY2020"
    return {"year": "FY2020", "value": newest["value_reported"]}


def _nothing_yet(published: Published) -> Answer:
    assert not published.figures(0, ["revenue"], "2016-12-31")
    return {"code": "not_known_then", "reason": words("must not be presented as known")}


def _month_open(published: Published) -> Answer:
    def months(as_of: str | None) -> list[str]:
        rows = published.panel("single-bid-rate", as_of, country="KE", dimension="all")
        return [row["month"] for row in rows]

    assert "2025-03-01" in months(None)
    assert "2025-03-01" not in months("2025-03-15")
    return {"code": "not_known_then", "last": months("2025-03-15")[0]}


def _month_then(published: Published) -> Answer:
    def november(as_of: str | None) -> dict[str, object]:
        rows = published.panel("single-bid-rate", as_of, country="KE", dimension="all")
        (row,) = (row for row in rows if row["month"] == "2024-11-01")
        return row

    then, now = november("2025-01-15"), november(None)
    assert then["n_observed"] != now["n_observed"]
    return {
        "then": [then["value"]],
        "observed then": then["n_observed"],
        "now": [now["value"]],
        "observed now": now["n_observed"],
    }


def _buyers_then(published: Published) -> Answer:
    rows = published.rows(
        "SELECT name, count(*) AS releases FROM af_tender_parties WHERE country = 'KE' "
        "AND role = 'buyer' AND available_at <= '2024-01-31' AND NOT withdrawn "
        "AND (superseded_at IS NULL OR superseded_at > '2024-01-31') GROUP BY name "
        "ORDER BY releases DESC, name LIMIT 3"
    )
    return {"releases": [row["releases"] for row in rows]}


def _no_buyers(published: Published) -> Answer:
    assert published.one("SELECT min(available_at) FROM af_tender_parties") > "2020-01-01"
    return {"code": "not_known_then", "reason": words("2020-01-01")}


def _rate(published: Published) -> Answer:
    newest = next(
        row
        for row in published.observations("FX.EUR.ZAR", "2026-01-01", "2026-02-15", "2026-02-15")
        if row["frequency"] == "daily"
    )
    return {"day": newest["period_end"], "rate": newest["value"], "unit": "ZAR per EUR"}


def _gdp(published: Published) -> Answer:
    quarter = ("FRED.FICZAFGDPQ", "2024-01-01", "2024-03-31")
    (first,) = published.observations(*quarter, "2024-05-15")
    (now,) = published.observations(*quarter)
    assert first["value"] != now["value"]
    return {"first": first["value"], "now": now["value"]}


def _awards_then(published: Published) -> Answer:
    rows = published.rows(
        "SELECT currency, count(DISTINCT (ocid, award_id)) AS awards FROM af_tender_awards "
        "WHERE service_id = ? AND amount IS NOT NULL AND available_at <= '2024-12-31' "
        "AND NOT withdrawn GROUP BY currency ORDER BY currency",
        published.service_id(2),
    )
    return {"awards": [row["awards"] for row in rows]}


def _screened_early(published: Published) -> Answer:
    nigerian = [serial for serial in range(18) if issuer(serial).country.code == "NG"]
    assert not any(published.figures(serial, ["revenue"], "2017-06-30") for serial in nigerian)
    return {"rows": 0, "code": "not_known_then"}


QUESTIONS = (
    Question(
        "What was the last full-year revenue of Ubuntu Fictional Mining that could be known on "
        "2021-07-31?",
        (
            _UBUNTU,
            call(
                "get_fundamentals",
                service_id=_ID,
                line_items=["revenue"],
                period_type="FY",
                as_of="2021-07-31",
                limit=1,
            ),
        ),
        {"year": "$2.data[0].fiscal_label", "value": "$2.data[0].value_reported"},
        _newest_then,
        650,
    ),
    Question(
        "What revenue had Ubuntu Fictional Mining published by the end of 2016?",
        (
            _UBUNTU,
            call("get_fundamentals", service_id=_ID, line_items=["revenue"], as_of="2016-12-31"),
        ),
        {"code": "$2.empty.code", "reason": "$2.empty.detail"},
        _nothing_yet,
        550,
    ),
    Question(
        "On 2025-03-15, what was known of Kenya's single-bid rate for March 2025?",
        (call("get_signal", **_KENYA, from_="2025-03-01", to="2025-03-31", as_of="2025-03-15"),),
        {"code": "$1.empty.code", "last": "$1.empty.held.to"},
        _month_open,
        250,
    ),
    Question(
        "Kenya's single-bid rate of November 2024: as known on 2025-01-15, and today?",
        (
            call("get_signal", **_KENYA, from_="2024-11-01", to="2024-11-30", as_of="2025-01-15"),
            call("get_signal", **_KENYA, from_="2024-11-01", to="2024-11-30"),
        ),
        {
            "then": "$1.observations[*].value",
            "observed then": "$1.observations[0].n_observed",
            "now": "$2.observations[*].value",
            "observed now": "$2.observations[0].n_observed",
        },
        _month_then,
        600,
    ),
    Question(
        "Which three buyers had most releases in Kenya, as far as was known on 2024-01-31?",
        (call("get_resolved_parties", country="KE", role="buyer", as_of="2024-01-31", limit=3),),
        {"releases": "$1.data[*].releases"},
        _buyers_then,
        450,
    ),
    Question(
        "Which Kenyan buyers were known on 2020-01-01?",
        (call("get_resolved_parties", country="KE", role="buyer", as_of="2020-01-01"),),
        _NOT_KNOWN,
        _no_buyers,
        250,
    ),
    Question(
        "How many rand (ZAR) was a euro (EUR) on 2026-02-15, as known on that day?",
        (call("get_macro", series="FX.EUR.ZAR", frequency="daily", as_of="2026-02-15", limit=1),),
        {"day": "$1.data[0].period_end", "rate": "$1.data[0].value", "unit": "$1.data[0].unit"},
        _rate,
        300,
    ),
    Question(
        "South Africa's GDP (FRED.FICZAFGDPQ) of the first quarter of 2024: as known on "
        "2024-05-15, and today?",
        (
            call(
                "get_macro",
                series="FRED.FICZAFGDPQ",
                from_="2024-01-01",
                to="2024-03-31",
                as_of="2024-05-15",
            ),
            call("get_macro", series="FRED.FICZAFGDPQ", from_="2024-01-01", to="2024-03-31"),
        ),
        {"first": "$1.data[0].value", "now": "$2.data[0].value"},
        _gdp,
        500,
    ),
    Question(
        "What had Sahel Telecom won by the end of 2024, as far as was known then?",
        (
            call("search_entities", query="Sahel Telecom"),
            call("get_awards", service_id=_ID, as_of="2024-12-31", limit=1),
        ),
        {"awards": "$2.totals[*].awards"},
        _awards_then,
        650,
    ),
    Question(
        "Rank Nigerian issuers by net margin (net_margin) as of 2017-06-30.",
        (call("screen_issuers", metric="net_margin", country="NG", as_of="2017-06-30"),),
        {"rows": "$1.count", "code": "$1.empty.code"},
        _screened_early,
        300,
    ),
    Question(
        "Nigeria's GDP (NY.GDP.MKTP.CD) of 2020 as it stands today: what is the figure, and is it "
        "said when it became public?",
        (call("get_macro", country="NG", indicator="NY.GDP.MKTP.CD", from_="2020", to="2020"),),
        {"value": "$1.data[0].value", "available_at": "$1.data[0].available_at"},
        lambda published: {
            "value": published.one(
                "SELECT value FROM af_macro_annual WHERE country = 'NG' AND latest "
                "AND indicator = 'NY.GDP.MKTP.CD' AND period_end = '2020-12-31'"
            ),
            "available_at": None,
        },
        250,
    ),
    Question(
        "Repeat an answer from the same version of the data: Kenya's CPI (FRED.FICKENCPIM) of "
        "October 2024.",
        (
            call("get_macro", series="FRED.FICKENCPIM", from_="2024-10-01", to="2024-10-31"),
            call(
                "get_macro",
                series="FRED.FICKENCPIM",
                from_="2024-10-01",
                to="2024-10-31",
                data_version="$1.data_version",
            ),
        ),
        {"value": "$2.data[0].value", "base": "$2.data[0].base_period"},
        lambda published: {
            "value": published.observations("FRED.FICKENCPIM", "2024-10-01", "2024-10-31")[0][
                "value"
            ],
            "base": "2020=100",
        },
        500,
    ),
)
