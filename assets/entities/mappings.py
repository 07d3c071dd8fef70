"""Parse GLEIF's mapping files into identifiers.

None of them contains a date: what they state is available from the day they were read. A mapping is
one publication that is read every day: a pair that is still there is stored already, so that a file
of millions of pairs adds only those that are new.

Millions of rows are judged together, column by column. Whatever is not accepted at once is judged
by itself, which is the definition of what is accepted, and gives the reason if it is not.
"""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assets.entities.identifiers import is_isin, is_lei, mint
from assets.parsing.csv_lines import decode_as_latin1, located_cells, text_lines
from assets.parsing.parsed import Parsed, join_parts, provenance
from assets.parsing.unpacking import UNREADABLE, located_records
from warehouse.record.landing import Document
from warehouse.record.tables import IDENTIFIERS, incoming_schema

# Check digits of LEIs and ISINs, of many at once.
#
# ``identifiers`` defines what is valid, one by one. Here are tests for files of millions, which
# answer the same for texts that are written as the standards write them.

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_NONE = 99
# The value of each character: 0 to 9, A is 10, Z is 35.
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

    An ISIN of valid form and check digit is valid if its prefix is: one of each is tried.
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


# Each part is a commit to the record.
ROWS_PER_PART = 100_000


class Mapping(NamedTuple):
    """A kind of file: the column next to ``lei``, what its values are, and how they are judged.

    ``are_valid`` may be false for a value that ``read`` accepts, never true for another.
    """

    column: str
    id_type: str
    issuer: str | None
    are_valid: Callable[[pa.Array], Flags]
    read: Callable[[str], str]


@dataclass
class _Block:
    """Rows that are judged together, each at its location, and lines that are no rows."""

    locations: list[str] = field(default_factory=list)
    leis: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


def parse(document: Document, body: bytes, *, mapping: Mapping) -> Parsed:
    """Parse a file of LEIs and other identifiers, bare or zipped."""
    return join_parts(stream(document, io.BytesIO(body), mapping=mapping))


def stream(document: Document, body: IO[bytes], *, mapping: Mapping) -> Iterator[Parsed]:
    """Parse a file of LEIs and other identifiers in parts."""
    for member, block in located_records(body, lambda bare: _blocks(bare, mapping)):
        parsed = Parsed()
        if isinstance(block, str):
            parsed.reject(IDENTIFIERS, document, member, block)
        else:
            _add_block(parsed, document, f"{member}#" if member else "", block, mapping)
        yield parsed


def _blocks(body: IO[bytes], mapping: Mapping) -> Iterator[tuple[str, _Block | str]]:
    """Iterate over the rows of a list; a string instead is the reason why there are none."""
    lines = located_cells(text_lines(body))
    header = next((cells for _, cells in lines if not _is_blank(cells)), "the body is empty")
    names = [] if isinstance(header, str) else [name.strip().lower() for name in header]
    if not {"lei", mapping.column} <= set(names):
        yield "", f"no list with the columns lei, {mapping.column}"
        return
    lei, value, width = names.index("lei"), names.index(mapping.column), len(names)
    is_empty, is_over, damage = True, False, None
    while not is_over:
        block, is_over = _Block(), True
        try:
            for location, cells in islice(lines, ROWS_PER_PART):
                is_over = False
                if len(cells) == width and not isinstance(cells, str):
                    block.locations.append(location)
                    block.leis.append(cells[lei])
                    block.values.append(cells[value])
                elif not _is_blank(cells):
                    reason = cells if isinstance(cells, str) else "not as many values as columns"
                    block.problems.append((location, reason))
        except UNREADABLE as error:
            # What was read before the damage counts.
            damage, is_over = error, True
        if block.locations or block.problems:
            # Of rows that are all blank nothing is read, and that must be said.
            filled = chain(block.leis, block.values)
            is_empty = is_empty and not block.problems and not any(map(str.strip, filled))
            yield "", block
    if damage is not None:
        raise damage
    if is_empty:
        yield "", "holds no row"


def _is_blank(cells: list[str] | str) -> bool:
    return not isinstance(cells, str) and not any(map(str.strip, cells))


