"""``python -m api``: serve published builds over REST."""

import os
import sys

from api.serve import ServeOptions, serve
from warehouse.shared.errors import SankofaError
from warehouse.shared.server_log import server_options
from warehouse.shared.settings import read_settings
from warehouse.shared.tiers import configured_tiers


def main() -> None:
    """Parse the command line and serve."""
    try:
        settings = read_settings(os.environ)
        tiers = configured_tiers(settings.tiers_file)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    values = {
        "exports": None,
        "mcp-url": settings.mcp_url,
        "exports-url": settings.explicit("exports_url"),
        "pages-per-minute": settings.pages_per_minute,
        "upgrade-url": None,
    }
    lists = ("base-url", "trusted-proxy")
    arguments = server_options(settings, 8321, values, lists).parse_args()
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
        workers=arguments.workers,
    )
    try:
        serve(arguments.marts, arguments.control, arguments.host, arguments.port, options)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    except OSError as error:
        at = f"{arguments.host}:{arguments.port}"
        sys.exit(f"cannot serve at {at}: {error.strerror or error}; choose another --port")


if __name__ == "__main__":
    main()
