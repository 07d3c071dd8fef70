"""Reading of parameters by the declaration: each is right, or the problem names it."""

from typing import Any

import falcon

from api.endpoints.endpoint import Endpoint
from warehouse.contract.kinds import Choice, Parameter
from warehouse.contract.problems import Problem
from warehouse.contract.refusals import check_pin, nobody, unknown
from warehouse.contract.refusals import conflict as conflict
from warehouse.contract.refusals import in_order as in_order
from warehouse.contract.refusals import invalid as invalid
from warehouse.contract.refusals import missing as missing

Asked = dict[str, Any]


def read(req: falcon.Request, endpoint: Endpoint, **path: str) -> Asked:
    """Give every declared parameter as its kind reads it, None where it is left out.

    One that is unknown, repeated, empty, malformed or missing is refused.
    """
    if not req.client_accepts(falcon.MEDIA_JSON):
        raise Problem("not_acceptable", "The answer is application/json; let Accept allow it.")
    if endpoint.needs_key:
        check_pin(req.get_header("X-Data-Version"))
    asked: Asked = {name: _in_path(endpoint, name, text) for name, text in path.items()}
    declared, sent = endpoint.query, req.params
    for name in sent:
        if name not in declared:
            raise unknown(name, declared, "this endpoint")
    for name, parameter in declared.items():
        asked[name] = _in_query(parameter, sent.get(name))
    return asked


def _in_path(endpoint: Endpoint, name: str, text: str) -> object:
    parameter = endpoint.in_path[name]
    try:
        return parameter.kind.read(text)
    except ValueError:
        if endpoint.misfit == 404:
            raise nobody(text) from None
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
