"""Who is meant: misspelt, half-remembered, former and ambiguous names, tickers and identifiers."""

from tests.agent.published import Published
from tests.agent.question import Answer, Call, Question, always, call, words
from tests.sample_world.organisations import cik_of, isin_of, issuer, lei, person_name, ticker_of
from tests.sample_world.registers import fund

_NAME = {"name": "$1.data[0].legal_name"}
_ALONE = {**_NAME, "found": "$1.count"}


def _search(query: str, **others: str) -> tuple[Call, ...]:
    return (call("search_entities", query=query, **others),)


def _nobody(published: Published) -> Answer:
    return {"found": 0, "code": "no_match", "reason": words("do not guess an id")}


def _kenyan(published: Published) -> Answer:
    names = published.column(
        "SELECT name FROM af_tender_parties WHERE latest AND country = 'KE' "
        "AND role IN ('buyer', 'supplier') AND name LIKE 'Jitihada %' AND name NOT LIKE '%t/a%' "
        "GROUP BY name ORDER BY bool_and(service_id IS NULL), name"
    )
    return {"names": names}


_SOLE_TRADER = lei("person", issuer(0).country, 0)
_SHARED_NUMBER = issuer(3).register_number

QUESTIONS = (
    Question(
        "Which company was called Old Zambezi Fictional Foods before?",
        _search("Old Zambezi Fictional Foods"),
        {**_NAME, "former": "$1.data[0].former_names"},
        always(name=issuer(3).name, former=[f"Old {issuer(3).name}"]),
        400,
    ),
    Question(
        "Old Dodo Bank: what is its name today?",
        _search("Old Dodo Bank"),
        _ALONE,
        always(name=issuer(12).name, found=1),
        350,
    ),
    Question(
        "Kilima Textiles, the one in Abidjan: under which legal name is it registered now, and is "
        "it still listed?",
        _search("Kilima Textiles"),
        {
            **_NAME,
            "former": "$1.data[0].former_names",
            "listing": "$1.data[0].listings[mic=XBRV].status",
        },
        always(name=f"Nouvelle {issuer(7).name}", former=[issuer(7).name], listing="delisted"),
        400,
    ),
    Question(
        f"Who is {ticker_of(issuer(0))}?",
        _search(ticker_of(issuer(0))),
        {**_ALONE, "match": "$1.data[0].match"},
        always(name=issuer(0).name, found=1, match="identifier"),
        350,
    ),
    Question(
        f"Which company trades as NYSE:{ticker_of(issuer(4))}?",
        _search(f"NYSE:{ticker_of(issuer(4))}"),
        {**_ALONE, "country": "$1.data[0].country"},
        always(name=issuer(4).name, found=1, country="MA"),
        350,
    ),
    Question(
        f"{ticker_of(issuer(2))} on the Nairobi exchange: which company?",
        _search(f"{ticker_of(issuer(2))} on the Nairobi exchange"),
        {**_NAME, "listing": "$1.data[0].listings[mic=XNAI].ticker"},
        always(name=issuer(2).name, listing=ticker_of(issuer(2))),
        750,
    ),
    Question(
        f"Whose ticker is XJSE:{ticker_of(issuer(10))}?",
        (call("resolve_identifier", id_value=f"XJSE:{ticker_of(issuer(10))}"),),
        {**_NAME, "ambiguous": "$1.ambiguous"},
        always(name=issuer(10).name, ambiguous=False),
        200,
    ),
    Question(
        f"Which company issued ISIN {isin_of(issuer(0).country, 0)}?",
        _search(f"ISIN {isin_of(issuer(0).country, 0)}"),
        _ALONE,
        always(name=issuer(0).name, found=1),
        350,
    ),
    Question(
        f"Which filer has CIK {cik_of(issuer(12))}?",
        (call("resolve_identifier", id_value=cik_of(issuer(12)), id_type="cik"),),
        _NAME,
        always(name=issuer(12).name),
        200,
    ),
    Question(
        f"Our contract names a counterparty with LEI {issuer(17).lei} in Kenya. Who is it?",
        _search(f"counterparty with LEI {issuer(17).lei} in Kenya"),
        _ALONE,
        always(name=issuer(17).name, found=1),
        350,
    ),
    Question(
        "I think it was Marulla Store or so, a South African retailer.",
        _search("Marulla Store", country="ZA"),
        {**_NAME, "match": "$1.data[0].match"},
        always(name=issuer(16).name, match="near"),
        700,
    ),
    Question(
        "What does the Islands Fund of Mauritius own?",
        _search("Islands Fund", country="MU"),
        {"candidates": "$1.data[*].legal_name"},
        always(candidates=[fund(serial).name for serial in range(8)]),
        500,
    ),
    Question(
        "Which organisations called Jitihada are there in Kenya?",
        _search("Jitihada", country="KE"),
        {"names": "$1.data[*].legal_name"},
        _kenyan,
        400,
    ),
    Question(
        f"Which of these two do you know: {issuer(12).name} of Kenya, and one Acme?",
        (
            call(
                "match_organisations",
                rows=[{"name": issuer(12).name, "country": "KE"}, {"name": "Acme"}],
            ),
        ),
        {"names": "$1.data[*].legal_name", "evidence": "$1.data[*].evidence"},
        always(names=[issuer(12).name, None], evidence=["exact_name", None]),
        300,
    ),
    Question(
        "What is Safaricom's revenue?",
        _search("Safaricom"),
        {"found": "$1.count", "code": "$1.empty.code", "reason": "$1.empty.detail"},
        _nobody,
        200,
    ),
    Question(
        f"What contracts did {person_name(3)} win?",
        _search(person_name(3)),
        {"found": "$1.count", "code": "$1.empty.code", "reason": "$1.empty.detail"},
        _nobody,
        200,
    ),
    Question(
        f"Who is behind LEI {_SOLE_TRADER}?",
        (call("resolve_identifier", id_value=_SOLE_TRADER),),
        {"found": "$1.count", "code": "$1.empty.code"},
        always(found=0, code="value_not_held"),
        200,
    ),
    Question(
        f"Which company has the register number {_SHARED_NUMBER}?",
        (call("resolve_identifier", id_value=_SHARED_NUMBER, id_type="registry"),),
        {"ambiguous": "$1.ambiguous", "names": "$1.data[*].legal_name"},
        always(ambiguous=True, names=[issuer(3).name, issuer(4).name]),
        250,
    ),
    Question(
        f"Is {ticker_of(issuer(0))} an identifier of a company? Look it up.",
        (
            call("resolve_identifier", id_value=ticker_of(issuer(0))),
            call("search_entities", query=ticker_of(issuer(0))),
        ),
        {"hint": "$1.empty.detail", "name": "$2.data[0].legal_name"},
        always(hint=words("search", "tickers without an exchange"), name=issuer(0).name),
        500,
    ),
)
