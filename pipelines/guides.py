"""Guides about what code declares: rows, files, sources, licences, methodology, settings.

They are no files of ``docs/``: a publication writes them into its build, from which the service
serves them with those of ``docs/``. ``python -m pipelines.guides NAME`` prints one. Their texts are
in ``templates/guide_*.txt``; the parts that follow from code take the place of ``{{ names }}``.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from assets.declared_files import LicenseEvidence
from assets.exports.artifacts import EXPORT_FILES, ExportFile
from assets.exports.file_columns import FileColumn
from assets.filings.cvm import ACCOUNTS, TAXONOMY
from assets.filings.fetch import FACTS, FEW, INDEXES, LISTS
from assets.filings.issuers import MARKET_MEANINGS, MARKETS
from assets.filings.line_items import BY_ELEMENT
from assets.ingest.sources import SOURCES
from assets.source import Source
from pipelines.sources import declared, state_of
from quality.floors import DAYS_SINCE_NEW, FLOORS, MEANINGS
from quality.report import MAX_ROWS
from warehouse.contract.agent_discovery import NOT_HELD
from warehouse.contract.problems import PROBLEMS
from warehouse.contract.schemas import ROW_SCHEMAS, Schema
from warehouse.methodology import metrics, signals
from warehouse.methodology import pages as methodology_pages
from warehouse.methodology.line_items import LINE_ITEMS, LineItem
from warehouse.record.rules import BLOCKS_ABOVE
from warehouse.record.tables import RECORD_TABLES, RecordTable
from warehouse.shared.metrics import METRICS
from warehouse.shared.settings import SETTINGS
from warehouse.shared.tiers import TIERS

_TEMPLATES = Path(__file__).parent / "templates"
_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")
_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=str)


@cache
def generated_guides() -> Mapping[str, str]:
    """Return every guide as Markdown, by name."""
    parts: Mapping[str, Mapping[str, object]] = {
        "data-dictionary": _data_dictionary(),
        "licences": _licences(),
        "line-items": {"line_items": _line_items()},
        "methodology": _methodology(),
        "metrics": {"metrics": _metrics_of_service()},
        "not-held": {"not_held": _table(("not held", "why"), NOT_HELD)},
        "settings": {"settings": _settings()},
        "sources": _sources(),
    }
    return {name: _filled(name, fill) for name, fill in parts.items()}


def _filled(name: str, parts: Mapping[str, object]) -> str:
    text = (_TEMPLATES / f"guide_{name}.txt").read_text("utf-8")
    return _PLACEHOLDER.sub(lambda place: str(parts[place[1]]), text)


def _data_dictionary() -> Mapping[str, object]:
    # The signal panels are neighbours with the same columns: one section for all of them.
    files = groupby(EXPORT_FILES, key=lambda file: file.columns)
    return {
        "rows": "\n\n".join(_row(name, schema) for name, schema in ROW_SCHEMAS.items()),
        "files": "\n\n".join(_files(list(group)) for _, group in files),
        "tiers": _tiers(),
        "problems": _problems(),
        "vintages": _table(("table", "identity", "content"), map(_identity, RECORD_TABLES)),
        "share": f"{BLOCKS_ABOVE:.0%}",
        "max_rows": MAX_ROWS,
    }


def _methodology() -> Mapping[str, object]:
    formulas = (
        (
            f"`{formula.slug}`",
            formula.description,
            f"`{formula.expression}`",
            f"`{formula.condition}`",
            formula.unit,
        )
        for formula in metrics.FORMULAS
    )
    return {
        "metric_set": metrics.METRIC_SET,
        "formulas": _table(("slug", "what it is", "formula", "condition", "unit"), formulas),
        "years": methodology_pages.YEARS,
        "digits": metrics.METRIC_DIGITS,
        "as_of": methodology_pages.AS_OF,
        "signal_set": signals.SIGNAL_SET,
        "panels": "\n\n".join(map(_panel, signals.PANELS)),
        "closing": methodology_pages.CLOSING,
        "reading": methodology_pages.READING,
        "implausible": methodology_pages.IMPLAUSIBLE,
        "figures": methodology_pages.FIGURES,
        "floors": _table(("metric", "datasets", "what is measured", "floor", "stops"), _floors()),
    }


def _floors() -> Iterator[tuple[str, ...]]:
    for metric in dict.fromkeys(floor.metric for floor in FLOORS):
        floor = next(each for each in FLOORS if each.metric == metric)
        is_share = floor.unit == "share"
        amount = f"{floor.floor * 100:.0f} %" if is_share else f"{floor.floor} {floor.unit}"
        if metric == DAYS_SINCE_NEW:
            amount = "the days of [each source](sources.md)"
        yield (
            f"`{metric}`",
            ", ".join(dict.fromkeys(each.sku for each in FLOORS if each.metric == metric)),
            MEANINGS[metric],
            f"{'at most' if floor.is_maximum else 'at least'} {amount}",
            "yes" if floor.blocks else "no",
        )


def _settings() -> str:
    lines = (
        (f"`{setting.name}`", setting.meaning, setting.default) for setting in SETTINGS.values()
    )
    return _table(("setting", "meaning", "default"), lines)


def _metrics_of_service() -> str:
    lines = (
        (f"`{each.name}`", each.kind, ", ".join(each.labels), each.meaning) for each in METRICS
    )
    return _table(("metric", "kind", "labels", "meaning"), lines)


def _sources() -> Mapping[str, object]:
    countries = (
        (meaning, ", ".join(iso for iso, why in MARKETS.items() if why == because))
        for because, meaning in MARKET_MEANINGS.items()
    )
    titles = ("key", "what it is", "licence", "tables", "new within", "state")
    return {
        "sources": _table(titles, map(_source, SOURCES)),
        "requests": _table(("key", "fetched by", "requests", "at most"), map(_requests, SOURCES)),
        "markets": _table(("a market is", "countries"), countries),
        "lists_zip": LISTS.zip_url,
        "facts_zip": FACTS.zip_url,
        "few": FEW,
        "indexes": INDEXES,
    }


def _line_items() -> str:
    lines = (
        (f"`{item.name}`", item.statement.replace("_", " "), item.meaning, _elements(item))
        for item in LINE_ITEMS
    )
    return _table(("line item", "statement", "meaning", "elements"), lines)


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


def _licences() -> Mapping[str, object]:
    counts = Counter(source.license_evidence for source in SOURCES)
    evidence = ((f"*{known}*", words, str(counts[known])) for known, words in _EVIDENCE.items())
    titles = ("source", "class", "statement", "address", "known", "what follows")
    return {
        "evidence": _table(("known", "meaning", "sources"), evidence),
        "licences": _table(titles, map(_licence, SOURCES)),
    }


_EVIDENCE: Mapping[LicenseEvidence, str] = {
    "in the file": "each document states the licence that it is under",
    "on the page": "a page of the publisher states it, at the address",
    "third party": "others say so; the address, if any, is where the publisher would state it",
    "not stated": "nothing was found",
}


def _licence(source: Source) -> tuple[str, ...]:
    by_document = source.license_evidence == "in the file"
    address = f"<{source.license_url}>" if source.license_url else ""
    follows = "as its documents say" if by_document else "served" if source.permitted else "refused"
    license_class = "of each document" if by_document else f"`{source.license_class}`"
    known = source.license_evidence
    return f"`{source.key}`", license_class, source.license_name, address, known, follows


def _source(source: Source) -> tuple[str, ...]:
    licence = source.license_name
    if source.license_url is not None:
        licence = f"[{licence}]({source.license_url})"
    tables = ", ".join(table.name for table in source.tables)
    new_within = f"{source.new_within} days"
    return f"`{source.key}`", source.title, licence, tables, new_within, state_of(source)


def _requests(source: Source) -> tuple[str, ...]:
    described = declared(source)
    requests = "<br>".join(f"`{request}`" for request in described.requests)
    at_most = "<br>".join(f"{rate:.2g} a second at {host}" for host, rate in source.rates.items())
    return f"`{source.key}`", described.fetched_by, requests, at_most


def _panel(panel: signals.Panel) -> str:
    title = f"### {panel.key}\n\n{panel.title}."
    return f"{title}\n\n{methodology_pages.measures(panel)}\n\n{methodology_pages.scope(panel)}"


def _row(title: str, schema: Schema) -> str:
    members = (
        (
            f"`{name}`",
            _type(member),
            member.get("description", ""),
            _example(member.get("examples")),
        )
        for name, member in schema["properties"].items()
    )
    table = _table(("member", "type", "meaning", "example"), members)
    return f"### {title}\n\n{schema['description']}\n\n{table}"


def _tiers() -> str:
    tiers = TIERS.values()
    lines = (
        ("rows when `limit` is left out", *(f"{tier.rows:,}" for tier in tiers)),
        ("`limit` at most", *(f"{tier.ceiling:,}" for tier in tiers)),
        ("requests a minute", *(f"{tier.per_minute:,}" for tier in tiers)),
        ("requests a calendar month, UTC", *(f"{tier.per_month:,}" for tier in tiers)),
        ("paid crosswalk, licensed files", *("yes" if tier.paid else "no" for tier in tiers)),
    )
    return _table(("", *TIERS), lines)


def _problems() -> str:
    kinds = sorted(PROBLEMS.items(), key=lambda item: item[1].status)
    return _table(
        ("status", "code", "what it is", "what to do"),
        ((str(kind.status), f"`{code}`", kind.title, kind.advice) for code, kind in kinds),
    )


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


def _files(files: Sequence[ExportFile]) -> str:
    title = "### " + ("Signal panels" if len(files) > 1 else files[0].key)
    list_of_files = _table(
        ("file", "what it holds", "who reads it", "sorted by"),
        ((f"`{file.key}.parquet`", file.title, file.kind, ", ".join(file.sort)) for file in files),
    )
    columns = _table(("column", "type", "meaning", "example"), map(_column, files[0].columns))
    return f"{title}\n\n{list_of_files}\n\n{columns}"


def _column(column: FileColumn) -> tuple[str, ...]:
    kind = str(column.field.type) + (" or null" if column.field.nullable else "")
    return f"`{column.name}`", kind, column.meaning, _example((column.example,))


def _identity(table: RecordTable) -> tuple[str, ...]:
    return f"`{table.name}`", ", ".join(table.identity), ", ".join(table.content)


def _table(titles: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    all_lines = (titles, ("---",) * len(titles), *lines)
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in all_lines
    )


if __name__ == "__main__":
    for name in sys.argv[1:] or generated_guides():
        sys.stdout.write(generated_guides()[name])
