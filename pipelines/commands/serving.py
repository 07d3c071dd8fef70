"""``sankofa serve`` and ``mcp``: the commands that become a server."""

import json
import os
import sys
from typing import NoReturn

import click

from pipelines import ports
from warehouse.shared.settings import Settings, read_settings

HOST = click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
_WORKERS = click.option(
    "--workers", type=click.IntRange(1), help="Number of processes. Default: one per core."
)
PORT = click.IntRange(1, 65_535)
REST, MCP, DAGSTER, METRICS = "the REST service", "the MCP server", "Dagster", "the metrics"
LOOPBACK = "127.0.0.1"
# Freed memory goes back to the system only above 64 MB (glibc; others ignore it). Otherwise
# every large body is built on fresh pages, and the kernel takes longer to clear them than reading
# the rows takes.
ALLOCATION = {
    "MALLOC_MMAP_THRESHOLD_": f"{32 << 20}",
    "MALLOC_TRIM_THRESHOLD_": f"{64 << 20}",
    "MALLOC_TOP_PAD_": f"{8 << 20}",
}


@click.command()
@HOST
@click.option("--port", default=ports.REST, show_default=True, help="Port of the REST service.")
@_WORKERS
@click.option(
    "--base-url",
    "base_urls",
    multiple=True,
    help="Public URL of the service, the main one first; may be repeated. "
    "Default: SANKOFA_BASE_URL if it is set, else the address under which a request comes in.",
)
@click.option(
    "--trusted-proxy",
    "proxies",
    multiple=True,
    help="IP address or network of a proxy whose X-Forwarded headers are trusted; may be repeated.",
)
@click.option("--upgrade-url", help="Link given to clients with 402 Payment Required.")
def serve(host: str, port: int, base_urls: tuple[str, ...], **options: object) -> None:
    """Serve the published build over REST."""
    settings = read_settings()
    ports.refuse_taken({REST: ports.Address(host, port)})
    if not base_urls and (configured := settings.explicit("base_url")):
        base_urls = (configured,)
    options |= {"host": host, "port": port, "base_urls": base_urls, "exports": settings.exports}
    _become(settings, "api", options)


@click.command()
@click.option(
    "--stdio",
    is_flag=True,
    help="Serve one agent on this machine over stdio; its API key is SANKOFA_API_KEY.",
)
@HOST
@click.option("--port", default=ports.MCP, show_default=True, help="Port of the MCP server.")
@_WORKERS
@click.option("--base-url", "bases", multiple=True, help="Public URL of the server.")
@click.option("--allowed-host", "hosts", multiple=True, help="Further Host header to accept.")
@click.option(
    "--allowed-origin", "origins", multiple=True, help="Further Origin to accept, for web clients."
)
@click.option(
    "--trusted-proxy", "proxies", multiple=True, help="Proxy whose X-Forwarded headers are trusted."
)
@click.option(
    "--exports-url",
    help="URL of the bulk files, for links to them. Default: SANKOFA_EXPORTS_URL. A local one is "
    "given with the host under which the server was reached.",
)
@click.option("--upgrade-url", help="Link given to clients whose tier does not suffice.")
def mcp(stdio: bool, host: str, port: int, **options: object) -> None:
    """Serve the published build to agents: MCP over HTTP or stdio.

    Options that name URLs, hosts or proxies may be repeated.
    """
    settings = read_settings()
    if not stdio:
        ports.refuse_taken({MCP: ports.Address(host, port)})
    _become(settings, "mcp_server", {"stdio": stdio, "host": host, "port": port, **options})


def _become(settings: Settings, module: str, options: dict[str, object]) -> NoReturn:
    """Replace this process by a server.

    After exec, signals of a supervisor or container reach the server itself, and the modules of
    the pipeline no longer take memory.
    """
    sys.stdout.flush()
    # A store URL can hold a password, which must not show in a list of processes.
    os.environ.update(
        SANKOFA_MARTS=settings.marts,
        SANKOFA_CONTROL=settings.control,
        SANKOFA_USAGE=settings.usage,
        SANKOFA_METRICS=settings.metrics,
    )
    os.environ.update(ALLOCATION)
    chosen = {name: value for name, value in options.items() if value is not None}
    os.execv(sys.executable, [sys.executable, "-m", module, json.dumps(chosen)])  # noqa: S606
