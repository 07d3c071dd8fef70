"""What is worked out for a build, and by which rules: Arrow tables by their names.

Working them out belongs to whoever publishes; the warehouse says which tables there are and
what their rows look like (``warehouse.tables.DERIVED``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from warehouse.mart.snapshot import Snapshot

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class Derivation:
    """How some of the derived tables are made from what is staged before them.

    With another ``version`` an unchanged record is published anew.
    """

    version: str
    derive: Callable[[Snapshot], Tables]
