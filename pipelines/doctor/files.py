"""The files held: whether each is there with its size. ``sankofa verify`` looks at every byte."""

from collections.abc import Iterator

from pipelines.doctor.findings import CheckContext, Finding, fault, ok
from pipelines.verify.builds import damaged_builds
from pipelines.verify.damage import Damage
from pipelines.verify.published_files import damaged_exports
from warehouse.mart.builds import builds_at
from warehouse.record.integrity import advice, damaged_files
from warehouse.record.store import open_record

# Faults of one kind that are listed; `sankofa verify` lists all.
_MOST = 5


def files(context: CheckContext) -> Iterator[Finding]:
    """Check that the files of the record and of all that is published are there and whole."""
    found = [*_damaged_record(context), *_damaged_published(context)]
    for damage in found[:_MOST]:
        yield fault(damage.what, damage.says, damage.do)
    if len(found) > _MOST:
        yield fault("files", f"{len(found) - _MOST} more are damaged", "`sankofa verify`")
    if not found:
        yield ok("files", "all are there with their sizes; `sankofa verify` checks every byte")


def _damaged_record(context: CheckContext) -> Iterator[Damage]:
    record = open_record(context.settings)
    for damage in damaged_files(record):
        yield Damage("record", damage.says, advice(record, damage))


def _damaged_published(context: CheckContext) -> Iterator[Damage]:
    settings = context.settings
    current = builds_at(settings.marts).current()
    yield from damaged_builds(settings.marts, thorough=False)
    yield from damaged_exports(settings.exports, current, None, thorough=False)
