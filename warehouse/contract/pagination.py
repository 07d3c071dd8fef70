"""Pagination of every list: signed cursors, all pages from one data_version."""

from collections.abc import Mapping
from hashlib import blake2b
from hmac import compare_digest
from typing import Any

from warehouse.contract.problems import Problem, conflicting_parameters
from warehouse.serve.build import Build, Mart
from warehouse.serve.rows import Key
from warehouse.shared.errors import UnknownVersion
from warehouse.shared.json_encoding import encode

# Checked before a cursor is decoded: it comes from the client.
LONGEST_CURSOR = 1024
# A cursor is, in hexadecimal digits, a signature, a hash of the filters, and texts that NUL
# separates: the data_version, then the key of the last row.
_MAC_BYTES, _FILTER_BYTES = 16, 8
_SEPARATOR = "\0"
# How much of a list is sent, and in which form: these do not filter its rows.
_NO_FILTERS = frozenset(
    ("cursor", "limit", "format", "fields", "verbose", "data_version", "receipt")
)


def build_at(mart: Mart, data_version: str | None) -> Build:
    """Return the build of a published data_version, or the current one for None."""
    return mart.build() if data_version is None else mart.at(data_version).build()


def resume_position(
    mart: Mart,
    secret: bytes,
    listing: str,
    parameters: Mapping[str, Any],
    pinned: str | None = None,
    found: Build | None = None,
) -> tuple[Build, Key | None]:
    """Return the build to read from, which may have been found already, and the key to go on after.

    A cursor stays in its data_version; once that build is deleted the cursor is refused.
    """
    cursor = parameters.get("cursor")
    if cursor is None:
        return found or build_at(mart, pinned), None
    # The signature covers the data_version: a client cannot page through a build of its choice.
    of_filters, data_version, after = _read_cursor(secret, cursor)
    if of_filters != _filters(listing, parameters):
        raise _invalid_cursor("it belongs to a query with other filters")
    if pinned not in (None, data_version):
        raise conflicting_parameters(
            "X-Data-Version",
            f"The cursor belongs to data_version {data_version}; the header pins another.",
        )
    try:
        return found or build_at(mart, data_version), after
    except UnknownVersion as error:
        raise Problem(
            "cursor_invalid",
            f"The data_version {data_version} of this cursor is no longer available; "
            "start again without a cursor.",
            parameter="cursor",
        ) from error


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
    position = _SEPARATOR.join((data_version, *last_key)).encode()
    payload = _filters(listing, parameters) + position
    return (_mac(secret, payload) + payload).hex()


def cursor_version(secret: bytes, cursor: str) -> str:
    """Return the data_version that a cursor stays in; refuse one that is not ours."""
    return _read_cursor(secret, cursor)[1]


def _filters(listing: str, parameters: Mapping[str, Any]) -> bytes:
    """Return a hash of the list and the filters that a cursor is valid for."""
    filters = {
        name: parameters[name]
        for name in sorted(parameters)
        if parameters[name] is not None and name not in _NO_FILTERS
    }
    return blake2b(encode([listing, filters]), digest_size=_FILTER_BYTES).digest()


def _read_cursor(secret: bytes, cursor: str) -> tuple[bytes, str, Key]:
    """Return the hash of the filters, the data_version and the key of the last row of a cursor."""
    try:
        if len(cursor) > LONGEST_CURSOR:
            raise ValueError
        signed = bytes.fromhex(cursor)
    except ValueError as error:
        raise _invalid_cursor("it was not issued by this service") from error
    mac, payload = signed[:_MAC_BYTES], signed[_MAC_BYTES:]
    # In constant time: the time of a comparison must not reveal how much of a guess is right. The
    # same bytes can be spelt in several ways; only ours is accepted.
    if not compare_digest(mac, _mac(secret, payload)) or signed.hex() != cursor:
        raise _invalid_cursor("it was not issued by this service")
    data_version, *key = payload[_FILTER_BYTES:].decode().split(_SEPARATOR)
    return payload[:_FILTER_BYTES], data_version, tuple(key)


def _mac(secret: bytes, payload: bytes) -> bytes:
    return blake2b(payload, digest_size=_MAC_BYTES, key=secret).digest()


def _invalid_cursor(reason: str) -> Problem:
    return Problem("cursor_invalid", f"The cursor is not valid: {reason}.", parameter="cursor")
