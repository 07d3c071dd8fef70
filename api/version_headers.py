"""Headers about versions: deprecation of an endpoint, and the data_version behind an error."""

from contextlib import suppress

import falcon

from warehouse.contract.pagination import mart_at_version
from warehouse.data_version import DATA_VERSION
from warehouse.errors import SankofaError
from warehouse.read.mart import Mart

_STATUSES_WITH_VERSION = (400, 402, 404, 406)


class VersionHeadersMiddleware:
    """Adds deprecation headers, and X-Data-Version to the errors of a valid key."""

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers; while the datastore is down there is no version to name."""
        deprecation = getattr(getattr(resource, "endpoint", None), "deprecation", None)
        if deprecation is not None:
            for name, value in deprecation.headers().items():
                resp.append_header(name, value)
        if succeeded or req.context.key is None or resp.status_code not in _STATUSES_WITH_VERSION:
            return
        # A pinned version that does not exist may be the error itself: name the current one then.
        pin = req.get_header("X-Data-Version")
        candidates = (pin, None) if pin and DATA_VERSION.fullmatch(pin) else (None,)
        for version in candidates:
            with suppress(SankofaError):
                data_version = mart_at_version(self._mart, version).build().data_version
                resp.set_header("X-Data-Version", data_version)
                return
