"""Join ids and resolve parties in a snapshot, as a publication does."""

import pyarrow as pa

from assets.derive.organisations import party_matches, same_as
from warehouse.publish.snapshot import REWRITTEN, Snapshot, use_canonical_ids


def derive_organisations(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Give all rows of a snapshot their canonical ids; return what was derived."""
    joins = same_as(snapshot)
    snapshot.add(joins)
    use_canonical_ids(snapshot)
    snapshot.copy_record(REWRITTEN)
    return {**joins, **party_matches(snapshot)}
