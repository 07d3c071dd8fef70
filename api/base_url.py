"""Under which address the service speaks of itself: one that was configured, never a guess."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import falcon

from warehouse.errors import SankofaError


class Hosts:
    """Sets ``req.context.base_url``: the configured address that the Host names, else the first.

    Without any, addresses in answers are as they were written, or begin at the root.
    """

    def __init__(self, bases: Sequence[str] = ()) -> None:
        self._by_host = {_host(base): base.rstrip("/") for base in bases}
        self._bases = tuple(self._by_host.values())
        self._own = next(iter(self._bases), "")

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Believe a Host that is one of ours."""
        context = req.context
        context.bases, context.base_url = self._bases, self._own
        if self._bases:
            host = req.get_header("Host", default="").lower()
            context.base_url = self._by_host.get(host, self._own)


def follow(req: falcon.Request, body: bytes) -> bytes:
    """Let addresses of ours in JSON be those of the host that was asked."""
    for written in req.context.bases:
        body = body.replace(f'"{written}/'.encode(), f'"{req.context.base_url}/'.encode())
    return body


def _host(base: str) -> str:
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SankofaError(f"{base!r} is no address of a service; write it as https://host")
    return parts.netloc.lower()
