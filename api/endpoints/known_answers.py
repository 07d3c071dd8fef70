"""Answers of REST that need not be made again: 304 for a client that has one, or one kept."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import falcon

from warehouse.contract.known_answers import KnownAnswers, day_if_capped
from warehouse.control.keys import Key
from warehouse.serve.build import Build
from warehouse.shared.texts import DATA_VERSION

Header = tuple[str, str]
# The variable of a request in which its question is passed on.
QUESTION = "sankofa.question"


def pin_by_url(env: dict[str, Any]) -> None:
    """Take ``data_version`` of a URL as the header, if that was not sent."""
    if "data_version=" in env["QUERY_STRING"]:
        sent = falcon.uri.parse_query_string(env["QUERY_STRING"]).get("data_version")
        if isinstance(sent, str) and DATA_VERSION.fullmatch(sent):
            env.setdefault("HTTP_X_DATA_VERSION", sent)


# A pinned answer stays the same. Not for ever: an operator may have to withdraw what it has.
_PINNED = "private, max-age=86400"


class KeyedQuestion(NamedTuple):
    """A question: the key that sent it, the build to read, the ETag of a 200, and how it is kept.

    Only the client itself may store what its key may read.
    """

    key: Key
    build: Build
    etag: str
    cache_control: str


class KeptAnswer(NamedTuple):
    """The body of an answer as it is sent, compressed or not, and the headers that belong to it."""

    body: bytes
    headers: tuple[Header, ...]


class KnownResponses(KnownAnswers[KeptAnswer]):
    """The ETags of responses, and the responses that were sent last."""

    def question_of(
        self, env: Mapping[str, Any], key: Key, parameters: Mapping[str, Any], coding: str | None
    ) -> KeyedQuestion:
        """Return the question of a key; raise what is wrong with the build that it names."""
        decides = (key.tier.rows_allowed, env.get("HTTP_ACCEPT") or "*/*", env["QUERY_STRING"])
        # The path is last: it alone may contain a line break.
        pinned = env.get("HTTP_X_DATA_VERSION")
        build, tag = self.build_and_tag(parameters, pinned, *decides, env["PATH_INFO"])
        # A strong ETag identifies the bytes as sent (RFC 9110): each coding has its own.
        is_fixed = pinned is not None and not day_if_capped(parameters)
        etag = f'"{tag}-{coding}"' if coding else f'"{tag}"'
        return KeyedQuestion(key, build, etag, _PINNED if is_fixed else "private")
