"""How many names of the real lists and portals are served, withheld and split.

``python -m tests.helpers.name_figures`` prints the table.
"""

import csv
import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from assets.tenders.parse import parse_portal
from assets.tenders.portal_files import ENTRIES, Portal, portal_of, read_portals
from quality.persons import Evidence, judge_name, party_names
from tests.helpers.parsed_rows import untyped
from tests.helpers.paths import REAL
from tests.helpers.real_recordings import real_recordings, write_manifest
from warehouse.record.landing import Document

NAMES = REAL / "names"
# A firm by its form, listed among the people to test matching.
FIRM_AMONG_PEOPLE = "Nicolás Maduro LLC"
_FORM = re.compile(
    r"\b(ltd|limited|pty|cc|npc|inc|incorporated|llc|llp|corp|corporation|plc|gmbh|lda|ltda|sarl"
    r"|s ?a ?de ?c ?v|s de r ?l.*|[sa]c)\b\W*(\(.*\))?\W*$",
    re.IGNORECASE,
)


class NameList(NamedTuple):
    """One list: the names of people, or of organisations, in one country."""

    title: str
    kind: str
    country: str | None
    names: list[str]


def name_lists() -> Iterator[NameList]:
    """Yield the people and the organisations of every list, organisations with a form apart."""
    yield NameList("probablepeople", "people", None, [name for name, _ in labelled("person")])
    for country in ("ao", "cv", "gw"):
        people = [row["label"] for row in rows(f"wikidata_persons_{country}.csv")]
        yield NameList(f"wikidata {country.upper()}", "people", country.upper(), people)
    suppliers = rows("mx_suppliers_labelled_half.csv")
    people = [row["name"] for row in suppliers if row["label"] == "PERSON"]
    yield NameList("suppliers MX", "people", "MX", people)
    pairs = rows("nomenklatura_name_bench_cases.csv")
    people = [row[x] for row in pairs if row["schema"] == "Person" for x in ("name1", "name2")]
    people = [name for name in people if name != FIRM_AMONG_PEOPLE]
    yield NameList("nomenklatura", "people", None, people)
    yield NameList("LEI sole proprietors", "people", None, sole_proprietors())
    companies = [row["name"] for row in suppliers if row["label"] == "COMPANY"]
    africa = [row["supplier"] for row in rows("za_suppliers_unlabelled_half.csv")]
    devices = (NAMES / "probablepeople_medical_device_corps.csv").read_text("utf-8").splitlines()
    listed = [name.strip().strip('"') for name in devices if name.strip()]
    joined = [row[x] for row in pairs if row["schema"] == "Company" for x in ("name1", "name2")]
    organisations: tuple[tuple[str, str | None, list[str]], ...] = (
        ("suppliers MX", "MX", companies),
        ("suppliers ZA", "ZA", africa),
        ("probablepeople", "US", [name for name, _ in labelled("company")]),
        ("medical devices", "US", listed),
        ("nomenklatura", None, joined),
    )
    for title, place, names in organisations:
        yield NameList(title, "with form", place, [name for name in names if _FORM.search(name)])
        others = [name for name in names if not _FORM.search(name)]
        yield NameList(title, "without", place, others)


def served_parts(name: str, country: str | None) -> list[str]:
    """Return the names that are served of a cell."""
    return [part for part in party_names(name, country) if _is_served(part, country)]


def _is_served(name: str, country: str | None) -> bool:
    verdict = judge_name(name, country=country, scheme=None, identifier=None)
    return isinstance(verdict, Evidence)


def labelled(kind: str) -> list[tuple[str, bool]]:
    """Return labelled names, and whether a legal form is labelled in each."""
    text = (NAMES / f"probablepeople_{kind}_labeled.xml").read_text("utf-8")
    names = re.findall(r"<Name>(.*?)</Name>", text, re.DOTALL)
    return [(html.unescape(re.sub("<[^>]+>", "", name)), "LegalType" in name) for name in names]


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a list of names."""
    lines = (NAMES / name).read_text("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def sole_proprietors() -> list[str]:
    """Return the names of the LEI records of sole proprietors."""
    body = (REAL / "gleif" / "goldencopy_lei2_20240505_first320.json").read_text("utf-8")
    entities = [row["Entity"] for row in json.loads(body)["records"]]
    return [
        row["LegalName"]["$"]
        for row in entities
        if row.get("EntityCategory", {}).get("$") == "SOLE_PROPRIETOR"
    ]


@dataclass
class PortalFigures:
    """What the documents of one portal give."""

    releases: int = 0
    rejected: int = 0
    values_rejected: int = 0
    numbers_as_text: int = 0
    served: set[str] = field(default_factory=set)
    withheld: set[str] = field(default_factory=set)


def portal_figures(folder: Path) -> dict[str, PortalFigures]:
    """Read every real document of a portal; ``folder`` is for the portals that are not built in."""
    write_manifest(folder)
    entries = [*ENTRIES, *read_portals(folder / "portals.toml")]
    portals = {entry.key: portal_of(entry) for entry in entries}
    figures: dict[str, PortalFigures] = {}
    for recording in real_recordings():
        portal = portals.get(recording.source)
        if portal is not None:
            # The licence is another question.
            open_portal = replace(portal, license_class=portal.license_class or "open-attribution")
            one = figures.setdefault(recording.source, PortalFigures())
            _add_document(one, open_portal, recording.path)
    return figures


def _add_document(figures: PortalFigures, portal: Portal, path: Path) -> None:
    day = datetime(2026, 11, 14, tzinfo=UTC)
    document = Document("0" * 64, portal.key, path.name, "cc-by", day, 200, {}, 0)
    parsed = untyped(parse_portal(document, path.read_bytes(), portal, b"a key"))
    releases = parsed.rows.get("tender_releases", [])
    figures.releases += len(releases)
    figures.numbers_as_text += sum(row["numbers_as_text"] for row in releases)
    for rejected in parsed.rejected.get("tender_releases", []):
        figures.values_rejected += rejected.partial
        figures.rejected += not rejected.partial
    for row in parsed.rows.get("tender_parties", []):
        (figures.withheld if row["name"] is None else figures.served).add(row["party_key"])


def tables(folder: Path) -> str:
    """Return the figures of all lists and portals as text."""
    lines = [f"{'list':22} {'kind':10} {'names':>6} {'served':>7} {'withheld':>9} {'split':>6}"]
    for each in name_lists():
        counted = Counter(
            "served" if served_parts(name, each.country) else "withheld" for name in each.names
        )
        split = sum(len(party_names(name, each.country)) > 1 for name in each.names)
        share = f"{counted['withheld'] / max(1, len(each.names)):8.1%}"
        lines.append(
            f"{each.title:22} {each.kind:10} {len(each.names):6} {counted['served']:7} "
            f"{counted['withheld']:9} {split:6} {share}"
        )
    lines += ["", "portal              releases rejected  values  as text served withheld"]
    for key, one in sorted(portal_figures(folder).items()):
        lines.append(
            f"{key:18} {one.releases:8} {one.rejected:8} {one.values_rejected:7} "
            f"{one.numbers_as_text:8} {len(one.served):6} {len(one.withheld):8}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        print(tables(Path(folder)))
