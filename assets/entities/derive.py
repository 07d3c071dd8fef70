"""What is worked out of organisations when a build is made: who is one, and who a party is.

As a part of publishing and not as a step before it: the rows follow from the very loads of the
build, which only the publisher knows, and a build that fails leaves none behind.
"""

from collections import Counter
from contextlib import closing

import pyarrow as pa

from assets.entities.resolve import PARTY, resolve
from assets.entities.sharing import find_same
from warehouse.mart.snapshot import Derivation, Snapshot, Tables
from warehouse.record.journal import code_version

_KNOWN = {
    "identifiers": ("service_id", "id_type", "id_value", "issuer"),
    "entities": ("service_id", "legal_name", "jurisdiction", "lei", "same_as"),
}
_ESTABLISHED = "name IS NOT NULL AND org_evidence IS NOT NULL"


def derive(snapshot: Snapshot) -> Tables:
    """Derive ``same_as`` and ``party_matches`` from what is staged.

    Every vintage of a party is resolved, by the organisations as they are known now: which
    organisation a party is does not change with the day on which one asks.
    """
    with closing(snapshot.sql.cursor()) as sql:
        for name, columns in _KNOWN.items():
            known = f"SELECT {', '.join(columns)} FROM main.{name} WHERE latest"
            sql.execute(f"CREATE TEMP TABLE {name} AS {known}")
        same = find_same(sql)
        sql.register("same_as", same)
        # each way in which a party is written, once
        written = f"SELECT DISTINCT {', '.join(PARTY)} FROM tender_parties WHERE {_ESTABLISHED}"
        sql.execute(f"CREATE TEMP TABLE parties AS {written}")
        return {"same_as": same, "party_matches": resolve(sql)}


def derivation() -> Derivation:
    """Give how organisations are derived, under the version of this code."""
    return Derivation(f"entities {code_version()}", derive)


def told_of_same(same: pa.Table) -> dict[str, int]:
    """Count the ids that point to another, by evidence."""
    return {"ids": len(same), **_counted(same["evidence"])}


def told_of_parties(matches: pa.Table) -> dict[str, int | float | None]:
    """Count the parties, how many are resolved and how, and why the others are not.

    The rate is null where there is nobody to resolve.
    """
    resolved = len(matches) - matches["service_id"].null_count
    return {
        "parties": len(matches),
        "resolved": resolved,
        "resolution rate": round(resolved / len(matches), 4) if len(matches) else None,
        **_counted(matches["match_method"]),
        **_counted(matches["reason"]),
    }


def _counted(column: pa.ChunkedArray) -> dict[str, int]:
    counts = column.drop_null().value_counts().to_pylist()
    return dict(Counter({each["values"]: each["counts"] for each in counts}).most_common())
