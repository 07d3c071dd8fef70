"""Finding the few marks that came in among the many that are held.

Marks are evenly spread, so that their leading bits make a table without a hash function: a
look into it drops nearly every mark that cannot match before any exact search.
"""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

_SPARSE = 16


class SortedMarks:
    """The marks that came in; ``repeated`` tells which of them came more than once."""

    def __init__(self, marks: Numbers) -> None:
        self._order = np.argsort(marks)
        self._sorted = marks[self._order]
        self.repeated = self._repeated()
        bits = max(int(len(marks) * _SPARSE).bit_length(), 12)
        self._shift = np.uint64(64 - bits)
        self._leading = np.zeros(1 << bits, bool)
        self._leading[self._cells(marks)] = True

    def matches(self, held: Numbers) -> tuple[Numbers, Numbers]:
        """Give the places of equal marks: in ``held``, and among those that came in."""
        if not len(self._sorted):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        maybe = np.flatnonzero(self._leading[self._cells(held)])
        wanted = held[maybe]
        place = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        equal = self._sorted[place] == wanted
        return maybe[equal], self._order[place[equal]]

    def _cells(self, marks: Numbers) -> npt.NDArray[np.uint64]:
        return marks.view(np.uint64) >> self._shift

    def _repeated(self) -> npt.NDArray[np.bool_]:
        next_is_equal = self._sorted[1:] == self._sorted[:-1]
        repeated = np.zeros(len(self._sorted), bool)
        repeated[self._order[1:]] |= next_is_equal
        repeated[self._order[:-1]] |= next_is_equal
        return repeated
