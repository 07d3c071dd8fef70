"""Questions of pages: every answer is one that a key of the sample tier would get; that key."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from secrets import token_bytes
from typing import Any

import msgspec
from msgspec.structs import replace

from api.endpoints.endpoint import Endpoint
from api.endpoints.response import capped, list_body
from warehouse.contract.listing import Listing, answer
from warehouse.serve.build import Mart
from warehouse.serve.rows import RowPage
from warehouse.serve.table_query import Empty
from warehouse.shared.errors import SankofaError
from warehouse.shared.tiers import Tier

Row = dict[str, Any]
_ROW = msgspec.json.Decoder(Row, float_hook=Decimal)
# Members of a release that keep the form of OCDS, in which anything may be absent.
_OCDS = ("buyer", "tender", "awards", "contracts")
_KEY_CACHE_SECONDS = 60.0


class Stated(dict[str, Any]):
    """An object of OCDS; what it does not state is None."""

    def __missing__(self, name: str) -> None:
        return None


@dataclass(frozen=True)
class SampleAnswer:
    """Rows of a list; ``page`` has them encoded. ``tier`` is that of one sample answer."""

    listing: Listing
    kinds: tuple[str, ...]
    rows: list[Row]
    page: RowPage
    next_cursor: str | None
    empty: Empty | None
    extra: dict[str, Any]
    tier: Tier

    @property
    def truncated(self) -> bool:
        """True if there are more rows."""
        return self.next_cursor is not None

    def only(self, is_shown: Callable[[Row], bool], most: int | None = None) -> "SampleAnswer":
        """Return the answer with the rows that a page shows, the first ``most`` of them."""
        bodies = zip(self.rows, self.page.rows, strict=True)
        shown = [(row, body) for row, body in bodies if is_shown(row)][:most]
        page = replace(self.page, rows=[body for _, body in shown])
        return dataclasses.replace(self, rows=[row for row, _ in shown], page=page)


class Sample:
    """Asks the build that is served now, as a key of the sample tier."""

    def __init__(self, mart: Mart, secret: Callable[[], bytes], tier: Tier) -> None:
        self._mart, self._shared_secret, self.tier = mart, secret, tier
        self._own_secret = token_bytes(32)

    @property
    def mart(self) -> Mart:
        """The mart, pinned to the build of now: all answers of a page come from one version."""
        return self._mart.at(self._mart.build().data_version)

    @property
    def today(self) -> date:
        """The day in UTC."""
        return datetime.now(UTC).date()

    def ask(self, endpoint: Endpoint, most_pages: int = 1, **parameters: Any) -> SampleAnswer:
        """Return the rows of an endpoint's list, at most so many pages of them."""
        listing = endpoint.listing
        assert listing is not None
        declared = {**dict.fromkeys(endpoint.in_path), **endpoint.defaults}
        return self.ask_list(listing, most_pages, **{**declared, **parameters})

    def ask_list(self, listing: Listing, most_pages: int = 1, **parameters: Any) -> SampleAnswer:
        """Return the rows of a list, whose parameters are all given.

        Several pages are read at once: the rows are those that following the cursor would give.
        """
        tier = dataclasses.replace(
            self.tier, rows=self.tier.rows * most_pages, ceiling=self.tier.ceiling * most_pages
        )
        page = capped(answer(listing, self.mart, self._secret(), tier, parameters), tier)
        rows = [_decoded(row) for row in page.rows.rows]
        extra = {**page.listed.before, **page.listed.extra}
        cursor, empty = page.next_cursor, page.empty
        return SampleAnswer(listing, page.kinds, rows, page.rows, cursor, empty, extra, self.tier)

    def list_body(self, listing: Listing, parameters: Mapping[str, Any]) -> bytes:
        """Return the answer of a list as a program gets it."""
        page = answer(listing, self.mart, self._secret(), self.tier, parameters)
        return list_body(capped(page, self.tier))

    def _secret(self) -> bytes:
        """Return what signs cursors; one of this process while the key store is down."""
        try:
            return self._shared_secret()
        except SankofaError:
            return self._own_secret


class SandboxKey:
    """The public sandbox key, looked up once a minute; empty while the key store is down."""

    def __init__(self, look_up: Callable[[], str | None]) -> None:
        self._look_up = look_up
        self._key, self._valid_until = "", 0.0

    def __call__(self) -> str:
        """Return the key."""
        if time.monotonic() > self._valid_until:
            try:
                self._key = self._look_up() or ""
            except SankofaError:
                self._key = ""
            self._valid_until = time.monotonic() + _KEY_CACHE_SECONDS
        return self._key


def decoded(page: RowPage | None) -> list[Row]:
    """Return the rows of a read that is no list."""
    return [] if page is None else [_ROW.decode(row) for row in page.rows]


def _decoded(body: bytes) -> Row:
    row: Row = _ROW.decode(body)
    # Only releases have these members.
    if "ocid" in row:
        row |= {name: _stated(row[name]) for name in _OCDS if name in row}
    return row


def _stated(value: Any) -> Any:
    if isinstance(value, dict):
        return Stated({name: _stated(member) for name, member in value.items()})
    return [_stated(member) for member in value] if isinstance(value, list) else value
