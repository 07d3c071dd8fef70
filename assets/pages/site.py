"""Write the site of a build: first page, datasets, signals, silent revisions, quality.

It is plain files with relative links, and nothing in it needs a key. Of licensed datasets it has
only coverage, column descriptions, a few first rows and one restated line; pages of single things
are rendered by the service.
"""

import re
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup, escape

from assets.pages.cards import CARDS, DATASETS, OPEN, PANELS, Card
from assets.pages.coverage import CoverageGrid, SourceFreshness, coverage_grid, freshness
from assets.pages.files import PageFile, files_of
from assets.pages.first_page import read_change_totals, read_changes, read_counts, read_story
from assets.pages.quality_board import read_quality_board
from assets.pages.silent_revisions import read_silent_revisions
from assets.pages.snippets import API, KEY, MCP, OWN_KEY, read_examples, write_snippets
from warehouse.exports.published import Manifest, PublishedExports
from warehouse.mart.served_rows import NAMED_ENTITIES
from warehouse.mart.snapshot import Snapshot
from warehouse.site.change_totals import TOTALS_FILE
from warehouse.site.environment import STATIC, TEMPLATES, page_environment
from warehouse.site.formats import country_name
from warehouse.tiers import TIERS

_TEMPLATES = Path(__file__).parent / "templates"
# What pages are made of beside the code of this package.
PAGE_FILES = (STATIC, TEMPLATES, _TEMPLATES)
# Replaced by the script of a page, which knows its own address and the sandbox key.
_PLACEHOLDERS = re.compile("|".join(re.escape(name) for name in (API, MCP, KEY, OWN_KEY)))

_ISSUERS = f"""
-- all vintages: a restatement is counted even if the figure was withdrawn later
WITH figures AS (
    SELECT service_id, count(*) FILTER (WHERE latest) AS figures,
        count(*) FILTER (WHERE vintage > 1) AS restated
    FROM fundamentals GROUP BY ALL
)
SELECT service_id, legal_name AS name, country, figures, restated
FROM figures LEFT JOIN ({NAMED_ENTITIES}) USING (service_id)
ORDER BY name, service_id"""

# Charts show only the buyers or issuers with the most processes; the file of a panel has all.
_MAX_SERIES = 12
_SERIES = f"""
WITH current_rows AS (FROM signals WHERE superseded_at IS NULL AND {OPEN}),
largest AS (
    SELECT signal_key, country, dimension, dimension_value, sum(n_eligible) AS weight
    FROM current_rows GROUP BY signal_key, country, dimension, dimension_value
    QUALIFY row_number() OVER (
        PARTITION BY signal_key, country, dimension ORDER BY weight DESC, dimension_value
    ) <= {_MAX_SERIES}
)
SELECT signal_key, country, measure, unit, currency, dimension, dimension_value,
    list(strftime(month, '%Y-%m-%d') ORDER BY month) AS month,
    -- DOUBLE, since these are drawn and not calculated with; the file has the exact digits
    list(value::DOUBLE ORDER BY month) AS value,
    list(coverage::DOUBLE ORDER BY month) AS coverage,
    list(n_eligible ORDER BY month) AS eligible,
    list(n_observed ORDER BY month) AS observed
FROM current_rows JOIN largest USING (signal_key, country, dimension, dimension_value)
GROUP BY signal_key, country, measure, unit, currency, dimension, dimension_value, weight
ORDER BY signal_key, country, measure, dimension, weight DESC, dimension_value,
    currency"""


@dataclass(frozen=True)
class CatalogueEntry:
    """A card with what the build has of it."""

    card: Card
    files: tuple[PageFile, ...]
    coverage: CoverageGrid | None
    freshness: tuple[SourceFreshness, ...]

    @property
    def rows(self) -> int:
        """The number of rows of all its files."""
        return sum(file.artifact.rows for file in self.files)

    @property
    def is_open(self) -> bool:
        """True if none of its files needs a key."""
        return not any(file.artifact.requires_key for file in self.files)

    @property
    def licence(self) -> str:
        """The licences of its files."""
        return ", ".join(dict.fromkeys(file.artifact.license for file in self.files)) or "–"


