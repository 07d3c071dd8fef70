"""``python -m mcp_server``: serve the published builds to agents."""

import argparse
import os
import sys

import anyio

from mcp_server import http, stdio
from warehouse.contract.problems import UPGRADE_URL, Problem
from warehouse.errors import SankofaError
from warehouse.settings import Settings, read_settings

_KEY = "SANKOFA_API_KEY"


def main() -> None:
    """Read the settings and options, and serve."""
    try:
        settings = read_settings(os.environ)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    arguments = _parser(settings).parse_args()
    options = http.Options(
        marts=arguments.marts,
        keys=arguments.keys,
        usage=arguments.usage,
        tiers_file=None if settings.tiers_file is None else str(settings.tiers_file),
        upgrade_url=arguments.upgrade_url,
        bases=tuple(arguments.base_url),
        hosts=tuple(arguments.allowed_host),
        origins=tuple(arguments.allowed_origin),
        proxies=tuple(arguments.trusted_proxy),
        workers=arguments.workers or _available_cores(),
    )
    try:
        if arguments.stdio:
            _serve_stdio(options, settings.api_key)
        else:
            http.serve(options, arguments.host, arguments.port)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    except OSError as error:
        sys.exit(
            f"cannot serve at {arguments.host}:{arguments.port}: {error}; choose another --port"
        )


def _available_cores() -> int:
    # Linux only; macOS has no CPU affinity.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _serve_stdio(options: http.Options, key: str) -> None:
    # No child process needs it.
    os.environ.pop(_KEY, None)
    if not key:
        raise SankofaError(f"no API key; put one into the environment as {_KEY}")
    try:
        anyio.run(stdio.serve, options.service(), key)
    except Problem as problem:
        raise SankofaError(f"{problem.detail} See {_KEY}.") from problem


def _parser(settings: Settings) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mcp_server", description=__doc__)
    # A URL that holds a password belongs into the environment, not into a list of processes.
    for name, what in {
        "marts": "folder or database of the builds",
        "keys": "file or Redis of the key store",
    }.items():
        default = settings.explicit(name)
        help_ = f"{what}; default: SANKOFA_{name.upper()}"
        parser.add_argument(f"--{name}", default=default, required=default is None, help=help_)
    parser.add_argument(
        "--usage",
        default=settings.explicit("usage"),
        help="file or Redis of the usage store; default: SANKOFA_USAGE, else nothing is counted",
    )
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


def _several(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    parser.add_argument(name, action="append", default=[], help=f"{what}; may be repeated")


if __name__ == "__main__":
    main()
