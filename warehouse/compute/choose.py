"""The compute that an installation has configured."""

from warehouse.compute.pool import ProcessPool
from warehouse.compute.spark import Spark
from warehouse.compute.task import Compute
from warehouse.settings import LOCAL, Settings


def compute_of(settings: Settings) -> Compute:
    """Return where the steps of a publication run; use it in a ``with``."""
    if settings.compute == LOCAL:
        return ProcessPool(settings.processes, settings.memory_mb)
    return Spark(settings.compute, settings.explicit("memory_mb"))
