"""Headers that an answer has because of where it came from, errors included."""

from contextlib import suppress

import falcon

from warehouse.contract.walk import pinned_at
from warehouse.errors import SankofaError
from warehouse.exports.published import VERSION
from warehouse.read.mart import Mart

_VERSIONED = (400, 402, 404, 406)


class Notices:
    """Says that an endpoint will be removed, and which data_version an error speaks of."""

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, succeeded: bool
    ) -> None:
        """Set the headers; a datastore that does not answer has no version to tell."""
        deprecation = getattr(getattr(resource, "endpoint", None), "deprecation", None)
        if deprecation is not None:
            for name, value in deprecation.headers().items():
                resp.append_header(name, value)
        if not succeeded and req.context.key is not None and resp.status_code in _VERSIONED:
            pin = req.get_header("X-Data-Version")
            for each in (pin, None) if pin and VERSION.fullmatch(pin) else (None,):
                with suppress(SankofaError):
                    told = pinned_at(self._mart, each).build().data_version
                    resp.set_header("X-Data-Version", told)
                    break
