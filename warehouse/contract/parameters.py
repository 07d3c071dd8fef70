"""Every parameter of endpoints and tools, each one line of ``parameters.csv``."""

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from msgspec import json

from warehouse.contract.pagination import LONGEST_CURSOR
from warehouse.contract.parameter_types import (
    COUNTRY,
    COUNTRY_OR_NAME,
    DAY,
    DAY_BY_TODAY,
    DAY_OR_VERSION,
    FLAG,
    NUMBER,
    PERIOD,
    YEAR,
    YEAR_OR_DAY,
    Parameter,
    ParameterType,
    choice,
    free_text,
    list_of,
    list_of_objects,
    opaque_text,
    pattern_text,
    row_count,
)
from warehouse.methodology import line_items
from warehouse.methodology.metrics import FORMULA_BY_SLUG, METRIC_SET, TRAILING_SET
from warehouse.methodology.signals import PANEL_BY_KEY, Dimension
from warehouse.publish.served_rows import SEARCH_KINDS, Section
from warehouse.record.as_of import Vintages
from warehouse.serve.entities import ID_TYPES
from warehouse.shared.data_files import csv_rows
from warehouse.shared.texts import DATA_VERSION
from warehouse.shared.tiers import TIERS, Dataset
from warehouse.tables.fundamentals import PeriodType
from warehouse.tables.macro import Frequency, SeriesType
from warehouse.tables.tenders import Role

# The types of texts that match a pattern.
_PATTERNS = {
    row["type"]: pattern_text(row["pattern"], row["expected"], upper=row["upper"])
    for row in csv_rows(__name__, "parameter_patterns")
}
_LINE_ITEM = choice(tuple(item.name for item in line_items.LINE_ITEMS))
_TYPES: Mapping[str, ParameterType] = {
    **_PATTERNS,
    "adjust": choice(("splits",)),
    "ids": list_of(_PATTERNS["id"], 100),
    "country": COUNTRY,
    "panel": pattern_text(
        "[a-z0-9-]+", "lower-case letters, digits and hyphens only", words=tuple(PANEL_BY_KEY)
    ),
    "sku": pattern_text(
        "[A-Za-z0-9-]+", "letters, digits and hyphens only", upper=".+", words=get_args(Dataset)
    ),
    # Of a tool: only words that are known now.
    "known panel": choice(tuple(PANEL_BY_KEY)),
    "version": pattern_text(DATA_VERSION.pattern, "a data_version from an earlier answer"),
    "cursor": opaque_text(LONGEST_CURSOR),
    # The schema has the highest ceiling; ``row_limit`` checks that of the caller's tier.
    "rows": row_count(max(tier.ceiling for tier in TIERS.values())),
    "flag": FLAG,
    "number": NUMBER,
    "day": DAY,
    "day by today": DAY_BY_TODAY,
    "day or version": DAY_OR_VERSION,
    "level": choice(("fact",)),
    "year or day": YEAR_OR_DAY,
    "year": YEAR,
    "text": free_text(200),
    "words": free_text(128, shortest=2),
    "identifier": free_text(64),
    "period": PERIOD,
    "dataset": choice(get_args(Dataset)),
    "dimension": choice(get_args(Dimension)),
    "format": choice(("json", "csv", "ndjson", "jsonl")),
    "frequency": choice(get_args(Frequency)),
    "id type": choice(ID_TYPES),
    "kind": choice(SEARCH_KINDS),
    "line item": _LINE_ITEM,
    "members": list_of(_PATTERNS["member"], 100),
    "line items": list_of(_LINE_ITEM, 50),
    "metric": choice(tuple(FORMULA_BY_SLUG)),
    "metric set": choice((METRIC_SET, TRAILING_SET)),
    "order": choice(("asc", "desc")),
    "by value": choice(("value",)),
    "period type": choice((*get_args(PeriodType), "TTM")),
    "publication": choice(("newest",)),
    "role": choice(get_args(Role)),
    "section": choice(get_args(Section)),
    "series type": choice(get_args(SeriesType)),
    "statement": choice(line_items.STATEMENTS),
    "vintages": choice(get_args(Vintages)),
}


# Types whose examples are no texts.
_PLAIN = ("integer", "boolean")


