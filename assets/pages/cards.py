"""The pages of the catalogue as data: which files each shows, and how to request its data."""

from collections.abc import Iterator
from dataclasses import dataclass

from assets.exports.artifacts import EXPORT_FILES
from warehouse.mart.served_rows import NAMED_ENTITIES
from warehouse.methodology import signals
from warehouse.methodology.signals import Panel
from warehouse.tables import OPEN_CLASSES

OPEN = f"license_class IN ({', '.join(repr(name) for name in OPEN_CLASSES)})"


@dataclass(frozen=True)
class Card:
    """One dataset or panel: the path of its page, its texts, its files and its statements.

    ``coverage_sql`` selects ``country``, ``year`` and ``n``; a panel's also selects ``total``, and
    the page shows the share. ``cell_meaning`` says what a cell of that grid counts.
    ``freshness_sql`` selects ``name``, ``n`` and the last days. ``api_path`` has placeholders for
    examples from the build; ``tool`` is the MCP tool for the same data.
    """

    path: str
    title: str
    about: str
    file_keys: tuple[str, ...]
    coverage_sql: str | None
    cell_meaning: str
    freshness_sql: str
    api_path: str
    tool: str | None = None
    notes: tuple[str, ...] = ()
    panel: Panel | None = None


def _freshness(tables: tuple[str, ...], where: str = "TRUE") -> str:
    rows = " UNION ALL ".join(
        "SELECT source, coalesce(available_at, try_cast(left(publication, 10) AS DATE)) "
        f"AS available_at, observed_at FROM {table} WHERE NOT withdrawn AND {where}"
        for table in tables
    )
    return f"""
SELECT source AS name, count(*) AS n, max(available_at) AS available_at,
    max(observed_at) AS observed_at FROM ({rows}) GROUP BY ALL ORDER BY ALL"""


def _by_year(table: str, day: str, where: str = "latest") -> str:
    return f"""
SELECT country, year({day}) AS year, count(*) AS n FROM {table}
WHERE {where} AND {day} IS NOT NULL GROUP BY ALL"""


DATASETS = (
    Card(
        "datasets/af-fund",
        "AF-FUND: company fundamentals",
        "Figures as companies reported them in XBRL filings, with every restatement as a separate "
        "vintage: choose any day and get what was public by then. Beside them the list of filings.",
        ("af-fund-facts", "af-fund-filings"),
        f"""
SELECT country, year(period_end) AS year, count(*) AS n
FROM fundamentals LEFT JOIN ({NAMED_ENTITIES}) USING (service_id)
WHERE latest GROUP BY ALL""",
        "number of figures, by the year in which their period ends",
        _freshness(("fundamentals",)),
        "/v1/fundamentals/{issuer}?as_of={as_of}",
        "get_fundamentals",
        (
            "A figure is identified by issuer, line item, unit, basis and period. A later filing "
            "with a different value adds a vintage; one that repeats the value does not.",
            "A filing is a version of a document. The day on which its publisher received it need "
            "not be the day from which it could be read.",
        ),
    ),
    Card(
        "datasets/af-tender",
        "AF-TENDER: public procurement",
        "Releases of procurement portals in the Open Contracting Data Standard, with their awards, "
        "and their buyers and suppliers resolved to organisations.",
        ("af-tender-releases", "af-tender-facts", "af-tender-awards", "af-tender-parties"),
        _by_year("tender_releases", "released_on"),
        "number of releases, by year of release",
        _freshness(("tender_releases",)),
        "/v1/tenders?country={country}&limit=5",
        "search_tenders",
        (
            "No personal data is published: a party that is not established to be an organisation "
            "is withheld and only counted.",
        ),
    ),
    Card(
        "datasets/af-macro",
        "AF-MACRO: macroeconomic series",
        "Exchange rates, consumer prices and annual indicators. Series have dated vintages, so a "
        "model sees only what was published by its day, and no later revision.",
        ("af-macro-series", "af-macro-annual"),
        " UNION ALL ".join(
            _by_year(table, "period_end") for table in ("macro_series", "macro_annual")
        ),
        "number of observations, by the year in which their period ends",
        _freshness(("macro_series", "macro_annual")),
        "/v1/macro?series={series}&as_of={as_of}",
        "get_macro",
        ("Annual indicators have no documented release date, so as_of does not return them.",),
    ),
    Card(
        "datasets/macro-series",
        "Macro series, latest values",
        "The open part of AF-MACRO: the latest vintage of every series, no key needed.",
        ("macro-series",),
        _by_year("macro_series", "period_end", f"latest AND {OPEN}"),
        "number of observations, by the year in which their period ends",
        _freshness(("macro_series",), OPEN),
        "/v1/macro?series={series}",
        "get_macro",
    ),
    Card(
        "datasets/silent-revisions",
        "Silent revisions",
        "What publishers changed without saying so: the value or member before and after, since "
        "when the old one was known, when it was last seen, and when the new one was first seen.",
        ("silent-revisions",),
        None,
        "",
        f"""
SELECT source AS name, count(*) AS n, NULL::DATE AS available_at,
    max(after_first_seen_at) AS observed_at
FROM silent_revisions WHERE {OPEN} GROUP BY ALL ORDER BY ALL""",
        "/v1/changes?since={as_of}",
        None,
        (
            "Only changes between two of our readings can be seen, and only where the figure that "
            "counts became another one. Members of tender releases are compared one by one.",
        ),
    ),
    Card(
        "datasets/quality-history",
        "Quality history",
        "Measurements of each dataset at each publication, compared with their floors. What could "
        "not be measured is UNMEASURED and never counts as a pass.",
        ("quality-history",),
        None,
        "",
        """
SELECT sku AS name, count(*) AS n, NULL::DATE AS available_at, max(measured_at) AS observed_at
FROM quality GROUP BY ALL ORDER BY ALL""",
        "/v1/quality-metrics/AF-FUND",
        "get_quality_metrics",
    ),
)


def _panel(panel: Panel) -> Card:
    # Pages are read without a key, so they may only count what is open.
    current = f"signal_key = '{panel.key}' AND superseded_at IS NULL AND {OPEN}"
    return Card(
        f"signals/{panel.key}",
        panel.title,
        f"{panel.title}, by country and month. Requires {panel.needs}.",
        (panel.key,),
        f"""
SELECT country, year(month) AS year, sum(n_observed) AS n, sum(n_eligible) AS total
FROM signals WHERE {current} GROUP BY ALL""",
        "share of processes in scope that state what the measures need",
        f"""
SELECT country AS name, count(*) AS n, max(available_at) AS available_at,
    max(observed_at) AS observed_at FROM signals WHERE {current} GROUP BY ALL ORDER BY ALL""",
        f"/v1/signals/{panel.key}",
        None,
        panel.notes,
        panel,
    )


PANELS = tuple(_panel(panel) for panel in signals.PANELS)
CARDS = (*DATASETS, *PANELS)


def describe_columns(file_key: str) -> Iterator[tuple[str, str, str, bool]]:
    """Yield name, type, meaning and nullability of each column of a file."""
    (part,) = (part for part in EXPORT_FILES if part.key == file_key)
    for column in part.columns:
        yield column.name, str(column.field.type), column.meaning, bool(column.field.nullable)
