"""What no answer may ever be: a failure, a row of another tier, a person."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urljoin

import msgspec

from tests.fuzz.service import FuzzedService, FuzzInputs, FuzzResponse, Request
from tests.sample_world.organisations import person_name
from warehouse.contract.organisations import FREE_ID_TYPES, MAX_MATCHES
from warehouse.contract.problems import PROBLEMS
from warehouse.shared.tiers import TIERS

EXPECTED = {200, 206, 302, 304, 400, 401, 402, 404, 405, 406, 414, 416}
GIVEN = (200, 206)
ROWS = ("data", "observations", "identifiers", "artifacts")
_FAMILIES = sorted({person_name(serial).rpartition("-")[2].lower() for serial in range(400)})
_MARKS = (b"fictional-", b"@fictional.", b"555")
_VERSION_PATH = re.compile(r"/exports/[^/]+/?")
_MANIFEST_PATH = re.compile(r"/exports/\d{8}\.\d+/manifest\.json")
# Names, addresses and telephones of the people of the sample world.
_PERSON = re.compile(
    rf"fictional-(?:{'|'.join(_FAMILIES)})|@fictional\.example|"
    r"(?:\b11|0800|601)[ -]?555[ -]?\d{4}".encode()
)


def names_a_person(text: bytes) -> bool:
    """Return whether a person of the sample world, or a contact, is named."""
    small = text.lower()
    return any(mark in small for mark in _MARKS) and _PERSON.search(small) is not None


class Judge:
    """Says what is wrong with an answer; it asks again with a paid key to know what is right."""

    def __init__(self, service: FuzzedService, inputs: FuzzInputs) -> None:
        self._service, self._inputs = service, inputs
        self._sample, self._paid = inputs.keys["sample"], inputs.keys["professional"]
        self._valid = set(inputs.keys.values())
        self._cursors = {cursor: filters for filters, cursor in inputs.cursors.items()}

    def wrong(self, request: Request, answer: FuzzResponse) -> list[str]:
        """Return every rule that the response breaks."""
        if answer.status not in EXPECTED:
            return [f"status {answer.status}"]
        rules = [_wrong_problem, _wrong_redirect, self._wrong_rows]
        if answer.status in GIVEN and request.method != "OPTIONS":
            rules += [self._wrong_key, self._wrong_cursor]
        return [item for rule in rules for item in rule(request, answer)]

    def _wrong_key(self, request: Request, answer: FuzzResponse) -> Iterator[str]:
        """Nothing but an open file is given without a key."""
        key = request.key or next((v[7:] for n, v in request.headers if n == "Authorization"), "")
        if request.path.startswith("/exports/"):
            name = unquote(request.path).rpartition("/")[2]
            if name in self._inputs.licensed_files and key not in (
                self._paid,
                self._inputs.keys["starter"],
            ):
                yield "a licensed file was given"
            if answer.raw.startswith(b"SQLite"):
                yield "a store was given"
        elif key not in self._valid:
            yield "rows were given without a key that holds"

    def _wrong_cursor(self, request: Request, answer: FuzzResponse) -> Iterator[str]:
        parameters = dict(parse_qsl(request.query))
        cursor = parameters.get("cursor")
        if request.path != "/v1/tenders" or cursor is None:
            return
        filters = dict(parse_qsl(self._cursors.get(cursor, "cursor=none")))
        filters_sent = {
            name: parameters[name] for name in ("country", "from") if name in parameters
        }
        if {"country": "ZA", **filters_sent} != filters:
            yield "a cursor was taken that was not given for these filters"

    def _wrong_rows(self, request: Request, answer: FuzzResponse) -> Iterator[str]:
        rows = _rows(answer) if request.method == "GET" else None
        # What was asked for is repeated beside the rows, and in problems.
        mentioned = "ictional" in request.query + request.path
        if names_a_person(msgspec.json.encode(rows) if mentioned else answer.plain):
            yield "a person is named"
        if rows is not None and request.key == self._sample:
            yield from _above_the_tier(request, rows)
            full = self._service.ask(_as_paid(request, self._paid))
            if rows != _seen_by_sample(request, _rows(full) or []):
                yield "the rows are not the first of what a paid key gets"


def _wrong_problem(request: Request, answer: FuzzResponse) -> Iterator[str]:
    if answer.status < 400 or request.method == "HEAD":
        return
    if answer.headers.get("content-type") != "application/problem+json":
        yield "an error is no problem"
        return
    body = answer.body
    if body["status"] != answer.status or PROBLEMS[body["code"]].status != answer.status:
        yield "a problem has another status than its answer"
    if "x-service-api-version" not in answer.headers:
        yield "the version of the interface is missing"


def _wrong_redirect(request: Request, answer: FuzzResponse) -> Iterator[str]:
    """Only a version of the exports leads elsewhere, and only to its manifest."""
    if answer.status != 302:
        return
    target = urljoin(request.path, answer.headers["location"])
    if not (_VERSION_PATH.fullmatch(request.path) and _MANIFEST_PATH.fullmatch(target)):
        yield f"a redirect to {target}"


def _above_the_tier(request: Request, rows: list[dict[str, Any]]) -> Iterator[str]:
    kinds = {row["id_type"] for row in rows if "id_type" in row}
    parameters = dict(parse_qsl(request.query))
    if request.path == "/v1/crosswalk":
        kinds.add(parameters["id_type"])
        if len(rows) > MAX_MATCHES:
            yield "a lookup gave more than its matches"
    if not kinds <= set(FREE_ID_TYPES):
        yield "the paid crosswalk was given"
    if len(rows) > TIERS["sample"].ceiling and not _uncapped(request):
        yield "more rows than the cap were given"


def _as_paid(request: Request, key: str) -> Request:
    """Ask the same with a paid key; for all identifiers, since the sample tier skips some."""
    query = request.query
    if request.path.startswith("/v1/crosswalk/"):
        query = urlencode([pair for pair in parse_qsl(query) if pair[0] != "limit"])
    return replace(request, key=key, query=query)


def _seen_by_sample(request: Request, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    free = [row for row in rows if row.get("id_type", FREE_ID_TYPES[0]) in FREE_ID_TYPES]
    if request.path.startswith("/v1/crosswalk/"):
        limit = dict(parse_qsl(request.query)).get("limit")
        return free if limit is None else free[: int(limit)]
    return free if _uncapped(request) else free[: TIERS["sample"].ceiling]


def _uncapped(request: Request) -> bool:
    """Return whether an endpoint takes no limit and returns all rows."""
    uncapped = ("quality-metrics/", "export", "crosswalk/", "catalogue", "versions")
    return request.path.startswith(tuple(f"/v1/{name}" for name in uncapped))


def _rows(answer: FuzzResponse) -> list[dict[str, Any]] | None:
    if answer.headers.get("content-type") != "application/json" or answer.status != 200:
        return None
    body = answer.body
    return next((body[name] for name in ROWS if name in body), None)
