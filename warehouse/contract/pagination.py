"""Pagination of tender releases: signed cursors, all pages from one data_version."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from warehouse.contract.problems import Problem, conflicting_parameters
from warehouse.errors import UnknownVersion
from warehouse.json_encoding import encode
from warehouse.read.mart import Mart

_VERSION = 1
_MAC = 32
LONGEST_CURSOR = 1024


@dataclass(frozen=True)
class CursorPosition:
    """The key of the last row seen, and the data_version the walk is made in."""

    after: tuple[str, ...]
    data_version: str


def encode_cursor(secret: bytes, place: CursorPosition, filters: str) -> str:
    """Write a cursor that is valid for the same filters only."""
    payload = encode([_VERSION, place.after, _short(filters), place.data_version])
    return _text(_mac(secret, payload) + payload)


def decode_cursor(secret: bytes, cursor: str, filters: str) -> CursorPosition:
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
    return CursorPosition(after, data_version)


def _bytes(cursor: str) -> bytes:
    try:
        if len(cursor) > LONGEST_CURSOR:
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


_MORE = ("to", "category", "buyer", "query")


def cursor_filters(asked: Mapping[str, Any]) -> str:
    """Write the filters that a cursor is good for, alike for whoever asks with the same."""
    filters = f"{asked['country']}|{asked['from']}"
    more = {name: asked[name] for name in _MORE if asked.get(name) is not None}
    return f"{filters}|{encode(more).decode()}" if more else filters


def mart_at_version(mart: Mart, data_version: str | None) -> Mart:
    """Give the mart at a data_version that is held, or as it is now."""
    if data_version is None:
        return mart
    held = mart.at(data_version)
    held.build()
    return held


def resume_position(
    mart: Mart, secret: bytes, asked: Mapping[str, Any], pinned: str | None = None
) -> tuple[Mart, tuple[str, ...] | None]:
    """Give where to read on, and in which build; the one of a cursor may be gone."""
    sent = asked["cursor"]
    if sent is None:
        return mart_at_version(mart, pinned), None
    place = decode_cursor(secret, sent, cursor_filters(asked))
    if pinned not in (None, place.data_version):
        raise conflicting_parameters(
            "X-Data-Version",
            f"The cursor walks in data_version {place.data_version}, the header pins another.",
        )
    mart = mart.at(place.data_version)
    try:
        mart.build()
    except UnknownVersion as error:
        raise Problem(
            "cursor_invalid",
            f"The data_version {place.data_version} of this walk is held no more; begin again.",
            parameter="cursor",
        ) from error
    return mart, place.after


def next_cursor(
    secret: bytes, asked: Mapping[str, Any], last_key: tuple[str, ...] | None, data_version: str
) -> str | None:
    """Write the cursor of the page after a row; None where there is no such row."""
    if last_key is None:
        return None
    return encode_cursor(secret, CursorPosition(last_key, data_version), cursor_filters(asked))
