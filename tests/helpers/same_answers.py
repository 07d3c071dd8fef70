"""Whether two commits answer alike: the bodies of thousands of random questions, byte by byte.

    python -m tests.helpers.same_answers load LOADED
    python -m tests.helpers.same_answers publish LOADED HOME
    python -m tests.helpers.same_answers record HOME FILE [--questions N] [--seed N] [--as FILE]
    python -m tests.helpers.same_answers compare FILE FILE
    python -m tests.helpers.same_answers show HOME FILE NUMBER

``load`` reads the sample world once, in four steps, as days pass. ``publish`` publishes after each
of them, so that builds have few changed rows and can be pinned; each commit publishes a home of its
own from the same ``LOADED`` on the same day, so that data_versions agree. ``record`` asks: every
list over REST and every tool over MCP, with every tier, day, pin, format and coding, page after
page by the cursors that the service itself returned. ``--as`` asks the questions of another file.
``compare`` fails if any answer differs. ``show`` prints one answer whole.

Cursors and moments of publication are replaced by words: they differ between any two homes. To ask
an older commit, copy this file into its ``tests/helpers``.
"""

import argparse
import asyncio
import gzip
import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import zstandard
from falcon import testing
from mcp_server.http import Options
from mcp_server.http import create_app as create_mcp_app
from mcp_server.tools import TOOLS

from api.app import create_app
from api.endpoints.declarations import ENDPOINTS
from pipelines.sample_world import unpack_world
from tests.helpers.installation import BriefPublication, load_sample, publication, settings_of
from warehouse.contract.parameter_types import Parameter
from warehouse.control.keys import KeyStore, create_key
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.shared.files import make_private
from warehouse.shared.tiers import TIERS

# Documents up to each of these days are loaded, then published: a world of years, half a year, two
# days, and one day.
STEPS = ("2025-12-31", "2026-06-13", "2026-06-15", "9999-12-31")
Row = dict[str, str]


def load(folder: Path) -> None:
    """Load the sample world step by step, and keep the home of each step."""
    world, home = folder / "world", folder / "home"
    unpack_world(world, "fictional")
    settings = settings_of(home)
    make_private(settings)
    settings.sample.mkdir(exist_ok=True)
    shutil.copy(world / "world.json", settings.sample / "world.json")
    for number, last in enumerate(STEPS, 1):
        for day in sorted(path for path in world.glob("*/*") if path.name <= last):
            shutil.copytree(day, settings.sample / day.parent.name / day.name, dirs_exist_ok=True)
        load_sample(home)
        shutil.copytree(home, folder / str(number))


def publish(folder: Path, home: Path) -> None:
    """Publish what was loaded, step by step."""
    for number in range(1, len(STEPS) + 1):
        # A step only adds files, and what publishing wrote stays.
        shutil.copytree(folder / str(number), home, dirs_exist_ok=True)
        print(publication(settings_of(home), BriefPublication).run(), flush=True)


