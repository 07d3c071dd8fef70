"""The service behind the transport: admits calls, counts them and runs tools."""

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError

from mcp_server.results import Body, ExactJson, Link, ToolRows, bounded
from mcp_server.tools import Tool, ToolContext
from warehouse.contract import problems
from warehouse.contract.json_values import Arguments, read
from warehouse.contract.known_answers import KnownAnswers
from warehouse.contract.limits import authenticate, check_rate_limit
from warehouse.contract.receipts import Receipts
from warehouse.control.keys import Key, KeyStore, signing_secret
from warehouse.serve.build import Mart
from warehouse.serve.catalogue import export_manifest
from warehouse.serve.exports import Artifact, absolute_url, decode_manifest
from warehouse.serve.usage import QuotaStatus, Usage
from warehouse.shared.errors import SankofaError
from warehouse.shared.json_encoding import encode
from warehouse.shared.metrics import count_problem
from warehouse.shared.texts import redact_keys
from warehouse.shared.tiers import tier_includes
from warehouse.shared.urls import as_reached

_LOG = logging.getLogger("sankofa.mcp")
_MAX_MANIFESTS = 8
EXPORTS_URL = "http://127.0.0.1:8321/exports"
UPGRADE_URL = f"http://127.0.0.1:8321{problems.PRICING}"


@dataclass
class Call:
    """One request: its key, the quota of that key, and the exact JSON of its result."""

    exact: ExactJson = field(default_factory=ExactJson)
    request_id: str = field(default_factory=partial(token_hex, 16))
    key: Key | None = None
    standing: QuotaStatus | None = None
    pinned: str | None = None
    # The host under which the server was reached.
    host: str | None = None
    # Only tool calls are charged, and only if they ran; ``app.py`` refuses any not counted as one.
    is_tool: bool = False
    ran: bool = False
    status: int = 200
    # For the access log.
    tool: str | None = None
    data_version: str | None = None


