"""An MCP server over stdio that passes messages on: to a server over HTTP, or to a local one.

It is the package ``sankofa-mcp``, the program of the bundle for desktop clients, and how
``sankofa mcp --stdio`` reaches its own server. It runs on any Python, without a package:

- ``--url`` is the address of a server such as https://mcp.example.com/mcp; every message is posted
  there with the key of ``--key``, or that in ``SANKOFA_API_KEY``.
- With ``--home`` it becomes ``sankofa mcp --stdio`` on that folder instead; ``--command`` is the
  path of the command.
"""

import argparse
import json
import os
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TextIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

# Requests that run, or whose response is not read yet.
MAX_PENDING = 64
_TIMEOUT_SECONDS = 60
_INTERNAL_ERROR = -32603
_VERSION_MEMBER = "io.modelcontextprotocol/protocolVersion"


class Bridge:
    """Posts messages to a server and writes its responses, each in a line."""

    def __init__(self, url: str, key: str, out: TextIO) -> None:
        self._url, self._key, self._out = url, key, out
        self._write_lock = threading.Lock()
        # The version that ``initialize`` agreed on; clients of 2026 name theirs in each message.
        self._version: str | None = None

    def run(self, lines: TextIO) -> None:
        """Pass on messages until the input ends; up to ``MAX_PENDING`` requests run at once."""
        # Others wait as they are: a client that does not read fills no memory with responses.
        with ThreadPoolExecutor(MAX_PENDING) as executor:
            for line in filter(str.strip, lines):
                passed = executor.submit(self._pass_on, line)
                # What follows depends on the version that the first message agrees on.
                if self._version is None:
                    passed.result()

    def _pass_on(self, line: str) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = {}
        answer = self._post(line.encode(), message if isinstance(message, dict) else {})
        if answer:
            with self._write_lock:
                self._out.write(answer.rstrip("\n") + "\n")
                self._out.flush()

    def _post(self, body: bytes, message: Mapping[str, Any]) -> str:
        request = Request(self._url, body, self._headers(message))  # noqa: S310
        try:
            with urlopen(request, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
                answer: str = response.read().decode()
        except HTTPError as refused:
            return _error(message, _words(refused.read().decode(errors="replace"), refused.code))
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            return _error(message, f"{self._url} cannot be reached: {reason}")
        if message.get("method") == "initialize":
            self._version = json.loads(answer).get("result", {}).get("protocolVersion")
        return answer

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "X-API-Key": self._key,
        }
        params = message.get("params") or {}
        version = (params.get("_meta") or {}).get(_VERSION_MEMBER) or self._version
        if version is not None:
            headers["MCP-Protocol-Version"] = str(version)
        if method := message.get("method"):
            headers["Mcp-Method"] = str(method)
        if name := params.get("name") or params.get("uri"):
            headers["Mcp-Name"] = str(name)
        return headers


def main() -> None:
    """Serve on stdin and stdout."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("--url", "--key", "--home", "--command"):
        parser.add_argument(name, type=_filled_in, default="")
    options = parser.parse_args()
    if options.home:
        os.environ["SANKOFA_HOME"] = options.home
        command = options.command or "sankofa"
        os.execvp(command, [command, "mcp", "--stdio"])  # noqa: S606
    key = options.key or _filled_in(os.environ.get("SANKOFA_API_KEY", ""))
    if not options.url.startswith(("https://", "http://")) or not key:
        sys.exit("give the address of the MCP server as --url, and the key in SANKOFA_API_KEY")
    Bridge(options.url, key, sys.stdout).run(sys.stdin)


def _filled_in(value: str) -> str:
    """Return a setting; a host may leave the placeholder of one that its user did not fill in."""
    return "" if value.startswith("${") else value.strip()


def _words(body: str, status: int) -> str | dict[str, Any]:
    """Return the error in a refusal: that of the protocol, else the sentence of a problem."""
    try:
        members = json.loads(body)
        error: str | dict[str, Any] = members.get("error") or members["detail"]
    except (ValueError, KeyError, AttributeError):
        return f"the server answered {status}"
    return error


def _error(message: Mapping[str, Any], error: str | dict[str, Any]) -> str:
    """Return the response to a request that failed; nothing for a notification."""
    if message.get("id") is None:
        return ""
    if isinstance(error, str):
        error = {"code": _INTERNAL_ERROR, "message": error}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})


if __name__ == "__main__":
    main()
