"""``sankofa doctor``: what is wrong with an installation, and what to do."""

import os
from collections import Counter
from collections.abc import Iterator

import click
from rich.padding import Padding
from rich.text import Text

from pipelines import ports
from pipelines.commands.exit_status import Exit
from pipelines.doctor import build, machine, sources, stores
from pipelines.doctor.findings import Check, CheckContext, Finding, run_check
from pipelines.output import console, json_option, print_json
from warehouse.shared.settings import readable_settings

_CHECKS: dict[str, tuple[Check, ...]] = {
    "Machine": (
        machine.python,
        machine.libraries,
        machine.compute,
        machine.disk_space,
        machine.folders,
        machine.clock,
    ),
    "Stores": (stores.stores,),
    "Ports": (machine.ports,),
    "Keys and settings": (
        stores.api_keys,
        stores.signing_key,
        stores.contact,
        stores.withheld_key,
        stores.private_folders,
        stores.setting_values,
    ),
    "Build": (
        build.build,
        build.publishing,
        build.refused_build,
        build.held_back,
        build.freshness,
    ),
    "Files": (build.files,),
    "Sources": (sources.sources, sources.failed_parsers, sources.lost_bodies),
}
_MARKS = {"ok": ("✓", "green"), "note": ("•", "yellow"), "fault": ("✗", "bold red")}


@click.command()
@click.option("--live", is_flag=True, help="Also send one request to every source.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=ports.REST, show_default=True, help="Port of the REST service.")
@click.option("--mcp-port", default=ports.MCP, show_default=True)
@click.option("--dagster-port", default=ports.DAGSTER, show_default=True)
@json_option
@click.pass_context
def doctor(
    context: click.Context,
    live: bool,
    host: str,
    port: int,
    mcp_port: int,
    dagster_port: int,
    as_json: bool,
) -> None:
    """Check the machine, stores, ports, keys, build and sources.

    Exits with 1 if there is a fault; notes do not count.
    """
    wanted = {"REST": port, "MCP": mcp_port, "Dagster": dagster_port}
    findings: list[tuple[str, Finding]] = []
    settings, errors = readable_settings(os.environ)
    for area, finding in _examine(CheckContext(settings, host, wanted, live, errors)):
        if not as_json:
            _show(finding, None if findings and findings[-1][0] == area else area)
        findings.append((area, finding))
    counts = Counter(finding.state for _, finding in findings)
    if as_json:
        print_json([{"area": area, **vars(finding)} for area, finding in findings])
    else:
        faults = f"{counts['fault']} fault{'' if counts['fault'] == 1 else 's'}"
        click.echo(f"\n{faults}, {counts['note']} to note, {counts['ok']} OK")
    context.exit(Exit.FAILED if counts["fault"] else Exit.OK)


def _show(finding: Finding, area: str | None) -> None:
    out = console()
    if area is not None:
        out.print(Text(f"\n{area}", "bold"))
    mark, style = _MARKS[finding.state]
    line = Text.assemble((f"{mark} ", style), (finding.subject, "bold"), f": {finding.says}")
    out.print(Padding(line, (0, 0, 0, 1), expand=False))
    if finding.do is not None:
        out.print(Padding(Text(f"→ {finding.do}", "cyan"), (0, 0, 0, 5), expand=False))


def _examine(context: CheckContext) -> Iterator[tuple[str, Finding]]:
    """Run all checks; yield each finding with its area as soon as there is one."""
    for area, checks in _CHECKS.items():
        for check in checks:
            for finding in run_check(check, context):
                yield area, finding
