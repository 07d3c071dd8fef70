"""Lists of organisations: their identifiers in both directions, and what a search finds."""

import re
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from warehouse.contract.limits import check_search_words
from warehouse.contract.listing import ListRows, Question
from warehouse.contract.problems import Problem, invalid_parameter, unknown_id
from warehouse.names.search_words import terms
from warehouse.serve.build import Build
from warehouse.serve.entities import entity, organisation_id, records
from warehouse.serve.rows import (
    Condition,
    Order,
    distinct_values,
    equal,
    fetch_page,
    fetch_rows,
    known_on,
    make_page,
    one_of,
    page_of,
    storable,
)
from warehouse.serve.search import found_rows
from warehouse.serve.table_query import Empty, Filter, TableQuery, filters_of, query_rows
from warehouse.shared.json_encoding import encode
from warehouse.tables.entities import IdType

# All other types are the paid crosswalk.
FREE_ID_TYPES = ("lei", "ticker")
MAX_MATCHES = 20

# The form that an identifier of each type has; one of another form cannot belong to anybody.
# Letters in any case, as everywhere in the crosswalk. Registries and aggregators number as they
# like: their identifiers have no common form.
_FORMS: Mapping[IdType, tuple[re.Pattern[str], str]] = {
    "lei": (
        re.compile(r"[A-Za-z0-9]{18}[0-9]{2}"),
        "an LEI: 18 letters or digits and 2 check digits",
    ),
    "ticker": (
        # EDGAR has shares that trade over the counter, on no market with a MIC.
        re.compile(r"([A-Za-z0-9]{4}|[Oo][Tt][Cc]):\S(.*\S)?"),
        "EXCHANGE:TICKER, the exchange as its MIC of 4 characters, such as XJSE:ABC, or OTC:ABC",
    ),
    "isin": (
        re.compile(r"[A-Za-z]{2}[A-Za-z0-9]{9}[0-9]"),
        "an ISIN: 2 letters, 9 letters or digits and a check digit",
    ),
    "figi": (
        re.compile(r"[A-Za-z0-9]{11}[0-9]"),
        "a FIGI: 11 letters or digits and a check digit",
    ),
    "cik": (re.compile(r"[0-9]{1,10}"), "a CIK: 1 to 10 digits"),
}
# A FIGI has the form of an ISIN, but its third letter is always a G.
_FIGI = re.compile(r"[A-Za-z0-9]{2}[Gg][A-Za-z0-9]{8}[0-9]")


def type_of_identifier(id_value: str) -> IdType:
    """Return the type of an identifier by its form; one of no other form is of a register."""
    if _FIGI.fullmatch(id_value):
        return "figi"
    kinds = (kind for kind, (form, _) in _FORMS.items() if form.fullmatch(id_value))
    return next(kinds, "registry")


def crosswalk(question: Question) -> ListRows:
    """Return the current identifiers of an organisation that the tier may see.

    For an alias, it answers under the canonical id.
    """
    build, service_id = question.build, question.parameters["service_id"]
    owner = organisation_id(build, service_id)
    of_owner = equal(service_id=owner)
    id_types = distinct_values(build, "id_type", "identifiers", of_owner, len(get_args(IdType)))
    name = name_and_jurisdiction(build, service_id) or name_and_jurisdiction(build, owner)
    if not id_types and name is None:
        raise unknown_id(service_id)
    served = [kind for kind in id_types if question.tier.paid or kind in FREE_ID_TYPES]
    # IN () is no valid SQL; no identifier has the type ''.
    of_types = [one_of("id_type", served)] if served else equal(id_type="")
    where = [*of_owner, *of_types]
    before = {
        "service_id": owner,
        "legal_name": None if name is None else name[0] or None,
        "crosswalk_loaded": bool(build.rows("identifiers", "SELECT 1 FROM {table} LIMIT 1")),
    }
    withheld = [kind for kind in id_types if kind not in served]
    rows = fetch_page(build, "identifiers", where, **question.page)
    return ListRows(rows, before, {"withheld_id_types": withheld})


