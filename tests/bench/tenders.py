"""Releases from JSON Lines to the record, beside a bare decoding loop over the same file."""

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pyarrow as pa

from assets.ingest.land import land_all
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from assets.parsing.parsed import Parsed, to_table
from assets.tenders.pieces import in_pieces
from tests.bench.measure import Measured, measured
from tests.helpers.tenders import PORTALS
from warehouse.record.landing import Document, FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES

RELEASES, LONGER = 200_000, 3
TABLES = (TENDER_RELEASES, TENDER_PARTIES)
Work = Callable[[], object]

_ENCODE = msgspec.json.Encoder(decimal_format="number").encode
_WORDS = (
    *("supply", "delivery", "construction", "rehabilitation", "maintenance", "of", "the", "and"),
    *("water", "pipeline", "classrooms", "laboratory", "reagents", "stationery", "road", "phase"),
    *("for", "county", "hospital", "district", "works", "proposed", "installation", "equipment"),
    *("consultancy", "services", "framework", "contract", "office", "furniture", "generator"),
)
_FIRST = ("Amina", "Joseph", "Wanjiru", "Otieno", "Fatuma", "Peter", "Grace", "Mwangi", "Njeri")
_LAST = ("Fictional", "Kamande", "Odhiamba", "Muthonia", "Barasah", "Chebeti", "Wekesah")
_TRADES = ("Investments", "Contractors", "Supplies", "Enterprises", "Technologies", "Holdings")
_FORMS = ("Limited", "Ltd", "Company Limited", "LLP", "(K) Ltd", "Investments", "Agencies", "")
_BODIES = ("County Government of {}", "{} Girls High School", "Ministry of {}", "{} University")
_CONTACTS = (
    " Enquiries: {name}, tel. 0722 {number:06d}.",
    " Contact person: {name} ({email})",
    " Write to {email} before closing.",
    " Tender no. {number:06d}/2026, lot {lot}.",
)


def lines(count: int, seed: int = 7) -> Iterator[bytes]:
    """Make releases of about 2 kB, no two alike; half of them have awards and contracts."""
    chance = random.Random(seed)
    suppliers = [_supplier(chance, number) for number in range(30_000)]
    buyers = [_buyer(chance, number) for number in range(2_000)]
    for number in range(count):
        yield _ENCODE(_release(chance, number, buyers, suppliers)) + b"\n"


def write(path: Path, count: int) -> None:
    """Write so many releases as JSON Lines."""
    with path.open("wb") as out:
        out.writelines(lines(count))


def _supplier(chance: random.Random, number: int) -> dict[str, Any]:
    person = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
    firm = f"{_name(chance)} {chance.choice(_TRADES)} {chance.choice(_FORMS)}".strip()
    supplier: dict[str, Any] = {
        "id": str(700_000 + number),
        "name": person if number % 9 == 4 else firm.upper() if number % 2 else firm,
    }
    if number % 3 == 0:
        supplier["identifier"] = {"scheme": "KE-RCO", "id": f"PVT-{number:06X}"}
    supplier["address"] = {"streetAddress": f"P.O. Box {number}", "countryName": "Kenya"}
    supplier["contactPoint"] = {"name": person, "telephone": f"0722{number:06d}"}
    return supplier


def _buyer(chance: random.Random, number: int) -> dict[str, Any]:
    return {"id": str(6_000 + number), "name": chance.choice(_BODIES).format(_name(chance))}


def _name(chance: random.Random) -> str:
    return "".join(chance.choice("bdfgklmnrst") + chance.choice("aeiou") for _ in range(4)).title()


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words)).capitalize() + f" {chance.randrange(10**5)}."


def _contact(chance: random.Random) -> str:
    name = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
    email = name.lower().replace(" ", ".") + "@fictional.example"
    return chance.choice(_CONTACTS).format(
        name=name, email=email, number=chance.randrange(10**6), lot=chance.randrange(9)
    )


def _release(
    chance: random.Random,
    number: int,
    buyers: list[dict[str, Any]],
    suppliers: list[dict[str, Any]],
) -> dict[str, Any]:
    opened = date(2022, 1, 10) + timedelta(days=number % 1500)
    buyer = chance.choice(buyers)
    reference = f"FIC/T{number}/{opened.year}"
    release: dict[str, Any] = {
        "ocid": f"ocds-5whusi-{290_000 + number}-{reference}",
        "id": f"{opened:%Y%m%d}114907-{reference}",
        "date": f"{opened}T11:49:{number % 60:02d}+03:00",
        "tag": ["tender"],
        "initiationType": "tender",
        "language": "en",
        "buyer": {"id": buyer["id"], "name": buyer["name"] + " "},
        "parties": [buyer | {"roles": ["buyer", "procuringEntity"]}],
        "tender": _tender(chance, number, opened, buyer, reference),
    }
    return release | _awarded(chance, number, opened, suppliers) if number % 2 else release


