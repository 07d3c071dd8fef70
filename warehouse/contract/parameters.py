"""Every parameter of endpoints and tools, each declared once."""

from dataclasses import replace
from typing import get_args

from warehouse.contract.pagination import LONGEST_CURSOR
from warehouse.contract.parameter_types import (
    DAY,
    DAY_BY_TODAY,
    DAY_OR_VERSION,
    FLAG,
    YEAR_OR_DAY,
    Parameter,
    choice,
    free_text,
    list_of,
    opaque_text,
    pattern_text,
    row_count,
)
from warehouse.methodology import line_items
from warehouse.methodology.metrics import FORMULA_BY_SLUG
from warehouse.methodology.signals import PANEL_BY_KEY, Dimension
from warehouse.publish.served_rows import SEARCH_KINDS, Section
from warehouse.record.as_of import Vintages
from warehouse.serve.entities import ID_TYPES
from warehouse.shared.texts import DATA_VERSION
from warehouse.shared.tiers import TIERS, Dataset
from warehouse.tables.fundamentals import PeriodType
from warehouse.tables.macro import Frequency, SeriesType
from warehouse.tables.tenders import Role

# Ids are minted in upper case.
_ID = pattern_text(
    "[A-Za-z0-9]+", "letters and digits only; search finds it by name or ticker", upper=True
)
_ALPHA = pattern_text("[A-Za-z]{2,3}", "two or three letters, ISO 3166-1", upper=True)
_CODE = pattern_text("[A-Za-z0-9_.:/-]{1,64}", "a code of letters, digits and . _ : / -")
# The key of an exchange rate has a form of its own: FX. and two currencies, in any case.
# The others are all codes that do not begin with FX. (RE2 and Rust have no look-ahead.)
_SERIES_CODE = pattern_text(
    r"([Ff][Xx]\.[A-Za-z]{3}\.[A-Za-z]{3}"
    r"|[A-EG-Za-eg-z0-9_.:/-][A-Za-z0-9_.:/-]{0,63}"
    r"|[Ff]([A-WY-Za-wy-z0-9_.:/-][A-Za-z0-9_.:/-]{0,62})?"
    r"|[Ff][Xx]([A-Za-z0-9_:/-][A-Za-z0-9_.:/-]{0,61})?)",
    "a code of letters, digits and . _ : / -; a rate is FX.<base>.<quote>, such as FX.EUR.ZAR",
)

