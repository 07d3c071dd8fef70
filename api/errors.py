"""Translation of exceptions into ``application/problem+json`` responses."""

import logging
from collections.abc import Iterable

import falcon

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import METHODS
from api.site.render import Site
from warehouse.contract import problems
from warehouse.shared.json_encoding import encode
from warehouse.shared.metrics import count_problem
from warehouse.shared.texts import nearest, redact_keys

_LOG = logging.getLogger("sankofa.api")
# The endpoints by the word after /v1/.
_PATHS: dict[str, list[str]] = {}
for _endpoint in ENDPOINTS:
    if _endpoint.path.startswith("/v1/"):
        _PATHS.setdefault(_endpoint.path.split("/")[2], []).append(_endpoint.path)


def add_error_handlers(
    app: falcon.App[falcon.Request, falcon.Response],
    upgrade_url: str | None,
    site: Site,
    routes: Iterable[str],
) -> None:
    """Answer every exception of the app with a problem; a browser gets it as a page.

    ``upgrade_url`` is where a higher tier is to be had, by default the page of the service.
    ``routes`` are what a path that does not exist is compared with.
    """
    # Pages and lists of pages, such as /guides; what is below them has names of its own.
    known = [route for route in routes if route.count("/") == 1 and route != "/"]

    def handle(
        req: falcon.Request, resp: falcon.Response, error: Exception, params: object
    ) -> None:
        problem = problem_of(error, req, known)
        send_problem(req, resp, problem, upgrade_url or f"{req.context.base_url}{problems.PRICING}")
        # Browsers name text/html; what is below /v1 is for programs.
        if not req.path.startswith("/v1"):
            resp.append_header("Vary", "Accept")
            if "text/html" in req.accept:
                site.send_error(req, resp, problem)

    # Falcon has its own handler for HTTPError, which would take precedence over Exception.
    app.add_error_handler((Exception, falcon.HTTPError), handle)


def problem_of(error: Exception, req: falcon.Request, known: Iterable[str]) -> problems.Problem:
    """Return the problem for an exception; an unexpected one is logged and not shown."""
    problem = problems.problem_for_error(error)
    if problem is not None:
        count_problem(problem.code, problem.members.get("violated_policies", ()))
        if problem.kind.status >= 500:
            _LOG.error("%s: %s", problem.code, error)
        return problem
    if isinstance(error, falcon.HTTPError):
        return _problem_of_http_error(error, req, known)
    return _unexpected(error, req)


def send_unexpected(req: falcon.Request, resp: falcon.Response, error: Exception) -> None:
    """Answer 500 in place of a response that must not be sent."""
    send_problem(req, resp, _unexpected(error, req), "")


def _unexpected(error: Exception, req: falcon.Request) -> problems.Problem:
    _LOG.error("unexpected error, request %s", req.context.request_id, exc_info=error)
    return problems.internal_error()


def send_problem(
    req: falcon.Request, resp: falcon.Response, problem: problems.Problem, upgrade_url: str
) -> None:
    """Write a problem and the headers that go with its status."""
    status, members = (
        problem.kind.status,
        problems.problem_members(problem, req.context.request_id, upgrade_url),
    )
    # RFC 9110 requires WWW-Authenticate with 401 and Allow with 405.
    if status == 401:
        resp.set_header("WWW-Authenticate", problems.CHALLENGE)
    if "upgrade_url" in members:
        resp.set_header("X-Upgrade-URL", upgrade_url)
    if "retry_after" in members:
        resp.set_header("Retry-After", str(members["retry_after"]))
    if status == 405:
        resp.set_header("Allow", ", ".join(problem.members.get("allowed", METHODS)))
    resp.status = status
    resp.content_type = "application/problem+json"
    # ``detail`` and ``received`` can repeat what the client sent: never its key.
    resp.data = redact_keys(encode(members).decode()).encode()


def _problem_of_http_error(
    error: falcon.HTTPError, req: falcon.Request, known: Iterable[str]
) -> problems.Problem:
    if error.status_code == 404:
        if (problem := problems.no_oauth(req.path)) is not None:
            return problem
        near = _nearest_paths(req.path, known)
        hint = f"the nearest: {', '.join(near)}; all are at /docs" if near else "see /docs"
        return problems.Problem(
            "not_found", f"No such path: {req.path[:200]}; {hint}.", nearest=near
        )
    if error.status_code == 405:
        allowed = dict(error.headers or {}).get("Allow", METHODS[0]).split(", ")
        detail = f"{req.method} is not allowed here; use {allowed[0]}."
        return problems.Problem("method_not_allowed", detail, allowed=allowed)
    return problems.Problem("request_refused", error.title or "The request cannot be parsed.")


def _nearest_paths(path: str, known: Iterable[str]) -> list[str]:
    first, _, rest = path.removeprefix("/").partition("/")
    if first != "v1":
        return nearest(f"/{first}", known)
    words = nearest(rest.split("/")[0], _PATHS) if rest else []
    return [near for word in words for near in _PATHS[word]]
