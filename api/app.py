"""The REST service: routes and what each is given."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import falcon

from api.base_url import Hosts
from api.errors import answer_errors
from api.middleware import Keys, Limits, Requests
from api.representation import Representation
from api.resources import files, pages, site
from api.resources.crosswalk import Crosswalk, Lookup
from api.resources.entity import Entity
from api.resources.export import Export
from api.resources.fundamentals import Fundamentals
from api.resources.health import Health
from api.resources.html import SandboxKey
from api.resources.macro import Macro
from api.resources.metrics import Metrics
from api.resources.openapi import OpenApi
from api.resources.parties import TenderParties
from api.resources.problems import ProblemPage
from api.resources.quality import Quality
from api.resources.screen import Screen
from api.resources.shared_facts import SharedFacts
from api.resources.signals import ProcurementDemand, Signal
from api.resources.status import Status
from api.resources.tenders import Tenders
from api.version_headers import Notices
from warehouse.contract.failures import UPGRADE_URL as UPGRADE_URL
from warehouse.exports.published import Published
from warehouse.keys import KeyStore, KeyStoreUnavailable, check, public_key, signing_secret
from warehouse.read.mart import Mart
from warehouse.usage import Usage

_EXPOSED = (
    "X-Service-API-Version",
    "X-Request-Id",
    "X-Data-Version",
    "X-Service-Tier",
    "X-Upgrade-URL",
    "Retry-After",
    "RateLimit",
    "RateLimit-Policy",
    "ETag",
    "Accept-Ranges",
    "Content-Encoding",
    "Content-Length",
    "Content-Location",
    "Content-Range",
    "Deprecation",
    "Sunset",
    "Link",
)


def create_app(
    mart: Mart,
    keys: KeyStore,
    upgrade_url: str = UPGRADE_URL,
    exports: Published | None = None,
    bases: Sequence[str] = (),
    usage: Usage | None = None,
    docs: Path | None = None,
    mcp_url: str = "",
) -> falcon.App[falcon.Request, falcon.Response]:
    """Make the WSGI app over a mart and a key store."""
    app = falcon.App()
    app.add_middleware(falcon.CORSMiddleware(expose_headers=_EXPOSED))
    app.add_middleware(Requests())
    app.add_middleware(Hosts(bases))
    app.add_middleware(Notices(mart))
    app.add_middleware(Keys(keys))
    if usage is not None:
        app.add_middleware(Limits(usage))
    app.add_middleware(Representation())
    answer_errors(app, upgrade_url)
    stores: dict[str, Callable[[], object]] = {"key_store": lambda: check(keys)}
    if usage is not None:
        stores["usage_store"] = usage.check
    secret = cache(lambda: signing_secret(keys, "cursor"))
    with suppress(KeyStoreUnavailable):
        secret()
    described = (
        Health(),
        Status(mart, stores),
        OpenApi(),
        Fundamentals(mart),
        Tenders(mart, secret),
        SharedFacts(mart),
        TenderParties(mart),
        Macro(mart),
        Entity(mart),
        Crosswalk(mart),
        Lookup(mart),
        Screen(mart),
        Metrics(mart),
        ProcurementDemand(mart),
        Signal(mart),
        Quality(mart),
        Export(mart),
    )
    shown_key = SandboxKey(lambda: public_key(keys))
    routes: dict[str, object] = {
        **{resource.endpoint.path: resource for resource in described},
        "/problems/{code}": ProblemPage(),
        **pages.routes(shown_key, site=docs is not None),
        **({} if exports is None else files.routes(exports)),
        **({} if docs is None else site.routes(docs, mart, shown_key, mcp_url)),
    }
    for path, resource in routes.items():
        app.add_route(path, resource)
    return app
