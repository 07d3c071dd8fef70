"""One list as both surfaces answer it: its rows, its pages, and why it is empty.

``lists`` declares every list. A cursor belongs to a list and its filters, and stays in the
data_version that it came with.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec
from msgspec.structs import replace

from warehouse.contract.limits import RowRule, check_datasets, row_limit
from warehouse.contract.pagination import next_cursor, resume_position
from warehouse.contract.problems import Problem, check_date_order
from warehouse.serve.build import Build, Mart
from warehouse.serve.rows import Key, RowPage, alpha_2
from warehouse.serve.table_query import Empty, TableQuery, query_rows, why_empty
from warehouse.shared.tiers import Tier

Parameters = Mapping[str, Any]
# Returns the datasets of the rows of a list, given the parameters of the request.
Datasets = Callable[[Parameters], Sequence[str]]
_NONE: Datasets = lambda _: ()  # noqa: E731
# Rows that are read and encoded at a time if a list is streamed: everybody else waits meanwhile.
PIECE = 500
# Rows that are encoded in one step nevertheless: a complete answer has an ETag and is compressed.
MOST_WHOLE = 1_000
# Up to this limit all rows are read before the first is sent: X-Next-Cursor names the last.
_MOST_READ = 5_000


class Question(msgspec.Struct, frozen=True):
    """A request for a list: the build, the parameters, and which of its rows are wanted."""

    mart: Mart
    build: Build
    parameters: Parameters
    tier: Tier
    limit: int | None = None
    after: Key | None = None

    @property
    def page(self) -> dict[str, Any]:
        """The arguments of a read that say which rows are wanted."""
        return {"limit": self.limit, "after": self.after}

    @property
    def days(self) -> tuple[date | None, date | None]:
        """The days between which rows are wanted; refuses those in the wrong order."""
        from_, to = self.parameters["from"], self.parameters["to"]
        check_date_order(from_, to)
        return from_, to

    @property
    def country(self) -> str | None:
        """The country as alpha-2."""
        return alpha_2(self.build, self.parameters["country"])


class ListRows(msgspec.Struct, frozen=True):
    """Rows of a list, and the members before and after them in the envelope."""

    rows: RowPage
    before: Mapping[str, object] = {}
    extra: Mapping[str, object] = {}


@dataclass(frozen=True)
class Listing:
    """A list: how its rows are read, and why there are none.

    ``row`` names the schemas of its rows. ``read`` refuses invalid requests. ``datasets`` returns
    the datasets of the rows; rows that all datasets share, such as organisations and the catalogue,
    have none. ``of_one_build`` is False for a list that tells of other builds too: its answers
    change while the build stays. ``is_one`` is True for a record by its id, which has no pages.
    ``kinds`` returns which of the schemas the rows of an answer have; without it, any of them.
    """

    name: str
    row: tuple[str, ...]
    read: Callable[[Question], ListRows]
    why_empty: Callable[[Question], Empty]
    row_rule: RowRule = "tier"
    member: str = "data"
    datasets: Datasets = _NONE
    of_one_build: bool = True
    is_one: bool = False
    kinds: Callable[[Parameters], tuple[str, ...]] | None = None


def why_none(ask: Callable[[Question], TableQuery]) -> Callable[[Question], Empty]:
    """Return what tells why no row of one table matches."""
    return lambda question: why_empty(question.build, ask(question))


def table_list(
    name: str,
    row: str,
    ask: Callable[[Question], TableQuery],
    datasets: Datasets = _NONE,
) -> Listing:
    """Return a list whose rows are those of one table that match, and so is the reason."""
    return Listing(
        name,
        (row,),
        lambda question: ListRows(query_rows(question.build, ask(question), **question.page)),
        why_none(ask),
        datasets=datasets,
    )


class Answer(msgspec.Struct, frozen=True):
    """A page of a list. ``empty`` says why it has no rows."""

    listing: Listing
    question: Question
    listed: ListRows
    secret: bytes
    limit: int | None
    empty: Empty | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The schemas of the rows."""
        kinds = self.listing.kinds
        return self.listing.row if kinds is None else kinds(self.question.parameters)

    @property
    def rows(self) -> RowPage:
        """The rows of the page."""
        return self.listed.rows

    @property
    def as_of(self) -> date | None:
        """The day that the answer is for."""
        as_of: date | None = self.question.parameters.get("as_of")
        return as_of

    def cursor_after(self, number: int) -> str | None:
        """Return the cursor that continues after a row of the page, counted from 1."""
        key = self.rows.key_of(number)
        parameters, version = self.question.parameters, self.rows.data_version
        return next_cursor(self.secret, self.listing.name, parameters, key, version)

    @property
    def next_cursor(self) -> str | None:
        """The cursor of the next page; None on the last."""
        # Only if there is more: its absence tells the client to stop.
        return self.cursor_after(len(self.rows.rows)) if self.rows.truncated else None

    def envelope(self, count: int, truncated: bool, next_cursor: str | None) -> dict[str, object]:
        """Return the members that follow the rows, of which so many are sent."""
        page, listed = self.rows, self.listed
        version = {"data_version": page.data_version}
        # Lists with members of their own in front never had limit and as_of.
        own = (
            {**listed.extra, **version}
            if listed.before
            else {"limit": self.limit, "as_of": self.as_of, **version, **listed.extra}
        )
        return {
            "count": count,
            "_license": page.notice,
            "truncated": truncated,
            **own,
            "next_cursor": next_cursor,
            "empty": None if self.empty is None else self.empty.as_json(),
        }


