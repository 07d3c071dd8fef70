"""Make again what can be made from the record: delete what is damaged, then publish."""

import shutil
from collections.abc import Sequence

from pipelines.jobs import PUBLISH, run_job
from pipelines.verify.damage import Damage
from warehouse.mart.builds import builds_at
from warehouse.record.integrity import note_files
from warehouse.record.store import open_record
from warehouse.settings import Settings


def repair(settings: Settings, damaged: Sequence[Damage]) -> None:
    """Delete damaged files that can be made again, and publish a build that has them anew."""
    with builds_at(settings.marts).publishing_lock():
        for damage in damaged:
            if damage.remake and damage.delete is not None:
                if damage.delete.is_dir():
                    shutil.rmtree(damage.delete)
                else:
                    damage.delete.unlink(missing_ok=True)
    note_files(open_record(settings))
    if any(damage.remake and damage.what != "record" for damage in damaged):
        run_job(settings, PUBLISH)
