"""The site of a build: catalogue, datasets, issuers, screen, signals, quality.

It is plain files with relative links. Nothing in it needs a key: of licensed datasets it holds
coverage, meanings and a few first rows; their figures are asked of the API by the pages.
"""

import re
import shutil
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from assets.pages.cards import CARDS, DATASETS, OPEN, PANELS, Card
from assets.pages.coverage import Fresh, Grid, country_name, freshness, grid
from assets.pages.files import File, files_of
from assets.pages.quality_board import board
from assets.pages.snippets import API, KEY, MCP, OWN_KEY, examples, snippets
from warehouse.exports.published import Manifest, PublishedExports
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


_DRAWN = 12
_SERIES = f"""
WITH known AS (FROM signals WHERE superseded_at IS NULL AND {OPEN}),
weighed AS (
    SELECT signal_key, country, dimension, dimension_value, sum(n_eligible) AS weight
    FROM known GROUP BY signal_key, country, dimension, dimension_value
    QUALIFY row_number() OVER (
        PARTITION BY signal_key, country, dimension ORDER BY weight DESC, dimension_value
    ) <= {_DRAWN}
)
SELECT signal_key, country, measure, unit, currency, dimension, dimension_value,
    list(strftime(month, '%Y-%m-%d') ORDER BY month) AS month,
    list(value::DOUBLE ORDER BY month) AS value,
    list(coverage::DOUBLE ORDER BY month) AS coverage,
    list(n_eligible ORDER BY month) AS eligible,
    list(n_observed ORDER BY month) AS observed
FROM known JOIN weighed USING (signal_key, country, dimension, dimension_value)
GROUP BY signal_key, country, measure, unit, currency, dimension, dimension_value, weight
ORDER BY signal_key, country, measure, dimension, weight DESC, dimension_value,
    currency"""


def write_panels(snapshot: Snapshot, folder: Path) -> dict[str, dict[str, str]]:
    """Write the series of each panel and country; give the countries of each panel by name."""
    by_place: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in snapshot.read(_SERIES).to_pylist():
        by_place[row.pop("signal_key"), row.pop("country")].append(row)
    countries: dict[str, dict[str, str]] = defaultdict(dict)
    for (key, country), series in by_place.items():
        place = folder / key / f"{country}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(msgspec.json.encode({"series": series}))
        countries[key][country] = country_name(country)
    return countries


_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_FILLED_IN = re.compile("|".join(re.escape(each) for each in (API, MCP, KEY, OWN_KEY)))


class Pages:
    """Writes pages below a folder; ``common`` is what all of them know."""

    def __init__(self, folder: Path, api: str, **common: Any) -> None:
        self._folder, self._common = folder, common
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._written = {API: api, MCP: api, KEY: "SANDBOX_KEY", OWN_KEY: "YOUR_KEY"}
        self._templates.filters.update(code=self._code, day=_day, number=_number)

    def write(self, address: str, template: str, **given: Any) -> None:
        """Write the page of an address such as ``datasets/af-fund``; the root has none."""
        page = self._templates.get_template(template).render(
            root="../" * (address.count("/") + 1) if address else "./",
            address=address,
            **self._common,
            **given,
        )
        place = self._folder / address / "index.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page, "utf-8")

    def _code(self, code: str) -> Markup:
        """Mark what the script of a page fills in."""
        shown = str(escape(code))
        return Markup(_FILLED_IN.sub(self._span, shown))  # noqa: S704

    def _span(self, found: re.Match[str]) -> str:
        name = found[0].strip("{}").lower().replace("_", "-")
        return f'<span class="fill {name}">{escape(self._written[found[0]])}</span>'


def _day(value: date | datetime | None) -> str:
    return "–" if value is None else value.strftime("%Y-%m-%d")


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


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
    published: PublishedExports,
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
