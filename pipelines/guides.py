"""Guides about what code declares: rows, files, sources, licences, methodology, settings.

They are no files of ``docs/``: a publication writes them into its build, from which the service
serves them with those of ``docs/``. ``python -m pipelines.guides NAME`` prints one.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
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
from quality.left_out import MAX_ROWS
from warehouse.contract.agent_discovery import NOT_HELD
from warehouse.contract.problems import PROBLEMS
from warehouse.contract.schemas import ROW_SCHEMAS, Schema
from warehouse.methodology import metrics, signals
from warehouse.methodology import pages as methodology_pages
from warehouse.methodology.line_items import LINE_ITEMS, LineItem
from warehouse.record.rules import BLOCKS_ABOVE
from warehouse.record.tables import RECORD_TABLES, RecordTable
from warehouse.shared.metrics import METRICS
from warehouse.shared.settings import SETTINGS, Setting
from warehouse.shared.tiers import TIERS

_DECISION = "decisions/0027-line-items-are-ranked-elements-judged-by-their-own-filing.md"
_LINE_ITEMS = f"""\
The lines of `/v1/fundamentals`, and the elements of the taxonomies that state them, best first. In
each filing the best of them that it states gives the figure, and `element` names it. An element
marked * gives it only in a filing that does not show there is more: minority interests beside the
share of the owners, discontinued operations beside continuing ones, amortisation beside
depreciation, services beside goods. An element that differs, in any period of the filing, from a
better one is a part there and gives nothing. Parts are never added up, so a filing that states
only parts has no figure ([decision 27]({_DECISION})). `cvm` are the accounts of Brazil's charts, by
code and description; a `*` stands for any number.
"""
_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=str)


@cache
def generated_guides() -> Mapping[str, str]:
    """Return every guide as Markdown, by name."""
    return {
        "data-dictionary": data_dictionary(),
        "licences": licences(),
        "line-items": line_items(),
        "methodology": methodology(),
        "metrics": metrics_of_service(),
        "not-held": not_held(),
        "settings": settings(),
        "sources": sources(),
    }


def data_dictionary() -> str:
    """Return the page on rows, Parquet files, tiers, problems and vintages."""
    parts = (
        "# Data dictionary",
        "What every member and column means, with an example. A member is always there; null "
        "means not known. Numbers are exact decimals. REST and MCP serve the same rows. Below: "
        "[Parquet files](#parquet-files), [tiers](#tiers-of-keys), [problems](#problems), "
        "[what makes a vintage](#what-makes-a-vintage).",
        "## Rows of REST and MCP",
        *(_row(name, schema) for name, schema in ROW_SCHEMAS.items()),
        "## Parquet files",
        "The manifest at `/v1/export` lists the files of a version; [bulk.md](bulk.md) shows how "
        "they are read.",
        *(
            # The signal panels are neighbours with the same columns: one section for all of them.
            _files(list(files))
            for _, files in groupby(EXPORT_FILES, key=lambda file: file.columns)
        ),
        "## Tiers of keys",
        _tiers(),
        "## Problems",
        "Errors are `application/problem+json` (RFC 9457); `type` is the address of a page about "
        "the code.",
        _problems(),
        "## What makes a vintage",
        "Rows with the same identity speak of the same figure; a change of its content is a new "
        "vintage.",
        _table(("table", "identity", "content"), map(_identity, RECORD_TABLES)),
        "## Rules of rows",
        "A row that fails a rule is quarantined when it is read. If it was stored before the rule "
        "existed, a build leaves it out, as if it had never been read, and counts it; above a "
        f"share of {BLOCKS_ABOVE:.0%} of the rows of a table, or of one source in it (and more "
        f"than {MAX_ROWS} of them), nothing is published until a person has confirmed it. "
        "Names and contacts are judged by the organisation check at every publication. "
        "The Data Docs of a build, linked from `/quality/`, list every rule with its result.",
    )
    return "\n\n".join(parts) + "\n"


def not_held() -> str:
    """Return the page on what the service does not hold."""
    parts = (
        "# What is not here",
        "You need not search for these: they are not served, and nothing that is served stands "
        "for them. Agents read the same list in `not_held` of `describe_data`.",
        _table(("not held", "why"), NOT_HELD),
        "Which countries, series, indicators, line items and panels a build does hold is in "
        "`/v1/catalogue`, and for agents in `describe_data`. A list without rows says in `empty` "
        "why: the value is not held, not together with the others, was not known on `as_of`, or "
        "is out of range, with the nearest values and the span that is held.",
        "What is missing within the data that is held is measured: see "
        "`/v1/quality-metrics/{sku}` and [known limits](known-limits.md).",
    )
    return "\n\n".join(parts) + "\n"


def methodology() -> str:
    """Return the page on metrics and signal panels; shared rules are described once."""
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
    parts = (
        "# Methodology",
        "A running service shows a page for each `methodology_ref` at `/methodology/<ref>`, with "
        "a worked example for each metric. Nothing here is a rating or a judgement.",
        f"## Metrics: {metrics.METRIC_SET}",
        _table(("slug", "what it is", "formula", "condition", "unit"), formulas),
        f"### Years and inputs\n\n{methodology_pages.YEARS}",
        f"### Rounding\n\n{metrics.METRIC_DIGITS} significant digits, half to even, rounded once "
        "at the end from exact decimal figures.",
        f"### What `as_of` means for a metric\n\n{methodology_pages.AS_OF}",
        f"## Signals: {signals.SIGNAL_SET}",
        *(_panel(panel) for panel in signals.PANELS),
        f"### When a month was known\n\n{methodology_pages.CLOSING}",
        f"### How a process is read\n\n{methodology_pages.READING}",
        f"### Numbers that cannot be\n\n{methodology_pages.IMPLAUSIBLE}",
        f"### Figures\n\n{methodology_pages.FIGURES}",
        "## Quality floors",
        "Measured for every build and served by `/v1/quality`. A floor that only our own mistake "
        "can miss stops the publication; one that measures a source turns red, and its data is "
        "published. What cannot be measured is UNMEASURED, which is never a pass.",
        _table(("metric", "datasets", "what is measured", "floor", "stops"), _floors()),
    )
    return "\n\n".join(parts) + "\n"


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


def settings() -> str:
    """Return the page on all settings."""
    parts = (
        "# Settings",
        "All are variables of the environment; [operating](operating.md#settings) says how they "
        "are written.",
        _table(("setting", "meaning", "default"), map(_setting, SETTINGS.values())),
    )
    return "\n\n".join(parts) + "\n"


def metrics_of_service() -> str:
    """Return the page on what is counted for Prometheus."""
    lines = (
        (f"`{each.name}`", each.kind, ", ".join(each.labels), each.meaning) for each in METRICS
    )
    parts = (
        "# Metrics for Prometheus",
        "[Watching](watching.md#metrics) says how they are served.",
        _table(("metric", "kind", "labels", "meaning"), lines),
    )
    return "\n\n".join(parts) + "\n"


def sources() -> str:
    """Return the page that lists every source: licence, state, tables, requests."""
    parts = (
        "# Sources",
        "`sankofa sources` lists them with what your installation has of each. *Working*: somebody "
        "fetched it with success; *untried*: not yet; *refused*: its licence does not "
        "permit serving it, so no request is sent. *New within*: the days within which its "
        "publisher has something new, as a rule; if its newest publication is older, the quality "
        "report shows its freshness red. [licences.md](licences.md) says how each licence is "
        "known, [operating.md](operating.md#live-sources) "
        "describes live fetching, [add-a-source.md](add-a-source.md) how to add a source, and "
        "[declare-a-source.md](declare-a-source.md) how to add an OCDS portal, an exchange list or "
        "series in a table without code.",
        _table(
            ("key", "what it is", "licence", "tables", "new within", "state"),
            map(_source, SOURCES),
        ),
        "## What is requested",
        "Names in braces stand for what differs from request to request.",
        _table(("key", "fetched by", "requests", "at most"), map(_requests, SOURCES)),
        *_sec_issuers(),
    )
    return "\n\n".join(parts) + "\n"


def line_items() -> str:
    """Return the page on the lines of statements, and the elements that state them."""
    lines = (
        (f"`{item.name}`", item.statement.replace("_", " "), item.meaning, _elements(item))
        for item in LINE_ITEMS
    )
    table = _table(("line item", "statement", "meaning", "elements"), lines)
    return f"# Line items\n\n{_LINE_ITEMS}\n{table}\n"


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


def licences() -> str:
    """Return the page on the licence of every source, and how it is known."""
    counts = Counter(source.license_evidence for source in SOURCES)
    parts = (
        "# Licences",
        "Under which licence each source is published, what states it, and how that is known. "
        "Every served row carries the class. The page is written from the declarations of the "
        "[sources](sources.md): a licence is declared once.",
        _table(
            ("known", "meaning", "sources"),
            ((f"*{known}*", meaning, str(counts[known])) for known, meaning in _EVIDENCE.items()),
        ),
        "A source of the class `restricted` is refused before any request is sent, and so are "
        "recordings of it, until somebody has cleared it with the publisher. Of a source "
        "*in the file* each document decides: what states no open licence is quarantined. Before "
        "you rely on a licence, open the address: pages change.",
        _table(
            ("source", "class", "statement", "address", "known", "what follows"),
            map(_licence, SOURCES),
        ),
    )
    return "\n\n".join(parts) + "\n"


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


def _sec_issuers() -> tuple[str, ...]:
    """Return the section on which SEC issuers are followed."""
    countries = {
        because: ", ".join(iso for iso, why in MARKETS.items() if why == because)
        for because in MARKET_MEANINGS
    }
    return (
        "## SEC issuers",
        "`sec-submissions` and `sec-companyfacts` follow every filer whose business address or "
        "incorporation lies in an African or emerging market and whose recent filings contain a "
        "10-K, 20-F, 40-F or 6-K with XBRL. EDGAR's place codes are in "
        "`assets/filings/edgar_places.csv`, the markets in `assets/filings/markets.csv`:",
        _table(
            ("a market is", "countries"),
            ((meaning, countries[because]) for because, meaning in MARKET_MEANINGS.items()),
        ),
        "The place decides, not the business: a shipping company incorporated in Liberia is "
        "followed, an African retailer with its seat in Germany is not. `SANKOFA_CIKS` changes "
        "that:",
        _table(
            ("`SANKOFA_CIKS`", "followed"),
            (
                ("not set", "the issuers of the rule"),
                ("`+1756708 -884887`", "the issuers of the rule, 1756708 too, 884887 not"),
                ("`1172724 314590`", "only these two"),
            ),
        ),
        f"The default way is the SEC's nightly zips ({LISTS.zip_url} and {FACTS.zip_url}): each "
        "followed issuer's file becomes a document of its own, under the SEC's address of that "
        f"file. A list of at most {FEW} CIKs, or a batch of a backfill, is asked for issuer by "
        "issuer instead. Facts follow the issuers whose lists were landed from the zip; if none "
        "were, the zip of lists is read first. All members of a zip given as a recording are "
        "read, whatever the rule says.",
        "That is the first fetch of a week. Until the week is over EDGAR's daily indexes "
        f"({INDEXES}) tell who filed something since the last fetch, and only these are asked for, "
        "if they are not too many. There is no index on weekends and holidays; if that of a "
        "working day is missing or cannot be read, everything is fetched, and the log says why.",
    )


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


def _setting(setting: Setting) -> tuple[str, ...]:
    return f"`{setting.name}`", setting.meaning, setting.default


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
