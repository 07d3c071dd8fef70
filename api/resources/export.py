"""The manifest of the bulk exports."""

import falcon

from api.base_url import follow
from api.endpoints import declarations, request
from api.endpoints.response import pinned, send
from warehouse.read.build_info import export_body
from warehouse.read.mart import Mart


class Export:
    """Answers with what a build exported; of a build that exported nothing, an empty list."""

    endpoint = declarations.EXPORT

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the manifest and the licence notice."""
        request.read(req, self.endpoint)
        build = pinned(req, self._mart).build()
        send(resp, follow(req, export_body(build)), build.data_version)

    on_head = on_get
