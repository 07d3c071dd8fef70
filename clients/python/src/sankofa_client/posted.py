"""Tables that are sent to the service, a part at a time: names to match, claims to check."""

import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pandas as pd

from sankofa_client.connection import Connection
from sankofa_client.pages import Answer, json_object

Table = pd.DataFrame | Iterable[Mapping[str, Any]]
# The most that one request takes, by path.
_MOST = {"/v1/match": 200, "/v1/claims": 20}


def frame_of(table: Table) -> pd.DataFrame:
    """Return a table as a frame of its own."""
    return table.copy() if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table))


def objects_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as objects of JSON, without absent values."""
    return [
        {str(name): _plain(value) for name, value in row.items() if not _is_absent(value)}
        for row in frame.astype(object).to_dict("records")
    ]


def posted(
    connection: Connection,
    path: str,
    member: str,
    objects: list[dict[str, Any]],
    data_version: str | None,
) -> Answer:
    """Return the answers to objects, in their order, all from one version."""
    whole = Answer([], {})
    while len(whole.rows) < len(objects):
        begin = len(whole.rows)
        # A key of a lower tier gets fewer answers: what is left is sent again.
        body = json.dumps({member: objects[begin : begin + _MOST[path]]})
        version = whole.envelope.get("data_version", data_version)
        answer = json_object(connection.post(path, body, version).content, False)
        whole.rows.extend(answer.pop("data"))
        whole.envelope.update(answer)
    return whole


def _is_absent(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or value != value


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; numbers with all their digits."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    # Numbers of numpy are none of JSON.
    return value.item() if hasattr(value, "item") else value
