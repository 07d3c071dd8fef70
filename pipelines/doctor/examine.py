"""Every look at an installation, in the order in which they are told."""

from collections.abc import Iterator

from pipelines.doctor import build, machine, settings, sources, stores
from pipelines.doctor.findings import Asked, Finding, Look, looked

LOOKS: dict[str, tuple[Look, ...]] = {
    "Machine": (
        machine.python,
        machine.libraries,
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
        settings.written,
    ),
    "Build": (build.build, build.refused_build),
    "Sources": (sources.sources,),
}


def examine(asked: Asked) -> Iterator[tuple[str, Finding]]:
    """Look at everything; give each finding with its area as soon as it is known."""
    for area, looks in LOOKS.items():
        for look in looks:
            for finding in looked(look, asked):
                yield area, finding
