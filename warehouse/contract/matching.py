"""A table of names and identifiers matched to organisations: by evidence, else candidates."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from warehouse.contract.limits import check_search_words
from warehouse.contract.listing import ListRows, Question
from warehouse.contract.organisations import check_paid, owners_of, type_of_identifier
from warehouse.contract.problems import missing_parameter
from warehouse.names.search_words import FORM_WORDS, name_terms, similarity
from warehouse.serve.build import Build
from warehouse.serve.entities import is_known_id, organisation_id, records
from warehouse.serve.rows import alpha_2, page_of
from warehouse.serve.search import found_rows
from warehouse.shared.json_encoding import encode

# Of one row as many are shown.
_MOST_CANDIDATES = 5
# Words that share this part of their trigrams are one, misspelt.
_ALIKE = 0.5


class _Record(msgspec.Struct):
    """What a candidate is compared by."""

    service_id: str
    legal_name: str | None = None
    country: str | None = None
    other_names: list[str] | None = None


def matched(question: Question) -> ListRows:
    """Return for each row the organisation that it is by evidence, or those that it may be.

    Evidence is an identifier that one organisation has, unless name or country contradict it; or,
    without an identifier, exactly the name that one organisation of the country has.
    """
    rows = [
        encode({"number": number, **_matched(question, number, row)})
        for number, row in enumerate(question.parameters["rows"])
    ]
    return ListRows(page_of(question.build, rows, None))


def _matched(question: Question, number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    build, name, id_value = question.build, row["name"], row["id_value"]
    if name is None and id_value is None:
        raise missing_parameter(f"rows[{number}].name", "a name, an id_value, or both")
    country = alpha_2(build, row["country"])
    if id_value is not None and (owners := _owners(question, number, row)):
        candidates = _records(build, owners)
        agreeing = [each for each in candidates if _agrees(each, name, country)]
        if len(agreeing) == 1:
            return _answer(row, agreeing, "identifier", "One organisation has the identifier.")
        why = "Several organisations have the identifier."
        if not agreeing:
            why = "Who has the identifier has another name, or is of another country."
        return _answer(row, agreeing or candidates, None, why)
    if name is None:
        return _answer(row, [], None, "We have no organisation with this identifier.")
    check_search_words(f"rows[{number}].name", name)
    found = found_rows(build, name, ("organisation",), country, _MOST_CANDIDATES)
    if country is not None and "exact" not in [each["match"] for each in found]:
        # Registers need not say of which country an organisation is.
        found += found_rows(build, name, ("organisation",), "", _MOST_CANDIDATES)
    exact = [str(each["id"]) for each in found if each["match"] == "exact"]
    candidates = _records(build, exact or [str(each["id"]) for each in found])
    if id_value is not None:
        return _answer(row, candidates, None, "The identifier is unknown; only the name was used.")
    if len(exact) == 1 and country is not None and candidates[0].country == country:
        why = "One organisation of the country has exactly this name."
        return _answer(row, candidates, "exact_name", why)
    if exact:
        return _answer(row, candidates, None, "Exactly this name, but perhaps of another country.")
    why = "No organisation has exactly this name" + ("; these are alike." if candidates else ".")
    return _answer(row, candidates, None, why)


def _answer(
    row: Mapping[str, Any], candidates: Sequence[_Record], evidence: str | None, why: str
) -> dict[str, Any]:
    one = candidates[0] if evidence is not None else None
    shown = () if one is not None else candidates[:_MOST_CANDIDATES]
    return {
        **{name: row[name] for name in ("name", "country", "id_value")},
        "service_id": None if one is None else one.service_id,
        "legal_name": None if one is None else one.legal_name,
        "evidence": evidence,
        "detail": why,
        "candidates": [
            {name: getattr(each, name) for name in ("service_id", "legal_name", "country")}
            for each in shown
        ],
    }


def _owners(question: Question, number: int, row: Mapping[str, Any]) -> list[str]:
    """Return the organisations that have the identifier of a row."""
    build, id_value = question.build, row["id_value"]
    if row["id_type"] is None and is_known_id(build, id_value.upper()):
        return [organisation_id(build, id_value.upper())]
    id_type = row["id_type"] or type_of_identifier(id_value)
    where = f"rows[{number}].id_value"
    check_paid(question, id_type, where, id_value, f"Matches by {id_type}")
    owners = owners_of(build, id_type, id_value)
    if not owners and row["id_type"] is None and question.tier.paid:
        # A number of a register can have the form of any other.
        owners = owners_of(build, "registry", id_value)
    return sorted(owners)


def _records(build: Build, ids: Sequence[str]) -> list[_Record]:
    """Return the records of organisations, in the order of their ids."""
    found = records(build, list(ids))
    return [
        msgspec.json.decode(found[each], type=_Record) if each in found else _Record(each)
        for each in ids
    ]


def _agrees(record: _Record, name: str | None, country: str | None) -> bool:
    """Return whether neither name nor country is another: each word is like one of its names."""
    if country is not None and record.country not in (None, country):
        return False
    names = filter(None, [record.legal_name, *(record.other_names or ())])
    known = {word for each in names for word in name_terms(each)} - FORM_WORDS
    words = set() if name is None else set(name_terms(name)) - FORM_WORDS
    alike = (any(similarity(word, each) >= _ALIKE for each in known) for word in words)
    return not known or all(alike)
