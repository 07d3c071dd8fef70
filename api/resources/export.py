"""The manifest of the bulk exports."""

import falcon

from api import endpoints, params
from api.answers import pinned, send
from api.hosts import follow
from warehouse.read.exports import export_body
from warehouse.read.mart import Mart


class Export:
    """Answers with what a build exported; of a build that exported nothing, an empty list."""

    endpoint = endpoints.EXPORT

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the manifest and the licence notice."""
        params.read(req, self.endpoint)
        build = pinned(req, self._mart).build()
        send(resp, follow(req, export_body(build)), build.data_version)

    on_head = on_get