def why_no_identifiers(question: Question) -> Empty:
    """Return why an organisation shows no identifier."""
    detail = "There is no identifier of this organisation that the tier of the key may see."
    return Empty("nothing_held", detail, "service_id")


def lookup(question: Question) -> ListRows:
    """Return the organisations with an identifier, at most 20.

    Its letters may be in any case, and a CIK may be written without its zeros.
    """
    build = question.build
    id_type, id_value = question.parameters["id_type"], question.parameters["id_value"]
    # Before the lookup: the answer must not depend on whether there is a match.
    check_paid(question, id_type, "id_type", id_type, f"Lookups by {id_type}")
    if id_type in _FORMS and not _FORMS[id_type][0].fullmatch(id_value):
        raise invalid_parameter("id_value", id_value, _FORMS[id_type][1])
    issuers = owners_of(build, id_type, id_value)
    ids = sorted(issuers)
    rows = []
    for service_id in ids[:MAX_MATCHES]:
        name, jurisdiction = name_and_jurisdiction(build, service_id) or ("", "")
        members = {
            "service_id": service_id,
            "legal_name": name or None,
            "jurisdiction": jurisdiction or None,
            "issuer": issuers[service_id] or None,
        }
        rows.append(encode(members))
    page = page_of(build, rows, **question.page)
    # At most 20 are ever returned, of however many there are.
    has_more = len(ids) > MAX_MATCHES and not page.truncated
    page = msgspec.structs.replace(page, truncated=True, keys=()) if has_more else page
    return ListRows(page, {"id_type": id_type, "id_value": id_value, "ambiguous": len(ids) > 1})


def owners_of(build: Build, id_type: IdType, id_value: str) -> dict[str, str]:
    """Return the organisations with an identifier, each with who issued it."""
    where = equal(id_type=id_type, id_match=_id_match(id_type, id_value))
    rows = fetch_rows(build, "service_id, issuer", "identifiers", where)
    # Reversed, so that the first row of an organisation wins.
    return {str(owner): str(issuer) for owner, issuer in reversed(rows)}


def why_no_match(question: Question) -> Empty:
    """Return why no organisation has an identifier."""
    id_type, id_value = question.parameters["id_type"], question.parameters["id_value"]
    detail = f"No organisation here has the {id_type} {id_value!r}."
    if id_type == "registry":
        detail += " The search finds names, and tickers without an exchange."
    return Empty("value_not_held", detail, "id_value")


def entities(question: Question) -> ListRows:
    """Return the organisations that a query finds, best match first, each with how it matches.

    Buyers and suppliers that no register knows have a party_id in place of a service_id.
    """
    found = _found(question, ("organisation", "buyer", "supplier"))
    rows = records(question.build, [str(row["id"]) for _, row in found])
    rows |= {
        row["id"]: encode(
            {
                "party_id": row["id"],
                "kind": row["kind"],
                "legal_name": row["name"],
                **{name: row[name] for name in ("country", "datasets")},
            }
        )
        for _, row in found
        if row["kind"] != "organisation"
    }
    # A record is a complete JSON object: its closing brace is replaced, nothing is parsed.
    matches = [
        ((number,), rows[row["id"]][:-1] + b',"match":' + encode(row["match"]) + b"}")
        for number, row in found
    ]
    return ListRows(make_page(question.build, matches, question.limit))


def listed(question: Question) -> TableQuery:
    """Ask for organisations by country, by datasets with rows about them, by where they trade."""
    parameters, filters = question.parameters, filters_of(country=question.country)
    for name, column in (("dataset", "held_in"), ("exchange", "exchanges")):
        if (value := parameters[name]) is not None:
            within = Condition(f"{column} LIKE ?", (f"% {value} %",))
            filters.append(Filter(name, value, [within]))
    return TableQuery("entities", "organisations", filters)


