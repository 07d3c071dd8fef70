"""The one encoder of what is served: every digit, ISO dates, null for the unknown."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from types import NoneType
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder()
# Beyond this many places a plain number would be mostly zeros.
_ORDINARY = 64
# Most values are of these types, and go to the encoder as they are.
_AS_IS = frozenset({str, int, bool, float, NoneType, date, msgspec.Raw})


def encode(value: Any) -> bytes:
    """Write a value as JSON; a Decimal keeps its digits and never becomes a float."""
    return _ENCODER.encode(_plain(value))


def encode_object(members: Mapping[str, bytes]) -> bytes:
    """Write an object of members that are JSON already."""
    return b"{" + b",".join(encode(name) + b":" + each for name, each in members.items()) + b"}"


def encode_decimal(value: Decimal) -> bytes:
    """Write a Decimal as a JSON number: no trailing zeros, no exponent at ordinary sizes."""
    if not value.is_finite():
        raise ValueError(f"{value} is not a number that JSON knows")
    if value.is_zero():
        return b"0"
    if abs(value.adjusted()) > _ORDINARY:
        return str(value).encode()
    plain = format(value, "f")
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain).encode()


def _plain(value: Any) -> Any:
    if type(value) in _AS_IS:
        return value
    if isinstance(value, Decimal):
        return msgspec.Raw(encode_decimal(value))
    if isinstance(value, datetime):
        return _utc(value)
    if isinstance(value, dict):
        return {
            name: each if type(each) in _AS_IS else _plain(each) for name, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no zone; a served moment is in UTC")
    return moment.astimezone(UTC)
