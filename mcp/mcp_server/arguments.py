"""Parsing of tool arguments by the declared parameters; an error names the parameter."""

from collections.abc import Mapping, Sequence
from typing import Any

from warehouse.contract.parameter_types import (
    Flag,
    ListOf,
    Number,
    Parameter,
    ParameterType,
    RowCount,
)
from warehouse.contract.problems import invalid_value, missing_parameter, unknown_parameter
from warehouse.json_encoding import encode

Arguments = dict[str, Any]


def read(parameters: Sequence[Parameter], sent: Mapping[str, Any], tool: str) -> Arguments:
    """Return the value of every declared parameter; None if it was left out."""
    declared = {parameter.name: parameter for parameter in parameters}
    for name in sent:
        if name not in declared:
            raise unknown_parameter(name, declared, tool)
    return {name: _value(parameter, sent) for name, parameter in declared.items()}


def _value(parameter: Parameter, sent: Mapping[str, Any]) -> object:
    name, kind = parameter.name, parameter.kind
    # A null for an optional argument means that it was left out.
    if sent.get(name) is None:
        if parameter.required:
            raise missing_parameter(name, kind.expected)
        return None if parameter.default is None else kind.read(parameter.default)
    try:
        return _read(kind, sent[name])
    except ValueError:
        raise invalid_value(name, _shown(sent[name]), kind) from None


def _read(kind: ParameterType, value: object) -> object:
    if isinstance(kind, ListOf):
        # One value that is not wrapped in a list is meant as a list of one.
        values = value if isinstance(value, list) else [value]
        return kind.read_all([_text(item) for item in values])
    if isinstance(kind, RowCount):
        return kind.read(str(_integer(value)))
    if isinstance(kind, Flag) and isinstance(value, bool):
        return value
    if isinstance(kind, Number) and isinstance(value, int | float) and not isinstance(value, bool):
        return kind.read(encode(value).decode())
    return kind.read(_text(value))


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    # JSON can escape a lone surrogate, which UTF-8 cannot encode: UnicodeEncodeError, a ValueError.
    value.encode()
    return value


def _integer(value: object) -> int:
    # JSON does not tell 10.0 from 10; some clients write the one for the other.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError
    return value


def _shown(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ",".join(value)
    text = value if isinstance(value, str) else encode(value).decode()
    return text.encode(errors="replace").decode()
