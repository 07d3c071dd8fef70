"""The opaque cursor of a walk: where it stands, signed so that nobody can alter it."""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

import msgspec

from warehouse.contract.problems import Problem
from warehouse.json_encoding import encode

_VERSION = 1
_MAC = 32
LONGEST = 1024


@dataclass(frozen=True)
class Place:
    """The key of the last row seen, and the data_version the walk is made in."""

    after: tuple[str, ...]
    data_version: str


def write(secret: bytes, place: Place, filters: str) -> str:
    """Write a cursor that is valid for the same filters only."""
    payload = encode([_VERSION, place.after, _short(filters), place.data_version])
    return _text(_mac(secret, payload) + payload)


def read(secret: bytes, cursor: str, filters: str) -> Place:
    """Read a cursor of ours; an altered one, or one of other filters, is refused."""
    held = _bytes(cursor)
    mac, payload = held[:_MAC], held[_MAC:]
    if not hmac.compare_digest(mac, _mac(secret, payload)):
        raise _refused("it is not one that this service gave")
    version, after, short, data_version = msgspec.json.decode(
        payload, type=tuple[int, tuple[str, ...], str, str]
    )
    if version != _VERSION or short != _short(filters):
        raise _refused("it belongs to a query with other filters")
    return Place(after, data_version)


def _bytes(cursor: str) -> bytes:
    try:
        if len(cursor) > LONGEST:
            raise ValueError
        held = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (ValueError, binascii.Error) as error:
        raise _refused("it is not one that this service gave") from error
    # base64 has several spellings of the same bytes; only ours is accepted.
    if _text(held) != cursor:
        raise _refused("it is not one that this service gave")
    return held


def _text(held: bytes) -> str:
    return base64.urlsafe_b64encode(held).rstrip(b"=").decode()


def _mac(secret: bytes, payload: bytes) -> bytes:
    return hmac.digest(secret, payload, "sha256")


def _short(filters: str) -> str:
    return hashlib.sha256(filters.encode()).hexdigest()[:16]


def _refused(why: str) -> Problem:
    return Problem("cursor_invalid", f"The cursor cannot be used: {why}.", parameter="cursor")
