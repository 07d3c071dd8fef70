"""What cannot be answered: each is refused with a reason that is true, and no dead end."""

from collections.abc import Callable

from tests.agent.published import Published
from tests.agent.question import Answer, Call, Question, always, call, words

_DESCRIBE = (call("describe_data"),)
_EMPTY = {"rows": "$1.count", "code": "$1.empty.code", "held": "$1.empty.nearest"}


def _no_column(reason: object, *fragments: str) -> Callable[[Published], Answer]:
    """Return the answer, where no published column is named after any of the words."""

    def known(published: Published) -> Answer:
        assert not [name for name in published.columns for word in fragments if word in name]
        return {"reason": reason}

    return known


def _countries(table: str, column: str = "country") -> Callable[[Published], Answer]:
    def known(published: Published) -> Answer:
        held = published.column(
            f"SELECT DISTINCT {column} FROM {table} WHERE latest AND {column} <> '' ORDER BY 1"
        )
        return {"rows": 0, "code": "value_not_held", "held": held}

    return known


def _ask(name: str, tokens: int, text: str, known: Callable[[Published], Answer]) -> Question:
    return Question(text, _DESCRIBE, {"reason": f"$1.not_held[~{name}]"}, known, tokens)


def _one(tool: str, **arguments: object) -> tuple[Call, ...]:
    return (call(tool, **arguments),)


def _no_cross_rate(published: Published) -> Answer:
    bases = published.column(
        "SELECT DISTINCT series FROM af_macro_series WHERE series LIKE 'FX.%' "
        "AND series NOT LIKE 'FX.EUR.%'"
    )
    assert not bases
    return {"rows": 0, "code": "value_not_held", "first": "FX.EUR.USD"}


def _inverse(published: Published) -> Answer:
    newest = next(
        row
        for row in published.observations("FX.EUR.USD", "2026-01-01", "9999-12-30")
        if row["frequency"] == "daily"
    )
    return {
        "reason": words("FX.EUR.USD", "inverse"),
        "value": newest["value"],
        "unit": "USD per EUR",
    }


def _years(published: Published) -> Answer:
    ends = published.rows(
        "SELECT min(period_end) AS first, max(period_end) AS last FROM af_macro_annual "
        "WHERE country = 'NG' AND indicator = 'SP.POP.TOTL' AND latest"
    )[0]
    return {"code": "out_of_range", "held": {"from": ends["first"], "to": ends["last"]}}


def _no_award(published: Published) -> Answer:
    assert not published.column(
        "SELECT ocid FROM af_tender_awards WHERE list_contains(supplier_service_ids, ?)",
        published.service_id(4),
    )
    return {"code": "value_not_held", "reason": words("award", "won"), "parameter": "service_id"}


QUESTIONS = (
    _ask(
        "prices",
        1_600,
        "At what P/E ratio does Karoo Energy trade?",
        _no_column(words("price to earnings"), "price", "market"),
    ),
    _ask(
        "persons",
        1_600,
        "Who are the directors of Sahel Telecom?",
        _no_column(words("no personal data"), "director", "person"),
    ),
    _ask(
        "owners and groups",
        1_600,
        "Who owns Baobab Cement, and what belongs to its group?",
        _no_column(words("owners"), "owner", "parent", "shareholder"),
    ),
    _ask(
        "forecasts",
        1_600,
        "What will Kenya's inflation be next year, and how is it rated?",
        _no_column(words("nothing is estimated"), "forecast", "rating", "target"),
    ),
    _ask(
        "news",
        1_600,
        "What do the papers say about Volta Steel?",
        _no_column(words("figures and releases"), "news", "headline"),
    ),
    _ask(
        "within a day",
        1_600,
        "What was the rate of the rand at noon?",
        _no_column(words("a day"), "time_of", "hour"),
    ),
    _ask(
        "rankings",
        1_600,
        "Which issuer has most revenue?",
        _no_column(words("not compared"), "converted", "in_usd", "in_eur"),
    ),
    Question(
        "What is the GDP (NY.GDP.MKTP.CD) of Tanzania?",
        _one("get_macro", country="TZ", indicator="NY.GDP.MKTP.CD"),
        _EMPTY,
        _countries("af_macro_annual"),
        250,
    ),
    Question(
        "Which tenders are open in Nigeria?",
        _one("search_tenders", country="NG", status="active"),
        _EMPTY,
        _countries("af_tender_releases"),
        250,
    ),
    Question(
        "Who wins most public contracts in Tanzania?",
        _one("get_awards", country="TZ"),
        _EMPTY,
        _countries("af_tender_releases"),
        250,
    ),
    Question(
        "Rank the issuers of Tanzania by gross margin (gross_margin).",
        _one("screen_issuers", metric="gross_margin", country="TZ"),
        {"rows": "$1.count", "code": "$1.empty.code", "covered": "$1.universe.covered"},
        always(rows=0, code="value_not_held", covered=0),
        300,
    ),
    Question(
        "What is held about Tanzania?",
        _one("describe_data", country="TZ"),
        {"rows": "$1.count", "code": "$1.empty.code"},
        always(rows=0, code="value_not_held"),
        250,
    ),
    Question(
        "How many people (SP.POP.TOTL) lived in Nigeria in 1960?",
        _one("get_macro", country="NG", indicator="SP.POP.TOTL", from_="1960", to="1960"),
        {"code": "$1.empty.code", "held": "$1.empty.held"},
        _years,
        250,
    ),
    Question(
        "How many EUR is one USD worth today?",
        (
            call("get_macro", series="FX.USD.EUR", limit=1),
            call("get_macro", series="$1.empty.nearest[0]", limit=1),
        ),
        {
            "reason": "$1.empty.detail",
            "value": "$2.data[0].value",
            "unit": "$2.data[0].unit",
        },
        _inverse,
        500,
    ),
    Question(
        "What was the rate of ZAR in USD yesterday?",
        _one("get_macro", series="FX.ZAR.USD", limit=1),
        {"rows": "$1.count", "code": "$1.empty.code", "first": "$1.empty.nearest[0]"},
        _no_cross_rate,
        250,
    ),
    Question(
        "What did Karoo Energy win from public bodies?",
        (
            call("search_entities", query="Karoo Energy"),
            call("get_awards", service_id="$1.data[0].service_id"),
        ),
        {
            "code": "$2.empty.code",
            "reason": "$2.empty.detail",
            "parameter": "$2.empty.parameter",
        },
        _no_award,
        500,
    ),
    Question(
        "Which company issued ISIN ZAF000000001? I have only the free key.",
        _one("resolve_identifier", id_value="ZAF000000001", id_type="isin"),
        {"code": "$1.code", "needs": "$1.required_tier"},
        always(code="paid_crosswalk", needs="starter"),
        250,
        tier="sample",
    ),
)
