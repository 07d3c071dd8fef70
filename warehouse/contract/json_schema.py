"""JSON Schemas of members, taken from the one definition of each row."""

from collections.abc import Mapping
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
        (one,) = (each for each in get_args(kind) if each is not NoneType)
        return nullable(type_schema(one))
    if get_origin(kind) is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    return dict(_PLAIN[kind])


def nullable(schema: Schema) -> Schema:
    """Let a member be null too."""
    held = schema["type"]
    schema["type"] = [*(held if isinstance(held, list) else [held]), "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema


def member_schema(kind: Any, meaning: str, example: Any) -> Schema:
    """Describe a member that no table has as a column."""
    return {**type_schema(kind), "description": meaning, "examples": [example]}


def array_schema(items: Schema, meaning: str, example: list[Any], null: bool = False) -> Schema:
    """Describe a list."""
    kind: str | list[str] = ["array", "null"] if null else "array"
    return {"type": kind, "items": items, "description": meaning, "examples": [example]}


def object_schema(properties: Mapping[str, Schema], meaning: str = "") -> Schema:
    """Describe an object that has all of these members and no others."""
    schema: Schema = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
    return {**schema, "description": meaning} if meaning else schema


def example_value(schema: Schema) -> Any:
    """Give an example of an object, member by member."""
    if "examples" in schema:
        return schema["examples"][0]
    if schema.get("type") == "object":
        return {name: example_value(each) for name, each in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        return [example_value(schema["items"])]
    return None
