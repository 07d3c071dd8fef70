"""Take withheld names out of what is served: texts, ids, addresses, and the JSON of releases.

From a text the name goes and the sentence stays. An id keeps what is no name, and a keyed hash of
itself takes the place of the rest, so that equal ids stay equal in every table. An address ends at
the folder before the name. An organisation of that name is left out of a release.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import msgspec
import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from warehouse.names.spellings import NameFinder, Words
from warehouse.shared.errors import SankofaError

# Names of people as they are stored: encrypted under the secret of the installation.
#
# The record has to recognise withheld people in later documents and builds, and must not name
# them to whoever gets a copy of it.

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


# What replaces a withheld name in a free text.
REPLACEMENT = "[withheld]"
# Members of a release that are organisations, or lists of them.
_ORGANISATIONS = frozenset({"buyer", "procuringEntity", "tenderers", "suppliers"})
_IDS = frozenset({"id", "awardID"})
_HASH_DIGITS = 12
_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_encode = msgspec.json.Encoder(decimal_format="number").encode


class Redaction:
    """Removes a set of names from values; what has none of them is returned as it is.

    ``names`` are those of parties that were not established, ``everywhere`` those that an operator
    withheld.
    """

    def __init__(
        self, names: frozenset[Words], everywhere: frozenset[Words], secret: bytes
    ) -> None:
        self._finder = NameFinder(names | everywhere)
        self._everywhere = everywhere
        self._secret = secret

    def has(self, text: str | None) -> bool:
        """Return whether a value contains one of the names."""
        return text is not None and self._finder.has(text)

    def withholds(self, party: str) -> bool:
        """Return whether a party of this name is withheld.

        One that has only some words of a name that was not established is another party.
        """
        return self._finder.may_have(party) and any(
            passage.is_whole or passage.name in self._everywhere
            for passage in self._finder.passages(party)
        )

    def text(self, text: str) -> str:
        """Return a text with every passage that is a name replaced."""
        if not self._finder.may_have(text):
            return text
        parts, end = [], 0
        for passage in self._finder.passages(text):
            parts += [text[end : passage.start], REPLACEMENT]
            end = passage.end
        return "".join([*parts, text[end:]])

    def identifier(self, value: str) -> str:
        """Return an id in which a keyed hash of the whole takes the place of a name."""
        if not self.has(value):
            return value
        passages = list(self._finder.passages(value))
        digest = hmac.digest(self._secret, f"id|{value}".encode(), "sha256").hex()
        kept = value[: passages[0].start], value[passages[-1].end :]
        return f"~{digest[:_HASH_DIGITS]}".join(kept)

    def address(self, url: str) -> str:
        """Return an address up to the folder before the first part that has a name."""
        # Percent signs hide letters; the parts of an address are those of its decoded form too.
        decoded = unquote(url)
        if not (self.has(url) or (decoded != url and self.has(decoded))):
            return url
        kept = ""
        for end in _part_ends(url):
            if self.has(unquote(url[:end])):
                break
            kept = url[:end]
        return kept

    def release(self, text: str) -> str:
        """Return the JSON of a release without the organisations and passages that are a name.

        One without a name is returned as it is, text that is not JSON as an empty text.
        """
        try:
            value = _decode(text)
        except msgspec.DecodeError:
            # What cannot be cleaned must not be served: a rule leaves out what is not JSON.
            return ""
        kept = self._value(value)
        return text if kept == value else str(_encode(kept).decode())

    def _value(self, value: Any, member: str = "", is_organisation: bool = False) -> Any:
        if isinstance(value, dict):
            return dict(self._members(value, member in _ORGANISATIONS))
        if isinstance(value, list):
            return [self._value(item, member) for item in value if not self._drops(item, member)]
        if not isinstance(value, str) or (is_organisation and member == "name"):
            return value
        return self.identifier(value) if member in _IDS else self.text(value)

    def _members(
        self, value: Mapping[str, Any], is_organisation: bool
    ) -> Iterator[tuple[str, Any]]:
        for name, item in value.items():
            kept = None if self._drops(item, name) else self._value(item, name, is_organisation)
            # As the parser does: an object or a list of which nothing is left is left out.
            if not item or kept:
                yield name, kept if item else item

    def _drops(self, item: Any, member: str) -> bool:
        if member not in _ORGANISATIONS or not isinstance(item, dict):
            return False
        name = item.get("name")
        return isinstance(name, str) and self.withholds(name)


def strings_in(text: str) -> Iterator[str]:
    """Yield every text in a JSON document; the document itself if it is none."""
    try:
        values = [_decode(text)]
    except msgspec.DecodeError:
        yield text
        return
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value


def _part_ends(url: str) -> Iterator[int]:
    """Yield where an address may end: after its host, each folder, its path and its query."""
    begin = url.find("://") + 3 if "://" in url else 0
    for position, character in enumerate(url):
        if position < begin:
            continue
        if character == "/":
            yield position + 1
        elif character in "?#":
            yield position
            if character == "#":
                return


# The releases of a process have the same names.
redaction_of = lru_cache(maxsize=1 << 12)(Redaction)
