"""What no served row may lack. One row that does stops the whole publication."""

from collections.abc import Mapping

import duckdb

from warehouse.errors import SankofaError
from warehouse.record.tables import RECORD_TABLES
from warehouse.tables import LICENSE_CLASSES

_SERVED = ", ".join(f"'{each}'" for each in LICENSE_CLASSES if each != "restricted")
_DERIVED = ("metrics", "signals")
_PARTS = "['awards', 'buyer', 'contracts', 'tender']"
_ODD = "NOT (starts_with(release, '{\"') OR release = '{}')"
_MORE = f"NOT list_has_all({_PARTS}, coalesce(json_keys(release), []))"
_OF_TABLE = {
    "tender_parties": {
        "name IS NOT NULL AND coalesce(org_evidence, '') = ''": (
            "names a party without evidence that it is an organisation"
        )
    },
    "tender_releases": {
        f"release IS NOT NULL AND ({_ODD} OR {_MORE})": (
            "is a release with members that may not be served"
        )
    },
}


class AuditFailed(SankofaError):
    """What must hold does not; nothing was published, and what was staged is kept."""


def refuse_unservable_rows(sql: duckdb.DuckDBPyConnection) -> None:
    """Refuse rows without their source or a licence to serve them, and unestablished parties."""
    every = {
        "coalesce(source_ref, '') = ''": "has no source_ref",
        f"coalesce(license_class, '') NOT IN ({_SERVED})": (
            "has a license_class under which it may not be served"
        ),
    }
    for table in (*(each.name for each in RECORD_TABLES), *_DERIVED):
        _look_through(sql, table, every | _OF_TABLE.get(table, {}))


def _look_through(sql: duckdb.DuckDBPyConnection, table: str, reasons: Mapping[str, str]) -> None:
    """Look once through a table for rows that any of the reasons holds of."""
    asked = ", ".join(
        f"count(*) FILTER ({which}), any_value(source_ref) FILTER ({which})" for which in reasons
    )
    (counted,) = sql.execute(f"SELECT {asked} FROM {table}").fetchall()
    for why, number, place in zip(reasons.values(), counted[::2], counted[1::2], strict=True):
        if number:
            raise AuditFailed(
                f"{table}: {place or 'a row'} {why} ({number} such rows); nothing was published"
            )
