"""Parsing of tool arguments by the declared parameters; an error names the parameter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warehouse.contract.parameter_types import Choice, Parameter, ParameterType, RowCount, Schema
from warehouse.contract.problems import invalid_parameter, missing_parameter, unknown_parameter
from warehouse.json_encoding import encode

Arguments = dict[str, Any]


@dataclass(frozen=True)
class ListOf:
    """A list of values of one type."""

    of: ParameterType
    max_items: int

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return f"a list of 1 to {self.max_items} strings, each {self.of.expected}"

    def read(self, text: str) -> object:
        """Raise: a list has no form as text."""
        raise ValueError

    def schema(self) -> Schema:
        """Return the JSON Schema."""
        items = self.of.schema()
        return {"type": "array", "items": items, "minItems": 1, "maxItems": self.max_items}


def read(parameters: Sequence[Parameter], sent: Mapping[str, Any], tool: str) -> Arguments:
    """Return the value of every declared parameter; None if it was left out."""
    declared = {parameter.name: parameter for parameter in parameters}
    for name in sent:
        if name not in declared:
            raise unknown_parameter(name, declared, tool)
    return {name: _value(parameter, sent) for name, parameter in declared.items()}


def _value(parameter: Parameter, sent: Mapping[str, Any]) -> object:
    name, kind = parameter.name, parameter.kind
    if name not in sent:
        if parameter.required:
            raise missing_parameter(name, kind.expected)
        return None if parameter.default is None else kind.read(parameter.default)
    try:
        return _read(kind, sent[name])
    except ValueError:
        more = {"allowed": list(kind.words)} if isinstance(kind, Choice) else {}
        raise invalid_parameter(
            name, _shown(sent[name]), _expected(kind, sent[name]), **more
        ) from None


def _read(kind: ParameterType, value: object) -> object:
    if isinstance(kind, ListOf):
        if not isinstance(value, list) or not 1 <= len(value) <= kind.max_items:
            raise ValueError
        return [_read(kind.of, item) for item in value]
    if isinstance(kind, RowCount):
        return kind.read(str(_integer(value)))
    if not isinstance(value, str) or not value:
        raise ValueError
    # JSON can escape a lone surrogate, which UTF-8 cannot encode: UnicodeEncodeError, a ValueError.
    value.encode()
    return kind.read(value)


def _integer(value: object) -> int:
    # JSON does not tell 10.0 from 10; some clients write the one for the other.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError
    return value


def _expected(kind: ParameterType, value: object) -> str:
    in_words = isinstance(kind, ListOf | RowCount) or isinstance(value, str)
    return kind.expected if in_words else f"{kind.expected}, as a string"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else encode(value).decode()
    return text.encode(errors="replace").decode()
