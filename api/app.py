"""The REST app: its middleware and its routes."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import falcon
from falcon.routing import DefaultRouter

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.known_answers import KnownResponses, pin_by_url
from api.errors import add_error_handlers
from api.middleware import Middleware
from api.resources.declared import (
    HealthResource,
    ListResource,
    OpenApiResource,
    PostedResource,
    StatusResource,
    UsageResource,
)
from api.resources.exports import ExportManifestResource, file_routes
from api.site.render import Site
from api.site.routes import site_routes
from api.site.sample import Sample, SandboxKey
from warehouse.contract.receipts import Receipts
from warehouse.control.keys import KeyStore, signing_secret, usable_sandbox_key
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.serve.usage import Usage
from warehouse.shared.errors import ControlUnavailable
from warehouse.shared.settings import PAGES_PER_MINUTE


class Service(falcon.App[falcon.Request, falcon.Response]):
    """The app, which answers what is known before the framework does its part."""

    def __init__(self, middleware: Middleware) -> None:
        router = DefaultRouter()
        super().__init__(middleware=middleware, router=router)
        self._known, self._find = middleware.known, router.find

    def __call__(self, env: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request as WSGI says."""
        pin_by_url(env)
        known = self._known(env, self._endpoint_of)
        if known is None:
            return super().__call__(env, start_response)
        status, headers, body = known
        start_response(status, headers)
        return [body] if env["REQUEST_METHOD"] == "GET" else []

    def _endpoint_of(self, path: str) -> str | None:
        found = self._find(path)
        return None if found is None else found[3]


def create_app(
    mart: Mart,
    keys: KeyStore,
    upgrade_url: str | None = None,
    exports: PublishedExports | None = None,
    base_urls: Sequence[str] = (),
    exports_url: str | None = None,
    usage: Usage | None = None,
    mcp_url: str = "",
    pages_per_minute: int = PAGES_PER_MINUTE,
    signing_key: str | Path | None = None,
    pricing_contact: str = "",
) -> Service:
    """Return the WSGI app over a mart and a key store."""
    stores: dict[str, Callable[[], object]] = {"key_store": keys.check}
    if usage is not None:
        stores["usage_store"] = usage.check
    # Read it now if possible; the service also starts while its control database is down. ``cache``
    # keeps no exception, so a failed read is tried again with the next request.
    secret = cache(lambda: signing_secret(keys, "cursor"))
    with suppress(ControlUnavailable):
        secret()
    app = Service(
        Middleware(
            mart,
            keys,
            KnownResponses(mart, secret),
            usage,
            base_urls,
            exports_url,
            Receipts(None if signing_key is None else Path(signing_key)),
        )
    )
    declared_resources: tuple[Any, ...] = (
        HealthResource(),
        StatusResource(mart, stores),
        OpenApiResource(mart, mcp_url),
        ExportManifestResource(mart),
        UsageResource(mart),
        *(
            (PostedResource if endpoint.in_body else ListResource)(endpoint, mart, secret)
            for endpoint in ENDPOINTS
            if endpoint.listing is not None
        ),
    )
    routes: dict[str, Any] = {
        **{resource.endpoint.route: resource for resource in declared_resources},
        **({} if exports is None else file_routes(exports)),
    }
    site = Site(
        Sample(mart, secret, keys.tiers["sample"]),
        exports is not None or exports_url is not None,
        SandboxKey(lambda: usable_sandbox_key(keys)),
        mcp_url,
        keys.tiers.values(),
        upgrade_url,
        pricing_contact,
    )
    routes |= site_routes(site, pages_per_minute)
    for path, resource in routes.items():
        # HEAD is answered as GET is; the server leaves the body out.
        if hasattr(resource, "on_get"):
            resource.on_head = resource.on_get
        app.add_route(path, resource)
    add_error_handlers(app, upgrade_url, site, routes)
    return app
