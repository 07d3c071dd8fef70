"""``sankofa up``: from nothing to a published build, and all servers."""

import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from importlib.util import find_spec

import click

from assets.entities.list_files import community_lists
from pipelines import ports
from pipelines.commands.serving import DAGSTER, HOST, LOOPBACK, MCP, METRICS, PORT, REST
from pipelines.dagster_home import create_dagster_home, killed_runs
from pipelines.output import Steps
from pipelines.sample_world import ARCHIVES, PackagedWorld
from pipelines.stages import checks, derivations
from pipelines.supervisor import Child, Logs, supervise
from pipelines.verify import is_incomplete
from warehouse.control.keys import KeyStore, sandbox
from warehouse.publish.builds import builds_at
from warehouse.publish.candidate import versions_of_rules
from warehouse.publish.tables import MART_SCHEMA_VERSION
from warehouse.record.landing import open_landing
from warehouse.record.store import open_record
from warehouse.record.versions import require_withheld_key
from warehouse.serve.build import Mart
from warehouse.serve.rows import Condition, fetch_rows
from warehouse.shared.errors import DatastoreUnavailable
from warehouse.shared.settings import SERVED_AT, Settings, read_settings

_LOGS = {
    REST: "rest.log",
    MCP: "mcp.log",
    DAGSTER: "dagster.log",
    METRICS: "metrics.log",
}


@click.command()
@HOST
@click.option(
    "--port", default=ports.REST, show_default=True, type=PORT, help="Port of the REST service."
)
@click.option("--mcp-port", default=ports.MCP, show_default=True, type=PORT)
@click.option(
    "--dagster-port",
    default=ports.DAGSTER,
    show_default=True,
    type=PORT,
    help="Port of Dagster on the loopback address, whatever --host is: it asks for no password.",
)
@click.option(
    "--metrics-port",
    type=PORT,
    help="Port for Prometheus on the loopback address. Default: metrics are not served.",
)
@click.option("--mcp/--no-mcp", default=True, help="Run the MCP server.")
@click.option(
    "--dagster/--no-dagster", default=True, help="Run Dagster's web interface and its daemon."
)
@click.option(
    "--world",
    type=click.Choice(list(ARCHIVES)),
    help="What an empty home begins with: real documents of the package (the default), or the "
    "fictional sample world.",
)
@click.option(
    "--verbose", is_flag=True, help="Also show here what the servers write to their log files."
)
def up(
    host: str,
    port: int,
    mcp_port: int,
    dagster_port: int,
    metrics_port: int | None,
    mcp: bool,
    dagster: bool,
    world: PackagedWorld | None,
    verbose: bool,
) -> None:
    """Run everything: REST, MCP and Dagster, on data of the package if there is none yet.

    A published build is served as it is. If there is none, the pipeline runs first. The servers
    write their logs to files in `logs` in the home.
    """
    settings = read_settings()
    mcp = mcp and find_spec("mcp_server.__main__") is not None
    wanted = {REST: ports.Address(host, port)}
    if mcp:
        wanted[MCP] = ports.Address(host, mcp_port, "--mcp-port")
    if dagster:
        wanted[DAGSTER] = ports.Address(LOOPBACK, dagster_port, "--dagster-port")
    if metrics_port is not None:
        wanted[METRICS] = ports.Address(LOOPBACK, metrics_port, "--metrics-port")
    ports.refuse_taken(wanted)
    steps = Steps(bars=not verbose)
    steps.total = 1
    landing = open_landing(settings)
    require_withheld_key(settings.withheld_key, landing.world())
    if world is not None:
        landing.refuse_other_world(world)
    if not is_ready(settings):
        # Only then: Dagster takes seconds to import.
        from pipelines.up import prepare

        prepare(settings, steps, world)
    urls = {name: ports.url(address.host, address.port) for name, address in wanted.items()}
    message = greeting(settings, urls)
    environment = {"SANKOFA_HOME": str(settings.home)}
    if MCP in urls and not settings.mcp_url:
        environment["SANKOFA_MCP_URL"] = urls[MCP]
    # Servers and commands link to each other, at the ports that were chosen here.
    (settings.home / SERVED_AT).write_text(urls[REST])
    children = [_child(settings, name, address, environment) for name, address in wanted.items()]
    _supervise(settings, children, {REST, MCP} & wanted.keys(), message, steps, verbose=verbose)


