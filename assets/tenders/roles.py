"""The roles of parties as OCDS codes, however a portal writes them."""

from functools import lru_cache
from typing import Any

from assets.tenders.code_lists import folded, known_codes
from warehouse.csv_files import csv_rows
from warehouse.names.plain import plain_name

# Spanish and Portuguese words that portals use in place of the codes, without accents.
_WORDS = {row["words"]: row["role"] for row in csv_rows(__name__, "role_words")}


def role_codes(value: Any, words: frozenset[str]) -> tuple[tuple[str, ...], int]:
    """Return the roles of a party, and how many values are neither a role nor a portal's word."""
    values = tuple(value) if isinstance(value, list) else (value,)
    try:
        return _cached_codes(values, words)
    except TypeError:
        # An array or an object among them, which is no role and cannot be looked up.
        return _codes(values, words)


def _codes(values: tuple[Any, ...], words: frozenset[str]) -> tuple[tuple[str, ...], int]:
    known = known_codes("role", words)
    stated = [value for value in values if value and (not isinstance(value, str) or value.strip())]
    roles = [
        known.get(folded(value)) or _WORDS.get(plain_name(value))
        for value in stated
        if isinstance(value, str)
    ]
    codes = [role for role in roles if role]
    return tuple(dict.fromkeys(codes)), len(stated) - len(codes)


# Portals write a handful of roles, millions of times.
_cached_codes = lru_cache(maxsize=1 << 10)(_codes)
