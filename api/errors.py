"""The one place where an error becomes an answer."""

import logging

import falcon

from warehouse.contract.failures import foreseen, unforeseen, written
from warehouse.contract.problems import Problem
from warehouse.json_encoding import encode
from warehouse.keys import hidden

_FAILED = logging.getLogger("sankofa.api")


def answer_errors(app: falcon.App[falcon.Request, falcon.Response], upgrade_url: str) -> None:
    """Let every error of the app be answered as a problem."""

    def handle(
        req: falcon.Request, resp: falcon.Response, error: Exception, params: object
    ) -> None:
        write(req, resp, problem_of(error, req), upgrade_url)

    # Falcon has a handler of its own for HTTPError, which would be the nearer one.
    app.add_error_handler((Exception, falcon.HTTPError), handle)


def problem_of(error: Exception, req: falcon.Request) -> Problem:
    """Say in our words what went wrong; what we did not foresee is logged and not shown."""
    problem = foreseen(error)
    if problem is not None:
        if problem.kind.status >= 500:
            _FAILED.error("%s: %s", problem.code, error)
        return problem
    if isinstance(error, falcon.HTTPError):
        return _of_falcon(error, req)
    _FAILED.error("unforeseen, request %s", req.context.request_id, exc_info=error)
    return unforeseen()


def write(req: falcon.Request, resp: falcon.Response, problem: Problem, upgrade_url: str) -> None:
    """Write a problem as ``application/problem+json`` with the headers that go with it."""
    kind, members = problem.kind, written(problem, req.context.request_id, upgrade_url)
    if kind.status == 401:
        resp.set_header("WWW-Authenticate", 'Bearer realm="sankofa"')
    if kind.status == 402:
        resp.set_header("X-Upgrade-URL", upgrade_url)
    if "retry_after" in members:
        resp.set_header("Retry-After", str(members["retry_after"]))
    if kind.status == 405:
        resp.set_header("Allow", "GET, HEAD, OPTIONS")
    resp.status = kind.status
    resp.content_type = "application/problem+json"
    resp.data = hidden(encode(members).decode()).encode()


def _of_falcon(error: falcon.HTTPError, req: falcon.Request) -> Problem:
    if error.status_code == 404:
        return Problem("not_found", f"There is nothing at {req.path[:200]}.")
    if error.status_code == 405:
        return Problem("method_not_allowed", f"{req.method} is not allowed here.")
    return Problem("request_refused", error.title or "The request cannot be read.")
