"""The tiers, how to get a key, and how much of its limits a key has used."""

from collections.abc import Callable, Iterable

import falcon

from api.site.render import Pages, check_names
from warehouse.tiers import Tier


class PricingPage:
    """The tiers, and how to get a key; ``upgrade_url`` is where else keys are to be had."""

    open = True

    def __init__(self, pages: Pages, tiers: Iterable[Tier], upgrade_url: str | None) -> None:
        self._pages, self._tiers, self._upgrade_url = pages, tuple(tiers), upgrade_url

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page."""
        check_names(req)
        self._pages.send(
            req, resp, "pricing.html", tiers=self._tiers, upgrade_url=self._upgrade_url
        )

    on_head = on_get


class UsagePage:
    """What ``/v1/usage`` says of a key that the visitor enters; the key stays in the browser."""

    open = True

    def __init__(self, pages: Pages, sandbox_key: Callable[[], str]) -> None:
        self._pages, self._sandbox_key = pages, sandbox_key

    def varies(self, req: falcon.Request) -> str:
        """Return what the page depends on beside its address."""
        return self._sandbox_key()

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Send the page with the sandbox key, if there is one, filled in."""
        check_names(req)
        self._pages.send(req, resp, "usage.html", sandbox_key=self._sandbox_key())

    on_head = on_get
