"""One file of an export and what the manifest says of it."""

from collections.abc import Iterable
from contextlib import closing, nullcontext

from assets.exports.artifacts import LICENCES, TIERS, Part
from assets.exports.delta import MEANING, same_columns, sql_apply, write_delta
from assets.exports.parquet import Written, file_schema, write
from assets.exports.rows import rows_of
from warehouse.exports.manifest import Artifact, ColumnType, Delta, Failed
from warehouse.exports.place import Place
from warehouse.exports.published import delta_name, file_name, schema_name
from warehouse.mart.snapshot import Snapshot


def entry(
    snapshot: Snapshot, place: Place, address: str, notice: str, part: Part, previous: str | None
) -> Artifact:
    """Write the file of a part, and what changed in it, and say what the manifest says of it."""
    version = snapshot.data_version
    schema = file_schema(part.columns, _about(part, version, notice))
    alongside = nullcontext() if part.alongside is None else part.alongside(snapshot)
    with closing(snapshot.sql.cursor()) as sql:
        rows, name = rows_of(part, snapshot, sql), file_name(part.key)
        with alongside as read:
            written = write(rows, schema, part.sort, part.period, place, version, name, read=read)
        delta = None
        if previous is not None and same_columns(sql, place, previous, part, schema):
            changes = write_delta(sql, part, schema, place, previous, version)
            delta = _delta(part, changes, previous, address)
    return Artifact(
        key=part.key,
        title=part.title,
        kind=part.kind,
        sku=part.sku,
        signal_key=part.signal_key,
        url=f"{address}/{name}",
        requires_key=TIERS[part.kind] is not None,
        required_tier=TIERS[part.kind],
        license=LICENCES[part.kind],
        rows=written.rows,
        columns=tuple(ColumnType(field.name, str(field.type)) for field in schema),
        size_bytes=written.size_bytes,
        sha256=written.sha256,
        schema_url=f"{address}/{schema_name(part.key)}",
        period_min=written.period_min,
        period_max=written.period_max,
        sort_key=part.sort,
        methodology_ref=part.methodology_ref,
        delta=delta,
        sql_as_of=part.sql_as_of,
    )


def _about(part: Part, version: str, notice: str) -> dict[str, str]:
    """Say in the file itself what it is."""
    return {
        "sku": part.sku or "",
        "data_version": version,
        "licence": LICENCES[part.kind],
        "methodology": part.methodology_ref or "",
        "title": part.title,
        "notice": notice,
        "sql_as_of": part.sql_as_of or "",
    }


def failed(part: Part, missing: Iterable[str]) -> Failed:
    """Say that a file could not be made, and what lacks."""
    reason = f"the build has no {' and no '.join(missing)}, from which this file is made"
    return Failed(key=part.key, title=part.title, sku=part.sku, reason=reason)


def _delta(part: Part, changes: Written, previous: str, address: str) -> Delta:
    return Delta(
        against=previous,
        url=f"{address}/{delta_name(part.key)}",
        rows=changes.rows,
        size_bytes=changes.size_bytes,
        sha256=changes.sha256,
        key=part.id,
        meaning=MEANING.format(id=part.id),
        sql_apply=sql_apply(part),
    )
