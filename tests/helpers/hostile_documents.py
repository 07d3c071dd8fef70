"""Small documents that cost much to read: bombs, endless values, deep nesting, rejections.

``python -m tests.helpers.hostile_documents`` reads each of them and prints what it cost.
"""

import gzip
import io
import os
import resource
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assets.ingest import workers
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.quarantine import quarantined_rows
from warehouse.record.store import Record

_MB = 1 << 20
_SOURCES = {source.key: source for source in SOURCES}
_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Hostile:
    """A document of a source that is not what it should be."""

    name: str
    source: str
    body: bytes

    def land(self, landing: Landing) -> None:
        """Land it as if its source had sent it."""
        source = _SOURCES[self.source]
        base = (source.base_url or "https://example.org").rstrip("/")
        url = f"{base}/{self.name.replace(' ', '-')}"
        landing.land(FetchedResponse(self.source, url, self.body, source.license_class, _MOMENT))


def hostile_documents(scale: float = 1.0) -> Iterator[Hostile]:
    """Yield hostile documents; ``scale`` makes those shorter whose length is the attack."""

    def times(unit: bytes, size: float) -> bytes:
        return unit * int(scale * size * _MB / len(unit))

    release = b'{"ocid":"a"}'
    yield Hostile("gzip of releases without an id", "co-secop", gzip.compress(times(release, 48)))
    lines = gzip.compress(times(release + b"\n", 32))
    yield Hostile("gzip of millions of rejections", "co-secop", lines)
    yield Hostile("gzip of zeros", "co-secop", gzip.compress(bytes(int(scale * 1024 * _MB)), 1))
    yield Hostile("deep arrays by line", "ke-ppip", b"[\n" * 40_000)
    yield Hostile("deep arrays in one line", "ke-ppip", b"[" * 2_000_000)
    yield Hostile("unclosed arrays", "ke-ppip", times(b'[1,"a",{}\n', 2.6))
    yield Hostile("one line of values", "za-etenders", times(release, 8))
    yield Hostile("array of empty objects", "za-etenders", b"[" + times(b"{},", 7.9) + b"{}]")
    deep = b'{"ocid":"a","id":"1","tender":' + b'{"a":' * 900 + b"1" + b"}" * 902
    yield Hostile("deep release", "za-etenders", deep)
    string = b'{"records":[{"LEI":"' + bytes([65]) * int(scale * 512 * _MB)
    yield Hostile("zip of one string", "gleif", zipped("lei.json", string))
    yield Hostile("zip of one line", "isin-lei", zipped("a.csv", b"LEI,ISIN\n" + string))
    entities = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"&a;" * 10)
        for n in range(12)
    )
    yield Hostile(
        "entities within entities", "gleif", b"<?xml version='1.0'?>" + entities + b"]><a>&a11;</a>"
    )
    columns = b"Country Name,Country Code,Indicator Name,Indicator Code,2001"
    wide = b"Last Updated Date,2024-01-01\n" + columns + b"\n"
    wide += times(b'"Kenya","KEN","A","A.B","1"\n', 700)
    yield Hostile("zip of gigabytes", "worldbank", zipped("API.csv", wide))
    yield Hostile("page nested too deeply", "worldbank", b"[" * 100_000)
    yield Hostile("workbook of one cell far away", "listings", workbook("XFD1048576"))
    yield Hostile("objects without common members", "listings", objects(int(scale * 300_000)))
    yield Hostile("page of open cells", "listings", b"<html><table><tr><td>" + times(b"a<b>", 7))
    yield Hostile(
        "zip in a zip of zeros",
        "listings",
        zipped("b.zip", zipped("a.csv", bytes(int(scale * 400 * _MB)))),
    )


def zipped(name: str, content: bytes) -> bytes:
    """Return a zip of one file."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return body.getvalue()


def objects(count: int) -> bytes:
    """Return objects of which each has a member of its own."""
    return b"[" + b",".join(b'{"a%d":1}' % number for number in range(count)) + b"]"


def workbook(cell: str) -> bytes:
    """Return an Excel workbook with a value in two cells that are as far apart as can be."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets>'
        '<sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{relations}/worksheet" Target="worksheets/a.xml"/>'
        "</Relationships>",
        "xl/worksheets/a.xml": f'<worksheet xmlns="{main}"><sheetData><row r="1"><c r="A1"><v>1</v>'
        f'</c></row><row r="1048576"><c r="{cell}"><v>2</v></c></row></sheetData></worksheet>',
    }
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return body.getvalue()


@dataclass
class Cost:
    """CPU seconds of this process and its readers, and MB that a reader took on top of its own."""

    seconds: float = 0.0
    memory_mb: float = 0.0
    _readers: dict[int, tuple[float, float]] = field(default_factory=dict)


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure what a block costs, by looking at the processes it uses every few milliseconds."""
    cost, is_over = Cost(), threading.Event()
    first: dict[int, tuple[float, float]] = {}

    def look() -> None:
        while not is_over.wait(0.005):
            for pid in _children():
                if (found := _usage(pid)) is not None:
                    begin = first.setdefault(pid, found)
                    cost._readers[pid] = (found[0] - begin[0], found[1])
                    cost.memory_mb = max(cost.memory_mb, found[1] - begin[1])

    for pid in _children():
        if (found := _usage(pid)) is not None:
            first[pid] = found
    begun = time.process_time()
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield cost
    finally:
        is_over.set()
        thread.join()
        cost.seconds = time.process_time() - begun + sum(each for each, _ in cost._readers.values())


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def _usage(pid: int) -> tuple[float, float] | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / 100, pages * resource.getpagesize() / _MB


def main() -> None:
    """Read each hostile document as a load of its source and print what it cost."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"{'document':34} {'bytes':>9} {'CPU s':>6} {'MB':>5}  quarantined, first reason")
    for hostile in hostile_documents(scale):
        if len(sys.argv) > 2 and hostile.source not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            landing, record = Landing(f"{folder}/landing"), Record(f"{folder}/record")
            hostile.land(landing)
            # A process that is ready: what it takes to start is no cost of the document.
            if not workers._spare:
                ready = Landing(f"{folder}/ready")
                Hostile("ready", "worldbank", b"[]").land(ready)
                load_source(Record(f"{folder}/other"), ready, _SOURCES["worldbank"])
            with measured() as cost:
                load_source(record, landing, _SOURCES[hostile.source])
            rows = quarantined_rows(record)
        reason = rows[0].reason if rows else "nothing"
        figures = f"{len(hostile.body):>9,} {cost.seconds:>6.2f} {cost.memory_mb:>5.0f}"
        print(f"{hostile.name:34} {figures}  {len(rows):,}: {reason:.150}", flush=True)


if __name__ == "__main__":
    main()
