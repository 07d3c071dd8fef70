"""Metrics of a publication; see ``warehouse/metrics/declared.py``."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from warehouse.errors import AlreadyPublished
from warehouse.metrics.counts import counting
from warehouse.metrics.declared import (
    PUBLICATION_SECONDS,
    PUBLICATIONS,
    PUBLISHED_AT,
    STAGE_SECONDS,
)

_PROCESS = "publish"


@contextmanager
def counted_stage(folder: str | None, stage: str) -> Iterator[None]:
    """Count how long a stage takes; one that fails ends its publication."""
    started = time.monotonic()
    with counting(folder, _PROCESS) as counts:
        try:
            yield
        except AlreadyPublished:
            # By another run, meanwhile.
            raise
        except BaseException:
            counts.add(PUBLICATIONS, "failed")
            raise
        finally:
            counts.add(STAGE_SECONDS, stage, value=time.monotonic() - started)


def count_refusal(folder: str | None) -> None:
    """Count a publication that the audit refused."""
    with counting(folder, _PROCESS) as counts:
        counts.add(PUBLICATIONS, "refused")


def count_success(folder: str | None, outcome: str, begun_at: float | None = None) -> None:
    """Count a publication that ended well, and how long it took since it was begun."""
    with counting(folder, _PROCESS) as counts:
        counts.add(PUBLICATIONS, outcome)
        counts.set(PUBLISHED_AT, value=time.time())
        if begun_at is not None:
            counts.set(PUBLICATION_SECONDS, value=time.time() - begun_at)
