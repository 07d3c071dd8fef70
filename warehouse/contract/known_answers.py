"""Answers that need not be made again, on both surfaces: those that were sent last.

What decides the bytes of a list or a record is known before a row is read: the build, the tier, the
question and the form. A keyed hash of that is the key of the cache; over HTTP also the ETag.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import version
from typing import Generic, TypeVar

from warehouse.contract.pagination import build_at, cursor_version
from warehouse.contract.problems import check_data_version
from warehouse.serve.build import Build, Mart

T = TypeVar("T")
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


def _nothing_kept() -> BodyCache[T]:
    return BodyCache(_MOST_BYTES, _LARGEST_BODY)


class KnownAnswers(Generic[T]):
    """The tags of answers, and the answers that were sent last."""

    def __init__(self, mart: Mart, secret: Callable[[], bytes]) -> None:
        self._mart, self._secret = mart, secret
        self.kept: BodyCache[T] = _nothing_kept()
        self.once: OrderedDict[str, bool] = OrderedDict()
        self._service, self._current = version("sankofa"), ""

    def build_and_tag(
        self, sent: Mapping[str, object], pinned: str | None, *decides: str
    ) -> tuple[Build, str]:
        """Return the build to read, and the tag of the answer unless the question is refused.

        ``decides`` is, besides the build and the day, what the bytes of the answer depend on; only
        the last text may contain a line break.
        """
        secret, cursor = self._secret(), sent.get("cursor")
        if pinned is not None:
            check_data_version(pinned)
        elif isinstance(cursor, str):
            pinned = cursor_version(secret, cursor)
        build = build_at(self._mart, pinned)
        if pinned is None and build.data_version != self._current:
            # Answers of the build before are never sent again, unless a client has pinned it.
            self._current, self.kept = build.data_version, _nothing_kept()
        day = day_if_capped(sent)
        text = "\n".join((self._service, build.data_version, day, *decides))
        encoded = text.encode("utf-8", "surrogateescape")
        return build, blake2b(encoded, digest_size=16, key=secret, person=b"etag").hexdigest()

    def is_repeated(self, tag: str) -> bool:
        """Return whether a question was sent before, so that its answer is worth keeping."""
        if self.once.pop(tag, None):
            return True
        self.once[tag] = True
        if len(self.once) > _MOST_QUESTIONS:
            self.once.popitem(last=False)
        return False

    def keep(self, tag: str, answer: T, size: int) -> None:
        """Keep an answer as it is sent, of so many bytes."""
        self.kept.put(tag, answer, size + _OVERHEAD)


def day_if_capped(sent: Mapping[str, object]) -> str:
    """Return the day today if any ``as_of`` is read as that: a later day is capped at it."""
    claims = sent.get("claims")
    # One that is not in a list is meant as a list of one.
    several = claims if isinstance(claims, list) else [claims]
    objects = [sent, *(each for each in several if isinstance(each, Mapping))]
    today = datetime.now(UTC).date().isoformat()
    days = [as_of for each in objects if isinstance(as_of := each.get("as_of"), str)]
    return today if any(day >= today for day in days) else ""
