"""``python -m api``: serve published builds over REST."""

import argparse
import os
import sys

from api.serve import ServeOptions, serve
from warehouse.shared.errors import SankofaError
from warehouse.shared.server_log import add_store_options, available_cores
from warehouse.shared.settings import Settings, read_settings
from warehouse.shared.tiers import configured_tiers


def main() -> None:
    """Parse the command line and serve."""
    try:
        settings = read_settings(os.environ)
        tiers = configured_tiers(settings.tiers_file)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    arguments = _parser(settings).parse_args()
    options = ServeOptions(
        shared_marts=settings.shared_marts,
        exports=arguments.exports,
        mcp_url=arguments.mcp_url,
        usage=arguments.usage,
        metrics=arguments.metrics,
        base_urls=tuple(arguments.base_url),
        exports_url=arguments.exports_url,
        proxies=tuple(arguments.trusted_proxy),
        tiers=tiers,
        upgrade_url=arguments.upgrade_url,
        pages_per_minute=arguments.pages_per_minute,
        workers=arguments.workers or len(available_cores()),
    )
    try:
        serve(arguments.marts, arguments.control, arguments.host, arguments.port, options)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    except OSError as error:
        at = f"{arguments.host}:{arguments.port}"
        sys.exit(f"cannot serve at {at}: {error.strerror or error}; choose another --port")


def _parser(settings: Settings) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m api", description="Serve published builds over REST."
    )
    add_store_options(parser, settings)
    parser.add_argument(
        "--exports", help="folder or URL of the exports; without it, none are served"
    )
    parser.add_argument(
        "--mcp-url",
        default=settings.mcp_url,
        help="URL of the MCP server, shown on the pages (default: SANKOFA_MCP_URL)",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s)"
    )
    parser.add_argument("--port", type=int, default=8321, help="port (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="number of processes (default: one per core)")
    parser.add_argument(
        "--base-url",
        action="append",
        default=[],
        help="public URL of the service, the main one first; may be repeated (default: the "
        "address under which a request comes here)",
    )
    parser.add_argument(
        "--exports-url",
        default=settings.explicit("exports_url"),
        help="public URL of the bulk files, if they are served from elsewhere (default: "
        "SANKOFA_EXPORTS_URL, else /exports of the service)",
    )
    parser.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        help="address or network of a proxy whose X-Forwarded headers are trusted; may be repeated",
    )
    parser.add_argument(
        "--pages-per-minute",
        type=int,
        default=settings.pages_per_minute,
        help="pages that a process renders in a minute for one network (default: "
        "SANKOFA_PAGES_PER_MINUTE, else %(default)s; 0 for any number)",
    )
    parser.add_argument(
        "--upgrade-url", help="where to get a higher tier (default: /pricing of the service)"
    )
    return parser


if __name__ == "__main__":
    main()
