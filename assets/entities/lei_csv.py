"""The golden copy as CSV: each line as the JSON would write the record."""

import re
from collections.abc import Iterator
from typing import IO, Any

from assets.parsing.csv_lines import lines, undecoded

_LIST = re.compile(
    r"Entity\.((?:Transliterated)?OtherEntityNames)\.(?:Transliterated)?OtherEntityName\.[0-9]+"
)
_SUCCESSOR = re.compile(r"Entity\.SuccessorEntity(?:\.1)?\.SuccessorLEI")
_PLAIN = frozenset(
    {
        "LEI",
        "Entity.LegalName",
        "Entity.LegalJurisdiction",
        "Entity.LegalAddress.Country",
        "Entity.EntityCategory",
        "Entity.EntityStatus",
        "Entity.RegistrationAuthority.RegistrationAuthorityID",
        "Entity.RegistrationAuthority.RegistrationAuthorityEntityID",
        "Registration.RegistrationStatus",
        "Registration.LastUpdateDate",
    }
)
_NEEDED = ("LEI", "Entity.LegalName")


def csv_records(body: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Give each line with its place; a text in place of a record says why there is none."""
    found = lines(body, strict=True)
    header = next(found, ("", []))[1]
    names = [name.strip() for name in header] if isinstance(header, list) else []
    if not set(_NEEDED) <= set(names):
        yield "", "neither JSON nor XML, nor CSV with the columns of the golden copy"
        return
    columns = [(each, path) for each, name in enumerate(names) if (path := _path(name))]
    for place, line in found:
        yield place, _record(line, columns, len(names)) if isinstance(line, list) else line


def _path(name: str) -> tuple[str, ...] | None:
    """Say where the JSON has what a column holds; None for what is not read."""
    if name in _PLAIN:
        return tuple(name.split("."))
    if _SUCCESSOR.fullmatch(name):
        return "Entity", "SuccessorEntity", "SuccessorLEI"
    listed = _LIST.fullmatch(name)
    return ("Entity", listed[1], "") if listed else None


def _record(line: list[str], columns: list[tuple[int, tuple[str, ...]]], width: int) -> Any:
    if len(line) != width:
        return "not as many values as columns"
    record: dict[str, Any] = {"Entity": {}}
    for position, path in columns:
        if value := line[position]:
            _put(record, path, value)
    return "bytes that are no UTF-8" if any(map(undecoded, line)) else record


def _put(record: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    *above, last = path
    for member in above[:-1] if not last else above:
        record = record.setdefault(member, {})
    if last:
        record[last] = value
    else:
        record.setdefault(above[-1], []).append(value)
