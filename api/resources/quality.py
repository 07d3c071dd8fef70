"""What was measured of a dataset's quality."""

import falcon

from api.endpoints import declarations, request
from api.endpoints.response import answer, nobody, pinned
from warehouse.read.build_info import quality_metrics
from warehouse.read.mart import Mart


class Quality:
    """Answers with every measurement of a dataset, named in any case."""

    endpoint = declarations.QUALITY

    def __init__(self, mart: Mart) -> None:
        self._mart = mart

    def on_get(self, req: falcon.Request, resp: falcon.Response, sku: str) -> None:
        """Answer with measurements, or 404."""
        request.read(req, self.endpoint, sku=sku)
        rows = quality_metrics(pinned(req, self._mart), sku)
        if rows is None:
            raise nobody(sku)
        answer(resp, rows, None, None)

    on_head = on_get
