"""JSON Schemas built from types and from the columns of row classes."""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from sqlmodel import SQLModel

Schema = dict[str, Any]

_PLAIN: Mapping[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    Decimal: {"type": "number"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
}


def field_schema(model: type[SQLModel], name: str) -> Schema:
    """Describe a member by the column of that name."""
    field = model.model_fields[name]
    schema = type_schema(field.annotation)
    if field.description:
        schema["description"] = field.description
    if field.examples:
        schema["examples"] = list(field.examples)
    return schema


def type_schema(kind: Any) -> Schema:
    """Describe a type as it is served."""
    if get_origin(kind) in (Union, UnionType):
        (inner,) = (member for member in get_args(kind) if member is not NoneType)
        return nullable(type_schema(inner))
    if get_origin(kind) is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    if get_origin(kind) is list:
        return {"type": "array", "items": type_schema(*get_args(kind))}
    return dict(_PLAIN[kind])


def nullable(schema: Schema) -> Schema:
    """Let a member be null too."""
    types = schema["type"]
    schema["type"] = [*(types if isinstance(types, list) else [types]), "null"]
    if "enum" in schema:
        # A value must be in the enum whatever the type allows.
        schema["enum"] = [*schema["enum"], None]
    return schema


def member_schema(kind: Any, meaning: str, example: Any) -> Schema:
    """Describe a member that no table has as a column."""
    return {**type_schema(kind), "description": meaning, "examples": [example]}


def array_schema(items: Schema, meaning: str, example: list[Any], null: bool = False) -> Schema:
    """Describe a list."""
    kind: str | list[str] = ["array", "null"] if null else "array"
    return {"type": kind, "items": items, "description": meaning, "examples": [example]}


def object_schema(
    properties: Mapping[str, Schema], meaning: str = "", optional: Collection[str] = ()
) -> Schema:
    """Describe an object that has all of these members, but for the optional, and no others."""
    schema: Schema = {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        # Closed, so that the contract tests notice a member that nobody declared.
        "additionalProperties": False,
    }
    return {**schema, "description": meaning} if meaning else schema


def example_value(schema: Schema) -> Any:
    """Return an example that fits a schema."""
    if "examples" in schema:
        return schema["examples"][0]
    if schema.get("type") == "object":
        return {
            name: example_value(member) for name, member in schema.get("properties", {}).items()
        }
    if schema.get("type") == "array":
        return [example_value(schema["items"])]
    return None