def answer(
    listing: Listing,
    mart: Mart,
    secret: bytes,
    tier: Tier,
    parameters: Parameters,
    pinned: str | None = None,
    in_pieces: bool = False,
    found: Build | None = None,
) -> Answer:
    """Return the page of a list that the parameters ask for; ``in_pieces``, its first piece.

    ``found`` is the build that was looked up for it already.
    """
    check_datasets(tier, listing.datasets(parameters))
    build, after = resume_position(mart, secret, listing.name, parameters, pinned, found)
    question = Question(mart, build, parameters, tier, 1, after)
    limit = _checked_limit(listing, question)
    read = limit if (limit is not None and limit <= _MOST_READ) or not in_pieces else PIECE
    question = replace(question, limit=read)
    listed = listing.read(question)
    is_empty = not listed.rows.rows and not listed.rows.truncated
    empty = listing.why_empty(question) if is_empty else None
    return Answer(listing, question, listed, secret, limit, empty)


def pieces(first: Answer) -> Iterator[RowPage]:
    """Yield all rows up to the limit from one build, a piece at a time."""
    page, count, limit = first.rows, len(first.rows.rows), first.limit
    if count <= MOST_WHOLE:
        yield page
    else:
        for start in range(0, count, PIECE):
            yield page.with_rows(list(page.rows[start : start + PIECE]))
    while page.truncated and (limit is None or count < limit):
        piece = PIECE if limit is None else min(PIECE, limit - count)
        after = page.key_of(len(page.rows))
        build = first.question.mart.at(page.data_version).build()
        question = replace(first.question, build=build, limit=piece, after=after)
        page = first.listing.read(question).rows
        count += len(page.rows)
        yield page


def _checked_limit(listing: Listing, question: Question) -> int | None:
    """Return the limit that applies; refuse an invalid request before a limit that is too high."""
    try:
        return _limit(listing.row_rule, question.tier, question.parameters.get("limit"))
    except Problem as too_much:
        try:
            listing.read(question)
        except Problem as refused:
            # Whether an id exists is no such reason.
            if refused.kind.status == 400:
                raise
        raise too_much from None


def _limit(rule: RowRule, tier: Tier, requested: int | None) -> int | None:
    all_rows = rule == "uncapped" or (rule == "paid_unlimited" and tier.paid)
    return None if requested is None and all_rows else row_limit(tier, requested)
