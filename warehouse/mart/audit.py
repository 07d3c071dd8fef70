"""Checks that every served row must pass. One row that fails stops the whole publication."""

from collections.abc import Mapping

import duckdb

from warehouse.errors import SankofaError
from warehouse.record.tables import RECORD_TABLES
from warehouse.tables import LICENSE_CLASSES

_SERVABLE_CLASSES = ", ".join(f"'{name}'" for name in LICENSE_CLASSES if name != "restricted")
_DERIVED = ("metrics", "signals")
# A release is served byte for byte, so it must be an object with only these members. The redaction
# of a release ensures that; this is the second look, at what is about to be published.
_RELEASE_MEMBERS = "['awards', 'buyer', 'contracts', 'tender']"
_NOT_AN_OBJECT = "NOT (starts_with(release, '{\"') OR release = '{}')"
_OTHER_MEMBERS = f"NOT list_has_all({_RELEASE_MEMBERS}, coalesce(json_keys(release), []))"

# SQL conditions that no row may meet, each with the words for the error message. Without coalesce
# a null would pass: NULL NOT IN (…) is NULL, which FILTER takes for false.
_ALL_TABLES = {
    "coalesce(source_ref, '') = ''": "has no source_ref",
    f"coalesce(license_class, '') NOT IN ({_SERVABLE_CLASSES})": (
        "has a license_class under which it may not be served"
    ),
}
_ONE_TABLE = {
    "tender_parties": {
        "name IS NOT NULL AND coalesce(org_evidence, '') = ''": (
            "names a party without evidence that it is an organisation"
        )
    },
    "tender_releases": {
        f"release IS NOT NULL AND ({_NOT_AN_OBJECT} OR {_OTHER_MEMBERS})": (
            "is a release with members that may not be served"
        )
    },
}


class AuditFailed(SankofaError):
    """A check failed; nothing was published, and the snapshot is kept for inspection."""


def refuse_unservable_rows(sql: duckdb.DuckDBPyConnection) -> None:
    """Raise ``AuditFailed`` if any row of a snapshot may not be served."""
    for table in (*(table.name for table in RECORD_TABLES), *_DERIVED):
        _check_table(sql, table, _ALL_TABLES | _ONE_TABLE.get(table, {}))


def _check_table(sql: duckdb.DuckDBPyConnection, table: str, refused: Mapping[str, str]) -> None:
    """Check all conditions in one scan of the table."""
    counts = ", ".join(
        f"count(*) FILTER ({condition}), any_value(source_ref) FILTER ({condition})"
        for condition in refused
    )
    (results,) = sql.execute(f"SELECT {counts} FROM {table}").fetchall()
    for reason, count, source_ref in zip(
        refused.values(), results[::2], results[1::2], strict=True
    ):
        if count:
            raise AuditFailed(
                f"{table}: {source_ref or 'a row'} {reason} ({count} such rows); "
                "nothing was published"
            )
