"""How an organisation gets its service_id: from its strongest identifier, once and for ever.

Which identifier is the strongest is decided where organisations are resolved, not here.
"""

import hashlib
import unicodedata

# Crockford's base32: no I, L, O or U, so that a code can be read aloud and typed.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 10


def mint(scheme: str, value: str) -> str:
    """Give the service_id of an identifier; the same identifier gives the same id.

    Case, width and surrounding blanks do not matter: ``mint("lei", x)`` is ``mint("LEI", x)``.
    """
    scheme, value = _normal(scheme), _normal(value)
    if not scheme or not value or ":" in scheme:
        raise ValueError(f"{scheme!r}:{value!r} names no identifier: both parts are needed")
    digest = hashlib.sha256(f"{scheme}:{value}".encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8]) >> (64 - 5 * _LENGTH)
    places = range(5 * (_LENGTH - 1), -1, -5)
    return "DC" + "".join(_ALPHABET[(number >> place) & 31] for place in places)


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split()).upper()
