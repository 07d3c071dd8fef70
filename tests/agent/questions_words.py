"""Words that are misspelt or named otherwise: each is refused with the word that is meant."""

from tests.agent.published import Published
from tests.agent.question import Answer, Call, Question, always, call, words

_INSTEAD = {"word": "$1.nearest[0]", "code": "$1.code"}


def _misspelt(text: str, known: str, tokens: int, step: Call) -> Question:
    answer = always(word=known, code="parameter_invalid")
    return Question(text, (step,), _INSTEAD, answer, tokens)


def _open(text: str, known: str, tokens: int, step: Call) -> Question:
    says = {"word": "$1.empty.nearest[0]", "code": "$1.empty.code"}
    return Question(text, (step,), says, always(word=known, code="value_not_held"), tokens)


def _return(published: Published) -> Answer:
    lines = ("profit_attributable", "equity_attributable")
    profit, equity = (published.figures(13, [line])[0]["value_reported"] for line in lines)
    return {"instead": "return_on_equity", "inputs": [profit, equity]}


def _held_series(published: Published) -> Answer:
    query = "SELECT DISTINCT series FROM af_macro_series WHERE country = 'KE' ORDER BY series"
    return {"series": published.column(query)}


def _cpi(published: Published) -> Answer:
    newest = published.observations("FRED.FICKENCPIM", "1900-01-01", "9999-12-30")[0]
    return {**_held_series(published), "value": newest["value"]}


QUESTIONS = (
    Question(
        "What is the ROE of Andina Insurance?",
        (
            call("search_entities", query="Andina Insurance"),
            call("get_metrics", service_id="$1.data[0].service_id", metric="ROE"),
            call("get_metrics", service_id="$1.data[0].service_id", metric="$2.nearest[0]"),
        ),
        {"instead": "$2.nearest[0]", "inputs": "$3.data[0].inputs[*].value"},
        _return,
        1_000,
    ),
    _misspelt(
        "Show the panel single-bid-rates of Kenya.",
        "single-bid-rate",
        250,
        call("get_signal", signal_key="single-bid-rates", country="KE"),
    ),
    _misspelt(
        "Who is the suplier of most releases in Kenya?",
        "supplier",
        200,
        call("get_resolved_parties", country="KE", role="suplier"),
    ),
    _misspelt(
        "Quality of AF-TENDERS?",
        "AF-TENDER",
        150,
        call("get_quality_metrics", sku="AF-TENDERS"),
    ),
    _misspelt(
        "Rank issuers by turnover growth, sales growth that is.",
        "revenue_growth",
        300,
        call("screen_issuers", metric="sales growth"),
    ),
    _open(
        "Tenders of Kenya in the category workss?",
        "works",
        250,
        call("search_tenders", country="KE", category="workss"),
    ),
    _open(
        "Which tenders of South Africa were canceled?",
        "cancelled",
        250,
        call("search_tenders", country="ZA", status="canceled"),
    ),
    _open(
        "Nigeria's inflation, FP.CPI.TOTL.Z?",
        "FP.CPI.TOTL.ZG",
        250,
        call("get_macro", country="NG", indicator="FP.CPI.TOTL.Z"),
    ),
    Question(
        "What is Kenya's consumer price index, CPI.KE or so?",
        (
            call("get_macro", country="KE", series="CPI.KE"),
            call("get_macro", series="$1.empty.nearest[0]", limit=1),
        ),
        {"series": "$1.empty.nearest", "value": "$2.data[0].value"},
        _cpi,
        450,
    ),
    Question(
        "Which indicator entries are held for Kenya?",
        (
            call("describe_data", section="indicator", country="KE"),
            call("describe_data", section="indicator"),
        ),
        {"reason": "$1.empty.detail", "names": "$2.data[*].name"},
        lambda published: {
            "reason": words("all countries together"),
            "names": published.column(
                "SELECT DISTINCT indicator FROM af_macro_annual WHERE latest ORDER BY indicator"
            ),
        },
        500,
    ),
    Question(
        "Which series of Kenya are held?",
        (call("describe_data", section="series", country="KE"),),
        {"series": "$1.data[?frequency=monthly].name"},
        lambda published: {
            "series": published.column(
                "SELECT DISTINCT series FROM af_macro_series WHERE country = 'KE' "
                "AND frequency = 'monthly' ORDER BY series"
            )
        },
        400,
    ),
)
