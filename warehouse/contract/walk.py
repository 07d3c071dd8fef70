"""A walk through tender releases page by page, all of it in one data_version."""

from collections.abc import Mapping
from typing import Any

from warehouse.contract import cursor
from warehouse.contract.problems import Problem
from warehouse.contract.refusals import conflict
from warehouse.errors import UnknownVersion
from warehouse.json_encoding import encode
from warehouse.read.mart import Mart

_MORE = ("to", "category", "buyer", "query")


def filters_of(asked: Mapping[str, Any]) -> str:
    """Write the filters that a cursor is good for, alike for whoever asks with the same."""
    filters = f"{asked['country']}|{asked['from']}"
    more = {name: asked[name] for name in _MORE if asked.get(name) is not None}
    return f"{filters}|{encode(more).decode()}" if more else filters


def pinned_at(mart: Mart, data_version: str | None) -> Mart:
    """Give the mart at a data_version that is held, or as it is now."""
    if data_version is None:
        return mart
    held = mart.at(data_version)
    held.build()
    return held


def place_of(
    mart: Mart, secret: bytes, asked: Mapping[str, Any], pinned: str | None = None
) -> tuple[Mart, tuple[str, ...] | None]:
    """Give where to read on, and in which build; the one of a cursor may be gone."""
    sent = asked["cursor"]
    if sent is None:
        return pinned_at(mart, pinned), None
    place = cursor.read(secret, sent, filters_of(asked))
    if pinned not in (None, place.data_version):
        raise conflict(
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
    return cursor.write(secret, cursor.Place(last_key, data_version), filters_of(asked))
