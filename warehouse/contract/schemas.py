"""JSON Schemas of response bodies, by the name that declarations use.

``schemas.csv`` has the members that no table has as a column, and what each object is: of rows also
the table of the mart, and the classes that have its columns. A type there is a word of ``_TYPES``,
``Entity.jurisdiction`` (the member of another object, or the column of a table), ``Listing`` (an
object of its own), ``[…]`` (a list), ``{…}`` (an object with any names), ``#Fact`` (a reference) or
several with ``|``; with ``?`` it may be null. ``body`` is a whole response.
"""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from sqlmodel import SQLModel

from warehouse.contract.claims import Verdict
from warehouse.contract.problems import PROBLEMS
from warehouse.methodology.metrics import AbsentReason
from warehouse.publish.served_rows import SEARCH_KINDS, Section
from warehouse.publish.tables import MART_TABLES, NOT_SERVED
from warehouse.serve.changed_rows import ChangeKind
from warehouse.serve.entities import ID_TYPES
from warehouse.serve.exports import Artifact, Failed
from warehouse.serve.search import Match
from warehouse.serve.table_query import EmptyCode
from warehouse.shared.data_files import csv_rows
from warehouse.tables import ROWS
from warehouse.tables.column import columns_of, shown_columns

Schema = dict[str, Any]

_PLAIN: Mapping[object, str] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    Decimal: "number",
    date: "date",
    datetime: "datetime",
}


