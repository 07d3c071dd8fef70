"""The closed code lists of OCDS, and the further words that a portal declares for them.

Publishers write anything into a member that should have a code, also the name of a person. So a
text is served there only if it is a code of the list or a declared word of the portal.
"""

import re
from functools import cache, lru_cache
from typing import Annotated, Any, Self, get_args

from pydantic import Field, model_validator

from assets.declared_files import DeclarationError, DeclaredTable
from warehouse.names.reading import plain_name
from warehouse.shared.data_files import csv_rows
from warehouse.tables.tenders import Role

_PARTS = re.compile(r"[\s_-]+")
# Spanish and Portuguese words that portals use for roles, without accents.
_ROLE_WORDS = {row["words"]: row["role"] for row in csv_rows(__name__, "role_words")}

# The lists of OCDS 1.1. The names are those of the members of ``Words``.
CODES: dict[str, tuple[str, ...]] = {}
for _row in csv_rows(__name__, "code_lists"):
    CODES[_row["list"]] = (*CODES.get(_row["list"], ()), _row["code"])
# Of the open list of schemes any single word is a code.
CODES |= {"role": get_args(Role), "scheme": ()}

_Declared = frozenset[Annotated[str, Field(min_length=1, max_length=200)]]


class Words(DeclaredTable):
    """What a portal writes besides the codes of each list, and is served as declared."""

    tender_status: _Declared = frozenset()
    award_status: _Declared = frozenset()
    contract_status: _Declared = frozenset()
    procurement_method: _Declared = frozenset()
    category: _Declared = frozenset()
    tag: _Declared = frozenset()
    role: _Declared = frozenset()
    scheme: _Declared = frozenset()

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, codes in CODES.items():
            known = {folded(code): code for code in codes}
            for word in sorted(getattr(self, name)):
                if same := known.get(folded(word)):
                    raise DeclarationError(
                        name, f"{word!r} is read as {same!r} already; leave it out"
                    )
                known[folded(word)] = word
        return self


def folded(text: str) -> str:
    """Return a text without capitals, blanks, hyphens and underscores."""
    return _PARTS.sub("", text).casefold()


@cache
def known_codes(name: str, words: frozenset[str]) -> dict[str, str]:
    """Return the codes of a list and the words of a portal, by their folded text."""
    return {folded(code): code for code in (*sorted(words), *CODES[name])}


def unlisted_reason(member: str, count: int) -> str:
    """Return why values of a member are left out; never the values, which may be names."""
    values, they = ("value is", "it is") if count == 1 else ("values are", "they are")
    return f"{member}: {count:,} {values} no code of OCDS or of the portal; {they} left out"


def role_codes(value: Any, words: frozenset[str]) -> tuple[tuple[str, ...], int]:
    """Return the roles of a party, and how many values are neither a role nor a portal's word."""
    values = tuple(value) if isinstance(value, list) else (value,)
    try:
        return _cached_roles(values, words)
    except TypeError:
        # An array or an object among them, which is no role and cannot be looked up.
        return _roles(values, words)


def _roles(values: tuple[Any, ...], words: frozenset[str]) -> tuple[tuple[str, ...], int]:
    known = known_codes("role", words)
    stated = [value for value in values if value and (not isinstance(value, str) or value.strip())]
    roles = [
        known.get(folded(value)) or _ROLE_WORDS.get(plain_name(value))
        for value in stated
        if isinstance(value, str)
    ]
    codes = [role for role in roles if role]
    return tuple(dict.fromkeys(codes)), len(stated) - len(codes)


# Portals write a handful of roles, millions of times.
_cached_roles = lru_cache(maxsize=1 << 10)(_roles)
