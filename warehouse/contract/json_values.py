"""Values of declared parameters in JSON: arguments of a tool, and the body of a request.

An error names the parameter.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from warehouse.contract import problems
from warehouse.contract.parameter_types import FLAG, NUMBER, Parameter, ParameterType, as_declared
from warehouse.shared.json_encoding import encode

Arguments = dict[str, Any]


def read(
    parameters: Sequence[Parameter], sent: Mapping[str, Any], where: str, inside: str = ""
) -> Arguments:
    """Return the value of every declared parameter; None if it was left out.

    ``where`` says what they are parameters of, ``inside`` is the prefix of their names in messages.
    """
    declared = {parameter.name: parameter for parameter in parameters}
    sent = as_declared(sent, declared)
    for name in sent:
        if name not in declared:
            raise problems.unknown_parameter(name, declared, where)
    return {name: _value(parameter, sent, inside) for name, parameter in declared.items()}


def _value(parameter: Parameter, sent: Mapping[str, Any], inside: str) -> object:
    value, kind = sent.get(parameter.name), parameter.kind
    name = inside + parameter.name
    # A null for an optional argument means that it was left out.
    if value is None:
        if parameter.required:
            raise problems.missing_parameter(name, kind.expected)
        return None if parameter.default is None else kind.read(parameter.default)
    try:
        if kind.members:
            return [
                read(kind.members, each, f"{name}[{number}]", f"{name}[{number}].")
                for number, each in enumerate(_objects(kind, value))
            ]
        return _read(kind, value)
    except ValueError:
        raise problems.invalid_value(name, _shown(value), kind) from None


def _objects(kind: ParameterType, value: object) -> list[Any]:
    """Return the objects of a list; one that is not in a list is meant as a list of one."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    if not 0 < len(listed) <= kind.schema["maxItems"]:
        raise ValueError
    if not all(isinstance(each, dict) for each in listed):
        raise ValueError
    return listed


def _read(kind: ParameterType, value: object) -> object:
    if kind.of is not None:
        # One value that is not wrapped in a list is meant as a list of one.
        texts = [_text(item) for item in (value if isinstance(value, list) else [value])]
        if any("," in text for text in texts):
            raise ValueError
        return kind.read(",".join(texts))
    if kind.schema.get("type") == "integer":
        return kind.read(str(_integer(value)))
    if kind is FLAG and isinstance(value, bool):
        return value
    if kind.read is NUMBER.read and isinstance(value, int | float | Decimal):
        # Its digits as they were sent; of a truth value there are none.
        return kind.read(str(value))
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
