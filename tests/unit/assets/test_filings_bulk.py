"""The nightly zips of the SEC, member by member."""

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.filings import bulk, companyfacts, submissions
from assets.filings.sources import SOURCES
from assets.ingest.load import load_source
from assets.parsing.parsed import Parsed
from assets.sample.organisations import cik_of, issuer
from assets.sample.sec import companyfacts as facts_of
from assets.sample.sec import filings_of
from assets.sample.sec import submissions as submissions_of
from assets.sample.writer import exact_json
from tests.helpers.paths import REAL
from warehouse.record.incoming import to_arrow
from warehouse.record.landing import Document, FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import RECORD_TABLES

OBSERVED = datetime(2026, 11, 14, 2, tzinfo=UTC)
URL = "https://example.org/companyfacts.zip"
TABLES = {table.name: table for table in RECORD_TABLES}


def document(source: str = bulk.COMPANYFACTS) -> Document:
    return Document("0" * 64, source, URL, "public-domain", OBSERVED, 200, {}, 0)


def facts(serial: int) -> bytes:
    company = issuer(serial)
    return exact_json(facts_of(company, filings_of(1, company))[0]).encode()


def name_of(serial: int) -> str:
    return f"CIK{cik_of(issuer(serial))}.json"


def zipped(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return target.getvalue()


class NotSeekable(io.RawIOBase):
    """A stream like that of the landing, which cannot seek."""

    def __init__(self, body: bytes) -> None:
        self._body = io.BytesIO(body)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._body.readinto(buffer)


def streamed(body: bytes, source: str = bulk.COMPANYFACTS) -> Iterator[Parsed]:
    return bulk.stream(document(source), NotSeekable(body))  # type: ignore[arg-type]


def rows(parsed: Parsed, table: str) -> list[dict[str, Any]]:
    without_source = {"source_ref": None, "source": None}
    return [row | without_source for row in parsed.rows.get(table, [])]


def test_a_member_has_the_rows_of_the_single_file() -> None:
    (parsed,) = streamed(zipped({name_of(3): facts(3)}))

    assert rows(parsed, "fundamentals") == rows(
        companyfacts.parse(document(), facts(3)), "fundamentals"
    )
    row = parsed.rows["fundamentals"][0]
    assert row["source_ref"].startswith(f"{URL}!/{name_of(3)}#/facts/")
    assert row["source"] == bulk.COMPANYFACTS


def test_a_member_of_submissions_has_the_rows_of_the_single_file() -> None:
    company = issuer(3)
    body = json.dumps(submissions_of(company, filings_of(1, company))).encode()

    (parsed,) = streamed(zipped({name_of(3): body}), bulk.SUBMISSIONS)
    single = submissions.parse(document(bulk.SUBMISSIONS), body)
    for table in ("entities", "identifiers"):
        assert rows(parsed, table) == rows(single, table) != []


def test_a_zip_is_parsed_in_parts() -> None:
    members = {f"CIK{serial:010d}.json": b"{}" for serial in range(bulk.ISSUERS_PER_PART + 1)}

    counts = [len(part.rejected["fundamentals"]) for part in streamed(zipped(members))]
    assert counts == [bulk.ISSUERS_PER_PART, 1]


def test_a_broken_member_is_rejected_by_its_name_and_the_others_are_read() -> None:
    body = zipped({name_of(serial): facts(serial) for serial in (1, 2, 3)})
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        start = archive.getinfo(name_of(2)).header_offset + 200
    broken = body[:start] + b"\0" * 64 + body[start + 64 :]

    (parsed,) = streamed(broken)
    (rejected,) = parsed.rejected["fundamentals"]
    assert rejected.source_ref == f"{URL}#{name_of(2)}"
    assert rejected.reason.startswith("damaged: ")
    assert len({row["service_id"] for row in parsed.rows["fundamentals"]}) == 2


def test_a_member_that_is_not_an_issuer_is_rejected_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk, "LARGEST_MEMBER", 1000)
    members = {"placeholder.txt": b"x", name_of(1): b" " * 1001, name_of(2): b"[]"}

    (parsed,) = streamed(zipped(members))
    reasons = [row.reason for row in parsed.rejected["fundamentals"]]
    assert reasons[:2] == [
        "not named as the file of an issuer",
        "1001 bytes unpacked: more than an issuer has",
    ]
    assert reasons[2].startswith("the document is not companyfacts")


def test_a_member_larger_than_its_stated_size_is_rejected() -> None:
    body = bytearray(zipped({name_of(1): b" " * 1_000_000}))
    directory = body.index(b"PK\x01\x02")
    body[directory + 24 : directory + 28] = (100).to_bytes(4, "little")

    (parsed,) = streamed(bytes(body))
    assert parsed.rejected["fundamentals"][0].reason.startswith("damaged: Bad CRC-32")


@pytest.mark.parametrize("body", [b"", b"<html/>", b"PK\x03\x04", zipped({})])
def test_a_body_that_is_not_a_zip_is_one_rejection(body: bytes) -> None:
    parsed = bulk.parse(document(), body)

    assert len(parsed.rejected["fundamentals"]) == 1
    assert parsed.rows == {}


def test_a_fact_of_both_sources_is_stored_once(tmp_path: Path, record: Record) -> None:
    landing = Landing(str(tmp_path / "landing"))
    single, nightly = (
        next(source for source in SOURCES if source.key == key)
        for key in ("sec-companyfacts", bulk.COMPANYFACTS)
    )
    bodies = {single.key: facts(1), nightly.key: zipped({name_of(1): facts(1)})}
    for key, body in bodies.items():
        landing.land(FetchedResponse(key, f"{URL}/{key}", body, "public-domain", OBSERVED))

    (first,) = load_source(record, landing, single)
    (second,) = load_source(record, landing, nightly)
    assert first.appended > 0
    assert (second.appended, second.held) == (0, second.read)


@pytest.mark.shared
@pytest.mark.parametrize("source", [bulk.COMPANYFACTS, bulk.SUBMISSIONS])
def test_real_files_are_read_from_a_zip(source: str) -> None:
    folder = REAL / "filings_macro" / "filings"
    paths = sorted(folder.rglob("*.json"))
    assert paths
    members = {f"CIK{number:010d}.json": path.read_bytes() for number, path in enumerate(paths)}

    row_count = 0
    for parsed in streamed(zipped(members), source):
        for name, rows in parsed.rows.items():
            assert to_arrow(TABLES[name], rows)[1] == []
            row_count += len(rows)
    assert row_count
