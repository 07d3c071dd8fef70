"""``sankofa mcp``: the same data for agents."""

import os
import sys

import click

from pipelines import ports
from warehouse.settings import read_settings


@click.command()
@click.option(
    "--stdio", is_flag=True, help="Serve one agent on this machine; its key is SANKOFA_API_KEY."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=ports.MCP, show_default=True)
@click.option("--workers", type=click.IntRange(1), help="Processes. Default: one for each core.")
@click.option("--base-url", multiple=True, help="Address at which the server is reached.")
@click.option("--allowed-host", multiple=True, help="A further Host that is answered.")
@click.option("--allowed-origin", multiple=True, help="A further Origin, for web clients.")
@click.option("--trusted-proxy", multiple=True, help="Proxy whose X-Forwarded headers hold.")
@click.option("--upgrade-url", help="Where a problem of the tier sends a client.")
def mcp(stdio: bool, host: str, port: int, workers: int | None, **more: object) -> None:
    """Serve the published build to agents: MCP over HTTP, or stdio.

    Options that name addresses may be repeated.
    """
    settings = read_settings(os.environ)
    sys.stdout.flush()
    # An address can hold a password, which must not stand in a list of processes.
    os.environ.update(
        SANKOFA_MARTS=settings.marts, SANKOFA_KEYS=settings.keys, SANKOFA_USAGE=settings.usage
    )
    server = ["-m", "mcp_server", "--host", host, "--port", str(port)]
    server += ["--stdio"] if stdio else []
    server += [] if workers is None else ["--workers", str(workers)]
    for name, given in more.items():
        for value in given if isinstance(given, tuple) else (given,):
            server += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    os.execv(sys.executable, [sys.executable, *server])  # noqa: S606
