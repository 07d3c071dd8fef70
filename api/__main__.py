"""``python -m api``: serve published builds over REST."""

import sys

from api.serve import ServeOptions, serve
from warehouse.shared.errors import SankofaError
from warehouse.shared.server_log import server_options
from warehouse.shared.settings import read_settings
from warehouse.shared.tiers import configured_tiers


def main() -> None:
    """Read the options and serve."""
    try:
        settings = read_settings()
        tiers = configured_tiers(settings.tiers_file)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    chosen = server_options(
        settings,
        port=8321,
        mcp_url=settings.mcp_url,
        exports_url=settings.explicit("exports_url"),
        pages_per_minute=settings.pages_per_minute,
        pricing_contact=settings.pricing_contact,
        signing_key=str(settings.signing_key),
    )
    marts, control, host, port = (chosen.pop(name) for name in ("marts", "control", "host", "port"))
    options = ServeOptions(shared_marts=settings.shared_marts, tiers=tiers, **chosen)
    try:
        serve(marts, control, host, port, options)
    except SankofaError as error:
        sys.exit(f"cannot serve: {error}")
    except OSError as error:
        sys.exit(f"cannot serve at {host}:{port}: {error.strerror or error}; choose another --port")


if __name__ == "__main__":
    main()