# -- questions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """One question. ``name`` is that of an endpoint, of a tool, or ``page`` for a page of the site.

    ``page`` is which page of it is wanted; those before it are questions of their own.
    """

    surface: str
    name: str
    path: str
    sent: dict[str, Any]
    tier: str
    headers: dict[str, str]
    page: int = 1


@dataclass
class Answer:
    """What came back: the body as it is compared, and the cursor of the next page."""

    status: int
    media_type: str
    body: bytes
    cursor: str | None = None


Ask = Callable[[Question, str | None], Answer]

# Rows of a page: of one that is followed by others, and around the limits of the tiers.
_WALKED = ("1", "2", "3", "7", "10", "25")
_LIMITS = (1, 2, 3, 7, 10, 25, 26, 50, 100, 101, 250, 1_000, 1_001, 0)
# No value of the data, of the right form or of none.
_ODD = (
    *("DCNOBODY", "dcnobody", "ZZ", "QQQ", "2024-13-45", "0000-00-00", "2099-01-01", "1800-01-01"),
    *("", " ", "x" * 300, "é%'\"\\", "-1", "0", "1e9", "nosuchthing", "a,b,,c", "20000101.1"),
)
# Members of rows that have values of a parameter, other than the one of its own name.
_MEMBERS: Mapping[str, Sequence[str]] = {
    "as_of": ("available_at", "available_at", "closed_at"),
    "from": ("period_end", "date", "month", "received_on", "first_release", "available_at"),
    "to": ("period_end", "date", "month", "received_on", "last_release", "available_at"),
    "since": ("changed_on", "data_version"),
    "query": (
        *("tender.title", "tender.description", "buyer.name", "name", "legal_name", "ocid"),
        *("id", "id_value", "matched"),
    ),
    "buyer": ("buyer.name", "service_id"),
    "status": ("tender.status",),
    "line_items": ("line_item",),
    "service_ids": ("service_id",),
    "entity_id": ("service_id", "country_iso3"),
    "country": ("country", "country_iso3"),
    "value": ("value_reported", "value"),
    "period": ("fiscal_label", "period_end"),
    "currency": ("currency_reported", "currency"),
    "sku": ("dataset",),
}
# Which rows the questions of a tool are about; a tool is not always one list.
_ROWS_OF_TOOL = {
    "describe_data": "listCatalogue",
    "search_entities": "search",
    "match_organisations": "search",
    "get_entity": "getEntity",
    "resolve_identifier": "lookUpIdentifier",
    "get_identifiers": "getCrosswalk",
    "get_fundamentals": "getFundamentals",
    "get_filings": "listFilings",
    "get_metrics": "getMetrics",
    "screen_issuers": "screenIssuers",
    "search_tenders": "listTenders",
    "get_awards": "listAwards",
    "get_resolved_parties": "listTenderParties",
    "get_signal": "getSignal",
    "get_macro": "listMacro",
    "check_claim": "listSharedFacts",
    "get_quality_metrics": "getQualityMetrics",
    "get_changes": "listChanges",
    "list_versions": "listVersions",
}
_MACRO = (("series",), ("country", "indicator"), ("country",), ("series_type",), ("frequency",))
# Parameters of which one group makes a whole question.
_TOGETHER: Mapping[str, Sequence[Sequence[str]]] = {
    "listSharedFacts": (("entity_id",), ("entity_id", "dataset"), ("country", "dataset")),
    "check_claim": (("service_id", "line_item"), ("series",), ("indicator", "country")),
    "get_awards": (("service_id",), ("country",)),
    "listAwards": (("service_id",), ("country",)),
    "listMacro": _MACRO,
    "get_macro": _MACRO,
}
# Nothing in them but the time that a check took, or that depends on the machine.
_LEFT_OUT = ("getStatus", "getHealth")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass
class Values:
    """Rows that the home has, by the endpoint that returns such: what questions are made of."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    versions: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    def of(self, name: str) -> Sequence[Row]:
        """Return the rows that questions to an endpoint are about."""
        return self.rows.get(name) or self.rows["getFundamentals"]


def gathered(ask: Ask, chance: Random) -> Values:
    """Ask the service what it has."""

    def rows(name: str, path: str, **sent: Any) -> list[Row]:
        question = Question("rest", name, path, sent, "professional", {})
        found = _rows_of(ask(question, None).body)
        values.rows.setdefault(name, []).extend(found)
        return found

    values = Values()
    entries = rows("listCatalogue", "/v1/catalogue")

    def named(section: str) -> list[str]:
        return sorted({entry["name"] for entry in entries if entry["section"] == section})

    values.versions = [row["data_version"] for row in rows("listVersions", "/v1/versions")]
    issuers: dict[str, None] = {}
    for metric in named("metric"):
        ranked = rows("screenIssuers", "/v1/screen", metric=metric, limit=1000)
        issuers.update(dict.fromkeys(row["service_id"] for row in ranked))
    countries = sorted({entry["country"] for entry in entries if entry.get("country")})
    for country in countries:
        rows("listTenders", "/v1/tenders", country=country, limit=1000)
        rows("listTenderParties", "/v1/tender-parties", country=country, limit=1000)
        rows("listAwards", "/v1/awards", country=country, limit=1000)
        rows("listMacro", "/v1/macro", country=country, limit=200)
    for series in named("series"):
        rows("listMacro", "/v1/macro", series=series, limit=200)
    for panel in named("signal"):
        rows("getSignal", f"/v1/signals/{panel}", limit=300)
    parties = {row["service_id"] for row in values.of("listTenderParties") if "service_id" in row}
    for service_id in (*issuers, *chance.sample(sorted(parties), min(40, len(parties)))):
        rows("getEntity", f"/v1/entities/{service_id}")
        rows("lookUpIdentifier", f"/v1/crosswalk/{service_id}")
        rows("getFundamentals", f"/v1/fundamentals/{service_id}", vintages="all", limit=1000)
        rows("listFilings", "/v1/filings", service_id=service_id, limit=50)
        rows("getMetrics", f"/v1/metrics/{service_id}")
    rows("listChanges", "/v1/changes", since="2000-01-01", limit=1000)
    for dataset in ("AF-FUND", "AF-TENDER", "AF-MACRO"):
        rows("getQualityMetrics", f"/v1/quality-metrics/{dataset}")
    for name, others in _ROWS_OF_OTHERS.items():
        values.rows[name] = [row for other in others for row in values.of(other)]
    sitemap = ask(Question("page", "page", "/sitemap.xml", {}, "none", {}), None).body.decode()
    values.pages = re.findall(r"<loc>https?://[^/]+(/[^<]*)</loc>", sitemap)
    return values


