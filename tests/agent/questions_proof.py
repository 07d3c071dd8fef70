"""Questions about where figures are from, what changed, and who is meant by a ticker or an LEI."""

from tests.agent.published import Published
from tests.agent.question import Answer, Question, call

_NEWEST = {"line_items": ["revenue"], "period_type": "FY"}
_TICKERS = {"XJSE:UBF0": 0, "XGHA:SAF5": 5, "XNAM:HAF6": 6}


def _filing_of_revenue(published: Published) -> Answer:
    newest = published.figures(0, ["revenue"], period_type="FY")[0]
    names = ("value_reported", "document_id", "form")
    return {name: newest[name] for name in names}


def _last_report(published: Published) -> Answer:
    (newest,) = published.rows(
        "SELECT document_id, received_on FROM af_fund_filings WHERE service_id = ? "
        "AND form = '20-F' AND latest ORDER BY received_on DESC LIMIT 1",
        published.service_id(0),
    )
    return newest


def _side_by_side(published: Published) -> Answer:
    year = {"fiscal_label": "FY2024", "period_type": "FY"}
    return {
        "values": [
            row["value_reported"]
            for serial in _TICKERS.values()
            for row in published.figures(serial, ["revenue"], "2025-12-31", **year)
        ]
    }


def _of_rate(published: Published) -> Answer:
    days = published.rows(
        "SELECT count(*) FILTER (vintage = 1) AS added, count(*) FILTER (vintage > 1) AS restated "
        "FROM af_macro_series WHERE series = 'FX.EUR.ZAR' AND observed_at >= '2026-01-01' "
        "GROUP BY CAST(observed_at AS DATE) ORDER BY CAST(observed_at AS DATE) DESC"
    )
    return {name: [day[name] for day in days] for name in ("added", "restated")}


def _rates(published: Published) -> Answer:
    months = published.panel("single-bid-rate", country="KE", dimension="all")
    return {"month": months[0]["month"], "rate": months[0]["value"]}


QUESTIONS = (
    Question(
        "In which filing is the newest annual revenue of the company with the LEI "
        "989900ZAA00000000081, and what form is it?",
        (call("get_fundamentals", service_id="989900ZAA00000000081", **_NEWEST, limit=1),),
        {
            "value_reported": "$1.data[0].value_reported",
            "document_id": "$1.sources[0].document_id",
            "form": "$1.sources[0].form",
        },
        _filing_of_revenue,
        300,
    ),
    Question(
        "When did XJSE:UBF0 file its last 20-F, and under which number?",
        (call("get_filings", service_id="XJSE:UBF0", form="20-F", limit=1),),
        {"received_on": "$1.data[0].received_on", "document_id": "$1.data[0].document_id"},
        _last_report,
        300,
    ),
    Question(
        "What was the revenue of XJSE:UBF0, XGHA:SAF5 and XNAM:HAF6 in FY2024, as known at the end "
        "of 2025?",
        (
            call(
                "get_fundamentals",
                service_ids=list(_TICKERS),
                **_NEWEST,
                as_of="2025-12-31",
                limit=100,
            ),
        ),
        {"values": "$1.data[?fiscal_label=FY2024].value_reported"},
        _side_by_side,
        2_800,
    ),
    Question(
        "How many values of FX.EUR.ZAR arrived since 2026-01-01, and how many were restated?",
        (call("get_changes", since="2026-01-01", id="FX.EUR.ZAR"),),
        {"added": "$1.data[*].added", "restated": "$1.data[*].restated"},
        _of_rate,
        300,
    ),
    Question(
        "How often was there only one bid in the newest month of Kenya?",
        (
            call(
                "get_signal",
                signal_key="single-bid-rate",
                country="Kenya",
                dimension="all",
                limit=1,
            ),
        ),
        {"month": "$1.observations[0].month", "rate": "$1.observations[0].value"},
        _rates,
        250,
    ),
    Question(
        "Which version of the data is the current one, so that a study can be repeated?",
        (call("list_versions"),),
        {"version": "$1.data[?current=True].data_version"},
        lambda published: {"version": [published.version]},
        200,
    ),
    Question(
        "Which CIK and which LEI does the company with the ticker XJSE:UBF0 have?",
        (call("get_identifiers", service_id="XJSE:UBF0", limit=100),),
        {
            "cik": "$1.identifiers[id_type=cik].id_value",
            "lei": "$1.identifiers[id_type=lei].id_value",
        },
        lambda published: {"cik": "0009900001", "lei": "989900ZAA00000000081"},
        700,
    ),
)