def record(question: Question) -> ListRows:
    """Return the current record of one organisation; there is no search by name."""
    rows = entity(question.build, question.parameters["service_id"])
    if rows is None:
        raise unknown_id(question.parameters["service_id"])
    return ListRows(rows)


def universe(question: Question) -> ListRows:
    """Return the listings that lists had shown by a day, each in its state on that day.

    ``known_since`` is the day of the first of these lists: of who had gone before nothing is known
    but what a later list states.
    """
    build, query = question.build, universe_query(question)
    rows = query_rows(build, query, **question.page)
    # Also after the day of the question: why it has no answer is no secret.
    days = fetch_rows(build, "available_at", "universe", query.named, Order("available_at"), 1)
    return ListRows(rows, extra={"known_since": days[0][0] if days else None})


def universe_query(question: Question) -> TableQuery:
    """Ask for the listings of a day, of one exchange or of all."""
    exchange, as_of = question.parameters["exchange"], question.parameters["as_of"]
    filters = filters_of(exchange=exchange)
    return TableQuery("universe", "listings", filters, known_on(as_of), as_of)


def search(question: Question) -> ListRows:
    """Return what a query finds, best match first."""
    kind = question.parameters["kind"]
    found = _found(question, None if kind is None else (kind,))
    rows = [((number,), encode(row)) for number, row in found]
    return ListRows(make_page(question.build, rows, question.limit))


def why_none_found(question: Question) -> Empty:
    """Return why a search finds nothing."""
    query, country = question.parameters["query"], question.parameters["country"]
    where = "" if country is None else f" that is known to be in {country}"
    detail = (
        f"Nothing{where} has a name or identifier like {query!r}: try fewer words, and do not "
        "guess an id."
    )
    return Empty("no_match", detail, "query")


def _found(question: Question, kinds: tuple[str, ...] | None) -> list[tuple[str, dict[str, Any]]]:
    """Return what a query finds after the key, each with its place.

    A search finds an ISIN, which is refused to a key of no paid tier. Its form decides, before
    anything is read: the answer does not tell whether an ISIN is known.
    """
    query: str = question.parameters["query"]
    check_search_words("query", query)
    for word in terms(query):
        # An organisation's id has the form of an ISIN, but no country has the code DC.
        if _FORMS["isin"][0].fullmatch(word) and word[:2].upper() != "DC":
            what = f"{word.upper()} has the form of an ISIN. Leave it out: searches by ISIN"
            check_paid(question, "isin", "query", query, what)
    first = 0 if question.after is None else int(question.after[0])
    last = None if question.limit is None else first + question.limit + 1
    country = question.parameters["country"]
    found = found_rows(question.build, query, kinds, country, last)[first:]
    return [(str(first + number), row) for number, row in enumerate(found, 1)]


def check_paid(
    question: Question, id_type: IdType, parameter: str, received: str, what: str
) -> None:
    """Refuse what finds an organisation by an identifier of the paid crosswalk to other keys."""
    if id_type in FREE_ID_TYPES or question.tier.paid:
        return
    raise Problem(
        "paid_crosswalk",
        f"{what} need the starter tier or above.",
        parameter=parameter,
        received=received,
        tier=question.tier.name,
        required_tier="starter",
    )


def name_and_jurisdiction(build: Build, service_id: str) -> tuple[str, str] | None:
    """Return the name and the jurisdiction of an organisation that a register describes."""
    statement = "SELECT legal_name, jurisdiction FROM {table} WHERE service_id = ?"
    rows = build.rows("entities", statement, storable(service_id))
    return (str(rows[0][0]), str(rows[0][1])) if rows else None


def _id_match(id_type: str, id_value: str) -> str:
    """Return an identifier as the build has it: a to z, and no other letters, in upper case."""
    text = storable(id_value).encode().upper().decode()
    # Stored in ten digits, as EDGAR pads it.
    return text.zfill(10) if id_type == "cik" and text.isascii() and text.isdigit() else text