def _tender(
    chance: random.Random, number: int, opened: date, buyer: dict[str, Any], reference: str
) -> dict[str, Any]:
    contact = _contact(chance) if number % 4 == 0 else ""
    words = 30 if number % 2 else 110
    return {
        "id": f"{opened:%Y%m%d}114907-{reference}",
        "title": _sentence(chance, 8),
        "description": _sentence(chance, words) + contact,
        "status": "active",
        "procurementMethod": ("open", "selective", "limited")[number % 3],
        "procuringEntity": buyer,
        "mainProcurementCategory": ("goods", "works", "services")[number % 3],
        "value": {"amount": _money(chance), "currency": "KES"},
        "tenderPeriod": {
            "startDate": f"{opened}T08:00:00+03:00",
            "endDate": f"{opened + timedelta(days=21)}T10:00:00+03:00",
        },
        "items": [_item(chance, at) for at in range(1 + number % 3)],
        "documents": [
            {
                "id": str(number),
                "title": _sentence(chance, 4),
                "url": f"https://example.org/{number}",
            }
        ],
    }


def _item(chance: random.Random, at: int) -> dict[str, Any]:
    return {
        "id": str(at),
        "description": _sentence(chance, 5),
        "quantity": chance.randrange(500),
        "unit": {"name": "piece"},
        "classification": {"scheme": "UNSPSC", "id": str(chance.randrange(10**8))},
    }


def _awarded(
    chance: random.Random, number: int, opened: date, suppliers: list[dict[str, Any]]
) -> dict[str, Any]:
    bidders = chance.sample(suppliers, 1 + number % 4)
    winner, award_id = bidders[0], f"{opened:%Y%m%d}-{158_000 + number}"
    value = {"amount": _money(chance), "currency": "KES"}
    period = {"startDate": f"{opened}T00:00:00+03:00", "endDate": f"{opened.year + 1}-06-30"}
    shared = {"title": _sentence(chance, 8), "status": "active", "value": value}
    supplied = [{"id": winner["id"], "name": winner["name"]}]
    return {
        "tag": ["award", "contract"],
        "parties": [bidder | {"roles": ["tenderer", "supplier"]} for bidder in bidders],
        "awards": [
            shared | {"id": award_id, "suppliers": supplied, "date": str(opened)},
        ],
        "contracts": [
            shared | {"id": f"{award_id}-1", "awardID": award_id, "period": period},
        ],
    }


def _money(chance: random.Random) -> Decimal:
    return Decimal(chance.randrange(10**6, 10**10)) / 100


def bare(path: str) -> Work:
    """Decode every line and keep nothing."""

    def work() -> int:
        decode, count = orjson.loads, 0
        with Path(path).open("rb") as body:
            for line in body:
                decode(line)
                count += 1
        return count

    return work


def rows(path: str) -> Work:
    """Our way to typed Arrow, with every rule."""
    pa.array([""])
    return lambda: _rows(Path(path))


def ingest(path: str, folder: str, processes: str) -> Work:
    """Our whole way, from a landed document to the record, in so many processes."""
    record, landing = Record(f"{folder}/record"), Landing(f"{folder}/landing")
    body = Path(path).read_bytes()
    fetched = FetchedResponse(
        DOCUMENT.source, DOCUMENT.url, body, DOCUMENT.license_class, DOCUMENT.observed_at
    )
    land_all(landing, [fetched])
    (source,) = (source for source in SOURCES if source.key == DOCUMENT.source)
    # Arrow imports pandas at its first list, which takes a second.
    pa.array([""])
    return lambda: sum(
        entry.appended
        for entry in load_source(record, landing, source, processes=int(processes))
        if entry.table_name == TENDER_RELEASES.name
    )


DOCUMENT = Document(
    "0" * 64,
    "ke-ppip",
    "https://bench.example/releases.jsonl",
    "open-attribution",
    datetime(2026, 6, 1, tzinfo=UTC),
    200,
    {},
    0,
)


def _rows(path: Path) -> int:
    with path.open("rb") as body:
        return sum(map(_typed, in_pieces(PORTALS[DOCUMENT.source], b"key")(DOCUMENT, body)))


def _typed(part: Parsed) -> int:
    releases, _ = [to_table(table, [part])[0] for table in TABLES]
    return len(releases)


def report(releases: int = RELEASES) -> None:
    """Print the ratios of the goals; in wall time, so on a machine that does nothing else."""
    with tempfile.TemporaryDirectory() as temporary:
        path, longer = Path(temporary, "releases.jsonl"), Path(temporary, "longer.jsonl")
        write(path, releases)
        write(longer, releases * LONGER)
        ways = {way: _way(way, path) for way in ("bare", "rows")}
        for processes in ("1", "2"):
            folder = Path(temporary, processes)
            ways[f"ingest in {processes}"] = _way("ingest", path, str(folder), processes)
        peak = _way("rows", longer).peak_mb
    for way, cost in ways.items():
        speed = releases / cost.seconds
        print(f"  {way:14} {cost.seconds:7.2f} s  {speed:9,.0f} a second  {cost.peak_mb:5} MB")
    bare, one, two = (ways[way].seconds for way in ("bare", "ingest in 1", "ingest in 2"))
    print(f"  to rows / bare loop       {bare / ways['rows'].seconds:.3f}")
    print(f"  to the record / bare loop {bare / one:.3f}  (goal: at least 0.10)")
    print(f"  two processes / one       {one / two:.2f}  (goal: at least 1.7)")
    print(f"  our peak memory           {ways['ingest in 1'].peak_mb} MB  (goal: under 1024)")
    print(f"  to rows, {LONGER} times the file {peak} MB, once {ways['rows'].peak_mb} MB")


def _way(way: str, path: Path, *more: str) -> Measured:
    return measured("tests.bench.tenders", way, str(path), *more, runs=1)


if __name__ == "__main__":
    report(*map(int, sys.argv[1:]))
