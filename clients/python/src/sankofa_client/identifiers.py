"""Identifiers of organisations: which type one has, and the ``service_id`` behind it."""

import re
from typing import Literal

from sankofa_client.errors import AmbiguousIdentifier, SankofaError, UnknownIdentifier
from sankofa_client.pages import Pages

IdType = Literal["lei", "ticker", "isin", "figi", "cik", "registry", "aggregator"]

# Organisations that the error for a text without a known form names.
_MOST_SUGGESTIONS = 3
# The first that fits. A service_id can have the form of an ISIN, an ISIN that of a FIGI; the
# party_id of a supplier that no register knows is taken in place of a service_id.
_FORMS: tuple[tuple[IdType | None, re.Pattern[str]], ...] = (
    ("ticker", re.compile(r"\S+:\S(.*\S)?")),
    ("lei", re.compile(r"[A-Za-z0-9]{18}[0-9]{2}")),
    (None, re.compile(r"[Dd][Cc][A-Za-z0-9]+|[0-9A-Fa-f]{32}")),
    ("figi", re.compile(r"[A-Za-z0-9]{2}[Gg][A-Za-z0-9]{8}[0-9]")),
    ("isin", re.compile(r"[A-Za-z]{2}[A-Za-z0-9]{9}[0-9]")),
)


class Identifiers:
    """Finds the ``service_id`` of identifiers; each is looked up once."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._found: dict[tuple[IdType, str], str] = {}

    def resolve(self, identifier: str, id_type: IdType | None = None) -> str:
        """Return the ``service_id`` that an identifier belongs to; letters may be in any case."""
        if id_type is None:
            fitting = [each for each, form in _FORMS if form.fullmatch(identifier)]
            if not fitting:
                raise UnknownIdentifier(self._no_form(identifier))
            id_type = fitting[0]
        if id_type is None:
            return identifier.upper()
        if (id_type, identifier) not in self._found:
            self._found[id_type, identifier] = self._looked_up(id_type, identifier)
        return self._found[id_type, identifier]

    def _looked_up(self, id_type: IdType, identifier: str) -> str:
        answer = self._pages.read("/v1/crosswalk", {"id_type": id_type, "id_value": identifier})
        names: dict[str, str] = {row["service_id"]: row["legal_name"] for row in answer.rows}
        if not names:
            empty = answer.envelope.get("empty") or {}
            reason = empty.get("detail", f"No organisation has the {id_type} {identifier!r}.")
            raise UnknownIdentifier(f"{reason} search() finds organisations by name.")
        if len(names) > 1:
            owners = ", ".join(f"{service_id} ({name})" for service_id, name in names.items())
            raise AmbiguousIdentifier(
                f"Several organisations have the {id_type} {identifier!r}: {owners}. "
                "Use the service_id of one of them.",
                list(names),
            )
        return next(iter(names))

    def _no_form(self, text: str) -> str:
        """Return why a text leads nowhere, with organisations that it may mean."""
        wanted = {"query": text, "kind": "organisation"}
        try:
            found = self._pages.read("/v1/search", wanted, _MOST_SUGGESTIONS).rows
        except SankofaError:
            # What can be wrong with a search is not what is wrong here.
            found = []
        meant = "; ".join(
            f"{row['name']}: {', '.join((*row['listings'], row['id']))}" for row in found
        )
        return (
            f"{text!r} is no identifier of a known form: use MARKET:TICKER such as XJSE:UBF0, an "
            "LEI, an ISIN, a FIGI or a service_id. "
            + (f"Did you mean one of these? {meant}. " if meant else "")
            + "search() finds organisations by name; resolve() takes numbers of registers, with "
            "their id_type."
        )
