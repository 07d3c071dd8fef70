"""The REST app: its middleware and its routes."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import falcon

from api.base_url import BaseUrlMiddleware
from api.cors import CorsMiddleware
from api.endpoints.declarations import ENDPOINTS
from api.errors import add_error_handlers
from api.middleware import (
    KeyMiddleware,
    RateLimitMiddleware,
    RequestMiddleware,
    TierCapMiddleware,
    VersionHeadersMiddleware,
)
from api.representation import RepresentationMiddleware
from api.resources.exports import ExportManifestResource, file_routes
from api.resources.html import SandboxKey
from api.resources.lists import ListResource
from api.resources.organisations import EntityResource
from api.resources.pages import page_routes, site_routes
from api.resources.service import (
    HealthResource,
    OpenApiResource,
    StatusResource,
    UsageResource,
)
from api.resources.site_files import SiteFiles
from warehouse.contract.problems import UPGRADE_URL as UPGRADE_URL
from warehouse.exports.published import PublishedExports
from warehouse.keys.backends import KeyStoreUnavailable
from warehouse.keys.store import KeyStore, check_key_store, signing_secret, usable_sandbox_key
from warehouse.read.mart import Mart
from warehouse.usage.store import Usage


def create_app(
    mart: Mart,
    keys: KeyStore,
    upgrade_url: str = UPGRADE_URL,
    exports: PublishedExports | None = None,
    base_urls: Sequence[str] = (),
    exports_url: str | None = None,
    usage: Usage | None = None,
    docs: str | None = None,
    mcp_url: str = "",
) -> falcon.App[falcon.Request, falcon.Response]:
    """Return the WSGI app over a mart and a key store."""
    app = falcon.App()
    # Requests pass the middleware in this order, responses in reverse. The classes say where they
    # must stand.
    app.add_middleware(CorsMiddleware())
    app.add_middleware(RequestMiddleware())
    app.add_middleware(BaseUrlMiddleware(base_urls, exports_url))
    app.add_middleware(VersionHeadersMiddleware(mart))
    app.add_middleware(KeyMiddleware(keys))
    if usage is not None:
        app.add_middleware(RateLimitMiddleware(usage))
    app.add_middleware(RepresentationMiddleware())
    app.add_middleware(TierCapMiddleware())
    add_error_handlers(app, upgrade_url)
    stores: dict[str, Callable[[], object]] = {"key_store": lambda: check_key_store(keys)}
    if usage is not None:
        stores["usage_store"] = usage.check
    # Read it now if possible; the service also starts while its key store is down. ``cache`` keeps
    # no exception, so a failed read is tried again with the next request.
    cursor_secret = cache(lambda: signing_secret(keys, "cursor"))
    with suppress(KeyStoreUnavailable):
        cursor_secret()
    declared_resources: tuple[Any, ...] = (
        HealthResource(),
        StatusResource(mart, stores),
        OpenApiResource(mart, mcp_url),
        EntityResource(mart),
        ExportManifestResource(mart),
        UsageResource(mart),
        *(
            ListResource(endpoint, mart, cursor_secret)
            for endpoint in ENDPOINTS
            if endpoint.listing is not None
        ),
    )
    sandbox_key = SandboxKey(lambda: usable_sandbox_key(keys))
    routes: dict[str, object] = {
        **{resource.endpoint.route: resource for resource in declared_resources},
        **page_routes(sandbox_key, docs is not None, mcp_url),
        **({} if exports is None else file_routes(exports)),
        **({} if docs is None else site_routes(SiteFiles(docs), mart, sandbox_key, mcp_url)),
    }
    for path, resource in routes.items():
        app.add_route(path, resource)
    return app
