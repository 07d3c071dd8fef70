"""Names of people as they are stored: encrypted under the secret of the installation.

The record has to recognise withheld people in later documents and builds, and must not name them
to whoever gets a copy of it.
"""

import base64
import hashlib
from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from warehouse.errors import SankofaError

# The column of a row with names that its document has and that must not be served.
_COLUMN = "withheld_names"


def seal_names(secret: bytes, names: Iterable[str]) -> str | None:
    """Return names encrypted as one text; None if there are none.

    The same names are the same text, so that a document that is read again changes nothing.
    """
    texts = sorted({" ".join(name.split()) for name in names} - {""})
    if not texts:
        return None
    sealed = _cipher(secret).encrypt("\n".join(texts).encode(), None)
    return base64.b64encode(sealed).decode()


def open_names(secret: bytes, sealed: str) -> list[str]:
    """Return the names in a text of ``seal_names``; raise if it was sealed under another key."""
    try:
        body = _cipher(secret).decrypt(base64.b64decode(sealed), None)
    except (InvalidTag, ValueError):
        raise SankofaError(
            "withheld names were stored under another SANKOFA_WITHHELD_KEY, or are damaged; set "
            "the key of that time again, or run `sankofa verify`"
        ) from None
    return body.decode().split("\n")


def sealed_rows(rows: pa.Table, secret: bytes) -> pa.Table:
    """Return rows with the names that a parser withheld, a line each, encrypted."""
    if _COLUMN not in rows.column_names or rows[_COLUMN].null_count == rows.num_rows:
        return rows
    sealed = [
        None if names is None else seal_names(secret, names.split("\n"))
        for names in rows[_COLUMN].to_pylist()
    ]
    position = rows.column_names.index(_COLUMN)
    field = rows.schema.field(position)
    return rows.set_column(position, field, pa.array(sealed, field.type))


@lru_cache(maxsize=4)
def _cipher(secret: bytes) -> AESSIV:
    return AESSIV(hashlib.sha512(b"withheld names|" + secret).digest())
