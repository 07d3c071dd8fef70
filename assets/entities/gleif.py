"""Parse LEI records of GLEIF into entities and their identifiers.

Reads the golden copy as JSON (scalars bare or wrapped) or LEI-CDF XML, bare or zipped, and the
answers of api.gleif.org.

An LEI of a natural person is rejected, and its name is stored nowhere; an earlier record of it as
an organisation is withdrawn.
"""

import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO, Any, Literal, NamedTuple
from xml.parsers import expat

import ijson
import msgspec

from assets.entities.identifiers import identifier_row, is_isin, is_lei, mint
from assets.parsing.csv_lines import BoundedRecords, RecordTooLong
from assets.parsing.parsed import Parsed, join_parts, provenance
from assets.parsing.unpacking import LocatedRecords, located_records
from quality.persons import Withheld, drop_personal_names, judge_name
from warehouse.record.landing import Document
from warehouse.record.tables import ENTITIES, IDENTIFIERS
from warehouse.shared.data_files import csv_rows

# The records of a file one after the other: JSON or XML, bare or zipped.
#
# Every reader yields (location, record), in the form of the golden copy's JSON whatever the format.
# A string instead of a record is the reason why there is none.

# Members of a record that are read as one text, by their place in the API and the golden copy.
_MEMBERS = csv_rows(__name__, "lei_members")
API_PATHS = {row["name"]: tuple(row["api"].split(".")) for row in _MEMBERS}
CDF_PATHS = {row["name"]: tuple(row["golden_copy"].split(".")) for row in _MEMBERS}

_BOM = b"\xef\xbb\xbf"
# Bytes of a record: the longest of the golden copy are some kilobytes.
_LONGEST_RECORD = 4 << 20
_SINGLE_RECORD = re.compile(rb'"data"\s*:\s*\{')


def _bare_records(body: "io.BufferedReader[Any]") -> LocatedRecords:
    if body.peek(3)[:3] == _BOM:
        body.read(3)
    # peek returns the whole buffer, in which the name of the first member is found.
    head = body.peek(1).lstrip()
    if head[:1] in (b"{", b"["):
        yield from _json_records(body, head)
    elif head[:1] == b"<":
        yield from xml_records(body)
    else:
        yield "", "neither JSON nor XML"


def _json_records(body: IO[bytes], head: bytes) -> LocatedRecords:
    # The JSON pointer and the ijson prefix of the records, from how the file begins.
    location, prefix = "/data", "data" if _SINGLE_RECORD.search(head) else "data.item"
    if head[:1] == b"[":
        location, prefix = "", "item"
    elif b'"records"' in head:
        location, prefix = "/records", "records.item"
    count, bounded = 0, BoundedRecords(body.read, _LONGEST_RECORD)
    try:
        for record in ijson.items(bounded, prefix):
            bounded.next_record()
            yield (f"{location}/{count}" if prefix.endswith("item") else location), record
            count += 1
    except RecordTooLong as error:
        yield f"{location}/{count}", str(error)
    except (ijson.JSONError, ValueError, RecursionError) as error:
        yield f"{location}/{count}", f"not JSON from here on: {str(error).splitlines()[0]:.120}"


_CHUNK = 1 << 16
_RECORD = "LEIRecord"
_MAX_RECORD_LENGTH = 1 << 20