# Endpoints whose questions are about rows of others.
_ROWS_OF_OTHERS = {
    "listFundamentals": ("getFundamentals",),
    "getTender": ("listTenders",),
    "getCrosswalk": ("getEntity",),
    "getProcurementDemand": ("getSignal",),
    "listSharedFacts": ("getFundamentals", "listTenders", "listMacro"),
    "search": ("getEntity", "listTenderParties", "listMacro", "lookUpIdentifier"),
}


def _rows_of(body: bytes) -> list[Row]:
    decoded = json.loads(body, parse_float=str, parse_int=str)
    lists = (decoded.get(name) for name in ("data", "observations", "identifiers"))
    found: list[dict[str, Any]] = next((each for each in lists if each is not None), [])
    return [dict(_flat(row)) for row in found]


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, str):
            yield prefix + name, value


def questions(values: Values, chance: Random) -> Iterator[tuple[Question, int]]:
    """Yield random questions without end, each with how many pages of it are wanted."""
    lists = [endpoint for endpoint in ENDPOINTS if endpoint.listing and not endpoint.in_body]
    others = [
        endpoint
        for endpoint in ENDPOINTS
        if endpoint.listing is None and endpoint.name not in _LEFT_OUT
    ]
    while True:
        tier = chance.choices((*TIERS, "none", "unknown"), (25, 25, 45, 3, 2))[0]
        pages = chance.choices((1, 2, 3, 8, 20), (50, 20, 15, 10, 5))[0]
        kind = chance.random()
        if kind < 0.05:
            yield Question("page", "page", chance.choice(values.pages), {}, "none", {}), 1
        elif kind < 0.35:
            tool = chance.choice(list(TOOLS.values()))
            sent = _sent(tool.name, tool.parameters, values.of(_ROWS_OF_TOOL[tool.name]), chance)
            if chance.random() < 0.3:
                sent["data_version"] = chance.choice(values.versions)
            if pages > 1 and any(item.name == "limit" for item in tool.parameters):
                sent["limit"] = chance.choice(_WALKED)
            headers = {"mode": chance.choice(("2025-11-25", "2026-07-28"))}
            headers |= _pinned(values, chance)
            yield Question("mcp", tool.name, tool.name, _typed(sent), tier, headers), pages
        else:
            endpoint = chance.choice(lists if chance.random() < 0.9 else others)
            sent = _sent(endpoint.name, endpoint.parameters, values.of(endpoint.name), chance)
            in_path = [item.name for item in endpoint.parameters if item.location == "path"]
            path = endpoint.path
            for name in in_path:
                path = path.replace(f"{{{name}}}", quote(sent.pop(name), safe="") or "-")
            if pages > 1 and endpoint.listing is not None:
                sent["limit"] = chance.choice(_WALKED)
            headers = {**_pinned(values, chance), **_accepted(chance)}
            yield Question("rest", endpoint.name, path, sent, tier, headers), pages


