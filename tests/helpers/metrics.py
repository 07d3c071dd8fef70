"""Metrics as Prometheus reads them."""

from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pipelines.commands.metrics import FileCollector
from warehouse.serve.build import Mart

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def exposed(folder: Path) -> Samples:
    """Return what the processes of a folder have counted, by name and labels."""
    registry = CollectorRegistry()
    registry.register(FileCollector(folder, Mart(folder / "no-mart")))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    """Return one value; 0 if nothing was counted."""
    return samples.get((name, tuple(sorted(labels.items()))), 0)
