"""JSON Schemas of tool inputs and outputs, from the contract shared with REST."""

from collections.abc import Iterator, Sequence
from typing import Any

from warehouse.contract.body_schemas import BODY_SCHEMAS, MANIFEST_SCHEMAS, ROW_SCHEMAS
from warehouse.contract.json_schema import Schema, member_schema
from warehouse.contract.parameter_types import Parameter

_COMPONENTS = "#/components/schemas/"
_PROBLEM: Schema = {
    "type": "object",
    "description": "Why the call cannot be answered (RFC 9457); isError is true.",
    "properties": {
        "type": member_schema(str, "Page that explains the code.", "/problems/not_found"),
        "title": member_schema(str, "The code in words.", "No such record or page"),
        "status": member_schema(int, "HTTP status of the same answer in REST.", 404),
        "code": member_schema(str, "What is wrong.", "not_found"),
        "detail": member_schema(str, "What to fix.", "No record has the id 'DCX'."),
        "instance": member_schema(str, "Id of the request.", "6f1d2c"),
    },
    "required": ["type", "title", "status", "code", "detail", "instance"],
}


def input_schema(parameters: Sequence[Parameter]) -> Schema:
    """Return the schema of a tool's arguments; others are refused."""
    return {
        "type": "object",
        "properties": {parameter.name: _described(parameter) for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def output_schema(body: str) -> Schema:
    """Return the schema of a tool's result: the body of REST, or a problem."""
    answer = _local(BODY_SCHEMAS[body])
    definitions: dict[str, Schema] = {"Answer": answer, "Problem": _PROBLEM}
    missing = set(_references(answer))
    while missing:
        name = missing.pop()
        definitions[name] = _local({**ROW_SCHEMAS, **MANIFEST_SCHEMAS}[name])
        missing |= set(_references(definitions[name])) - set(definitions)
    either = [{"$ref": "#/$defs/Answer"}, {"$ref": "#/$defs/Problem"}]
    return {"type": "object", "anyOf": either, "$defs": definitions}


def _described(parameter: Parameter) -> Schema:
    schema = {**parameter.kind.schema(), "description": parameter.description}
    if parameter.default is not None:
        schema["default"] = parameter.default
    if parameter.example is not None:
        schema["examples"] = [parameter.example]
    return schema


def _local(schema: Any) -> Any:
    """Return a schema whose references point into ``$defs``; examples are left to REST."""
    if isinstance(schema, list):
        return [_local(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": "#/$defs/" + str(schema["$ref"]).removeprefix(_COMPONENTS)}
    return {name: _local(item) for name, item in schema.items() if name != "examples"}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    elif isinstance(schema, dict):
        if "$ref" in schema:
            yield str(schema["$ref"]).rsplit("/", 1)[1]
        for item in schema.values():
            yield from _references(item)