def _sent(
    name_of_list: str, parameters: Sequence[Parameter], rows: Sequence[Row], chance: Random
) -> dict[str, str]:
    """Return parameters with values, most of them of one row, so that they find something."""
    row, sent, odd = chance.choice(rows), dict[str, str](), chance.random() < 0.12
    together = _TOGETHER.get(name_of_list, ()) if chance.random() < 0.9 else ()
    fitting = [group for group in together if all(_found(name, row) for name in group)]
    group = chance.choice(fitting) if fitting else ()
    apart = {name for other in together for name in other} - {*group} if group else set()
    for parameter in parameters:
        name = parameter.name
        if name in ("cursor", "data_version") or name in apart:
            continue
        is_wanted = parameter.required or name in (*group, "limit") or chance.random() < 0.3
        if parameter.location == "path" or (is_wanted and chance.random() < 0.97):
            value = _value(
                parameter, row if chance.random() < 0.85 else chance.choice(rows), chance
            )
            sent[name] = chance.choice(_ODD) if odd and chance.random() < 0.4 else value
    if chance.random() < 0.01:
        sent["cursor"] = chance.choice(_ODD)
    if chance.random() < 0.01:
        sent["nosuch"] = "1"
    if sent.get("limit") == "":
        del sent["limit"]
    return sent


def _value(parameter: Parameter, row: Row, chance: Random) -> str:
    name, kind = parameter.name, parameter.kind
    if name == "limit":
        return str(chance.choice(_LIMITS)) if chance.random() < 0.6 else ""
    if name == "verbose":
        return chance.choice(("true", "false"))
    members = _found(name, row)
    if kind.of is not None:
        words = [*members, *chance.sample(list(kind.words), min(3, len(kind.words)))]
        return ",".join(words[: chance.randint(1, 3)]) or "DCNOBODY"
    if kind.words and (not members or members[0] not in kind.words or chance.random() < 0.2):
        return chance.choice(list(kind.words))
    if not members:
        example = parameter.example or parameter.default
        return chance.choice(_ODD) if example is None else str(example)
    value = chance.choice(members)
    if name in ("query", "buyer"):
        return _some_words(value, chance)
    if name == "country":
        return chance.choice((value, value, value.lower()))
    if _DAY.fullmatch(value):
        return _day_around(value, chance)
    return value


def _found(name: str, row: Row) -> list[str]:
    """Return the values that a row has for a parameter."""
    return [row[item] for item in (name, *_MEMBERS.get(name, ())) if row.get(item)]


def _some_words(value: str, chance: Random) -> str:
    words = value.split()
    first = chance.randrange(len(words))
    text = " ".join(words[first : first + chance.randint(1, 3)])
    return chance.choice((value[:120], text, text, text[: max(2, len(text) - 2)], text.upper()))


def _day_around(value: str, chance: Random) -> str:
    days = chance.choice((0, 0, 0, -1, 1, chance.randint(-400, 400)))
    try:
        return str(date.fromisoformat(value) + timedelta(days))
    except (ValueError, OverflowError):
        return value


def _pinned(values: Values, chance: Random) -> dict[str, str]:
    pin = chance.random()
    if pin < 0.7:
        return {}
    unknown = ("20000101.1", "20261118.999", "yesterday")
    return {
        "X-Data-Version": chance.choice(values.versions if pin < 0.97 else unknown),
    }


def _accepted(chance: Random) -> dict[str, str]:
    accepted = {}
    if chance.random() < 0.3:
        accepted["Accept-Encoding"] = chance.choice(("gzip", "gzip", "zstd", "gzip, zstd"))
    if chance.random() < 0.1:
        accepted["Accept"] = chance.choice(("text/csv", "application/x-ndjson", "text/html", "*/*"))
    return accepted