class Service:
    """The mart, the key store and the usage counters."""

    def __init__(
        self,
        mart: Mart,
        keys: KeyStore,
        usage: Usage | None = None,
        upgrade_url: str = UPGRADE_URL,
        exports_url: str = EXPORTS_URL,
        signing_key: Path | None = None,
    ) -> None:
        self.mart, self._keys, self._usage = mart, keys, usage
        self._upgrade_url, self._exports_url = upgrade_url, exports_url.rstrip("/")
        # Read when first needed, so that the service starts although the key store is down.
        self._secret = cache(lambda: signing_secret(keys, "cursor"))
        self._receipts = Receipts(signing_key)
        self._manifests: dict[str, dict[str, Artifact]] = {}
        self._known: KnownAnswers[Body] = KnownAnswers(mart, self._secret)

    def admit(self, call: Call, sent: str | None, address: str | None) -> None:
        """Set the key of a call; raise if it is missing or does not work at the address."""
        call.key = authenticate(self._keys, sent, address)

    def mart_for(self, call: Call) -> Mart:
        """Return the mart at the pinned data_version, or at the current one."""
        return self.mart if call.pinned is None else self.mart.at(call.pinned)

    def count(self, call: Call, address: str | None) -> None:
        """Count a call, a tool call also against the month; raise if a limit is exceeded."""
        if self._usage is not None and call.key is not None:
            call.standing = self._usage.take(call.key, address, call.is_tool)
            check_rate_limit(call.standing)

    def settle(self, call: Call) -> None:
        """Refund the charge of a call that did not run or ended in an uncharged status."""
        counts = call.ran and call.status not in problems.UNCHARGED_STATUSES
        if self._usage is not None and call.standing is not None and not counts:
            call.standing = self._usage.give_back(call.standing)

    def run(self, tool: Tool, sent: dict[str, object], call: Call) -> Body:
        """Run a tool; an error becomes a result whose body is the problem."""
        call.ran, call.tool = True, tool.name
        try:
            assert call.key is not None
            values = read(tool.parameters, sent, tool.name)
            return self._answer(tool, sent, values, call)
        except Exception as error:
            problem = self.problem_of(error, call)
            call.status = problem.kind.status
            return Body(self.problem_body(problem, call), is_error=True)

    def _answer(self, tool: Tool, sent: dict[str, object], values: Arguments, call: Call) -> Body:
        """Return the result of a tool, with a receipt if the call wants one."""
        if not values.pop("receipt", False):
            return self._body(tool, sent, values, call)
        self._receipts.check()
        as_of = values.get("as_of")
        body = self._body(tool, sent, values, call)
        question = {"tool": tool.name, "arguments": sent}
        receipt = self._receipts.write(question, as_of, call.data_version, body.body)
        return msgspec.structs.replace(body, receipt=receipt)

    def _body(self, tool: Tool, sent: dict[str, object], values: Arguments, call: Call) -> Body:
        """Return the result of a tool, which is kept if it has been sent before."""
        assert call.key is not None
        pinned, verbose = values.pop("data_version"), values.pop("verbose", False)
        pinned, tier = _one_pin(pinned, call.pinned), call.key.tier
        # The host is part of links.
        decides = (tier.rows_allowed, call.host or "", tool.name, encode(sent).decode())
        build = tag = None
        # An invalid version or cursor is reported where it is read.
        with suppress(SankofaError):
            build, tag = self._known.build_and_tag(sent, pinned, *decides)
        kept = None if tag is None else self._known.kept.get(tag)
        if build is not None and kept is not None:
            call.data_version = build.data_version
            return kept
        result = tool.read(ToolContext(self.mart, tier, self._secret(), pinned, build), values)
        if not isinstance(result, ToolRows):
            call.data_version = msgspec.json.decode(result.body)["data_version"]
            return result
        call.data_version = result.answer.rows.data_version
        body = bounded(result, tier, verbose)
        link = self._link(result, call) if body.truncated else None
        body = msgspec.structs.replace(body, link=link)
        of_one_build = result.answer.listing.of_one_build
        if tag is not None and of_one_build and self._known.is_repeated(tag):
            self._known.keep(tag, body, len(body.body))
        return body

    def problem_of(self, error: Exception, call: Call) -> problems.Problem:
        """Return the problem of an error; an unexpected error is logged and not shown."""
        problem = problems.problem_for_error(error)
        if problem is None:
            _LOG.error("unforeseen, request %s", call.request_id, exc_info=error)
            return problems.internal_error()
        count_problem(problem.code, problem.members.get("violated_policies", ()))
        if problem.kind.status >= 500:
            _LOG.error("%s: %s", problem.code, error)
        return problem

    def problem_body(self, problem: problems.Problem, call: Call) -> bytes:
        """Return a problem as JSON; keys in it are cut to their public prefix."""
        body = encode(problems.problem_members(problem, call.request_id, self.upgrade_url(call)))
        return redact_keys(body.decode()).encode()

    def upgrade_url(self, call: Call) -> str:
        """Return where a client gets a higher tier."""
        return as_reached(self._upgrade_url, call.host)

    def exports_url(self, call: Call) -> str:
        """Return where a client finds the bulk files."""
        return as_reached(self._exports_url, call.host)

    def _link(self, tool_rows: ToolRows, call: Call) -> Link | None:
        """Return a link to a file with all rows, if possible one that the tier may read."""
        assert call.key is not None
        tier, version = call.key.tier, tool_rows.answer.rows.data_version
        files = self._files(version)
        named = [files[key] for key in tool_rows.files if key in files]
        readable = [
            file
            for file in named
            if file.required_tier is None or tier_includes(tier.name, file.required_tier)
        ]
        for file in readable or named:
            needs = f"a key of the {file.required_tier} tier" if file.requires_key else "no key"
            about = f"All {file.rows:,} rows as Parquet ({file.license}); needs {needs}."
            url = absolute_url(file.url, self.exports_url(call), version)
            return Link(url, file.key, file.title, about, file.size_bytes)
        return None

    def _files(self, data_version: str) -> dict[str, Artifact]:
        files = self._manifests.get(data_version)
        if files is None:
            manifest = export_manifest(self.mart.at(data_version))
            try:
                artifacts = () if manifest is None else decode_manifest(manifest).artifacts
            except msgspec.ValidationError:
                # A manifest of another version: answer without links.
                artifacts = ()
            files = {artifact.key: artifact for artifact in artifacts}
            if len(self._manifests) >= _MAX_MANIFESTS:
                self._manifests.clear()
            self._manifests[data_version] = files
        return files


def _one_pin(argument: str | None, header: str | None) -> str | None:
    """Return the data_version that is pinned, by the argument or by the header."""
    if argument is not None and header not in (None, argument):
        detail = f"The header X-Data-Version pins {header}; leave data_version out, or send that."
        raise problems.conflicting_parameters("data_version", detail)
    return argument or header


# Where handlers find the call in the ASGI scope.
SCOPE_KEY = "sankofa.call"

# JSON-RPC leaves -32000 to -32099 to servers.
REFUSED_CODE = -32010


def call_of(ctx: ServerRequestContext[Any, Any]) -> Call:
    """Return the call that the transport admitted."""
    assert ctx.request is not None
    call: Call = ctx.request.scope[SCOPE_KEY]
    return call


def refused(service: Service, problem: problems.Problem, call: Call) -> MCPError:
    """Return a problem as a JSON-RPC error, with the problem as its data."""
    call.status = problem.kind.status
    data = msgspec.json.decode(service.problem_body(problem, call))
    return MCPError(code=REFUSED_CODE, message=problem.detail, data=data)
