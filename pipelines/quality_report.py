"""Quality metrics of the build being served, and of earlier ones."""

from collections.abc import Mapping
from decimal import Decimal

from pydantic import TypeAdapter

from pipelines.builds import LEFT_OUT, MEASURED
from quality.history import history
from warehouse.errors import NothingPublished
from warehouse.mart.builds import builds_at
from warehouse.record.store import open_record
from warehouse.settings import Settings
from warehouse.tables import LeftOut, QualityMetric

_ROWS = TypeAdapter(list[QualityMetric])
_LEFT_OUT = TypeAdapter(list[LeftOut])


def current_quality(settings: Settings) -> list[QualityMetric]:
    """Return the quality metrics of the build being served."""
    return _ROWS.validate_json(_current_metadata(settings).get(MEASURED, "[]"))


def current_left_out(settings: Settings) -> list[LeftOut]:
    """Return what the build being served leaves out, by table, rule and source."""
    return _LEFT_OUT.validate_json(_current_metadata(settings).get(LEFT_OUT, "[]"))


def _current_metadata(settings: Settings) -> Mapping[str, str]:
    builds = builds_at(settings.marts)
    current = builds.current()
    if current is None:
        raise NothingPublished("nothing has been published yet; run `sankofa publish`")
    return builds.metadata(current)


def quality_history(settings: Settings, builds: int) -> list[QualityMetric]:
    """Return the quality metrics of the newest publications, oldest first."""
    rows = _ROWS.validate_python(history(open_record(settings)).to_pylist())
    if not rows:
        raise NothingPublished("nothing has been published yet; run `sankofa publish`")
    moments = {row.data_version: row.measured_at for row in rows}
    newest = sorted(moments, key=moments.__getitem__)[-builds:]
    chosen = [_plain(row) for row in rows if row.data_version in newest]
    return sorted(chosen, key=lambda row: (row.measured_at, row.sku, row.metric, row.scope))


def _plain(row: QualityMetric) -> QualityMetric:
    """Strip the trailing zeros that the decimal column of the record adds."""
    floor = None if row.floor is None else Decimal(f"{row.floor.normalize():f}")
    value = None if row.value is None else Decimal(f"{row.value.normalize():f}")
    return row.model_copy(update={"floor": floor, "value": value})