def _typed(sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of a tool as JSON has them."""
    typed: dict[str, Any] = dict(sent)
    for name, value in sent.items():
        if name == "limit" and value.isdecimal():
            typed[name] = int(value)
        elif name == "verbose":
            typed[name] = value == "true"
        elif name in ("line_items", "service_ids"):
            typed[name] = value.split(",")
    return typed


# -- asking ----------------------------------------------------------------------------------------

_CURSOR = re.compile(rb'(\\?"next_cursor\\?":\\?")([A-Za-z0-9_=-]+)')
_LINKED_CURSOR = re.compile(r"[?&]cursor=([A-Za-z0-9_=%-]+)")
# Cursors in links of pages. Moments with more than milliseconds are those of a publication:
# documents of the sample world have none.
_VARYING = (
    (_CURSOR, rb"\1CURSOR"),
    (re.compile(rb"(cursor=)[A-Za-z0-9_=%-]{20,}"), rb"\1CURSOR"),
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{4,6}(Z|\+00:00)"), b"MOMENT"),
    # Of bulk files, some of which have moments of publication in their rows.
    (re.compile(rb'("(?:sha256|size_bytes)":)("[0-9a-f]{64}"|[0-9]+)'), rb"\1DIGEST"),
)
_REQUEST = "same-answers"
_DECODED: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
}


class Surfaces:
    """REST and MCP in this process, over one home, with a key of each tier."""

    def __init__(self, home: Path, folder: Path) -> None:
        settings = settings_of(home)
        control = folder / "control.sqlite"
        keys = KeyStore(control)
        self._keys = {str(tier): create_key(keys, tier) for tier in TIERS}
        self._keys["unknown"] = f"{self._keys['sample'][:-4]}0000"
        exports = PublishedExports(settings.exports)
        app = create_app(Mart(settings.marts), keys, exports=exports, pages_per_minute=10**9)
        self._rest = testing.TestClient(app)
        self._mcp = create_mcp_app(Options(marts=str(settings.marts), control=str(control)))
        self._runner = asyncio.Runner()
        self._runner.run(self._start())

    def ask(self, question: Question, cursor: str | None) -> Answer:
        """Return the answer to one question, of one page of it."""
        more = {} if cursor is None else {"cursor": cursor}
        headers = {**question.headers, "X-Request-Id": _REQUEST}
        if question.tier in self._keys:
            headers["X-API-Key"] = self._keys[question.tier]
        if question.surface == "mcp":
            return self._runner.run(self._call(question, {**question.sent, **more}, headers))
        query = urlencode({**question.sent, **more})
        result = self._rest.simulate_get(question.path, query_string=query, headers=headers)
        body = _DECODED[result.headers.get("content-encoding", "")](result.content)
        linked = _LINKED_CURSOR.search(result.headers.get("link", ""))
        answer = Answer(result.status_code, result.headers.get("content-type", ""), body)
        answer.cursor = linked[1] if linked else _cursor_in(body)
        return answer

    async def _call(
        self, question: Question, sent: dict[str, Any], headers: dict[str, str]
    ) -> Answer:
        mode = headers.pop("mode")
        parameters: dict[str, Any] = {"name": question.name, "arguments": sent}
        if mode.startswith("2026"):
            prefix = "io.modelcontextprotocol/"
            parameters["_meta"] = {f"{prefix}protocolVersion": mode}
            parameters["_meta"][f"{prefix}clientCapabilities"] = {}
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": question.name}
        headers |= {
            "Host": "127.0.0.1",
            "MCP-Protocol-Version": mode,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        body = json.dumps(message).encode()
        scope = {
            **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1"},
            **{"method": "POST", "scheme": "http", "path": "/mcp", "raw_path": b"/mcp"},
            **{"query_string": b"", "root_path": "", "client": ("127.0.0.1", 1)},
            **{"server": ("127.0.0.1", 80), "state": {}},
            "headers": [(name.lower().encode(), text.encode()) for name, text in headers.items()],
        }
        received = asyncio.Queue[dict[str, Any]]()
        received.put_nowait({"type": "http.request", "body": body, "more_body": False})
        start: dict[str, Any] = {}
        parts: list[bytes] = []

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))

        await self._mcp(scope, received.get, send)  # type: ignore[arg-type]
        answered = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        whole = b"".join(parts)
        media_type = answered.get("content-type", "")
        return Answer(start["status"], media_type, whole, _cursor_in(whole))

    async def _start(self) -> None:
        """Run the lifespan of the MCP server, as long as this process runs."""
        self._received, started = asyncio.Queue[dict[str, Any]](), asyncio.Event()
        self._received.put_nowait({"type": "lifespan.startup"})

        async def send(message: Mapping[str, Any]) -> None:
            started.set()

        scope: Any = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        lifespan: Any = self._mcp(scope, self._received.get, send)
        self._lifespan = asyncio.ensure_future(lifespan)
        await started.wait()

    def close(self) -> None:
        """End the MCP server."""

        async def stop() -> None:
            self._received.put_nowait({"type": "lifespan.shutdown"})
            await self._lifespan

        self._runner.run(stop())
        self._runner.close()


def _cursor_in(body: bytes) -> str | None:
    # In the answer of a tool it is there twice.
    found = _CURSOR.search(body)
    return None if found is None else found[2].decode()


def comparable(body: bytes) -> bytes:
    """Return a body without what differs between any two homes."""
    for pattern, word in _VARYING:
        body = pattern.sub(word, body)
    return body


# -- files -----------------------------------------------------------------------------------------

# Bodies up to this size are kept; of larger ones, a short digest of each piece of such a size.
_KEPT = 4_096
_PIECE = 1_024


class Recorded(msgspec.Struct, omit_defaults=True):
    """One answer as it is stored."""

    question: dict[str, Any]
    status: int
    media_type: str
    digest: str
    size: int
    body: str | None = None
    pieces: str | None = None


class Recording(msgspec.Struct):
    """All answers of a home."""

    versions: list[str]
    answers: list[Recorded]


def as_recorded(question: Question, answer: Answer) -> Recorded:
    """Return an answer as it is stored."""
    body = comparable(answer.body)
    entry = Recorded(
        asdict(question),
        answer.status,
        answer.media_type,
        sha256(body).hexdigest(),
        len(body),
    )
    if len(body) < _KEPT:
        entry.body = body.decode("utf-8", "backslashreplace")
    else:
        entry.pieces = " ".join(
            sha256(body[start : start + _PIECE]).hexdigest()[:8]
            for start in range(0, len(body), _PIECE)
        )
    return entry


def record(home: Path, file: Path, number: int, seed: int, like: Path | None) -> None:
    """Ask the questions of a home and write its answers to a file."""
    with tempfile.TemporaryDirectory() as folder:
        surfaces = Surfaces(home, Path(folder))
        values = gathered(surfaces.ask, Random(seed))
        wanted = _each_once(questions(values, Random(seed))) if like is None else _again(like)
        answers = list(islice(_answers(surfaces.ask, wanted), None if like else number))
        surfaces.close()
    file.write_bytes(msgspec.json.encode(Recording(values.versions, answers)))
    print(f"{len(answers):,} answers of {', '.join(values.versions)}")
    _print_counts("status", (str(answer.status) for answer in answers))
    _print_counts("surface", (answer.question["surface"] for answer in answers))
    _print_counts("tier", (answer.question["tier"] for answer in answers))
    _print_counts("form", (answer.media_type.partition(";")[0] for answer in answers))
    _print_counts("page", (f"{answer.question['page']}" for answer in answers))
    found = (answer.question["name"] for answer in answers if _has_rows(answer))
    _print_counts("with rows", found)


def _answers(ask: Ask, wanted: Iterable[tuple[Question, int]]) -> Iterator[Recorded]:
    """Yield the answers to questions, page after page by the cursor of the page before."""
    for question, pages in wanted:
        cursor: str | None = None
        for page in range(1, pages + 1):
            answer = ask(question, cursor)
            yield as_recorded(replace(question, page=page), answer)
            cursor = answer.cursor
            if cursor is None:
                break


def _each_once(made: Iterable[tuple[Question, int]]) -> Iterator[tuple[Question, int]]:
    known = set[bytes]()
    for question, pages in made:
        text = msgspec.json.encode(question, order="sorted")
        if text not in known:
            known.add(text)
            yield question, pages


def _again(file: Path) -> Iterator[tuple[Question, int]]:
    """Yield the questions of a file, each with how many pages of it were answered."""
    recorded = [Question(**answer.question) for answer in _read(file).answers]
    firsts = [number for number, question in enumerate(recorded) if question.page == 1]
    for first, following in zip(firsts, [*firsts[1:], len(recorded)], strict=True):
        yield recorded[first], following - first


def _has_rows(answer: Recorded) -> bool:
    is_empty = answer.body is not None and re.search(r'count\\?":0\b|"isError":true', answer.body)
    return answer.status == 200 and not is_empty


def _print_counts(what: str, words: Iterable[str]) -> None:
    counts = sorted(Counter(words).items())
    print(f"  {what}: {', '.join(f'{word} {count:,}' for word, count in counts)}")


def _read(file: Path) -> Recording:
    return msgspec.json.decode(file.read_bytes(), type=Recording)


def compare(before: Path, after: Path, shown: int) -> bool:
    """Print how many answers of two files are equal, and the first differences."""
    one, other = _read(before), _read(after)
    if one.versions != other.versions:
        print(f"The homes have other versions: {one.versions} and {other.versions}.")
        return False
    first, second = ({_text(each): each for each in file.answers} for file in (one, other))
    both = [text for text in first if text in second]
    differing = [text for text in both if _compared(first[text]) != _compared(second[text])]
    alone = len(first) + len(second) - 2 * len(both)
    print(f"{len(both) - len(differing):,} of {len(both):,} answers are equal.")
    if alone:
        print(f"{alone:,} questions have an answer of one home only.")
    if differing:
        _print_counts("differing", (first[text].question["name"] for text in differing))
    numbers = {text: number for number, text in enumerate(first)}
    for text in differing[:shown]:
        print(f"\n{numbers[text]}: {text}\n  {_difference(first[text], second[text])}")
    return not differing and not alone


def _text(answer: Recorded) -> str:
    return json.dumps(answer.question, ensure_ascii=False, sort_keys=True)


def _compared(answer: Recorded) -> tuple[int, str, str]:
    return answer.status, answer.media_type, answer.digest


def _difference(one: Recorded, other: Recorded) -> str:
    """Return where two answers differ first."""
    if (one.status, one.media_type) != (other.status, other.media_type):
        return f"{one.status} {one.media_type}, {other.status} {other.media_type}"
    if one.body is not None and other.body is not None:
        pairs = enumerate(zip_longest(one.body, other.body))
        place = next((number for number, (a, b) in pairs if a != b), 0)
        start = max(0, place - 60)
        shown = (answer.body[start : place + 100] for answer in (one, other) if answer.body)
        return f"from character {place}:\n    " + "\n    ".join(shown)
    pieces = zip((one.pieces or "").split(), (other.pieces or "").split(), strict=False)
    place = next((number for number, (a, b) in enumerate(pieces) if a != b), 0)
    return f"{one.size:,} and {other.size:,} bytes, from byte {place * _PIECE:,} on"


def show(home: Path, file: Path, number: int) -> None:
    """Print the answer of a home to one question of a file, whole."""
    with tempfile.TemporaryDirectory() as folder:
        surfaces = Surfaces(home, Path(folder))
        question, cursor = Question(**_read(file).answers[number].question), None
        for _ in range(question.page):
            answer = surfaces.ask(question, cursor)
            cursor = answer.cursor
        surfaces.close()
    print(answer.status, answer.media_type, flush=True)
    sys.stdout.buffer.write(comparable(answer.body) + b"\n")


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="tests.helpers.same_answers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    places = {
        "load": ("loaded",),
        "publish": ("loaded", "home"),
        "record": ("home", "file"),
        "compare": ("before", "after"),
        "show": ("home", "file"),
    }
    for name, words in places.items():
        command = commands.add_parser(name)
        for word in words:
            command.add_argument(word, type=Path)
        if name == "record":
            command.add_argument("--questions", type=int, default=5_000)
            command.add_argument("--seed", type=int, default=1)
            command.add_argument("--as", dest="like", type=Path)
        if name == "compare":
            command.add_argument("--shown", type=int, default=10)
        if name == "show":
            command.add_argument("number", type=int)
    options = vars(parser.parse_args())
    if options["command"] == "load":
        load(options["loaded"])
    elif options["command"] == "publish":
        publish(options["loaded"], options["home"])
    elif options["command"] == "record":
        names = ("home", "file", "questions", "seed", "like")
        record(*(options[name] for name in names))
    elif options["command"] == "show":
        show(options["home"], options["file"], options["number"])
    elif not compare(options["before"], options["after"], options["shown"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
