"""Translation of exceptions into ``application/problem+json`` responses."""

import logging

import falcon

from api.cors import ALLOW
from warehouse.contract.problems import (
    CHALLENGE,
    Problem,
    internal_error,
    no_oauth,
    problem_for_error,
    problem_members,
)
from warehouse.json_encoding import encode
from warehouse.keys.store import redact_keys

_LOG = logging.getLogger("sankofa.api")


def add_error_handlers(app: falcon.App[falcon.Request, falcon.Response], upgrade_url: str) -> None:
    """Answer every exception of the app with a problem."""

    def handle(
        req: falcon.Request, resp: falcon.Response, error: Exception, params: object
    ) -> None:
        send_problem(req, resp, problem_of(error, req), upgrade_url)

    # Falcon has its own handler for HTTPError, which would take precedence over Exception.
    app.add_error_handler((Exception, falcon.HTTPError), handle)


def problem_of(error: Exception, req: falcon.Request) -> Problem:
    """Return the problem for an exception; an unexpected one is logged and not shown."""
    problem = problem_for_error(error)
    if problem is not None:
        if problem.kind.status >= 500:
            _LOG.error("%s: %s", problem.code, error)
        return problem
    if isinstance(error, falcon.HTTPError):
        return _problem_of_http_error(error, req)
    _LOG.error("unexpected error, request %s", req.context.request_id, exc_info=error)
    return internal_error()


def send_problem(
    req: falcon.Request, resp: falcon.Response, problem: Problem, upgrade_url: str
) -> None:
    """Write a problem and the headers that go with its status."""
    status, members = (
        problem.kind.status,
        problem_members(problem, req.context.request_id, upgrade_url),
    )
    # RFC 9110 requires WWW-Authenticate with 401 and Allow with 405.
    if status == 401:
        resp.set_header("WWW-Authenticate", CHALLENGE)
    if "upgrade_url" in members:
        resp.set_header("X-Upgrade-URL", upgrade_url)
    if "retry_after" in members:
        resp.set_header("Retry-After", str(members["retry_after"]))
    if status == 405:
        resp.set_header("Allow", ALLOW)
    resp.status = status
    resp.content_type = "application/problem+json"
    # ``detail`` and ``received`` can repeat what the client sent: never its key.
    resp.data = redact_keys(encode(members).decode()).encode()


def _problem_of_http_error(error: falcon.HTTPError, req: falcon.Request) -> Problem:
    if error.status_code == 404:
        if (problem := no_oauth(req.path)) is not None:
            return problem
        return Problem("not_found", f"No such path: {req.path[:200]}; see /docs.")
    if error.status_code == 405:
        return Problem("method_not_allowed", f"{req.method} is not allowed here.")
    return Problem("request_refused", error.title or "The request cannot be parsed.")
