"""All checks of an installation, in the order in which they are reported."""

from collections.abc import Iterator

from pipelines.doctor import build, files, machine, settings, sources, stores
from pipelines.doctor.findings import Check, CheckContext, Finding, run_check

CHECKS: dict[str, tuple[Check, ...]] = {
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
        settings.api_keys,
        settings.signing_key,
        settings.contact,
        settings.withheld_key,
        settings.private_folders,
        settings.setting_values,
    ),
    "Build": (
        build.build,
        build.publishing,
        build.refused_build,
        build.held_back,
        build.freshness,
    ),
    "Files": (files.files,),
    "Sources": (sources.sources, sources.failed_parsers, sources.lost_bodies),
}


def examine(context: CheckContext) -> Iterator[tuple[str, Finding]]:
    """Run all checks; yield each finding with its area as soon as there is one."""
    for area, checks in CHECKS.items():
        for check in checks:
            for finding in run_check(check, context):
                yield area, finding
