"""Check digits of LEIs and ISINs, of many at once.

``identifiers`` defines what is valid, one by one. Here are tests for files of millions, which
answer the same for texts that are written as the standards write them.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assets.entities.identifiers import is_isin

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_NONE = 99
# The number that a character stands for: 0 to 9, A is 10, Z is 35.
_VALUES = np.full(256, _NONE, np.uint8)
_VALUES[48:58] = np.arange(10)
_VALUES[65:91] = np.arange(10, 36)
_IS_DIGIT, _IS_LETTER = _VALUES < 10, (_VALUES >= 10) & (_VALUES < _NONE)


def are_leis(texts: pa.Array) -> Flags:
    """Return which texts are 20 characters with the check digits of an LEI (ISO 7064)."""
    characters, is_whole = _characters(texts, 20)
    values = _VALUES[characters].astype(np.int64)
    is_valid = is_whole & (values < _NONE).all(axis=1) & (values[:, 18:] < 10).all(axis=1)
    remainder = np.zeros(len(values), np.int64)
    for column in values.T:
        # A letter is two digits.
        remainder = (remainder * np.where(column < 10, 10, 100) + column) % 97
    are_valid: Flags = is_valid & (remainder == 1)
    return are_valid


def are_isins(texts: pa.Array) -> Flags:
    """Return which texts are 12 characters with a prefix and the check digit of an ISIN."""
    characters, is_whole = _characters(texts, 12)
    is_valid = (
        is_whole
        & _IS_LETTER[characters[:, :2]].all(axis=1)
        & (_VALUES[characters] < _NONE).all(axis=1)
        & _IS_DIGIT[characters[:, 11]]
    )
    total = np.zeros(len(characters), np.uint16)
    is_doubled = np.zeros(len(characters), np.uint8)
    for column in characters.T[::-1]:
        total += _LUHN[is_doubled, column]
        is_doubled ^= _IS_DIGIT[column]
    is_valid &= total % 10 == 0
    return is_valid & _with_prefix(texts, characters, is_valid)


def _luhn_sums() -> npt.NDArray[np.uint16]:
    """Return what each character adds to the sum, its last digit not doubled or doubled."""
    tens, ones = np.divmod(np.where(_VALUES < _NONE, _VALUES, 0).astype(np.uint16), 10)
    doubled = np.array([0, 2, 4, 6, 8, 1, 3, 5, 7, 9], np.uint16)
    return np.stack([ones + doubled[tens], doubled[ones] + tens])


_LUHN = _luhn_sums()


def _with_prefix(texts: pa.Array, characters: Bytes, is_candidate: Flags) -> Flags:
    """Return which candidates begin with a prefix that is issued.

    Beside form and check digit an ISIN depends on its prefix alone: one of each is tried.
    """
    prefixes = characters[:, 0].astype(np.uint16) << 8 | characters[:, 1]
    distinct, first = np.unique(np.where(is_candidate, prefixes, 0), return_index=True)
    issued = [
        prefix
        for prefix, row in zip(distinct, first, strict=True)
        if prefix and is_isin(texts[row].as_py())
    ]
    return np.isin(prefixes, issued)


def _characters(texts: pa.Array, length: int) -> tuple[Bytes, Flags]:
    """Return the bytes of texts as a matrix, and which texts have so many; others are nulls."""
    is_whole = pc.equal(pc.binary_length(texts), length).fill_null(False)
    blank = pa.scalar("\0" * length)
    whole = pc.if_else(is_whole, texts, blank).cast(pa.binary(length))
    matrix = np.frombuffer(whole.buffers()[1], np.uint8, len(whole) * length, whole.offset * length)
    return matrix.reshape(-1, length), is_whole.to_numpy(zero_copy_only=False)
