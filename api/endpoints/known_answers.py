"""Answers of REST that need not be made again: 304 for a client that has one, or one kept."""

from typing import NamedTuple

import falcon

from api.endpoints.endpoint import tier_of
from warehouse.contract.known_answers import KnownAnswers
from warehouse.serve.build import Build
from warehouse.shared.errors import SankofaError

Header = tuple[str, str]


class KeptAnswer(NamedTuple):
    """The body of an answer as it is sent, compressed or not, and the headers that belong to it."""

    body: bytes
    headers: tuple[Header, ...]


class KnownResponses(KnownAnswers[KeptAnswer]):
    """The ETags of responses, and the responses that were sent last."""

    def reply(self, req: falcon.Request, resp: falcon.Response) -> Build | None:
        """Answer a question whose answer the client has, or that is kept; ``complete`` says so.

        Whoever has the tag of an answer got it before: it is made with a secret, and sent with a
        200 alone. Returns the build to read; None if it is not there, or if anything else is wrong.
        """
        try:
            build, etag = self._build_and_etag(req)
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

    def _build_and_etag(self, req: falcon.Request) -> tuple[Build, str]:
        """Return the build to read, and the ETag of the answer if that is a 200."""
        env, allowed = req.env, tier_of(req).rows_allowed
        pinned, accepted = env.get("HTTP_X_DATA_VERSION"), (allowed, req.accept)
        # The path is last: it alone may contain a line break.
        build, tag = self.build_and_tag(req.params, pinned, *accepted, req.query_string, req.path)
        # A strong ETag stands for the bytes as sent (RFC 9110): each coding has its own.
        coding = req.context.coding
        return build, f'"{tag}-{coding}"' if coding else f'"{tag}"'