def _parameter(row: Mapping[str, str]) -> Parameter:
    """Return the parameter of a line.

    The words of a type that is ``, unlisted`` are not in its schema. One that is none is refused,
    and the refusal names the nearest, and all that there are.
    """
    name, _, is_unlisted = row["type"].partition(", ")
    kind, example = _TYPES[name], row["example"]
    if is_unlisted:
        plain = {"type": ["number", "string"] if kind is NUMBER else "string"}
        kind = replace(kind, schema=plain)
    return Parameter(
        row["name"],
        kind,
        row["description"],
        json.decode(example) if example and kind.schema.get("type") in _PLAIN else example or None,
        row["required"] == "yes",
        row["default"] or None,
        "path" if row["location"] == "path" else "query",
    )


_DECLARED = {row["key"]: _parameter(row) for row in csv_rows(__name__, "parameters")}
# The members of a claim: about an issuer, a series, or an indicator.
CLAIM = tuple(
    _DECLARED[name]
    for name in (
        *("VALUE", "PERIOD", "CLAIMED_ON", "CLAIMED_OF", "LINE_ITEM", "CURRENCY", "SERIES"),
        *("INDICATOR", "COUNTRY"),
    )
)
MOST_CLAIMS = 20
# What a claim can be about, one of these: the members that it then needs, and one it cannot have.
ABOUT: Mapping[str, tuple[list[str], str]] = {
    "service_id": (["line_item"], "country"),
    "series": ([], "line_item"),
    "indicator": (["country"], "line_item"),
}
_ABOUT_ONE = {
    "oneOf": [{"required": [subject]} for subject in ABOUT],
    "dependentRequired": {subject: needed for subject, (needed, _) in ABOUT.items()},
    "not": {"anyOf": [{"required": [subject, other]} for subject, (_, other) in ABOUT.items()]},
}
_CLAIMS = Parameter(
    "claims",
    list_of_objects(CLAIM, MOST_CLAIMS, _ABOUT_ONE),
    f"Up to {MOST_CLAIMS} claims, each about service_id and line_item, series, or indicator and "
    "country.",
    '[{"series":"FX.EUR.ZAR","period":"2024-06-28","value":19.5,"as_of":"2024-07-01"}]',
    required=True,
    location="body",
)
# What a row to be matched has: a name, an identifier, or both.
MATCHED = tuple(
    _DECLARED[name] for name in ("MATCHED_NAME", "COUNTRY", "MATCHED_ID", "ID_TYPE_OR_NONE")
)
MOST_MATCHED = 200
_MATCHED = Parameter(
    "rows",
    list_of_objects(
        MATCHED, MOST_MATCHED, {"anyOf": [{"required": ["name"]}, {"required": ["id_value"]}]}
    ),
    f"Up to {MOST_MATCHED} rows, each with a name and its country, an id_value, or all of them.",
    '[{"name":"Ubuntu Fictional Mining Limited","country":"ZA"}]',
    required=True,
    location="body",
)


def of_tool(parameter: Parameter) -> Parameter:
    """Return a parameter as tools take it: a country also by its name."""
    if parameter.kind is not COUNTRY:
        return parameter
    description = "" if parameter.default is None else f"{parameter.default} unless sent."
    return replace(parameter, kind=COUNTRY_OR_NAME, description=description)


def _described_once(several: Parameter, description: str, required: bool) -> Parameter:
    """Return a parameter of objects as tools take it: their members are not in its schema."""
    schema = {**several.kind.schema, "items": {"type": "object"}}
    kind = replace(several.kind, schema=schema, members=tuple(map(of_tool, several.kind.members)))
    return replace(several, kind=kind, description=description, required=required)


PARAMETERS: Mapping[str, Parameter] = {
    **_DECLARED,
    "CLAIMS": _CLAIMS,
    "MATCHED": _MATCHED,
    "MATCHED_OF_TOOL": _described_once(
        _MATCHED, "Up to 200 objects with name, country, id_value, id_type.", required=True
    ),
    # A tool takes one claim as its own arguments, or several of the same members.
    "CLAIMS_OF_TOOL": _described_once(
        _CLAIMS, "Several claims, each an object of the other arguments.", required=False
    ),
}
