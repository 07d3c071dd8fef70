"""Reading of parameters by the declaration: each is right, or the problem names it."""

from datetime import date
from typing import Any

import falcon

from api.declared import Endpoint
from warehouse.contract.kinds import Choice, Parameter
from warehouse.contract.problems import Problem
from warehouse.exports.published import VERSION

Asked = dict[str, Any]
_SHOWN = 64


def read(req: falcon.Request, endpoint: Endpoint, **path: str) -> Asked:
    """Give every declared parameter as its kind reads it, None where it is left out.

    One that is unknown, repeated, empty, malformed or missing is refused.
    """
    if not req.client_accepts(falcon.MEDIA_JSON):
        raise Problem("not_acceptable", "The answer is application/json; let Accept allow it.")
    if endpoint.needs_key:
        _check_pin(req.get_header("X-Data-Version"))
    asked: Asked = {name: _in_path(endpoint, name, text) for name, text in path.items()}
    declared, sent = endpoint.query, req.params
    for name in sent:
        if name not in declared:
            raise Problem(
                "parameter_unknown",
                f"{name[:_SHOWN]!r} is not a parameter of this endpoint.",
                parameter=name[:_SHOWN],
                allowed=list(declared),
            )
    for name, parameter in declared.items():
        asked[name] = _in_query(parameter, sent.get(name))
    return asked


def in_order(from_: date | None, to: date | None) -> None:
    """Refuse a span that ends before it begins."""
    if from_ is not None and to is not None and from_ > to:
        raise conflict("from", "from lies after to.")


def conflict(name: str, detail: str) -> Problem:
    """Make the problem of parameters that exclude each other."""
    return Problem("parameter_conflict", detail, parameter=name)


def missing(name: str, expected: str) -> Problem:
    """Make the problem of a parameter that is needed and was not sent."""
    return Problem(
        "parameter_missing",
        f"{name} is required: {expected}.",
        parameter=name,
        expected=expected,
    )


def invalid(name: str, received: str, expected: str, **members: object) -> Problem:
    """Make the problem of a malformed parameter."""
    return Problem(
        "parameter_invalid",
        f"{name} must be {expected}.",
        parameter=name,
        received=received[:_SHOWN],
        expected=expected,
        **members,
    )


def _check_pin(version: str | None) -> None:
    if version is not None and not VERSION.fullmatch(version):
        expected = "a data_version that an answer named, such as 20261114.3"
        raise invalid("X-Data-Version", version, expected)


def _in_path(endpoint: Endpoint, name: str, text: str) -> object:
    parameter = endpoint.in_path[name]
    try:
        return parameter.kind.read(text)
    except ValueError:
        if endpoint.misfit == 404:
            raise Problem("not_found", f"No record has the id {text[:_SHOWN]!r}.") from None
        raise invalid(name, text, parameter.kind.expected) from None


def _in_query(parameter: Parameter, sent: str | list[str] | None) -> object:
    name, kind = parameter.name, parameter.kind
    if isinstance(sent, list):
        raise Problem("parameter_repeated", f"{name} is given twice.", parameter=name)
    if sent is None and parameter.required:
        raise missing(name, kind.expected)
    text = parameter.default if sent is None else sent
    if text is None:
        return None
    try:
        if not text:
            raise ValueError
        return kind.read(text)
    except ValueError:
        more = {"allowed": list(kind.words)} if isinstance(kind, Choice) else {}
        raise invalid(name, text, kind.expected, **more) from None
