"""The one JSON encoder of everything served: every digit, ISO dates, null for the unknown."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from types import NoneType
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder()
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
# Beyond this many decimal places a number without an exponent would be mostly zeros.
_LONGEST_PLAIN = 64
# Most values are of these types, which the encoder writes as we want them. They are compared by
# exact type: a datetime is a date too, but must be converted to UTC first.
_AS_IS = frozenset({str, int, bool, float, NoneType, date, msgspec.Raw})


def encode(value: Any) -> bytes:
    """Encode a value as JSON; a Decimal keeps its digits and never becomes a float."""
    return _ENCODER.encode(_encodable(value))


def encode_object(members: Mapping[str, bytes]) -> bytes:
    """Encode an object whose members are JSON already."""
    return _ENCODER.encode({name: msgspec.Raw(member) for name, member in members.items()})


def decode_object(body: bytes) -> dict[str, bytes]:
    """Return the members of an object as JSON, whose values are not parsed: every digit stays."""
    return {name: bytes(value) for name, value in _OBJECT.decode(body).items()}


def encode_decimal(value: Decimal) -> bytes:
    """Encode a Decimal as a JSON number: no trailing zeros, no exponent at ordinary sizes."""
    if not value.is_finite():
        raise ValueError(f"{value} cannot be written as a JSON number")
    if value.is_zero():
        return b"0"
    if abs(value.adjusted()) > _LONGEST_PLAIN:
        return str(value).encode()
    plain = format(value, "f")
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain).encode()


def _encodable(value: Any) -> Any:
    if type(value) in _AS_IS:
        return value
    if isinstance(value, Decimal):
        # The encoder itself would write a Decimal as a string.
        return msgspec.Raw(encode_decimal(value))
    if isinstance(value, datetime):
        return _utc(value)
    if isinstance(value, dict):
        return {
            name: member if type(member) in _AS_IS else _encodable(member)
            for name, member in value.items()
        }
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value


def _utc(timestamp: datetime) -> datetime:
    if timestamp.tzinfo is None:
        raise ValueError(f"{timestamp.isoformat()} has no time zone; served times are in UTC")
    return timestamp.astimezone(UTC)
