"""The description of the service."""

import falcon

from api import endpoints, params
from api.openapi import document
from warehouse.wire import encode


class OpenApi:
    """Answers with what the declarations say, written once."""

    endpoint = endpoints.OPENAPI
    open = not endpoint.needs_key

    def __init__(self) -> None:
        self._body = encode(document(endpoints.ENDPOINTS))

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the document."""
        params.read(req, self.endpoint)
        resp.data = self._body
        resp.content_type = falcon.MEDIA_JSON

    on_head = on_get
