"""The SEC's nightly zips: facts of 2,000 issuers, and who of 100,000 filers is followed.

Facts become rows, and rows in the record, beside bare decoding of the same members. Filers are
chosen from the undecoded text, beside decoding every list.

``python -m tests.bench.filings companyfacts.zip`` measures the record with a zip of your own.
"""

import random
import sys
import tempfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from assets.filings import companyfacts as parser
from assets.filings.fetch import FACTS, issuers_by_rule, open_bulk
from assets.filings.issuers import follows_rule
from assets.filings.sources import SOURCES
from assets.ingest.load import load_source
from tests.bench.measure import Measured, measured
from tests.helpers.sec_zips import filer, name_of
from tests.sample_world.organisations import cik_of, issuer
from tests.sample_world.sec import companyfacts
from tests.sample_world.stories import filings_of
from tests.sample_world.world import SMALL_WORLD
from tests.sample_world.writer import exact_json
from warehouse.record.incoming import to_arrow
from warehouse.record.landing import Document, FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS

ISSUERS, FILERS = 2_000, 100_000
# Of the facts of a real issuer one in seven to ten states a line item; the others are passed by.
OTHER_TAXONOMIES = 7
READ = datetime(2026, 11, 14, tzinfo=UTC)
Work = Callable[[], object]


def write_zip(path: Path, issuers: int) -> int:
    """Write the zip of so many issuers; give how many facts are in it."""
    facts = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for serial in range(issuers):
            company = issuer(serial)
            document, count = companyfacts(company, filings_of(1, company, SMALL_WORLD.day))
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


def write_lists(path: Path, filers: int) -> None:
    """Write the lists of submissions of so many filers, of whom one in fifty is in our markets."""
    rng = random.Random(0)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(filers):
            place = "T3" if number % 50 == 0 else "CA"
            forms = ["20-F", *["4"] * rng.randrange(200)]
            body = filer(str(number), incorporated=place, business=place, forms=forms)
            archive.writestr(name_of(str(number)), body)


def to_rows(path: str) -> Work:
    """Our reader, to the typed rows that the append takes."""
    document = Document("0" * 64, "sec-companyfacts", path, "public-domain", READ, 200, {}, 0)

    def work() -> int:
        rows = 0
        with Path(path).open("rb") as body, open_bulk(body, path) as zipped:
            for member in zipped.members():
                parsed = parser.parse(document, zipped.read(member))
                good, _ = to_arrow(FUNDAMENTALS, parsed.rows.get(FUNDAMENTALS.name, []))
                rows += good.num_rows
        return rows

    return work


def to_record(path: str) -> Work:
    """Land every member as a document of its own, then load them all."""
    (source,) = (source for source in SOURCES if source.key == "sec-companyfacts")

    def work() -> int:
        with tempfile.TemporaryDirectory() as folder:
            landing, record = Landing(f"{folder}/landing"), Record(f"{folder}/record")
            with Path(path).open("rb") as body, open_bulk(body, path) as zipped:
                for member in zipped.members():
                    url, content = str(FACTS.member_url(member.name)), zipped.read(member)
                    landing.land(
                        FetchedResponse(source.key, url, content, source.license_class, READ)
                    )
            return sum(entry.read for entry in load_source(record, landing, source))

    return work


def bare_decode(path: str) -> Work:
    """Unpack and decode each member, and do nothing with it."""

    def work() -> int:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            return sum(len(msgspec.json.decode(archive.read(name))) for name in names)

    return work


def choose(path: str) -> Work:
    """Choose by the rule, as a fetch does."""

    def work() -> int:
        with Path(path).open("rb") as body, open_bulk(body, path) as zipped:
            return len(issuers_by_rule(zipped)[0])

    return work


def choose_decoded(path: str) -> Work:
    """Choose by the rule from decoded lists."""

    def work() -> int:
        with zipfile.ZipFile(path) as archive:
            return sum(follows_rule(archive.read(name)) for name in archive.namelist())

    return work


def report() -> None:
    """Print facts per second beside the bare decoding, and how memory grows."""
    with tempfile.TemporaryDirectory() as temporary:
        half, whole = Path(temporary, "half.zip"), Path(temporary, "whole.zip")
        write_zip(half, ISSUERS // 2)
        facts = write_zip(whole, ISSUERS)
        bare, rows, stored = (
            _measured(way, whole) for way in ("bare_decode", "to_rows", "to_record")
        )
        stored_half = _measured("to_record", half)
        lists = Path(temporary, "lists.zip")
        write_lists(lists, FILERS)
        chosen, decoded = (_measured(way, lists) for way in ("choose", "choose_decoded"))
    print(f"  facts             {facts:,}, of which {rows.output} become rows")
    for name, cost in (("bare_decode", bare), ("to_rows", rows), ("to_record", stored)):
        rate = facts / cost.seconds
        print(f"  {name:14} {cost.seconds:7.2f} s  {cost.peak_mb:5} MB  {rate:12,.0f} facts/s")
    print(f"  to_rows / bare    {bare.seconds / rows.seconds:.2f}  (goal: at least 0.17)")
    _print_record(stored_half, stored)
    rate = FILERS / chosen.seconds
    print(f"  filers            {rate:,.0f} a second, {chosen.output} chosen, {chosen.peak_mb} MB")
    print(f"  chosen / decoded  {decoded.seconds / chosen.seconds:.2f}")


def report_own(path: Path) -> None:
    """Print rows per second and memory of a zip of company facts, and of half of its members."""
    with tempfile.TemporaryDirectory() as temporary:
        half = Path(temporary, "half.zip")
        with zipfile.ZipFile(path) as given, zipfile.ZipFile(half, "w") as target:
            for name in sorted(given.namelist())[::2]:
                target.writestr(name, given.read(name), zipfile.ZIP_DEFLATED)
        _print_record(_measured("to_record", half), _measured("to_record", path))


def _measured(way: str, path: Path) -> Measured:
    return measured("tests.bench.filings", way, str(path), runs=1)


def _print_record(half: Measured, whole: Measured) -> None:
    rate = int(whole.output) / whole.seconds
    print(f"  to the record     {whole.output} rows in {whole.seconds:.2f} s, {rate:,.0f} rows/s")
    ratio = whole.peak_mb / half.peak_mb
    print(
        f"  peak memory       {half.peak_mb} MB for half, {whole.peak_mb} MB for all: {ratio:.2f}"
    )


if __name__ == "__main__":
    report_own(Path(sys.argv[1])) if sys.argv[1:] else report()
