"""``python -m api``: serve published builds over REST."""

import argparse
import os
import sys
from pathlib import Path

from api.app import UPGRADE_URL
from api.serve import ServeOptions, serve
from api.server.workers import available_cores
from warehouse.errors import SankofaError


def main() -> None:
    """Parse the command line and serve."""
    arguments = _parser().parse_args()
    options = ServeOptions(
        exports=arguments.exports,
        docs=arguments.docs,
        mcp_url=arguments.mcp_url,
        usage=arguments.usage,
        base_urls=tuple(arguments.base_url),
        proxies=tuple(arguments.trusted_proxy),
        upgrade_url=arguments.upgrade_url,
        workers=arguments.workers or len(available_cores()),
    )
    try:
        serve(arguments.marts, arguments.keys, arguments.host, arguments.port, options)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    except OSError as error:
        sys.exit(
            f"cannot serve at {arguments.host}:{arguments.port}: {error}; choose another --port"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="api", description=__doc__)
    _store_option(parser, "marts", "folder or database of the builds", required=True)
    _store_option(parser, "keys", "file or Redis of the key store", required=True)
    _store_option(parser, "usage", "file or Redis of the usage store; nothing is counted without")
    parser.add_argument("--exports", help="folder or URL of the exports; none are served without")
    parser.add_argument(
        "--docs", type=Path, help="folder of the pages of each build; none are served without"
    )
    parser.add_argument(
        "--mcp-url",
        default=os.environ.get("SANKOFA_MCP_URL", ""),
        help="address of the MCP server, for the pages; default: SANKOFA_MCP_URL",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8321)
    parser.add_argument("--workers", type=int, help="processes; by default one for each core")
    parser.add_argument(
        "--base-url",
        action="append",
        default=[],
        help="address at which the service is reached, the main one first; may be repeated",
    )
    parser.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        help="address or network of a proxy whose X-Forwarded headers hold; may be repeated",
    )
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


if __name__ == "__main__":
    main()