def xml_records(body: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Iterate over the records of LEI-CDF XML, as a stream.

    A document type is refused before it is read: expanding entities would need one.
    """
    reader, bounded = _XmlReader(), BoundedRecords(body.read, _LONGEST_RECORD)
    count, reason = 0, None
    while reason is None:
        try:
            chunk = bounded.read(_CHUNK)
        except RecordTooLong as error:
            yield f"/LEIRecords/{count}", str(error)
            return
        if not chunk:
            break
        reason = reader.feed(chunk)
        for record in reader.records:
            bounded.next_record()
            yield f"/LEIRecords/{count}", record
            count += 1
        reader.records.clear()
    reason = reason or reader.feed(b"", last=True)
    if reason:
        yield f"/LEIRecords/{count}", reason


class _XmlReader:
    """Collects complete records, and the open elements within the next."""

    def __init__(self) -> None:
        # A name becomes "namespace local": files differ in their prefixes.
        self._parser = expat.ParserCreate(namespace_separator=" ")
        # Otherwise one text arrives in several calls.
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._open: list[tuple[str, dict[str, Any], list[str]]] = []
        # The type of the name that is open, if it states one.
        self._type: str | None = None
        self.records: list[dict[str, Any]] = []
        self._length = 0

    def feed(self, chunk: bytes, last: bool = False) -> str | None:
        """Parse a chunk; return the reason if it cannot be parsed."""
        try:
            self._parser.Parse(chunk, last)
        except expat.ExpatError as error:
            return f"not XML from here on: {error}"
        except ValueError as refusal:
            return str(refusal)
        return None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        self._type = attributes.get("type") if local.endswith("OtherEntityName") else None
        if self._open or local == _RECORD:
            self._open.append((local, {}, []))

    def _text(self, text: str) -> None:
        if self._open:
            self._length += len(text)
            self._open[-1][2].append(text)
        if self._length > _MAX_RECORD_LENGTH or len(self._open) > 100:
            raise ValueError("a record that is too long to be one")

    def _end(self, _: str) -> None:
        if not self._open:
            return
        name, members, text = self._open.pop()
        if not self._open:
            self.records.append(members)
            self._length = 0
            return
        parent = self._open[-1][1]
        value: Any = members or "".join(text)
        if self._type is not None:
            value, self._type = {"$": value, "@type": self._type}, None
        # An element that occurs again becomes a list.
        earlier = parent.setdefault(name, value)
        if isinstance(earlier, list):
            earlier.append(value)
        elif earlier is not value:
            parent[name] = [earlier, value]

    def _refuse(self, *_: object) -> None:
        raise ValueError("a document type is declared: refused")


_FORMER, _TRADING = "PREVIOUS_LEGAL_NAME", "TRADING_OR_OPERATING_NAME"
# Codes of ISO 20275 for a form that has no code, and for none.
_NO_FORM = frozenset({"8888", "9999"})


class LeiRecord(NamedTuple):
    """An LEI record as it is read: texts by the names of ``lei_members.csv``, None if absent.

    ``names`` are the other names, each with its type.
    """

    lei: str
    method: Literal["api", "file"]
    texts: dict[str, str | None]
    names: list[tuple[str, str | None]]

    @property
    def category(self) -> str | None:
        """The kind of organisation, or of a person."""
        return _upper(self.texts["category"])


def from_api(record: Any) -> LeiRecord | None:
    """Return the record in a resource of api.gleif.org; None if it is not an LEI record."""
    if _at(record, "type") != "lei-records":
        return None
    attributes = _at(record, "attributes")
    lei = _text(attributes, "lei") or _text(record, "id")
    if lei is None:
        return None
    names = []
    for member in ("otherNames", "transliteratedOtherNames"):
        listed = _at(attributes, "entity", member)
        for name in listed if isinstance(listed, list) else []:
            if text := _text(name, "name"):
                names.append((text, _upper(_text(name, "type"))))
    texts = {name: _text(attributes, *path) for name, path in API_PATHS.items()}
    return LeiRecord(lei, "api", texts, names)


def from_cdf(record: Any) -> LeiRecord | None:
    """Return a record of the golden copy; None if it is not one."""
    lei = _text(record, "LEI")
    if lei is None or not isinstance(_at(record, "Entity"), dict):
        return None
    texts = {name: _text(record, *path) for name, path in CDF_PATHS.items()}
    # Only the API has it.
    return LeiRecord(lei, "file", texts | {"opencorporates": None}, _other_names(record))


def _other_names(record: Any) -> list[tuple[str, str | None]]:
    """Return other and transliterated names, each with its type.

    They are under a plural, a list or one, wrapped or bare.
    """
    names: list[tuple[str, str | None]] = []
    for kind in ("OtherEntityName", "TransliteratedOtherEntityName"):
        members = _at(record, "Entity", f"{kind}s")
        if isinstance(members, dict):
            members = members.get(kind)
        for member in members if isinstance(members, list) else [members]:
            name = _text(member, kind) or _text(member)
            stated = _upper(_text(member, "@type")) or _upper(_text(member, "type"))
            names += [(name, stated)] if name else []
    return names


def _at(value: Any, *path: str) -> Any:
    for member in path:
        # What may repeat is a list in some files: its first item is read.
        value = value[0] if isinstance(value, list) and value else value
        value = value.get(member) if isinstance(value, dict) else None
    return value


def _text(value: Any, *path: str) -> str | None:
    text = _at(value, *path)
    # A wrapped scalar: {"$": text}.
    text = text.get("$") if isinstance(text, dict) else text
    # Blanks of any kind are one blank.
    return (" ".join(text.split()) or None) if isinstance(text, str) else None


def _upper(text: str | None) -> str | None:
    return text.upper() if text else None


_TYPES = {
    "GENERAL": "company",
    "BRANCH": "company",
    "RESIDENT_GOVERNMENT_ENTITY": "state_body",
    "FUND": "other",
    "INTERNATIONAL_ORGANIZATION": "other",
}
_PERSON = "SOLE_PROPRIETOR"
# Texts of a record that are columns of an entity.
_STORED = tuple(name for name in API_PATHS if name in ENTITIES.content)
RECORDS_PER_PART = 5_000
# The row of an LEI that was an organisation's before and now is a person's.
_WITHDRAWN: dict[str, Any] = dict.fromkeys(ENTITIES.content) | {"withdrawn": True}
# Codes of GLEIF's list of registers for "none" and "not on the list".
_NO_REGISTER = frozenset({"RA888888", "RA999999"})


def parse(document: Document, body: bytes) -> Parsed:
    """Parse every LEI record and every ISIN of an LEI in a document."""
    try:
        # JSON that fits into memory is decoded at once; zips, XML and damaged JSON are streamed.
        root = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return join_parts(stream(document, io.BytesIO(body)))
    return join_parts(_parts(document, _decoded_records(root)))


def stream(document: Document, body: IO[bytes]) -> Iterator[Parsed]:
    """Parse a golden copy of any length, some thousand records a part.

    If it is damaged, the records before the damage are accepted, and the location is rejected.
    """
    yield from _parts(document, located_records(body, _bare_records))


def _parts(document: Document, located: Iterator[tuple[str, Any]]) -> Iterator[Parsed]:
    parsed, count = Parsed(), 0
    for count, (location, record) in enumerate(located, 1):
        _add_record(parsed, document, location, record)
        if count % RECORDS_PER_PART == 0:
            yield parsed
            parsed = Parsed()
    if not count:
        parsed.reject(ENTITIES, document, "", "holds no LEI record")
    if parsed.rows or parsed.rejected:
        yield parsed


def _decoded_records(root: Any) -> Iterator[tuple[str, Any]]:
    members = root if isinstance(root, dict) else {}
    member = next((name for name in ("records", "data") if name in members), None)
    records, location = (root[member], f"/{member}") if member else (root, "")
    if isinstance(records, list):
        yield from ((f"{location}/{index}", record) for index, record in enumerate(records))
    elif records is not None:
        yield location, records


def _add_record(parsed: Parsed, document: Document, location: str, record: Any) -> None:
    if isinstance(record, str):
        parsed.reject(ENTITIES, document, location, record)
        return
    if isinstance(record, dict) and record.get("type") == "isins":
        _add_isin(parsed, document, location, record)
        return
    lei = from_api(record) or from_cdf(record)
    reason = _refusal(lei)
    if lei is None or reason:
        parsed.reject(ENTITIES, document, location, reason or "not an LEI record")
        # The row has no name: it only withdraws the organisation that the LEI was before.
        if lei is not None and lei.category == _PERSON and is_lei(lei.lei):
            parsed.add(ENTITIES, [_shared(document, location, lei) | _WITHDRAWN])
        return
    shared, texts = _shared(document, location, lei), lei.texts
    all_names = dict.fromkeys(name for name, _ in lei.names)
    others = [name for name in all_names if name != texts["legal_name"]]
    names, reasons = drop_personal_names(others, texts["country"], texts["jurisdiction"])
    for reason in reasons:
        parsed.reject(ENTITIES, document, location, reason)
    row = _entity(lei) | {
        "other_names": _json_list(names),
        "former_names": _json_list([name for name in names if (name, _FORMER) in lei.names]),
        "trading_names": _json_list([name for name in names if (name, _TRADING) in lei.names]),
        "withheld_names": "\n".join(name for name in others if name not in names) or None,
    }
    parsed.add(ENTITIES, [shared | row])
    parsed.add(IDENTIFIERS, [shared | identifier for identifier in _identifiers(lei)])


def _refusal(lei: LeiRecord | None) -> str | None:
    """Return why a record is refused, or None; the reason never contains the name."""
    if lei is None:
        return "not an LEI record"
    if not is_lei(lei.lei):
        return f"{lei.lei!r:.40} is no LEI: its check digits are wrong"
    if lei.category == _PERSON:
        return "natural person"
    name, country = lei.texts["legal_name"], lei.texts["country"]
    if name is None:
        return "no legal name"
    # A record without a category may be a person's, so its name must be evidence.
    if lei.category is None and isinstance(
        judge_name(name, country=country, scheme=None, identifier=None), Withheld
    ):
        return "no category, and nothing else that shows an organisation"
    return None


def _shared(document: Document, location: str, lei: LeiRecord) -> dict[str, Any]:
    observed_on = document.observed_at.date()
    updated: datetime | None = None
    with suppress(ValueError, OverflowError):
        stated = datetime.fromisoformat(lei.texts["updated_at"] or "")
        updated = (stated if stated.tzinfo else stated.replace(tzinfo=UTC)).astimezone(UTC)
    return provenance(document, location, lei.method) | {
        "service_id": mint("lei", lei.lei),
        # Whatever the record says, it was public on the day it was read.
        "available_at": min(updated.date(), observed_on) if updated else observed_on,
        "publication": (updated or document.observed_at).isoformat(timespec="milliseconds"),
    }


def _entity(lei: LeiRecord) -> dict[str, Any]:
    texts = lei.texts
    # A merged organisation has a successor too, but only a duplicate is the same organisation.
    successor = texts["successor"] if texts["lei_status"] == "DUPLICATE" else None
    country, form = _upper(texts["headquarters"]), _upper(texts["legal_form"])
    return {
        **{name: texts[name] for name in _STORED},
        "entity_type": _TYPES.get(lei.category or ""),
        "lei": lei.lei,
        "same_as": mint("lei", successor) if successor and is_lei(successor) else None,
        "headquarters_country": country if country and len(country) == 2 else None,
        "legal_form": None if form in _NO_FORM else form,
    }


def _json_list(names: list[str]) -> str | None:
    return json.dumps(names, ensure_ascii=False) if names else None


def _identifiers(lei: LeiRecord) -> Iterator[dict[str, Any]]:
    texts = lei.texts
    yield identifier_row("lei", lei.lei, status=texts["lei_status"])
    register, number = texts["register"], texts["register_number"]
    if register and number and register not in _NO_REGISTER:
        yield identifier_row("registry", number, register)
    if texts["opencorporates"]:
        yield identifier_row("aggregator", texts["opencorporates"], "opencorporates")


def _add_isin(parsed: Parsed, document: Document, location: str, record: dict[str, Any]) -> None:
    attributes = record.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    lei, isin = str(attributes.get("lei")), str(attributes.get("isin"))
    if not is_lei(lei) or not is_isin(isin):
        reason = f"{lei:.40} with {isin:.40}: a check digit is wrong"
        parsed.reject(IDENTIFIERS, document, location, reason)
        return
    row = provenance(document, location, "api") | identifier_row("isin", isin)
    # One publication, however often it is read: a pair that repeats is not stored again.
    mapped = {"service_id": mint("lei", lei), "publication": document.source}
    parsed.add(IDENTIFIERS, [row | mapped | {"available_at": document.observed_at.date()}])
