"""Liveness, which touches nothing."""

import falcon

from api.endpoints import declarations


class Health:
    """Says that the process answers."""

    endpoint = declarations.HEALTH
    open = not endpoint.needs_key

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer at once, whatever is asked beside."""
        resp.data = b'{"status":"ok"}'
        resp.content_type = falcon.MEDIA_JSON

    on_head = on_get
