"""Liveness, which touches nothing."""

import falcon


class Health:
    """Says that the process answers."""

    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer at once."""
        resp.data = b'{"status":"ok"}'
        resp.content_type = falcon.MEDIA_JSON

    on_head = on_get
