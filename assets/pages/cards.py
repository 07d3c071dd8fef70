"""The pages of the catalogue as a table of data: which files each shows, and how it is asked.

A grid is a statement over the staged tables that gives ``country``, ``year`` and ``n``; where it
gives ``total`` too, the share of it is shown. ``fresh`` gives ``name``, ``n`` and the last days.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assets.exports.artifacts import EXPORT_FILES
from warehouse.methodology.signals import PANEL_BY_KEY, Panel
from warehouse.tables import OPEN_CLASSES

OPEN = f"license_class IN ({', '.join(repr(each) for each in OPEN_CLASSES)})"
_COUNTRY_OF = """
SELECT service_id, arg_max(country, observed_at) AS country FROM entities
WHERE latest AND country IS NOT NULL GROUP BY ALL"""


@dataclass(frozen=True)
class Card:
    """One dataset or panel: where its page is, what it is, and what it is made of.

    ``ask`` is an address of the API with places for examples that the build has; ``tool`` is
    the MCP tool that answers of it.
    """

    address: str
    title: str
    about: str
    parts: tuple[str, ...]
    grid: str | None
    counted: str
    fresh: str
    ask: str
    tool: str | None = None
    notes: tuple[str, ...] = ()
    panel: Panel | None = None


def _fresh(tables: tuple[str, ...], where: str = "TRUE") -> str:
    rows = " UNION ALL ".join(
        f"SELECT source, available_at, observed_at FROM {each} WHERE {where}" for each in tables
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
        "Figures as companies reported them, from filings in XBRL, with every restatement as a "
        "vintage of its own: ask for any day, and get what anyone could have read by then.",
        ("af-fund-facts",),
        f"""
SELECT coalesce(own.country, other.country) AS country, year(period_end) AS year, count(*) AS n
FROM fundamentals AS fact
LEFT JOIN ({_COUNTRY_OF}) AS own ON own.service_id = fact.service_id
LEFT JOIN same_as ON same_as.service_id = fact.service_id
LEFT JOIN ({_COUNTRY_OF}) AS other ON other.service_id = same_as.same_as
WHERE fact.latest GROUP BY ALL""",
        "figures by the year in which their period ends",
        _fresh(("fundamentals",)),
        "/v1/fundamentals/{issuer}?as_of={as_of}",
        "get_fundamentals",
        (
            "A figure is an issuer, a line item, a unit, a basis and a period. A later filing with "
            "another value is a vintage; one that repeats it is not.",
        ),
    ),
    Card(
        "datasets/af-tender",
        "AF-TENDER: public procurement",
        "Releases of procurement portals in the Open Contracting standard, the awards they state, "
        "and the buyers and suppliers they name, resolved to organisations.",
        ("af-tender-releases", "af-tender-awards", "af-tender-parties"),
        _by_year("tender_releases", "released_on"),
        "releases by the year of their date",
        _fresh(("tender_releases",)),
        "/v1/tenders?country={country}&limit=5",
        "search_tenders",
        (
            "No natural person is served: who is not established to be an organisation is "
            "withheld and only counted.",
        ),
    ),
    Card(
        "datasets/af-macro",
        "AF-MACRO: macroeconomic series",
        "Exchange rates, consumer prices and annual indicators; series with dated vintages, so "
        "that a model sees what was published by its day and no revision of it.",
        ("af-macro-series", "af-macro-annual"),
        " UNION ALL ".join(
            _by_year(table, "period_end") for table in ("macro_series", "macro_annual")
        ),
        "observations by the year in which their period ends",
        _fresh(("macro_series", "macro_annual")),
        "/v1/macro?series={series}&as_of={as_of}",
        "get_macro",
        ("Annual indicators have no evidenced day of release: no as_of reaches them.",),
    ),
    Card(
        "datasets/macro-series",
        "Macro series as they are known now",
        "The open part of AF-MACRO: every series in its last vintage, without a key.",
        ("macro-series",),
        _by_year("macro_series", "period_end", f"latest AND {OPEN}"),
        "observations by the year in which their period ends",
        _fresh(("macro_series",), OPEN),
        "/v1/macro?series={series}",
        "get_macro",
    ),
    Card(
        "datasets/quality-history",
        "Quality history",
        "What was measured of each dataset at each publication, against the least that passes. "
        "What was not measured says UNMEASURED, and is never a pass.",
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


def _panel(key: str, title: str) -> Card:
    panel = PANEL_BY_KEY[key]
    known = f"signal_key = '{key}' AND superseded_at IS NULL AND {OPEN}"
    return Card(
        f"signals/{key}",
        title,
        f"{panel.title}, by country and month. It needs {panel.needs}.",
        (key,),
        f"""
SELECT country, year(month) AS year, sum(n_observed) AS n, sum(n_eligible) AS total
FROM signals WHERE {known} GROUP BY ALL""",
        "how many of the processes in scope state what the measures need",
        f"""
SELECT country AS name, count(*) AS n, max(available_at) AS available_at,
    max(observed_at) AS observed_at FROM signals WHERE {known} GROUP BY ALL ORDER BY ALL""",
        f"/v1/signals/{key}",
        None,
        panel.notes,
        panel,
    )


PANELS = tuple(
    _panel(part.signal_key, part.title) for part in EXPORT_FILES if part.signal_key is not None
)
CARDS = (*DATASETS, *PANELS)


def meanings(part_key: str) -> Iterator[tuple[str, str, str, bool]]:
    """Give name, type and meaning of each column of a file, and whether it can be null."""
    (part,) = (each for each in EXPORT_FILES if each.key == part_key)
    for column in part.columns:
        yield column.name, str(column.field.type), column.meaning, bool(column.field.nullable)
