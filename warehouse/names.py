"""Names of parties in the one form in which they are compared.

The form is frozen: keys of parties in the record and the hashes of withheld names are made from it.
"""

import hmac
import re
import unicodedata
from functools import lru_cache

_SEPARATORS = re.compile(r"[\W_]+")
# A single letter before another single letter, and the space between them.
_INITIALS = re.compile(r"\b(\w) (?=\w\b)")


@lru_cache(maxsize=1 << 16)
def plain_name(name: str) -> str:
    """Return a name without accents, punctuation and capitals."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name)
        name = "".join(char for char in name if not unicodedata.combining(char))
    return _SEPARATORS.sub(" ", name).strip().casefold()


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in one order; initials in a row are one word.

    So "S.A.S." is "SAS", and "Dlamini, N. F." is "NF Dlamini".
    """
    return tuple(sorted(_INITIALS.sub(r"\1", plain_name(name)).split()))


def withheld_party_key(secret: bytes, source: str, base: str) -> str:
    """Return the key under which a party is stored without its name.

    ``base`` is what identifies the party in its source: its number, its own id, or its name.
    """
    # Keyed: names of people are few enough to be guessed from a plain hash.
    digest = hmac.digest(secret, f"{source}|{base}".encode(), "sha256")
    return f"withheld:{digest.hex()[:32]}"
