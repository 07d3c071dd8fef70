"""The description of the service."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.openapi import document
from warehouse.json_encoding import encode


class OpenApi:
    """Answers with what the declarations say, written once."""

    endpoint = declarations.OPENAPI
    open = not endpoint.needs_key

    def __init__(self) -> None:
        self._body = encode(document(declarations.ENDPOINTS))

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the document."""
        request.read(req, self.endpoint)
        resp.data = self._body
        resp.content_type = falcon.MEDIA_JSON

    on_head = on_get
