"""The REST service: routes and what each is given."""

import falcon

from api.errors import answer_errors
from api.middleware import Keys, Requests
from api.resources.entity import Entity
from api.resources.fundamentals import Fundamentals
from api.resources.health import Health
from api.resources.macro import Macro
from api.resources.problems import ProblemPage
from api.resources.status import Status
from api.resources.tenders import Tenders
from warehouse.keys import KeyStore, signing_secret
from warehouse.read.mart import Mart

UPGRADE_URL = "https://sankofa.example/upgrade"
_EXPOSED = (
    "X-Service-API-Version",
    "X-Request-Id",
    "X-Data-Version",
    "X-Service-Tier",
    "X-Upgrade-URL",
    "Retry-After",
)


def create_app(
    mart: Mart, keys: KeyStore, upgrade_url: str = UPGRADE_URL
) -> falcon.App[falcon.Request, falcon.Response]:
    """Make the WSGI app over a mart and a key store."""
    app = falcon.App()
    app.add_middleware(falcon.CORSMiddleware(expose_headers=_EXPOSED))
    app.add_middleware(Requests())
    app.add_middleware(Keys(keys))
    answer_errors(app, upgrade_url)
    routes: dict[str, object] = {
        "/health": Health(),
        "/v1/status": Status(mart, keys),
        "/v1/fundamentals/{service_id}": Fundamentals(mart),
        "/v1/tenders": Tenders(mart, signing_secret(keys, "cursor")),
        "/v1/macro": Macro(mart),
        "/v1/entities/{service_id}": Entity(mart),
        "/problems/{code}": ProblemPage(),
    }
    for path, resource in routes.items():
        app.add_route(path, resource)
    return app
