"""The page behind the ``type`` of a problem."""

import falcon

from warehouse.contract.problems import PROBLEMS


class ProblemPage:
    """Says what a code means and what to do."""

    open = True

    def on_get(self, req: falcon.Request, resp: falcon.Response, code: str) -> None:
        """Answer with a few lines of text."""
        kind = PROBLEMS.get(code)
        if kind is None:
            raise falcon.HTTPNotFound
        resp.content_type = "text/plain; charset=utf-8"
        resp.text = f"{code}\n{kind.status} {kind.title}.\n{kind.advice}\n"

    on_head = on_get
