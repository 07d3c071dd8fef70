"""The site of a build: catalogue, datasets, issuers, screen, signals, quality.

It is plain files with relative links. Nothing in it needs a key: of licensed datasets it holds
coverage, meanings and a few first rows; their figures are asked of the API by the pages.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assets.pages.cards import CARDS, DATASETS, PANELS, Card
from assets.pages.coverage import Fresh, Grid, country_name, freshness, grid
from assets.pages.examples import examples
from assets.pages.files import File, files_of
from assets.pages.panels import write_panels
from assets.pages.quality_board import board
from assets.pages.render import STATIC, Pages
from assets.pages.snippets import snippets
from warehouse.exports.published import Manifest, Published
from warehouse.mart.snapshot import Snapshot
from warehouse.methodology.metrics import FORMULAS
from warehouse.tiers import TIERS

# With another one an unchanged record is published anew, with the new pages.
VERSION = "pages-1"
_ISSUERS = """
WITH named AS (
    SELECT service_id, arg_max(legal_name, observed_at) AS name,
        arg_max(country, observed_at) AS country
    FROM entities WHERE latest AND legal_name IS NOT NULL GROUP BY ALL
),
held AS (
    SELECT service_id, count(*) FILTER (WHERE latest) AS figures,
        count(*) FILTER (WHERE vintage > 1) AS restated
    FROM fundamentals GROUP BY ALL
)
SELECT held.service_id, coalesce(own.name, other.name) AS name,
    coalesce(own.country, other.country) AS country, figures, restated
FROM held LEFT JOIN named AS own ON own.service_id = held.service_id
LEFT JOIN same_as ON same_as.service_id = held.service_id
LEFT JOIN named AS other ON other.service_id = same_as.same_as
ORDER BY name, held.service_id"""


@dataclass(frozen=True)
class Entry:
    """A card with what the build has of it."""

    card: Card
    files: tuple[File, ...]
    grid: Grid | None
    fresh: tuple[Fresh, ...]

    @property
    def rows(self) -> int:
        """Count the rows of all its files."""
        return sum(each.artifact.rows for each in self.files)

    @property
    def is_open(self) -> bool:
        """Tell whether its files need no key."""
        return not any(each.artifact.requires_key for each in self.files)

    @property
    def licence(self) -> str:
        """Name the licence of its files."""
        return ", ".join(dict.fromkeys(each.artifact.license for each in self.files)) or "–"


def write_site(
    snapshot: Snapshot,
    manifest: Manifest,
    published: Published,
    folder: Path,
    api: str,
    notice: str,
) -> None:
    """Write the site of a build into a folder, anew; ``api`` is where the service is reached."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(STATIC, folder / "static")
    (folder / "data").mkdir()
    pages = Pages(folder, api, manifest=manifest, notice=notice, sample=TIERS["sample"])
    entries = {
        card.address: Entry(
            card,
            files_of(card, manifest, published),
            grid(snapshot, card),
            freshness(snapshot, card),
        )
        for card in CARDS
    }
    example = examples(snapshot, manifest.generated_at.date())
    drawn = write_panels(snapshot, folder / "data" / "signals")
    datasets = [entries[card.address] for card in DATASETS]
    panels = [entries[card.address] for card in PANELS]
    pages.write("", "catalogue.html", datasets=datasets, panels=panels)
    for address, entry in entries.items():
        copied = snippets(entry.card, entry.files, example)
        template = "dataset.html" if entry.card.panel is None else "panel.html"
        countries = drawn.get(entry.card.parts[0], {})
        pages.write(address, template, entry=entry, snippets=copied, countries=countries)
    pages.write("signals", "signals.html", panels=panels)
    _write_issuers(snapshot, pages, folder, example)
    _write_board(snapshot, pages, folder)
    _put(folder / "config.json", {"api": api, "mcp": api, "sandbox_key": ""})


def _write_issuers(snapshot: Snapshot, pages: Pages, folder: Path, example: dict[str, str]) -> None:
    issuers = snapshot.read(_ISSUERS).to_pylist()
    _put(folder / "data" / "issuers.json", [list(each.values()) for each in issuers])
    countries = {code: country_name(code) for code in {each["country"] for each in issuers} if code}
    named = sorted(countries.items(), key=lambda each: each[1])
    items = snapshot.read("SELECT DISTINCT line_item FROM fundamentals ORDER BY ALL")
    (first,) = snapshot.read("SELECT min(available_at) AS day FROM fundamentals")["day"].to_pylist()
    pages.write("issuers", "issuers.html", count=len(issuers))
    pages.write(
        "issuers/view",
        "issuer.html",
        items=items["line_item"].to_pylist(),
        first=first,
        example=example,
    )
    pages.write("screen", "screen.html", formulas=FORMULAS, countries=named)


def _write_board(snapshot: Snapshot, pages: Pages, folder: Path) -> None:
    measured = board(snapshot)
    pages.write("quality", "quality.html", board=measured)
    _put(
        folder / "data" / "quality.json", {"versions": measured.versions, "counts": measured.counts}
    )


def _put(place: Path, value: object) -> None:
    place.write_bytes(msgspec.json.encode(value))
