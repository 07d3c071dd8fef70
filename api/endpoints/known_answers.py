"""Answers that need not be made again: 304 for a client that has it, and those sent last.

What decides the bytes of a list or a record is known before a row is read: the build, the tier, the
question and the form. A keyed hash of that is the ETag of the answer, and the key of the cache.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import version
from typing import Generic, NamedTuple, TypeVar

import falcon

from api.endpoints.endpoint import tier_of
from warehouse.contract.pagination import build_at, cursor_version
from warehouse.contract.problems import check_data_version
from warehouse.serve.build import Build, Mart
from warehouse.shared.errors import SankofaError

T = TypeVar("T")
Header = tuple[str, str]
_MOST_BYTES = 32 << 20
_LARGEST_BODY = 1 << 20
# What an entry takes besides its body: its key, its headers and the objects around them.
_OVERHEAD = 2_048
# Questions that are remembered until they are repeated: an answer is kept from the second time on.
# Most questions are never repeated, and would only push out those that are.
_MOST_QUESTIONS = 8_192


class BodyCache(Generic[T]):
    """What was used last, up to a number of bytes; nothing larger than ``largest`` is kept."""

    def __init__(self, most_bytes: int, largest: int) -> None:
        self._most_bytes, self._largest = most_bytes, largest
        self.bytes = 0
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._turn = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """Return what is kept under a key; None if there is nothing."""
        with self._turn:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keep a value of so many bytes in place of those that were not used for longest."""
        if size > self._largest:
            return
        with self._turn:
            if (before := self._entries.pop(key, None)) is not None:
                self.bytes -= before[1]
            self._entries[key] = value, size
            self.bytes += size
            while self.bytes > self._most_bytes:
                self.bytes -= self._entries.popitem(last=False)[1][1]


class KeptAnswer(NamedTuple):
    """The body of an answer as it is sent, compressed or not, and the headers that belong to it."""

    body: bytes
    headers: tuple[Header, ...]


def _nothing_kept() -> BodyCache[KeptAnswer]:
    return BodyCache[KeptAnswer](_MOST_BYTES, _LARGEST_BODY)


class KnownAnswers:
    """The tags of answers, and the answers that were sent last."""

    def __init__(self, mart: Mart, secret: Callable[[], bytes]) -> None:
        self._mart, self._secret = mart, secret
        self.kept = _nothing_kept()
        self.once: OrderedDict[str, bool] = OrderedDict()
        self._service, self._current = version("sankofa"), ""

    def reply(self, req: falcon.Request, resp: falcon.Response) -> Build | None:
        """Answer a question whose answer the client has, or that is kept; ``complete`` says so.

        Whoever has the tag of an answer got it before: it is made with a secret, and sent with a
        200 alone. Returns the build to read; None if it is not there, or if anything else is wrong.
        """
        try:
            build, etag = self._build_and_tag(req)
        except SankofaError:
            # The resource says what is wrong.
            return None
        resp.context.etag = etag
        if etag in req.env.get("HTTP_IF_NONE_MATCH", ""):
            resp.status, resp.complete = falcon.HTTP_304, True
        elif (kept := self.kept.get(etag)) is not None:
            resp.context.kept, resp.data, resp.complete = kept, kept.body, True
        else:
            resp.context.is_repeated = self.is_repeated(etag)
        # What is known has passed the tier cap, for a tier with the same limits.
        resp.context.passed_tier_cap = resp.complete
        return build

    def is_repeated(self, etag: str) -> bool:
        """Return whether a question was sent before, so that its answer is worth keeping."""
        if self.once.pop(etag, None):
            return True
        self.once[etag] = True
        if len(self.once) > _MOST_QUESTIONS:
            self.once.popitem(last=False)
        return False

    def keep(self, etag: str, body: bytes, headers: Iterable[Header]) -> None:
        """Keep an answer as it is sent."""
        self.kept.put(etag, KeptAnswer(body, tuple(headers)), len(body) + _OVERHEAD)

    def _build_and_tag(self, req: falcon.Request) -> tuple[Build, str]:
        """Return the build to read, and the ETag of the answer if that is a 200."""
        secret, pinned, sent = self._secret(), req.env.get("HTTP_X_DATA_VERSION"), req.params
        if pinned is not None:
            check_data_version(pinned)
        elif isinstance(cursor := sent.get("cursor"), str):
            pinned = cursor_version(secret, cursor)
        build = build_at(self._mart, pinned)
        if pinned is None and build.data_version != self._current:
            # Answers of the build before are never sent again, unless a client has pinned it.
            self._current, self.kept = build.data_version, _nothing_kept()
        # The path is last: it alone may contain a line break.
        decides = (
            self._service,
            build.data_version,
            tier_of(req).rows_allowed,
            _today_if_capped(sent.get("as_of")),
            req.accept,
            req.query_string,
            req.path,
        )
        text = "\n".join(decides).encode("utf-8", "surrogateescape")
        tag = blake2b(text, digest_size=16, key=secret, person=b"etag").hexdigest()
        # A strong ETag stands for the bytes as sent (RFC 9110): each coding has its own.
        coding = req.context.coding
        return build, f'"{tag}-{coding}"' if coding else f'"{tag}"'


def _today_if_capped(as_of: object) -> str:
    """Return the day today if ``as_of`` is read as that: a later day is capped at it."""
    if not isinstance(as_of, str):
        return ""
    today = datetime.now(UTC).date().isoformat()
    return today if as_of >= today else ""
