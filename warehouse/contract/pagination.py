"""Pagination of every list: signed cursors, all pages from one data_version."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import msgspec

from warehouse.contract.problems import Problem, conflicting_parameters
from warehouse.serve.build import Mart
from warehouse.serve.rows import Key
from warehouse.shared.errors import UnknownVersion
from warehouse.shared.json_encoding import encode

# Checked before a cursor is decoded: it comes from the client.
LONGEST_CURSOR = 1024
_FORMAT_VERSION = 2
_MAC_BYTES = 32
# How much of a list is sent, and in which form: no part of what is asked.
_NO_FILTERS = ("cursor", "limit", "format", "verbose", "data_version")


def mart_at_version(mart: Mart, data_version: str | None) -> Mart:
    """Return the mart at a published data_version, or the current one for None."""
    if data_version is None:
        return mart
    pinned = mart.at(data_version)
    # Raises UnknownVersion now instead of during the read.
    pinned.build()
    return pinned


def resume_position(
    mart: Mart,
    secret: bytes,
    listing: str,
    parameters: Mapping[str, Any],
    pinned: str | None = None,
) -> tuple[Mart, Key | None]:
    """Return the mart to read from and the key to continue after.

    A cursor stays in its data_version; once that build is deleted the cursor is refused.
    """
    cursor = parameters.get("cursor")
    if cursor is None:
        return mart_at_version(mart, pinned), None
    # The signature covers the data_version: a client cannot page through a build of its choice.
    after, data_version = _position(secret, cursor, _filters(listing, parameters))
    if pinned not in (None, data_version):
        raise conflicting_parameters(
            "X-Data-Version",
            f"The cursor belongs to data_version {data_version}; the header pins another.",
        )
    mart = mart.at(data_version)
    try:
        mart.build()
    except UnknownVersion as error:
        raise Problem(
            "cursor_invalid",
            f"The data_version {data_version} of this cursor is no longer available; "
            "start again without a cursor.",
            parameter="cursor",
        ) from error
    return mart, after


def next_cursor(
    secret: bytes,
    listing: str,
    parameters: Mapping[str, Any],
    last_key: Key | None,
    data_version: str,
) -> str | None:
    """Return the signed cursor of the page after a row; None if there is no such row."""
    if last_key is None:
        return None
    payload = encode([_FORMAT_VERSION, last_key, _filters(listing, parameters), data_version])
    return _to_text(_mac(secret, payload) + payload)


def _filters(listing: str, parameters: Mapping[str, Any]) -> str:
    """Return a hash of the list and the filters that a cursor is valid for."""
    filters = {
        name: value
        for name, value in sorted(parameters.items())
        if value is not None and name not in _NO_FILTERS
    }
    return hashlib.sha256(encode([listing, filters])).hexdigest()[:16]


def _position(secret: bytes, cursor: str, filters: str) -> tuple[Key, str]:
    """Return the key of the last row and the data_version of a cursor.

    One that was altered, or belongs to other filters, is refused.
    """
    signed = _to_bytes(cursor)
    mac, payload = signed[:_MAC_BYTES], signed[_MAC_BYTES:]
    # In constant time: the time of a comparison must not reveal how much of a guess is right.
    if not hmac.compare_digest(mac, _mac(secret, payload)):
        raise _invalid_cursor("it was not issued by this service")
    version, after, of_filters, data_version = msgspec.json.decode(
        payload, type=tuple[int, tuple[str, ...], str, str]
    )
    if version != _FORMAT_VERSION or of_filters != filters:
        raise _invalid_cursor("it belongs to a query with other filters")
    return after, data_version


def _to_bytes(cursor: str) -> bytes:
    try:
        if len(cursor) > LONGEST_CURSOR:
            raise ValueError
        signed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (ValueError, binascii.Error) as error:
        raise _invalid_cursor("it was not issued by this service") from error
    # base64 has several spellings of the same bytes; only ours is accepted.
    if _to_text(signed) != cursor:
        raise _invalid_cursor("it was not issued by this service")
    return signed


def _to_text(signed: bytes) -> str:
    return base64.urlsafe_b64encode(signed).rstrip(b"=").decode()


def _mac(secret: bytes, payload: bytes) -> bytes:
    return hmac.digest(secret, payload, "sha256")


def _invalid_cursor(reason: str) -> Problem:
    return Problem("cursor_invalid", f"The cursor is not valid: {reason}.", parameter="cursor")
