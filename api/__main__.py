"""``python -m api``: serve published builds over REST."""

import argparse
import os
import sys
from pathlib import Path

from api.app import UPGRADE_URL
from api.serve import ServeOptions, serve
from api.server.workers import available_cores
from warehouse.errors import SankofaError
from warehouse.settings import Settings, read_settings
from warehouse.tiers import configured_tiers


def main() -> None:
    """Parse the command line and serve."""
    try:
        settings = read_settings(os.environ)
        tiers = configured_tiers(settings.tiers_file)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    arguments = _parser(settings).parse_args()
    options = ServeOptions(
        exports=arguments.exports,
        docs=arguments.docs,
        mcp_url=arguments.mcp_url,
        usage=arguments.usage,
        base_urls=tuple(arguments.base_url),
        proxies=tuple(arguments.trusted_proxy),
        tiers=tiers,
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


def _parser(settings: Settings) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="api", description=__doc__)
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
    parser.add_argument("--exports", help="folder or URL of the exports; none are served without")
    parser.add_argument(
        "--docs", type=Path, help="folder of the pages of each build; none are served without"
    )
    parser.add_argument(
        "--mcp-url",
        default=settings.mcp_url,
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


if __name__ == "__main__":
    main()
