"""What a publication brought: the difference between the totals of two builds, by dataset.

The pages of each build hold how many vintages were ever new, restated and withdrawn until then.
"""

from collections.abc import Iterable, Iterator

import msgspec

# Where the totals are, below the pages of a build.
TOTALS_FILE = ("data", "change-totals.json")


class ChangedDataset(msgspec.Struct, frozen=True):
    """Vintages of a dataset that were new, restated and withdrawn."""

    dataset: str
    added: int
    restated: int
    withdrawn: int


def read_totals(body: bytes) -> list[ChangedDataset]:
    """Read the file of totals."""
    return msgspec.json.decode(body, type=list[ChangedDataset])


def changes_between(
    now: Iterable[ChangedDataset], before: Iterable[ChangedDataset]
) -> Iterator[ChangedDataset]:
    """Yield what changed between two totals, of each dataset in which something did."""
    known = {each.dataset: each for each in before}
    for each in now:
        old = known.get(each.dataset, ChangedDataset(each.dataset, 0, 0, 0))
        # What an operator withheld since is no change of the data: never below zero.
        added, restated, withdrawn = (
            max(0, getattr(each, name) - getattr(old, name))
            for name in ("added", "restated", "withdrawn")
        )
        if added or restated or withdrawn:
            yield ChangedDataset(each.dataset, added, restated, withdrawn)
