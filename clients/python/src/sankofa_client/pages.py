"""All pages of a list as one answer, from one ``data_version``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sankofa_client.connection import Connection
from sankofa_client.errors import ProblemError, SankofaError

Row = dict[str, Any]
# Where a list has its rows.
ROW_MEMBERS = ("data", "observations", "identifiers")
# Of a page, not of the whole answer.
_PAGE_MEMBERS = ("count", "limit", "next_cursor")
_LARGEST_PAGE = 1000
_LIMIT_REFUSED = ("row_cap_exceeded", "limit_above_ceiling")


@dataclass(frozen=True)
class Answer:
    """The rows of all pages, and the members of the envelope that hold for all of them."""

    rows: list[Row]
    envelope: dict[str, Any]


class Pages:
    """Reads lists page by page, in pages as large as the tier of the key allows."""

    def __init__(self, connection: Connection, data_version: str | None) -> None:
        self._connection, self._data_version = connection, data_version
        self._page_size = _LARGEST_PAGE

    def read(
        self,
        path: str,
        parameters: Mapping[str, str],
        limit: int | None = None,
        decimals: bool = False,
        data_version: str | None = None,
    ) -> Answer:
        """Return up to ``limit`` rows of a list, all of them if it is None.

        ``data_version`` is the version that the rows have to come from, by default that of the
        client. ``decimals`` reads numbers with a fraction as ``Decimal`` instead of ``float``.
        """
        if limit is not None and limit < 1:
            raise ValueError(f"limit is {limit}; it must be at least 1, or None for all rows")
        version, filters, rows = data_version or self._data_version, dict(parameters), list[Row]()
        while True:
            wanted = None if limit is None else limit - len(rows)
            body = self._page(path, filters, wanted, decimals, version)
            version = _same_version(version, body.get("data_version"))
            rows += body.pop(next((name for name in ROW_MEMBERS if name in body), "data"))
            cursor = body.get("next_cursor")
            if cursor is None or len(rows) == limit:
                whole = {name: body[name] for name in body if name not in _PAGE_MEMBERS}
                return Answer(rows, whole)
            filters["cursor"] = cursor
            if "as_of" in filters:
                # As the service read it: a day in the future is today, also after midnight.
                filters["as_of"] = body["as_of"]

    def _page(
        self,
        path: str,
        filters: Mapping[str, str],
        wanted: int | None,
        decimals: bool,
        version: str | None,
    ) -> dict[str, Any]:
        """Return the body of one page.

        The first page has the default size of the tier, which is enough for most questions; those
        after it are as large as they may be. Only the refusal of a larger page tells how large
        that is.
        """
        sizes = [] if wanted is None else [wanted]
        if "cursor" in filters or sizes:
            sizes.append(self._page_size)
        limit = min(sizes, default=None)
        try:
            paged = filters if limit is None else {**filters, "limit": str(limit)}
            return json_object(self._connection.get(path, paged, version).content, decimals)
        except ProblemError as error:
            if error.code not in _LIMIT_REFUSED or limit is None:
                raise
            self._page_size = int(error.problem["maximum"])
            if self._page_size >= limit:
                raise
        return self._page(path, filters, wanted, decimals, version)


def json_object(content: bytes, decimals: bool) -> dict[str, Any]:
    """Return the object that an answer is; numbers with a fraction as float or ``Decimal``."""
    try:
        body = json.loads(content, parse_float=Decimal if decimals else float)
    except ValueError as error:
        raise SankofaError(f"The answer is not JSON: {content[:100]!r}") from error
    if not isinstance(body, dict):
        raise SankofaError(f"The answer is no JSON object: {content[:100]!r}")
    return body


def _same_version(expected: str | None, stated: str | None) -> str | None:
    if None not in (expected, stated) and expected != stated:
        raise SankofaError(f"The answer is of data_version {stated}, not {expected} as requested.")
    return stated
