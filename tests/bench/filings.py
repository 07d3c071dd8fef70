"""The SEC's nightly zip: 2,000 issuers to rows, beside bare decoding of the same members."""

import tempfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from assets.filings import bulk
from assets.sample.organisations import cik_of, issuer
from assets.sample.sec import companyfacts, filings_of
from assets.sample.writer import exact_json
from tests.bench.measure import measured
from warehouse.record.incoming import to_arrow
from warehouse.record.landing import Document
from warehouse.record.tables import FUNDAMENTALS

ISSUERS = 2_000
# Of the facts of a real issuer one in seven to ten states a line item; the others are passed by.
OTHER_TAXONOMIES = 7
Work = Callable[[], object]


def write_zip(path: Path, issuers: int) -> int:
    """Write the zip of so many issuers; give how many facts are in it."""
    facts = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for serial in range(issuers):
            company = issuer(serial)
            document, count = companyfacts(company, filings_of(1, company))
            archive.writestr(f"CIK{cik_of(company)}.json", _with_others(document))
            facts += count * (1 + OTHER_TAXONOMIES)
    return facts


def _with_others(document: dict[str, Any]) -> str:
    """Write a document with as much beside its line items as a real one has."""
    stated = {name: exact_json(elements) for name, elements in document["facts"].items()}
    others = {
        f"other-{number}-{name}": elements
        for name, elements in stated.items()
        for number in range(OTHER_TAXONOMIES)
    }
    facts = ",".join(f'"{name}":{elements}' for name, elements in (stated | others).items())
    return f'{{"cik":{exact_json(document["cik"])},"facts":{{{facts}}}}}'


def to_rows(path: str) -> Work:
    """Our reader, to the typed rows that the append takes."""
    read = datetime(2026, 11, 14, tzinfo=UTC)
    document = Document("0" * 64, bulk.COMPANYFACTS, path, "public-domain", read, 200, {}, 0)

    def work() -> int:
        rows = 0
        with Path(path).open("rb") as body:
            for parsed in bulk.stream(document, body):
                good, _ = to_arrow(FUNDAMENTALS, parsed.rows.get(FUNDAMENTALS.name, []))
                rows += good.num_rows
        return rows

    return work


def bare_decode(path: str) -> Work:
    """Unpack and decode each member, and do nothing with it."""

    def work() -> int:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            return sum(len(msgspec.json.decode(archive.read(name))) for name in names)

    return work


def report() -> None:
    """Print facts per second beside the bare decoding, and how memory grows."""
    with tempfile.TemporaryDirectory() as temporary:
        few, many = Path(temporary, "few.zip"), Path(temporary, "many.zip")
        write_zip(few, ISSUERS // 4)
        facts = write_zip(many, ISSUERS)
        ours, bare = (
            measured("tests.bench.filings", way, str(many)) for way in ("to_rows", "bare_decode")
        )
        quarter = measured("tests.bench.filings", "to_rows", str(few), runs=1)
    for name, cost in (("to_rows", ours), ("bare_decode", bare)):
        rate = facts / cost.seconds
        print(f"  {name:14} {cost.seconds:7.2f} s  {cost.peak_mb:5} MB  {rate:12,.0f} facts/s")
    print(f"  facts             {facts:,} ({ours.output} rows)")
    print(f"  ours / bare       {bare.seconds / ours.seconds:.2f}  (goal: at least 0.17)")
    print(f"  peak memory       {quarter.peak_mb} MB for a quarter, {ours.peak_mb} MB for all")


if __name__ == "__main__":
    report()
