"""The last check of derived rows. One that fails is our own mistake and stops the publication.

Rows of the record have the rules of ``warehouse.record.rules``; those that fail are left out.
"""

import duckdb

from warehouse.errors import SankofaError
from warehouse.record.rules import SERVED_LICENCES

_SERVABLE_CLASSES = ", ".join(f"'{name}'" for name in SERVED_LICENCES)
_DERIVED = ("metrics", "signals")
# SQL conditions that no row may meet, each with the words for the error message. Without coalesce
# a null would pass: NULL NOT IN (…) is NULL, which FILTER takes for false.
_REFUSED = {
    "coalesce(source_ref, '') = ''": "has no source_ref",
    f"coalesce(license_class, '') NOT IN ({_SERVABLE_CLASSES})": (
        "has a license_class under which it may not be served"
    ),
}


class AuditFailed(SankofaError):
    """A check failed; nothing was published, and the snapshot is kept for inspection."""


def refuse_unservable_rows(sql: duckdb.DuckDBPyConnection) -> None:
    """Raise ``AuditFailed`` if any derived row of a snapshot may not be served."""
    for table in _DERIVED:
        _check_table(sql, table)


def _check_table(sql: duckdb.DuckDBPyConnection, table: str) -> None:
    """Check all conditions in one scan of the table."""
    counts = ", ".join(
        f"count(*) FILTER ({condition}), any_value(source_ref) FILTER ({condition})"
        for condition in _REFUSED
    )
    (results,) = sql.execute(f"SELECT {counts} FROM {table}").fetchall()
    for reason, count, source_ref in zip(
        _REFUSED.values(), results[::2], results[1::2], strict=True
    ):
        if count:
            raise AuditFailed(
                f"{table}: {source_ref or 'a row'} {reason} ({count} such rows); "
                "nothing was published"
            )
