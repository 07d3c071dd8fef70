"""``python -m mcp_server``: serve the published builds to agents."""

import argparse
import os
import sys

import anyio

from mcp_server import http, stdio
from warehouse.contract.failures import UPGRADE_URL
from warehouse.contract.problems import Problem
from warehouse.errors import SankofaError

_KEY = "SANKOFA_API_KEY"


def main() -> None:
    """Read the places and serve."""
    asked = _parser().parse_args()
    options = http.Options(
        marts=asked.marts,
        keys=asked.keys,
        usage=asked.usage,
        upgrade_url=asked.upgrade_url,
        bases=tuple(asked.base_url),
        hosts=tuple(asked.allowed_host),
        origins=tuple(asked.allowed_origin),
        proxies=tuple(asked.trusted_proxy),
        workers=asked.workers or len(os.sched_getaffinity(0)),
    )
    try:
        if asked.stdio:
            _serve_stdio(options)
        else:
            http.serve(options, asked.host, asked.port)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    except OSError as error:
        sys.exit(f"cannot serve at {asked.host}:{asked.port}: {error}; choose another --port")


def _serve_stdio(options: http.Options) -> None:
    key = os.environ.pop(_KEY, "")
    if not key:
        raise SankofaError(f"no API key; put one into the environment as {_KEY}")
    try:
        anyio.run(stdio.serve, options.service(), key)
    except Problem as problem:
        raise SankofaError(f"{problem.detail} See {_KEY}.") from problem


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mcp_server", description=__doc__)
    _store_option(parser, "marts", "folder or database of the builds", required=True)
    _store_option(parser, "keys", "file or Redis of the key store", required=True)
    _store_option(parser, "usage", "file or Redis of the usage store; nothing is counted without")
    parser.add_argument(
        "--stdio", action="store_true", help=f"serve one local agent; its key is in {_KEY}"
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8322)
    parser.add_argument("--workers", type=int, help="processes; by default one for each core")
    _several(parser, "--base-url", "address at which the server is reached")
    _several(parser, "--allowed-host", "a further Host that is answered, such as host:port")
    _several(parser, "--allowed-origin", "a further Origin that is answered, for web clients")
    _several(parser, "--trusted-proxy", "proxy whose X-Forwarded headers hold")
    parser.add_argument("--upgrade-url", default=UPGRADE_URL)
    return parser


def _store_option(
    parser: argparse.ArgumentParser, name: str, what: str, *, required: bool = False
) -> None:
    """Add an option that defaults to a variable: a URL with a password belongs there."""
    variable = f"SANKOFA_{name.upper()}"
    default = os.environ.get(variable)
    parser.add_argument(
        f"--{name}",
        default=default,
        required=required and not default,
        help=f"{what}; default: {variable}",
    )


def _several(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    parser.add_argument(name, action="append", default=[], help=f"{what}; may be repeated")


if __name__ == "__main__":
    main()
