"""The columns of every list, from the description of the API that the service itself gives.

So a frame has all columns with their types even if it has no rows, and a column that the service
gains needs no new version of this client.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from sankofa_client.connection import Connection
from sankofa_client.errors import SankofaError
from sankofa_client.frames import Columns, Kind
from sankofa_client.pages import ROW_MEMBERS

_KINDS: Mapping[str, Kind] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "flag",
}
_FORMATS: Mapping[str, Kind] = {"date": "date", "date-time": "time"}


class Description:
    """The OpenAPI document of a service, read when it is first needed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def columns(self, path: str, members: Iterable[str] = ()) -> Columns:
        """Return the columns of a list in order.

        A list can have several kinds of rows: the one that has most of ``members`` is taken.
        """
        kinds, names = self._row_kinds(path), set(members)
        if not kinds:
            raise SankofaError(f"The service describes no list at {path}; see its page /docs.")
        columns = max(kinds, key=lambda kind: len(names & set(kind)))
        return {name: _column(schema) for name, schema in columns.items()}

    def words(self, path: str, parameter: str) -> list[str]:
        """Return the words that a parameter of a list takes, in the order of the service."""
        (operation,) = self._document["paths"][path].values()
        parameters = [self._resolved(each) for each in operation["parameters"]]
        (schema,) = (each["schema"] for each in parameters if each["name"] == parameter)
        return list(schema.get("items", schema)["enum"])

    def _row_kinds(self, path: str) -> list[Mapping[str, Any]]:
        """Return the properties of each kind of row of a list."""
        members = self._body(path).get("properties", {})
        for items in (members[name]["items"] for name in ROW_MEMBERS if name in members):
            return [self._resolved(kind)["properties"] for kind in items.get("anyOf", [items])]
        return []

    def _body(self, path: str) -> Mapping[str, Any]:
        """Return the schema of a successful answer."""
        # A literal path goes before one with parameters.
        for template in sorted(self._document["paths"], key=lambda path: "{" in path):
            if re.fullmatch(re.sub(r"\{\w+\}", ".+", template), path):
                (operation,) = self._document["paths"][template].values()
                content = operation["responses"]["200"]["content"]
                return self._resolved(content["application/json"]["schema"])
        return {}

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" not in schema:
            return schema
        kind, name = schema["$ref"].split("/")[-2:]
        resolved: Mapping[str, Any] = self._document["components"][kind][name]
        return resolved

    @cached_property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = self._connection.get("/openapi.json").json()
        return document


def _column(schema: Mapping[str, Any]) -> tuple[Kind, bool]:
    """Return the kind of a column, by the values that its schema allows, and if one is null."""
    stated = schema.get("type")
    types = set(stated if isinstance(stated, list) else [stated])
    nullable, types = "null" in types, types - {"null"}
    kind = _KINDS.get(str(types.pop()), "other") if len(types) == 1 else "other"
    if kind == "text":
        kind = _FORMATS.get(str(schema.get("format")), kind)
    return kind, nullable