def _words(words: Collection[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


# Those that no words of the code are part of.
_FIXED: Mapping[str, Schema] = {
    row["type"]: msgspec.json.decode(row["schema"]) for row in csv_rows(__name__, "schema_types")
}
_TYPES: Mapping[str, Schema] = {
    **_FIXED,
    "LeftOut": {
        "type": "object",
        "properties": {key: {**_FIXED["count"], "examples": [0]} for key in get_args(AbsentReason)},
        "required": list(get_args(AbsentReason)),
        "additionalProperties": False,
    },
    "SearchKind": _words(SEARCH_KINDS),
    "Match": _words(get_args(Match)),
    "Section": _words(get_args(Section)),
    "EmptyCode": _words(get_args(EmptyCode)),
    "IdType": _words(ID_TYPES),
    "ProblemCode": _words(PROBLEMS),
    "ClaimWord": _words(get_args(Verdict)),
    "ChangeKind": _words(get_args(ChangeKind)),
}
# Rows with the members of others, and own ones.
_EXTENDED = {"EntityMatch": "Entity", "RankedMetric": "Metric", "AdjustedFact": "Fact"}
_MEMBERS = {
    table.name: [name for name in (*table.members, *table.inside) if name not in NOT_SERVED]
    for table in MART_TABLES
}

_LINES: dict[str, dict[str, Mapping[str, str]]] = {}
for _line in csv_rows(__name__, "schemas"):
    _LINES.setdefault(_line["schema"], {})[_line["member"]] = _line


def _type_schema(kind: Any) -> Schema:
    """Describe a type of Python as it is served."""
    if get_origin(kind) in (Union, UnionType):
        (inner,) = (member for member in get_args(kind) if member is not NoneType)
        return _nullable(_type_schema(inner))
    if get_origin(kind) is Literal:
        return _words(get_args(kind))
    if get_origin(kind) is list:
        return {"type": "array", "items": _type_schema(*get_args(kind))}
    return dict(_TYPES[_PLAIN[kind]])


def _nullable(schema: Schema) -> Schema:
    schema["type"] = [schema["type"], "null"]
    if "enum" in schema:
        # A value must be in the enum whatever the type allows.
        schema["enum"] = [*schema["enum"], None]
    return schema


def _column(model: type[SQLModel], name: str) -> Schema:
    field = model.model_fields[name]
    return _described(_type_schema(field.annotation), field.description, field.examples)


def _described(schema: Schema, meaning: str | None, examples: list[Any] | None) -> Schema:
    if meaning:
        schema["description"] = meaning
    if examples:
        schema["examples"] = list(examples)
    return schema


def _stated_type(kind: str) -> Schema:
    """Return the schema of a type as ``schemas.csv`` has it."""
    if kind.endswith("?"):
        return _nullable(_stated_type(kind.removesuffix("?")))
    if kind.startswith("["):
        return {"type": "array", "items": _stated_type(kind[1:-1])}
    if kind.startswith("{"):
        return {"type": "object", "additionalProperties": _stated_type(kind[1:-1])}
    if "|" in kind:
        return {"anyOf": [_stated_type(each) for each in kind.split("|")]}
    if kind.startswith("#"):
        return {"$ref": f"#/components/schemas/{kind[1:]}"}
    if kind in _TYPES:
        return dict(_TYPES[kind])
    owner, _, name = kind.partition(".")
    if not name:
        return _object(_stated(kind))
    return _column(ROWS[owner], name) if owner in ROWS else _member(owner, name)


def _member(schema: str, name: str) -> Schema:
    line = _LINES[schema][name]
    described, example = _stated_type(line["type"]), line["example"]
    is_text = example != "null" and "string" in described.get("type", ())
    value = example if is_text else msgspec.json.decode(example or "null", type=Any)
    return _described(described, line["meaning"], [value] if example else None)


def _stated(schema: str) -> dict[str, Schema]:
    """Return the members that ``schemas.csv`` has of an object; ``*`` are those of another."""
    members: dict[str, Schema] = {}
    for name, line in _LINES.get(schema, {}).items():
        if name == "*":
            members |= _stated(line["type"])
        elif name:
            members[name] = _member(schema, name)
    return members


def _object(
    members: Mapping[str, Schema], schema: str = "", optional: Collection[str] = ()
) -> Schema:
    """Describe an object that has all of these members, but for the optional, and no others."""
    described: Schema = {
        "type": "object",
        "properties": dict(members),
        "required": [name for name in members if name not in optional],
        # Closed, so that the contract tests notice an undeclared member.
        "additionalProperties": False,
    }
    whole = _LINES.get(schema, {}).get("")
    return _described(described, None if whole is None else whole["meaning"], None)


def _row(schema: str) -> Schema:
    """Describe rows: members of their own before those of the table, which are its columns."""
    table, *models = _LINES[schema][""]["type"].split()
    columns = {
        member: (model, name)
        # The first of the classes describes a member that several have.
        for model in (ROWS[name] for name in reversed(models))
        for name, member in shown_columns(model, "api").items()
    }
    own = _stated(schema)
    members = {name: each for name, each in own.items() if name not in _MEMBERS[table]}
    for name in _MEMBERS[table]:
        if name in own:
            members[name] = own[name]
        else:
            members[name] = _column(*columns[name]) if name in columns else _member("Row", name)
    # Builds made before a column was added lack the member.
    since = {name for name, (model, column) in columns.items() if columns_of(model)[column].since}
    return _object(members, schema, since)


def _row_schema(schema: str) -> Schema:
    """Describe the rows of a list."""
    if _LINES[schema][""]["type"]:
        return _row(schema)
    own = _stated(schema)
    if schema not in _EXTENDED:
        return _object(own, schema)
    row = _row(_EXTENDED[schema])
    other = row["properties"]
    # A rank is the first of the members, how a name matches the last.
    members = {**own, **other} if schema == "RankedMetric" else {**other, **own}
    return _object(members, schema, other.keys() - row["required"])


def _kind(schema: str) -> str:
    """Return what ``schemas.csv`` says of an object: a body, rows of a table, or other rows."""
    return _LINES[schema].get("", {}).get("type", "part of another")


ROW_SCHEMAS: Mapping[str, Schema] = {
    name: _row_schema(name) for name in _LINES if _kind(name) not in ("body", "part of another")
}
# From the structs that are encoded: the schema of the manifest cannot drift from it.
MANIFEST_SCHEMAS: Mapping[str, Schema] = msgspec.json.schema_components(
    (Artifact, Failed), ref_template="#/components/schemas/{name}"
)[1]
BODY_SCHEMAS: Mapping[str, Schema] = {
    "Description": {"type": "object", "required": ["openapi", "info", "paths"]},
    **{name: _object(_stated(name), name) for name in _LINES if _kind(name) == "body"},
}
_PROBLEM_MEMBERS = _stated("ProblemMembers")
PROBLEM_SCHEMA = _object(
    {**_stated("Problem"), **_PROBLEM_MEMBERS}, "Problem", optional=_PROBLEM_MEMBERS
)


def body_example(name: str) -> Any:
    """Return an example of a body, made of the examples of its members."""
    return _example(_resolved(BODY_SCHEMAS[name]))


def _example(schema: Schema) -> Any:
    if "examples" in schema:
        return schema["examples"][0]
    if schema.get("type") == "object":
        return {name: _example(member) for name, member in schema.get("properties", {}).items()}
    return [_example(schema["items"])] if schema.get("type") == "array" else None


def _resolved(schema: Any) -> Any:
    """Replace every reference with its schema; of several alternatives take the first."""
    if isinstance(schema, list):
        return [_resolved(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved({**ROW_SCHEMAS, **MANIFEST_SCHEMAS}[schema["$ref"].rsplit("/", 1)[1]])
    if "anyOf" in schema and "examples" not in schema:
        return _resolved(schema["anyOf"][0])
    # An example is data: what looks like a reference in it is none.
    return {
        name: value if name == "examples" else _resolved(value) for name, value in schema.items()
    }
