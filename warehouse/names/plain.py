"""Names of parties in the one form in which they are compared.

The form is frozen: keys of parties in the record are made from it.
"""

import hmac
import re
import unicodedata
from functools import lru_cache

_SEPARATORS = re.compile(r"[\W_]+")


@lru_cache(maxsize=1 << 16)
def plain_name(name: str) -> str:
    """Return a name without accents, punctuation and capitals."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name)
        name = "".join(char for char in name if not unicodedata.combining(char))
    return _SEPARATORS.sub(" ", name).strip().casefold()


def withheld_party_key(secret: bytes, source: str, base: str) -> str:
    """Return the key under which a party is stored without its name.

    ``base`` is what identifies the party in its source: its number, its own id, or its name.
    """
    # Keyed: names of people are few enough to be guessed from a plain hash.
    digest = hmac.digest(secret, f"{source}|{base}".encode(), "sha256")
    return f"withheld:{digest.hex()[:32]}"
