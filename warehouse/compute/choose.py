"""The compute that an installation has configured."""

from warehouse.compute.pool import ProcessPool
from warehouse.compute.spark import Spark
from warehouse.compute.task import Compute
from warehouse.machine import usable_memory_mb
from warehouse.settings import LOCAL, Settings


def compute_of(settings: Settings) -> Compute:
    """Return where the steps of a publication run; use it in a ``with``."""
    return compute_at(settings.compute, settings.processes, memory_of(settings))


def compute_at(place: str, processes: int, memory_mb: int | None) -> Compute:
    """Return the processes of this machine, or the Spark master at an address."""
    if place == LOCAL:
        return ProcessPool(processes, memory_mb or usable_memory_mb())
    return Spark(place, memory_mb)


def memory_of(settings: Settings) -> int | None:
    """Return what all processes may take, in MB; Spark's executors know what they have."""
    on_spark: int | None = settings.explicit("memory_mb")
    return settings.memory_mb if settings.compute == LOCAL else on_spark