class PageWriter:
    """Renders templates to pages below a folder; ``common`` are variables of all templates."""

    def __init__(self, folder: Path, api: str, **common: Any) -> None:
        self._folder, self._common = folder, common
        self._templates = page_environment(_TEMPLATES)
        self._defaults = {API: api, MCP: api, KEY: "SANDBOX_KEY", OWN_KEY: "YOUR_KEY"}
        self._templates.filters["code"] = self._mark_placeholders

    def write(self, path: str, template: str, **variables: Any) -> None:
        """Write the page at a path such as ``datasets/af-fund``; that of the root is empty."""
        # Links are relative, so that they work wherever the folder is put.
        root = "../" * (path.count("/") + 1) if path else "./"
        page = self._templates.get_template(template).render(
            root=root,
            static=f"{root}static/",
            path=path,
            **self._common,
            **variables,
        )
        file = self._folder / path / "index.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page, "utf-8")

    def _mark_placeholders(self, code: str) -> Markup:
        """Wrap placeholders in spans that the script of a page fills in."""
        # Escaped first, so that only the spans are markup.
        return Markup(_PLACEHOLDERS.sub(self._span, str(escape(code))))  # noqa: S704

    def _span(self, placeholder: re.Match[str]) -> str:
        name = placeholder[0].strip("{}").lower().replace("_", "-")
        return f'<span class="fill {name}">{escape(self._defaults[placeholder[0]])}</span>'


def write_site(
    snapshot: Snapshot,
    manifest: Manifest,
    published: PublishedExports,
    folder: Path,
    api: str,
    notice: str,
) -> None:
    """Write the site of a build into a folder, replacing it; ``api`` is the service's address."""
    # From nothing: pages of issuers or panels that the build no longer has must not stay.
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(STATIC, folder / "static")
    (folder / "data").mkdir()
    pages = PageWriter(
        folder,
        api,
        manifest=manifest,
        data_version=manifest.data_version,
        published_on=manifest.generated_at,
        notice=notice,
        sample=TIERS["sample"],
    )
    entries = {
        card.path: CatalogueEntry(
            card,
            files_of(card, manifest, published),
            coverage_grid(snapshot, card),
            freshness(snapshot, card),
        )
        for card in CARDS
    }
    examples = read_examples(snapshot, manifest.generated_at.date())
    panel_countries = _write_panel_data(snapshot, folder / "data" / "signals")
    datasets = [entries[card.path] for card in DATASETS]
    panels = [entries[card.path] for card in PANELS]
    titles = {Path(card.path).name.upper(): card.title for card in CARDS}
    pages.write(
        "",
        "first.html",
        titles=titles,
        counts=read_counts(snapshot),
        story=read_story(snapshot),
        changes=read_changes(snapshot),
        examples=examples,
    )
    pages.write("datasets", "catalogue.html", datasets=datasets, panels=panels)
    for path, entry in entries.items():
        snippets = write_snippets(entry.card, entry.files, examples)
        template = "dataset.html" if entry.card.panel is None else "panel.html"
        countries = panel_countries.get(entry.card.file_keys[0], {})
        pages.write(path, template, entry=entry, snippets=snippets, countries=countries)
    pages.write("signals", "signals.html", panels=panels)
    _write_issuers(snapshot, folder)
    _write_json(folder.joinpath(*TOTALS_FILE), read_change_totals(snapshot))
    pages.write("revisions", "revisions.html", sources=read_silent_revisions(snapshot))
    pages.write("quality", "quality.html", board=read_quality_board(snapshot), titles=titles)
    # For any other web host: the service itself answers with its own addresses and sandbox key.
    _write_json(folder / "config.json", {"api": api, "mcp": api, "sandbox_key": ""})


def _write_panel_data(snapshot: Snapshot, folder: Path) -> dict[str, dict[str, str]]:
    """Write a small file per panel and country for its charts; return the countries of each panel.

    Panels are open data, so their values may be read without a key.
    """
    series: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in snapshot.read(_SERIES).to_pylist():
        series[row.pop("signal_key"), row.pop("country")].append(row)
    countries: dict[str, dict[str, str]] = defaultdict(dict)
    for (panel, country), rows in series.items():
        file = folder / panel / f"{country}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        _write_json(file, {"series": rows})
        countries[panel][country] = country_name(country)
    return countries


def _write_issuers(snapshot: Snapshot, folder: Path) -> None:
    """Write the names of all issuers, from which the service makes its list."""
    issuers = snapshot.read(_ISSUERS).to_pylist()
    _write_json(folder / "data" / "issuers.json", [list(row.values()) for row in issuers])


def _write_json(path: Path, value: object) -> None:
    path.write_bytes(msgspec.json.encode(value))
