"""``sankofa withheld --check``: whether the current build has a name that an operator withheld."""

import tempfile
from pathlib import Path

from quality.withheld_audit import names_everywhere
from quality.withheld_search import BuildSearch, Finding, WithheldNames
from warehouse.errors import NothingPublished
from warehouse.mart.builds import builds_at
from warehouse.mart.snapshot import Snapshot
from warehouse.read.engines import NOTHING_PUBLISHED
from warehouse.read.finished_files import finished_files
from warehouse.record.store import open_record
from warehouse.record.tables import RECORD_TABLES
from warehouse.settings import Settings


def served_names(settings: Settings) -> list[Finding]:
    """Return every place of the current build that has a name that an operator withheld."""
    builds = builds_at(settings.marts)
    current = builds.current()
    manifest = None if current is None else builds.manifest(current)
    if current is None or manifest is None:
        raise NothingPublished(NOTHING_PUBLISHED)
    record, secret = open_record(settings), settings.withheld_key.encode()
    loads = {table.name: record.load_seq(table) for table in RECORD_TABLES}
    with (
        tempfile.TemporaryDirectory() as folder,
        Snapshot(Path(folder), record, loads, "") as stored,
    ):
        names = WithheldNames(names_everywhere(stored, secret))
    files = finished_files(
        builds.path,
        manifest.files,
        settings.exports,
        current,
        manifest.metadata,
    )
    return list(BuildSearch(names, secret).findings(files))