SERVICE_ID = Parameter(
    "service_id", _ID, "Organisation identifier.", "DC7Q2M4XK9", required=True, location="path"
)
OF_SERVICE_ID = Parameter("service_id", _ID, "Only parties resolved to this id.", "DC7Q2M4XK9")
FILED_BY = Parameter("service_id", _ID, "The organisation that filed.", "DC7Q2M4XK9", required=True)
FORM = Parameter(
    "form",
    pattern_text("[A-Za-z0-9][A-Za-z0-9 ./-]{0,63}", "letters, digits, blanks and . / -"),
    "Only filings of this form, as the publisher calls it: 20-F, 10-K/A, DFP, ITR.",
    "20-F",
)
FROM_RECEIPT = Parameter("from", DAY, "Earliest day of receipt.", "2024-01-01")
TO_RECEIPT = Parameter("to", DAY, "Latest day of receipt.", "2024-12-31")
AS_OF = Parameter(
    "as_of",
    DAY_BY_TODAY,
    "Return what was knowable at the end of that day (UTC). A future date is read as today, and "
    "`as_of` in the response says so.",
    "2024-06-30",
)
PERIOD_TYPE = Parameter(
    "period_type",
    choice(get_args(PeriodType)),
    "Reporting cadence such as FY, H1, Q1: figures of such periods, and balances at their ends.",
    "FY",
)
VINTAGES = Parameter(
    "vintages",
    choice(get_args(Vintages)),
    "`latest`: the latest vintage knowable by `as_of`; `as_reported`: the value as first filed; "
    "`all`: every restatement.",
    "latest",
    default="latest",
)
COUNTRY = Parameter("country", _ALPHA, "ISO 3166-1 alpha-2 or alpha-3, in any case.", "ZA")
COUNTRY_ZA = replace(COUNTRY, default="ZA")
COUNTRY_OF_FACTS = Parameter(
    "country", _ALPHA, "ISO 3166-1 alpha-3 such as ZAF, or alpha-2; needs `dataset`."
)
LIMIT = Parameter(
    "limit",
    # The schema has the highest ceiling; ``row_limit`` checks that of the caller's tier.
    row_count(max(tier.ceiling for tier in TIERS.values())),
    "Maximum number of rows. If omitted, the preview of the tier; see the documentation of tiers.",
    10,
)
# Of lists that have all rows without it.
LIMIT_UNCAPPED = replace(LIMIT, description="Maximum number of rows. If omitted, all.")
CURSOR = Parameter(
    "cursor",
    opaque_text(LONGEST_CURSOR),
    "`next_cursor` of the previous page, unchanged, with the same filters.",
)
VERSION = Parameter(
    "data_version",
    pattern_text(DATA_VERSION.pattern, "a data_version from an earlier answer"),
    "Answer from this version of the data instead of the current one.",
)
VERBOSE = Parameter(
    "verbose", FLAG, "true: every member of every row, as REST has them.", default="false"
)
FROM_RELEASE = Parameter("from", DAY, "Earliest release date.", "2024-01-01")
TO_RELEASE = Parameter("to", DAY, "Latest release date.", "2024-12-31")
BUYER = Parameter("buyer", free_text(200), "The buyer's service_id, or words of its name.", "roads")
IN_TENDER = Parameter(
    "query",
    free_text(128, shortest=2),
    "Words that must all occur in the title, the description or the buyer's name; the last one "
    "may be a prefix.",
    "road works",
)
NAMED = Parameter(
    "query",
    free_text(128, shortest=2),
    "A name or part of it, an LEI, a ticker with or without its exchange, or (paid key) an ISIN.",
    "Ubuntu Mining",
    required=True,
)
LINE_ITEMS = Parameter(
    "line_items",
    list_of(choice(tuple(item.name for item in line_items.LINE_ITEMS)), 50),
    "Only these lines, such as revenue, profit, cfo; see the list of line items.",
)
STATEMENT = Parameter(
    "statement", choice(line_items.STATEMENTS), "Only the lines of this statement.", "income"
)
SERVICE_IDS = Parameter(
    "service_ids",
    list_of(_ID, 100),
    "Ids of up to 100 organisations.",
    required=True,
)
STATUS = Parameter(
    "status",
    _CODE,
    "OCDS status of the tender in the release: active, complete, cancelled, unsuccessful.",
    "active",
)
OCID = Parameter(
    "ocid",
    free_text(200),
    "Open Contracting process id, as releases have it.",
    "ocds-9t57fa-100001",
    required=True,
    location="path",
)
SECTION = Parameter(
    "section",
    choice(get_args(Section)),
    "Only things of one kind: countries and datasets, series, indicators and so on.",
    "dataset",
)
SINCE = Parameter(
    "since",
    DAY_OR_VERSION,
    "First day on which something arrived, or a data_version, which stands for its day.",
    "2026-11-01",
    required=True,
)
CHANGED_ID = Parameter(
    "id", _CODE, "One issuer, series or indicator, or the country whose tenders changed."
)
IN_DATASET = Parameter(
    "dataset", choice(get_args(Dataset)), "Only what belongs to this dataset.", "AF-MACRO"
)
FORMAT = Parameter(
    "format",
    choice(("json", "csv", "ndjson")),
    "Form of the rows; without it, `Accept` decides. CSV and JSON Lines have rows only, and the "
    "next page in the header `Link`.",
    "json",
)
DIMENSION = Parameter(
    "dimension",
    choice(get_args(Dimension)),
    "What the rows are split by; `all` for the whole country.",
    "all",
)
DIMENSION_VALUE = Parameter(
    "dimension_value", free_text(200), "Value of the dimension, as rows have it.", "all"
)
SEARCHED = replace(
    NAMED,
    description="A name or words of it, an LEI, a ticker with or without its exchange, the key of "
    "a series, an indicator or a panel, or, with a paid key, an ISIN.",
)
KIND = Parameter("kind", choice(SEARCH_KINDS), "Only one kind of result.", "organisation")
ENTITY_ID = Parameter(
    "entity_id",
    pattern_text(
        "(DC[A-Za-z0-9]+|[A-Z]{3})",
        "an issuer id starting with DC, or an alpha-3 country code, in upper case",
        upper=True,
    ),
    "An issuer id returns its facts, a country code the AF-MACRO facts of the country.",
    "ZAF",
)
DATASET = Parameter(
    "dataset",
    choice(get_args(Dataset)),
    "With `country`: AF-TENDER (tender values, newest release first) or AF-MACRO. With an issuer "
    "`entity_id`: AF-FUND (default) or AF-TENDER (the contract awards it won).",
    "AF-MACRO",
)
MEASURE = Parameter("measure", _SERIES_CODE, "One measure only.", "FX.EUR.ZAR")
ROLE = Parameter("role", choice(get_args(Role)), "Role of the party, as OCDS has it.", "buyer")
INDICATOR = Parameter("indicator", _CODE, "Annual mode: code such as NY.GDP.MKTP.CD.")
SERIES = Parameter(
    "series", _SERIES_CODE, "Series mode: key, FX.<base>.<quote> for rates.", "FX.EUR.ZAR"
)
SERIES_TYPE = Parameter(
    "series_type", choice(get_args(SeriesType)), "Series mode: family of series.", "fx"
)
FREQUENCY = Parameter("frequency", choice(get_args(Frequency)), "Series mode.", "daily")
FROM_PERIOD = Parameter(
    "from", YEAR_OR_DAY, "Earliest observation: a date, in annual mode also a year.", "2020-01-01"
)
TO_PERIOD = Parameter(
    "to", YEAR_OR_DAY, "Latest observation: a date, in annual mode also a year.", "2024-12-31"
)
ID_TYPE = Parameter(
    "id_type",
    choice(ID_TYPES),
    "Type of identifier. `lei` and `ticker` work on any tier, the others need starter or above.",
    "lei",
    required=True,
)
ID_VALUE = Parameter(
    "id_value",
    free_text(64),
    "The identifier, in any case and in the form of its type; EXCHANGE:TICKER for a ticker.",
    "2138002QX8KZTPLXS721",
    required=True,
)
_SLUG = choice(tuple(FORMULA_BY_SLUG))
METRIC_RANKED = Parameter(
    "metric", _SLUG, "Slug of the metrics-v1 set.", "net_margin", required=True
)
METRIC = Parameter("metric", _SLUG, "One slug; every metric if omitted.", "net_margin")
ORDER = Parameter("order", choice(("asc", "desc")), "Order by size.", "desc", default="desc")
CATEGORY = Parameter(
    "category",
    free_text(200),
    "Category as published by the portal: goods, services, works.",
    "works",
)
FROM_MONTH = Parameter("from", DAY, "Earliest month; any day of it.", "2024-01-01")
TO_MONTH = Parameter("to", DAY, "Latest month; any day of it.", "2024-12-31")
SIGNAL_KEY = Parameter(
    "signal_key",
    pattern_text(
        "[a-z0-9-]+",
        "lower-case letters, digits and hyphens only",
        words=tuple(PANEL_BY_KEY),
    ),
    "Key of a panel, as `/v1/export` lists it.",
    "single-bid-rate",
    required=True,
    location="path",
)
SKU = Parameter(
    "sku",
    pattern_text(
        "[A-Za-z0-9-]+",
        "letters, digits and hyphens only",
        upper=True,
        words=get_args(Dataset),
    ),
    "Dataset, in any case: AF-FUND, AF-TENDER, AF-MACRO.",
    "AF-FUND",
    required=True,
    location="path",
)
