"""Which rows have a word: one list of places a word, gathered from many texts.

A text is split where ASCII says so, which is fast; each distinct piece is then split and
folded as a question is, once. A million texts have few pieces that are new.
"""

from array import array
from collections.abc import Iterator, Sequence
from string import punctuation, whitespace
from typing import Any

import numpy as np
import pyarrow as pa

from warehouse.mart.words import words

_BETWEEN = {ord(each): " " for each in punctuation + whitespace}


class _Numbers(dict[str, int]):
    """Gives each piece a number when it is first met."""

    def __missing__(self, piece: str) -> int:
        self[piece] = number = len(self)
        return number


class Postings:
    """The words of one field, and the places of the rows that have them."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._met = array("i")
        self._places: list[Any] = []

    def add(self, places: Any, texts: Sequence[str]) -> None:
        """Add texts with the place of the row of each."""
        counts = np.empty(len(texts), np.int32)
        number_of, met = self._numbers.__getitem__, self._met
        for at, text in enumerate(texts):
            pieces = set(text.lower().translate(_BETWEEN).split(" "))
            met.extend(map(number_of, pieces))
            counts[at] = len(pieces)
        self._places.append(np.repeat(places.astype(np.int32), counts))

    def packed(self, most: int) -> Iterator[tuple[list[str], pa.Array]]:
        """Give the words in their order and their places, sorted, four bytes each."""
        if not self._met:
            return
        asked, begins, counts, of_piece = self._vocabulary()
        met = np.frombuffer(self._met, np.int32)
        several = counts[met]
        # A piece mostly is one word; where it is more, its place is taken for each of them.
        first = np.repeat(begins[met], several)
        inside = np.arange(len(first)) - np.repeat(np.cumsum(several) - several, several)
        keys = of_piece[first + inside] << 32
        keys |= np.repeat(np.concatenate(self._places), several)
        del met, several, first, inside
        # np.unique hashes, which takes six times as long as sorting.
        keys.sort()
        fresh = np.ones(len(keys), bool)
        fresh[1:] = keys[1:] != keys[:-1]
        keys = keys[fresh]
        ends = np.searchsorted(keys, np.arange(len(asked) + 1, dtype=np.int64) << 32) * 4
        held = pa.py_buffer((keys & 0xFFFFFFFF).astype("<i4").tobytes())
        for begin in range(0, len(asked), most):
            some = asked[begin : begin + most]
            offsets = pa.py_buffer(ends[begin : begin + len(some) + 1].astype(np.int64).tobytes())
            lists = [None, offsets, held]
            yield some, pa.Array.from_buffers(pa.large_binary(), len(some), lists)

    def _vocabulary(self) -> tuple[list[str], Any, Any, Any]:
        """Give the words, sorted, and for each piece which of them it has."""
        of_piece = [
            [word for each in words(piece) if (word := each.replace("\0", ""))]
            for piece in self._numbers
        ]
        asked = sorted({word for several in of_piece for word in several})
        number = {word: place for place, word in enumerate(asked)}
        counts = np.fromiter(map(len, of_piece), np.int64, len(of_piece))
        flat = [number[word] for several in of_piece for word in several]
        return asked, np.cumsum(counts) - counts, counts, np.array(flat, np.int64)
