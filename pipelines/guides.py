"""Guides about what code declares: rows, files, sources, licences, methodology, settings.

They are no files of ``docs/``: a publication writes them into its build, from which the service
serves them with those of ``docs/``. ``python -m pipelines.guides NAME`` prints one. Their texts are
in ``templates/guide_*.txt``, with the tables that follow from code.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.declared_files import LicenseEvidence
from assets.exports.artifacts import EXPORT_FILES
from assets.filings.cvm import ACCOUNTS, TAXONOMY
from assets.filings.fetch import FACTS, FEW, INDEXES, LISTS
from assets.filings.issuers import MARKET_MEANINGS, MARKETS
from assets.filings.line_items import BY_ELEMENT
from assets.ingest.sources import SOURCES
from assets.source import Source
from pipelines.sources import declared, state_of
from quality.floors import DAYS_SINCE_NEW, FLOORS, MEANINGS, Floor
from quality.report import MAX_ROWS
from warehouse.contract.agent_discovery import NOT_HELD
from warehouse.contract.problems import PROBLEMS
from warehouse.contract.schemas import ROW_SCHEMAS, Schema
from warehouse.methodology import metrics, signals
from warehouse.methodology import pages as methodology_pages
from warehouse.methodology.line_items import LINE_ITEMS, LineItem
from warehouse.record.rules import BLOCKS_ABOVE
from warehouse.record.tables import RECORD_TABLES
from warehouse.shared.metrics import METRICS
from warehouse.shared.settings import SETTINGS
from warehouse.shared.tiers import TIERS

_TEMPLATES = Path(__file__).parent / "templates"
_NAMES = (
    *("data-dictionary", "licences", "line-items", "methodology", "metrics", "not-held"),
    *("settings", "sources"),
)
_EVIDENCE: Mapping[LicenseEvidence, str] = {
    "in the file": "each document states the licence that it is under",
    "on the page": "a page of the publisher states it, at the address",
    "third party": "others say so; the address, if any, is where the publisher would state it",
    "not stated": "nothing was found",
}
_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=str)


@cache
def generated_guides() -> Mapping[str, str]:
    """Return every guide as Markdown, by name."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        # Markdown: what pages make of it is escaped there.
        autoescape=False,  # noqa: S701
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"number": "{:,}".format, "yes_or_no": ("no", "yes").__getitem__}
    environment.globals |= {
        "row": _row,
        "type": _type,
        "example": _example,
        "floor": _floor,
        "elements": _elements,
        "requests": _requests,
        "state_of": state_of,
        "row_schemas": ROW_SCHEMAS,
        # The signal panels are neighbours with the same columns: one section for all of them.
        "file_groups": [
            list(files) for _, files in groupby(EXPORT_FILES, key=lambda file: file.columns)
        ],
        "tiers": TIERS,
        "problems": PROBLEMS,
        "record_tables": RECORD_TABLES,
        "share": f"{BLOCKS_ABOVE:.0%}",
        "max_rows": MAX_ROWS,
        "evidence": _EVIDENCE,
        "sources": SOURCES,
        "line_items": LINE_ITEMS,
        "metric_set": metrics.METRIC_SET,
        "formulas": metrics.FORMULAS,
        "digits": metrics.METRIC_DIGITS,
        "signal_set": signals.SIGNAL_SET,
        "panels": signals.PANELS,
        "pages": methodology_pages,
        "floor_groups": [
            [floor for floor in FLOORS if floor.metric == metric]
            for metric in dict.fromkeys(floor.metric for floor in FLOORS)
        ],
        "metrics": METRICS,
        "not_held": NOT_HELD,
        "settings": SETTINGS.values(),
        "market_meanings": MARKET_MEANINGS,
        "markets": MARKETS,
        "lists_zip": LISTS.zip_url,
        "facts_zip": FACTS.zip_url,
        "few": FEW,
        "indexes": INDEXES,
    }
    return {name: environment.get_template(f"guide_{name}.txt").render() for name in _NAMES}


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _floor(floors: Sequence[Floor]) -> tuple[str, ...]:
    """Return the line of a metric: what it measures of which datasets, and its floor."""
    floor, metric = floors[0], floors[0].metric
    is_share = floor.unit == "share"
    amount = f"{floor.floor * 100:.0f} %" if is_share else f"{floor.floor} {floor.unit}"
    if metric == DAYS_SINCE_NEW:
        amount = "the days of [each source](sources.md)"
    return (
        f"`{metric}`",
        ", ".join(dict.fromkeys(each.sku for each in floors)),
        MEANINGS[metric],
        f"{'at most' if floor.is_maximum else 'at least'} {amount}",
        "yes" if floor.blocks else "no",
    )


def _elements(item: LineItem) -> str:
    ranked = sorted(
        (element.name[0], place.rank, f"`{element.name[1]}`{'*' if place.unless else ''}")
        for element in BY_ELEMENT.values()
        for place in element.places
        if place.item == item
    )
    ranked += sorted(
        (TAXONOMY, account.rank, f"`{account.name}`")
        for account in ACCOUNTS
        if account.item == item
    )
    by_taxonomy: dict[str, list[str]] = {}
    for taxonomy, _, name in ranked:
        by_taxonomy.setdefault(taxonomy, []).append(name)
    return "; ".join(f"{taxonomy}: {', '.join(names)}" for taxonomy, names in by_taxonomy.items())


def _requests(source: Source) -> tuple[str, ...]:
    described = declared(source)
    requests = "<br>".join(f"`{request}`" for request in described.requests)
    at_most = "<br>".join(f"{rate:.2g} a second at {host}" for host, rate in source.rates.items())
    return f"`{source.key}`", described.fetched_by, requests, at_most


def _type(schema: Schema) -> str:
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        return " or ".join(_type(item) for item in schema["anyOf"])
    types = schema["type"]
    names = [schema.get("format", types)] if isinstance(types, str) else list(types)
    # With a format, a list of types is always a string or null.
    if not isinstance(types, str) and "format" in schema:
        names = [schema["format"], "null"]
    return " or ".join(names)


def _example(examples: Sequence[Any] | None) -> str:
    if not examples or examples[0] is None:
        return ""
    return f"`{_encoder.encode(examples[0]).decode()}`"


if __name__ == "__main__":
    for name in sys.argv[1:] or generated_guides():
        sys.stdout.write(generated_guides()[name])
