"""The form that an identifier of each type has; one of another form cannot belong to anybody."""

import re
from collections.abc import Mapping

from warehouse.contract.problems import invalid_parameter
from warehouse.tables.entities import IdType

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


def has_form_of_isin(word: str) -> bool:
    """Return whether a word can be an ISIN; an organisation's id, though of its form, cannot."""
    # No country has the code DC.
    return bool(_FORMS["isin"][0].fullmatch(word)) and word[:2].upper() != "DC"


def check_identifier(id_type: IdType, id_value: str) -> None:
    """Refuse an identifier that is not of the form of its type."""
    if id_type not in _FORMS:
        return
    pattern, expected = _FORMS[id_type]
    if not pattern.fullmatch(id_value):
        raise invalid_parameter("id_value", id_value, expected)