def _add_block(
    parsed: Parsed, document: Document, member: str, block: _Block, mapping: Mapping
) -> None:
    """Add the rows of a block: those valid as written all at once, others one by one."""
    leis, values = _texts(block.leis), _texts(block.values)
    encoded = leis.dictionary_encode()
    is_lei_valid = are_leis(encoded.dictionary)
    rows = np.flatnonzero(is_lei_valid[encoded.indices] & mapping.are_valid(values))
    if len(rows):
        ids = [
            mint("lei", lei) if is_valid else None
            for lei, is_valid in zip(encoded.dictionary.to_pylist(), is_lei_valid, strict=True)
        ]
        service_ids = pa.array(ids, pa.string()).take(encoded.indices.take(rows))
        locations = pa.array(block.locations).take(rows)
        own = {
            "service_id": service_ids,
            "id_value": values.take(rows),
            "source_ref": pc.binary_join_element_wise(f"{document.url}#{member}", locations, ""),
        }
        parsed.add_typed(IDENTIFIERS, _typed(_shared(document, "", mapping), own))
    for row in np.setdiff1d(np.arange(len(values)), rows, assume_unique=True).tolist():
        _add_row(parsed, document, member, block, row, mapping)
    for location, problem in block.problems:
        parsed.reject(IDENTIFIERS, document, f"{member}{location}", problem)


def _add_row(
    parsed: Parsed, document: Document, member: str, block: _Block, row: int, mapping: Mapping
) -> None:
    """Add one row, or reject it with the reason."""
    lei, value = (decode_as_latin1(each[row]).strip() for each in (block.leis, block.values))
    location = f"{member}{block.locations[row]}"
    if not lei and not value:
        return
    lei = lei.upper()
    with parsed.rejecting(IDENTIFIERS, document, location):
        if not is_lei(lei):
            raise ValueError(f"{lei!r:.40} is no LEI: its check digits are wrong")
        own = {"service_id": mint("lei", lei), "id_value": mapping.read(value)}
        parsed.add(IDENTIFIERS, [_shared(document, location, mapping) | own])


def _shared(document: Document, location: str, mapping: Mapping) -> dict[str, Any]:
    return provenance(document, location, "file") | {
        "available_at": document.observed_at.date(),
        "publication": document.source,
        "id_type": mapping.id_type,
        "issuer": mapping.issuer,
        "status": None,
    }


def _typed(shared: dict[str, Any], own: dict[str, pa.Array]) -> pa.Table:
    """Return a table of rows that share the values of most columns."""
    schema = incoming_schema(IDENTIFIERS)
    count = len(own["service_id"])
    columns = [
        own[name] if name in own else pa.repeat(pa.scalar(shared.get(name), kind), count)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _texts(values: list[str]) -> pa.Array:
    """Return texts as Arrow has them; where any has bytes that are not UTF-8, only ASCII is kept.

    A text that is left out is empty here, which no identifier is: its row is read one by one.
    """
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array((value if value.isascii() else "" for value in values), pa.string())


def _isin(text: str) -> str:
    isin = text.upper()
    if not is_isin(isin):
        raise ValueError(f"{isin!r:.40} is no ISIN: its check digit is wrong")
    return isin


_NUMBER = r"[a-z]{2}(?:_[a-z]{2,3})?/"


def _opencorporates_id(number: str) -> str:
    if not re.fullmatch(rf"{_NUMBER}\S+", number):
        raise ValueError(f"{number!r:.40} is no OpenCorporates id")
    return number


def _are_opencorporates_ids(numbers: pa.Array) -> Flags:
    are_ids = pc.match_substring_regex(numbers, rf"\A{_NUMBER}[!-~]+\z")
    flags: Flags = are_ids.fill_null(False).to_numpy(zero_copy_only=False)
    return flags


ISINS = Mapping("isin", "isin", None, are_isins, _isin)
OPENCORPORATES = Mapping(
    *("opencorporatesid", "aggregator", "opencorporates"),
    _are_opencorporates_ids,
    _opencorporates_id,
)
