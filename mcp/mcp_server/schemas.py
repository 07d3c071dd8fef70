"""JSON Schemas of tool inputs and outputs, small enough to be read with every conversation."""

from collections.abc import Sequence

from warehouse.contract.json_schema import Schema
from warehouse.contract.parameter_types import Parameter

# Rows are described by the cards of the datasets: their schemas would be most of the tool list.
OUTPUT_SCHEMA: Schema = {"type": "object"}
_LONGEST_PATTERN = 60


def input_schema(parameters: Sequence[Parameter]) -> Schema:
    """Return the schema of a tool's arguments; others are refused."""
    return {
        "type": "object",
        "properties": {parameter.name: _described(parameter) for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def _described(parameter: Parameter) -> Schema:
    schema = dict(parameter.kind.schema())
    if parameter.description:
        schema["description"] = parameter.description
    # No model reads a long pattern; what does not match is refused with the form in words.
    if len(schema.get("pattern", "")) > _LONGEST_PATTERN:
        del schema["pattern"]
    if parameter.default is not None:
        schema["default"] = parameter.kind.read(parameter.default)
    return schema