def _supervise(
    settings: Settings,
    children: list[Child],
    awaited: set[str],
    message: str,
    steps: Steps,
    *,
    verbose: bool,
) -> None:
    """Run the servers until a signal; print ``message`` once all awaited ones listen."""
    is_greeted = is_dagster_named = False

    def greet(listening: set[str]) -> None:
        nonlocal is_greeted, is_dagster_named
        # Perhaps no one is there to read it.
        with suppress(OSError):
            if not is_greeted:
                step.show(len(awaited & listening), len(awaited))
            if not is_greeted and awaited <= listening:
                is_greeted = True
                starting.close()
                click.echo(f"\n{message}")
            # It takes longer than the others, and no one waits for it.
            if is_greeted and not is_dagster_named and DAGSTER in listening:
                is_dagster_named = True
                click.echo("Dagster is up.")

    def say_stopping() -> None:
        with suppress(OSError):
            click.echo("\nStopping the servers …")

    logs = Logs(settings.logs, settings.log_mb * 1_000_000, on_stderr=verbose)
    with ExitStack() as starting:
        step = starting.enter_context(steps.step("Starting the servers"))
        supervise(children, greet, logs, say_stopping)


def _child(
    settings: Settings, name: str, address: ports.Address, environment: dict[str, str]
) -> Child:
    python = [sys.executable, "-m"]
    subcommand = {REST: "serve", MCP: "mcp", METRICS: "metrics"}.get(name)
    program = ["pipelines.commands.main", str(subcommand)]
    if name == DAGSTER:
        _prepare_dagster(settings)
        environment = {**environment, "DAGSTER_HOME": str(settings.dagster)}
        # `dagster dev` warns that a newer command will replace it.
        python = [sys.executable, "-W", "ignore", "-m"]
        program = ["dagster", "dev", "-m", "pipelines.definitions", "--log-level", "warning"]
    command = [*python, *program, "--host", address.host, "--port", str(address.port)]
    return Child(name, command, address.host, address.port, environment, _LOGS[name])


def _prepare_dagster(settings: Settings) -> None:
    create_dagster_home(settings)
    if killed_runs(settings):
        # Only then: it takes seconds.
        from pipelines.jobs import end_killed_runs

        end_killed_runs(settings)


def is_ready(settings: Settings) -> bool:
    """Return whether a build of the current schema and rules is published."""
    builds = builds_at(settings.marts)
    current = builds.current()
    if current is None or is_incomplete(settings.marts, settings.exports):
        return False
    made_from = json.loads(builds.metadata(current).get("made_from", "{}"))
    derived = derivations(community_lists(settings.list_files))
    rules = versions_of_rules(open_record(settings), checks(), derived)
    ours = MART_SCHEMA_VERSION, rules
    return (made_from.get("layout"), made_from.get("rules")) == ours


def greeting(settings: Settings, urls: Mapping[str, str]) -> str:
    """Return the URLs of the servers that run, a working key and three commands to try."""
    key = sandbox(KeyStore(settings.control))
    pages = (
        ("Pages", REST, "/"),
        ("REST", REST, "/docs"),
        ("MCP", MCP, "/mcp"),
        # Dagster's first page is a timeline, empty after a quiet night: its lineage never is.
        ("Pipeline", DAGSTER, "/asset-groups (Dagster, still starting)"),
        ("Runs", DAGSTER, "/runs"),
        ("Metrics", METRICS, "/metrics"),
    )
    lines = {name: f"{urls[server]}{path}" for name, server, path in pages if server in urls}
    lines |= {"Logs": str(settings.logs), "Sandbox key": key}
    ask = f"curl -s -H 'X-API-Key: {key}' '{urls[REST]}/v1"
    questions = [("Status of the service", "/status")]
    # The service starts although its build is damaged, and says so.
    with suppress(DatastoreUnavailable):
        questions = first_questions(Mart(settings.marts))
    return "\n".join(
        (
            *(f"{name:12}  {url}" for name, url in lines.items()),
            "",
            *(f"{words}\n  {ask}{path}'" for words, path in questions),
            "",
            "Stop with Ctrl-C.",
        )
    )


def first_questions(mart: Mart) -> list[tuple[str, str]]:
    """Return three questions that this build can answer, each in words and as a path."""
    build = mart.build()
    where = [Condition("vintage = 1 AND latest = 0 AND available_at > ''")]
    restated = fetch_rows(build, "service_id, available_at", "fundamentals", where, limit=1)
    questions = [("Status of the service", "/status")]
    for service_id, day in restated:
        path = f"/fundamentals/{service_id}"
        questions = [
            (f"Figures of an issuer as known on {day}, before it restated", f"{path}?as_of={day}"),
            ("Every vintage of its figures", f"{path}?vintages=all"),
        ]
    latest = [Condition("latest = 1")]
    series = fetch_rows(build, "series, frequency", "macro_series", latest, limit=1)
    questions += [
        ("A macroeconomic series", f"/macro?series={name}&frequency={frequency}&limit=5")
        for name, frequency in series
    ]
    return questions
