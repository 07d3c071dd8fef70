"""JSON Schemas of response bodies, by the name that declarations use."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from sqlmodel import SQLModel

from warehouse.methodology.metrics import AbsentReason
from warehouse.publish.served_rows import SEARCH_KINDS, Section
from warehouse.publish.tables import MART_SCHEMA_VERSION, MART_TABLES
from warehouse.serve.entities import ID_TYPES
from warehouse.serve.exports import Artifact, Failed
from warehouse.serve.search import Match
from warehouse.serve.table_query import EmptyCode
from warehouse.tables import (
    Entity,
    EntityIdentifier,
    Filing,
    FundamentalVintage,
    MacroAnnual,
    MacroSeries,
    Metric,
    PartyMatch,
    QualityMetric,
    SameAs,
    SharedFact,
    Sighting,
    Signal,
    TenderParty,
    TenderReleaseVintage,
)
from warehouse.tables.column import columns_of, shown_columns

# JSON Schemas built from types and from the columns of row classes.

Schema = dict[str, Any]

_PLAIN: Mapping[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    Decimal: {"type": "number"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
}


def field_schema(model: type[SQLModel], name: str) -> Schema:
    """Describe a member by the column of that name."""
    field = model.model_fields[name]
    schema = type_schema(field.annotation)
    if field.description:
        schema["description"] = field.description
    if field.examples:
        schema["examples"] = list(field.examples)
    return schema


def type_schema(kind: Any) -> Schema:
    """Describe a type as it is served."""
    if get_origin(kind) in (Union, UnionType):
        (inner,) = (member for member in get_args(kind) if member is not NoneType)
        return nullable(type_schema(inner))
    if get_origin(kind) is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    if get_origin(kind) is list:
        return {"type": "array", "items": type_schema(*get_args(kind))}
    return dict(_PLAIN[kind])


def nullable(schema: Schema) -> Schema:
    """Let a member be null too."""
    types = schema["type"]
    schema["type"] = [*(types if isinstance(types, list) else [types]), "null"]
    if "enum" in schema:
        # A value must be in the enum whatever the type allows.
        schema["enum"] = [*schema["enum"], None]
    return schema


def member_schema(kind: Any, meaning: str, example: Any) -> Schema:
    """Describe a member that no table has as a column."""
    return {**type_schema(kind), "description": meaning, "examples": [example]}


def array_schema(items: Schema, meaning: str, example: list[Any], null: bool = False) -> Schema:
    """Describe a list."""
    kind: str | list[str] = ["array", "null"] if null else "array"
    return {"type": kind, "items": items, "description": meaning, "examples": [example]}


def object_schema(
    properties: Mapping[str, Schema], meaning: str = "", optional: Collection[str] = ()
) -> Schema:
    """Describe an object that has all of these members, but for the optional, and no others."""
    schema: Schema = {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        # Closed, so that the contract tests notice a member that nobody declared.
        "additionalProperties": False,
    }
    return {**schema, "description": meaning} if meaning else schema


def example_value(schema: Schema) -> Any:
    """Return an example that fits a schema."""
    if "examples" in schema:
        return schema["examples"][0]
    if schema.get("type") == "object":
        return {
            name: example_value(member) for name, member in schema.get("properties", {}).items()
        }
    if schema.get("type") == "array":
        return [example_value(schema["items"])]
    return None


# JSON Schemas of the rows that are served, with the members that the mart writes.

_MEMBERS = {table.name: (*table.members, *table.inside) for table in MART_TABLES}
_TEXT: Schema = {"type": "string"}
_OPTIONAL: Schema = {"type": ["string", "null"]}
_MD5 = "9f86d081884c7d659a2feaa0c55ad015"
_NAME = "Ubuntu Fictional Mining Ltd"

_COMMON = {
    "provenance_id": member_schema(
        str, "Identifies the document and the location in it that the row comes from.", _MD5
    ),
    "vintage": member_schema(int, "1 for the first publication of this figure.", 1),
}
_ORGANISATION: Schema = {
    "type": ["object", "null"],
    "properties": {"id": {"type": ["string", "integer", "null"]}, "name": _OPTIONAL},
    "description": "OCDS organisation reference.",
    "examples": [{"name": "Fictional Roads Agency"}],
}


def _ocds(kind: str, meaning: str, example: Any) -> Schema:
    # Not closed: what is inside keeps the form of OCDS.
    items = {"items": {"type": "object"}} if kind == "array" else {}
    return {"type": [kind, "null"], **items, "description": meaning, "examples": [example]}


def _row(
    table: str,
    models: Sequence[type[SQLModel]],
    own: Mapping[str, Schema],
    meaning: str,
) -> Schema:
    """Describe the rows of a table: columns of its models, and members of its own."""
    columns = {
        member: (model, name)
        # The first of the models describes a member that several have.
        for model in reversed(models)
        for name, member in shown_columns(model, "api").items()
    }
    members: dict[str, Schema] = {}
    optional: set[str] = set()
    for name in _MEMBERS[table]:
        model, column = columns.get(name, (None, name))
        if name in own or model is None:
            members[name] = own.get(name) or _COMMON[name]
        else:
            members[name] = field_schema(model, column)
        # Builds made before a column was added lack the member.
        if model is not None and columns_of(model)[column].since:
            optional.add(name)
    return object_schema(members, meaning, optional)


def _preceded(members: Mapping[str, Schema], row: Schema, meaning: str) -> Schema:
    """Describe a row with further members before its own."""
    optional = row["properties"].keys() - row["required"]
    return object_schema({**members, **row["properties"]}, meaning, optional)


FACT = _row(
    "fundamentals",
    [FundamentalVintage],
    {"fact_id": member_schema(str, "Identifies this vintage of this figure.", _MD5)},
    "One reported figure of one issuer, in one vintage.",
)
FILING = _row("filings", [Filing], {}, "One document that an issuer filed, in one version of it.")
RELEASE = _row(
    "tender_releases",
    [TenderReleaseVintage],
    {
        "tag": array_schema(_TEXT, "OCDS release tags.", ["tender"], null=True),
        "buyer": _ORGANISATION,
        "tender": _ocds("object", "OCDS tender, a whitelist of members.", {"title": "Road works"}),
        "awards": _ocds("array", "OCDS awards, a whitelist of members.", []),
        "contracts": _ocds("array", "OCDS contracts, a whitelist of members.", []),
    },
    "One OCDS release; members inside it keep their OCDS names.",
)
PARTY = _row(
    "tender_parties",
    [TenderParty, PartyMatch],
    {
        "party_id": member_schema(str, "Identifies the party in this role.", _MD5),
        "identifier": {
            **nullable(object_schema({"scheme": _OPTIONAL, "id": _OPTIONAL})),
            "description": "Number in a register; null if none is published.",
            "examples": [{"scheme": "ZA-CIP", "id": "2001/123456/07"}],
        },
        "releases": member_schema(int, "Number of releases that name it.", 12),
        "processes": member_schema(int, "Number of contracting processes that they belong to.", 7),
        "first_release": member_schema(date | None, "Date of the first of them.", "2024-01-15"),
        "last_release": member_schema(date | None, "Date of the last of them.", "2026-03-02"),
    },
    "A buyer or supplier that is known to be an organisation.",
)
SHARED_FACT = _row(
    "award_facts",
    [SharedFact, Sighting],
    {},
    "A fact of an entity with its provenance.",
)
MACRO_SERIES = _row("macro_series", [MacroSeries], {}, "One observation of a series.")
MACRO_ANNUAL = _row(
    "macro_annual",
    [MacroAnnual],
    {
        "series_type": {"type": "null", "description": "Annual indicators have none."},
        "frequency": {"const": "annual", "description": "Always annual.", "examples": ["annual"]},
    },
    "One annual indicator of one country.",
)
_LISTING = object_schema({"mic": _TEXT, "ticker": _TEXT, "status": _OPTIONAL})
_JOIN = object_schema({"service_id": _TEXT, "match_method": field_schema(SameAs, "match_method")})
ENTITY = _row(
    "entities",
    [Entity],
    {
        "other_names": array_schema(_TEXT, "Other names.", ["UFM"], null=True),
        "former_names": array_schema(
            _TEXT, "Those that are former legal names.", ["Fictional Shafts Ltd"], null=True
        ),
        "trading_names": array_schema(_TEXT, "Those that are trading names.", ["UFM"], null=True),
        "aliases": array_schema(
            _TEXT, "Other ids of it, which stay valid in every request.", ["DC2B8N5TRW"]
        ),
        "joins": array_schema(
            _JOIN,
            "The evidence that joined each of the other ids to it.",
            [{"service_id": "DC2B8N5TRW", "match_method": "lei"}],
        ),
        "listings": array_schema(
            _LISTING,
            "Where it is listed.",
            [{"mic": "XJSE", "ticker": "UFM", "status": "active"}],
        ),
        "datasets": array_schema(_TEXT, "Datasets that have rows of it.", ["AF-FUND"]),
    },
    "One organisation.",
)
_HOW = {
    "type": "string",
    "enum": list(get_args(Match)),
    "description": "How it matches the query, best first: an identifier, the whole name, its "
    "beginning, all words; near: spelled much alike, or some of the words.",
    "examples": ["exact"],
}
ENTITY_MATCH = object_schema(
    {**ENTITY["properties"], "match": _HOW},
    "One organisation that a search found.",
    ENTITY["properties"].keys() - ENTITY["required"],
)
SEARCH_RESULT = object_schema(
    {
        "kind": {
            "type": "string",
            "enum": list(SEARCH_KINDS),
            "description": "What was found.",
            "examples": ["organisation"],
        },
        "id": member_schema(
            str,
            "What other requests take: `service_id` of an organisation, key of a series or panel, "
            "code of an indicator; `party_id` of a buyer that is no known organisation.",
            "DC7Q2M4XK9",
        ),
        "name": member_schema(str | None, "Legal name, title, key or code.", _NAME),
        "other_names": array_schema(_TEXT, "Other and former names.", ["UFM"]),
        "description": member_schema(
            str | None, "Type, frequency and unit of a series or an indicator.", None
        ),
        "country": member_schema(
            str | None, "ISO 3166-1 alpha-2; null if it is unknown or there are several.", "ZA"
        ),
        "jurisdiction": field_schema(Entity, "jurisdiction"),
        "listings": array_schema(_TEXT, "Its tickers, as MIC:TICKER.", ["XJSE:UFM"]),
        "datasets": array_schema(_TEXT, "Datasets that have rows about it.", ["AF-FUND"]),
        "match": _HOW,
        "matched": member_schema(
            str | None,
            "The name or the identifier that matched; of a near match the nearest.",
            _NAME,
        ),
    },
    "One organisation, series, indicator, panel or buyer that a search found.",
)
IDENTIFIER = _row(
    "identifiers",
    [EntityIdentifier, SameAs],
    {
        "match_method": nullable(
            {
                **field_schema(SameAs, "match_method"),
                "description": "The evidence that joined the id with this identifier to the "
                "organisation; null if it was stated of the organisation's own id.",
            }
        )
    },
    "One identifier of an organisation.",
)
_INPUT = object_schema(
    {
        "fact_id": _TEXT,
        "line_item": _TEXT,
        "value": {"type": "number"},
        "period_end": {"type": "string", "format": "date"},
        "vintage": {"type": "integer"},
        "available_at": {"type": "string", "format": "date"},
        "source_ref": _TEXT,
    }
)
_VALUE = member_schema(
    Decimal, "Ten significant digits, rounded half to even.", Decimal("0.1234567891")
)
_METRIC = _row(
    "metrics",
    [Metric],
    {
        "legal_name": member_schema(str | None, "Name of the issuer.", _NAME),
        "country": member_schema(str | None, "Its country, alpha-2.", "ZA"),
        "value": _VALUE,
        "inputs": array_schema(_INPUT, "The figures it was computed from.", []),
    },
    "",
)
METRIC = _preceded(
    {
        "as_of": member_schema(
            date | None, "The requested day; null if none was sent.", "2024-06-30"
        )
    },
    _METRIC,
    "One metric of one issuer for one full year.",
)
RANKED = _preceded(
    {"rank": member_schema(int, "Position by size, not a rating.", 1)},
    METRIC,
    "One metric of one issuer, with its rank among all.",
)
SIGNAL = _row("signals", [Signal], {}, "One measure of a panel.")
QUALITY = _row(
    "quality",
    [QualityMetric],
    {
        "value": {
            "anyOf": [{"type": "number"}, {"type": "string", "enum": ["UNMEASURED"]}],
            "description": "The measured value, or the text UNMEASURED.",
            "examples": [1],
        }
    },
    "One measurement of one dataset.",
)
MATCH = object_schema(
    {
        "service_id": field_schema(Entity, "service_id"),
        "legal_name": field_schema(Entity, "legal_name"),
        "jurisdiction": field_schema(Entity, "jurisdiction"),
        "issuer": field_schema(EntityIdentifier, "issuer"),
    },
    "An organisation with the identifier.",
)
_HELD = "A day: the end of a period, or the date of a release; null if none has one."
CATALOGUE_ENTRY = object_schema(
    {
        "section": {"type": "string", "enum": list(get_args(Section)), "examples": ["series"]},
        "name": member_schema(str, "What to send as the parameter.", "FX.EUR.ZAR"),
        "dataset": member_schema(str, "Dataset it belongs to.", "AF-MACRO"),
        "country": member_schema(str | None, "Alpha-2; null if it is of no one country.", "ZA"),
        "country_iso3": member_schema(str | None, "The same as alpha-3.", "ZAF"),
        "type": member_schema(str | None, "Family of a series, or statement of a line item.", "fx"),
        "unit": member_schema(str | None, "Unit of its values, if they have one.", "ZAR"),
        "frequency": member_schema(str | None, "How often there is a value.", "daily"),
        "organisations": member_schema(int | None, "Issuers that have it.", None),
        "rows": member_schema(int, "Rows that are held.", 250),
        "held_from": member_schema(date | None, f"The first of them. {_HELD}", "2016-01-04"),
        "held_to": member_schema(date | None, f"The last of them. {_HELD}", "2026-11-13"),
    },
    "Something that is held.",
)
CHANGE = object_schema(
    {
        "changed_on": member_schema(date, "Day on which it arrived, in UTC.", "2026-11-13"),
        "dataset": member_schema(str, "Dataset it belongs to.", "AF-FUND"),
        "id": member_schema(
            str, "Issuer, series or indicator; of tenders, the country.", "DC7Q2M4XK9"
        ),
        "country": member_schema(str | None, "Alpha-2; null for an issuer.", None),
        "added": member_schema(int, "Figures or releases that are new.", 12),
        "restated": member_schema(int, "New vintages of some that were held.", 3),
        "withdrawn": member_schema(int, "Vintages that withdraw one.", 0),
        "available_from": member_schema(
            date | None, "First day on which one of them was public.", "2026-11-12"
        ),
        "available_to": member_schema(date | None, "The last such day.", "2026-11-12"),
    },
    "What arrived of one thing on one day.",
)
VERSION = object_schema(
    {
        "data_version": member_schema(str, "Send it as X-Data-Version to pin it.", "20261114.3"),
        "current": member_schema(bool, "Whether it is served without a pin.", True),
        "published_at": member_schema(
            datetime | None, "When it was made, in UTC.", "2026-11-14T02:20:00Z"
        ),
        "schema_version": member_schema(int | None, "Version of its tables.", MART_SCHEMA_VERSION),
    },
    "One version of the data that is held.",
)


_NOTICE = "Licence-clean research data. No natural-person data."
_COUNT = {**member_schema(int, "Rows in this response.", 1), "minimum": 0}
_LICENSE = member_schema(str, "Licence notice.", _NOTICE)
_TRUNCATED = member_schema(bool, "True if there are more rows; exact.", False)
_VERSION = {
    **member_schema(
        str, "Version of the data: what had been loaded when it was published.", "20261114.3"
    ),
    "pattern": r"^[0-9]{8}\.[0-9]+$",
}
_NEXT = member_schema(
    str | None, "Cursor of the next page: send it back unchanged; null on the last.", None
)
_EMPTY: Schema = {
    **nullable(
        object_schema(
            {
                "code": {"type": "string", "enum": list(get_args(EmptyCode))},
                "detail": member_schema(str, "The reason in words.", "No observations …"),
                "parameter": member_schema(str | None, "What to change.", "series"),
                "nearest": array_schema(type_schema(str), "Values that are held.", []),
                "held": nullable(object_schema({"from": type_schema(str), "to": type_schema(str)})),
            }
        )
    ),
    "description": "Why there are no rows; null if there are some.",
    "examples": [None],
}
_ENVELOPE: Mapping[str, Schema] = {
    "count": _COUNT,
    "_license": _LICENSE,
    "truncated": _TRUNCATED,
    "limit": member_schema(int | None, "Maximum number of rows; null if there is none.", 100),
    "as_of": member_schema(
        date | None, "The day the response is for; null for what is known now.", "2024-06-30"
    ),
    "data_version": _VERSION,
    "next_cursor": _NEXT,
    "empty": _EMPTY,
}


def _envelope(row: str, member: str = "data", **extra: Schema) -> Schema:
    rows = {"type": "array", "items": {"$ref": f"#/components/schemas/{row}"}}
    return object_schema({member: rows, **_ENVELOPE, **extra})


_NUMBER = {"type": "integer", "minimum": 0, "examples": [0]}
_LEFT_OUT = object_schema(
    dict.fromkeys(get_args(AbsentReason), _NUMBER), "Issuers left out, by reason."
)


ROW_SCHEMAS: Mapping[str, Schema] = {
    "Fact": FACT,
    "Filing": FILING,
    "Release": RELEASE,
    "SharedFact": SHARED_FACT,
    "TenderParty": PARTY,
    "SeriesObservation": MACRO_SERIES,
    "AnnualObservation": MACRO_ANNUAL,
    "Entity": ENTITY,
    "EntityMatch": ENTITY_MATCH,
    "SearchResult": SEARCH_RESULT,
    "Identifier": IDENTIFIER,
    "Match": MATCH,
    "RankedMetric": RANKED,
    "Metric": METRIC,
    "Observation": SIGNAL,
    "QualityRecord": QUALITY,
    "CatalogueEntry": CATALOGUE_ENTRY,
    "Change": CHANGE,
    "Version": VERSION,
}
_MACRO = [{"$ref": f"#/components/schemas/{mode}Observation"} for mode in ("Series", "Annual")]
_CHECK = object_schema(
    {"status": {"enum": ["ok", "failed"]}, "latency_ms": {"type": "number", "minimum": 0}}
)
_IDENTIFIERS = {"type": "array", "items": {"$ref": "#/components/schemas/Identifier"}}
_WITHHELD = array_schema(type_schema(str), "Types that need a higher tier.", ["registry"])
_UNIVERSE = object_schema(
    {"covered": _NUMBER, "ranked": _NUMBER, "left_out": _LEFT_OUT},
    "The issuers that the ranking covers.",
)


_LIMIT_USED = object_schema(
    {
        "name": {"enum": ["burst", "monthly"]},
        "quota": {"type": "integer", "minimum": 0},
        "used": {"type": "integer", "minimum": 0},
        "remaining": {"type": "integer", "minimum": 0},
        "resets_in": {"type": "integer", "minimum": 0},
    }
)


# From the structs that are encoded: the schema of the manifest cannot drift from it.
MANIFEST_SCHEMAS: Mapping[str, Schema] = msgspec.json.schema_components(
    (Artifact, Failed), ref_template="#/components/schemas/{name}"
)[1]


def _parts(name: str, meaning: str) -> Schema:
    return array_schema({"$ref": f"#/components/schemas/{name}"}, meaning, [])


BODY_SCHEMAS: Mapping[str, Schema] = {
    "Health": object_schema({"status": {"const": "ok", "examples": ["ok"]}}),
    "Status": object_schema(
        {
            "status": {"enum": ["ok", "degraded"], "examples": ["ok"]},
            "build": member_schema(str, "Version of the service.", "1.0.0"),
            "version": member_schema(str, "Version of this description.", "1.0.0"),
            "data_version": nullable(dict(_VERSION)),
            "checks": {
                "type": "object",
                "additionalProperties": _CHECK,
                "description": "The result of a real read against each dependency.",
                "examples": [{"datastore": {"status": "ok", "latency_ms": 0.4}}],
            },
            "degraded": array_schema(type_schema(str), "The dependencies that did not answer.", []),
        }
    ),
    "Description": {"type": "object", "required": ["openapi", "info", "paths"]},
    "Fundamentals": _envelope("Fact"),
    "FundamentalsOfSeveral": _envelope(
        "Fact",
        unknown_ids=array_schema(type_schema(str), "Ids that no organisation has.", []),
    ),
    "Filings": _envelope("Filing"),
    "Tenders": _envelope("Release"),
    "SharedFacts": _envelope("SharedFact"),
    "TenderParties": _envelope("TenderParty"),
    "Macro": object_schema({"data": {"type": "array", "items": {"anyOf": _MACRO}}, **_ENVELOPE}),
    "Entities": _envelope("Entity"),
    "Search": _envelope("SearchResult"),
    "Crosswalk": object_schema(
        {
            "service_id": MATCH["properties"]["service_id"],
            "legal_name": MATCH["properties"]["legal_name"],
            "crosswalk_loaded": member_schema(bool, "False until the crosswalk is loaded.", True),
            "identifiers": _IDENTIFIERS,
            "count": _COUNT,
            "_license": _LICENSE,
            "truncated": _TRUNCATED,
            "withheld_id_types": _WITHHELD,
            "data_version": _VERSION,
            "next_cursor": _NEXT,
            "empty": _EMPTY,
        }
    ),
    "Lookup": object_schema(
        {
            "id_type": {"type": "string", "enum": list(ID_TYPES), "examples": ["lei"]},
            "id_value": member_schema(str, "The identifier as sent.", "2138002QX8KZTPLXS721"),
            "ambiguous": member_schema(bool, "True if several organisations match.", False),
            "data": {
                "type": "array",
                "maxItems": 20,
                "items": {"$ref": "#/components/schemas/Match"},
            },
            "count": _COUNT,
            "_license": _LICENSE,
            "truncated": _TRUNCATED,
            "data_version": _VERSION,
            "next_cursor": _NEXT,
            "empty": _EMPTY,
        }
    ),
    "Screen": _envelope("RankedMetric", universe=_UNIVERSE),
    "Metrics": _envelope("Metric"),
    "Observations": _envelope("Observation", "observations"),
    "Quality": _envelope("QualityRecord"),
    "Catalogue": _envelope("CatalogueEntry"),
    "Changes": _envelope("Change"),
    "Versions": _envelope("Version"),
    "Usage": object_schema(
        {
            "tier": member_schema(str, "Tier of the key.", "starter"),
            "limits": array_schema(
                _LIMIT_USED,
                "Each limit of the tier and how much of it is used.",
                [
                    {"name": "burst", "quota": 120, "used": 1, "remaining": 119, "resets_in": 42},
                    {
                        "name": "monthly",
                        "quota": 50_000,
                        "used": 1,
                        "remaining": 49_999,
                        "resets_in": 1_209_600,
                    },
                ],
            ),
        }
    ),
    "Export": object_schema(
        {
            "data_version": _VERSION,
            "generated_at": member_schema(
                datetime | None, "When it was generated, in UTC.", "2026-11-14T02:20:00Z"
            ),
            "signature_url": member_schema(str | None, "Signature of the manifest.", None),
            "datapackage_url": member_schema(str | None, "Description of the files.", None),
            "artifacts": _parts("Artifact", "Every file, open or licensed."),
            "failed": _parts("Failed", "Files that could not be written, and why."),
            "count": _COUNT,
            "_license": _LICENSE,
        },
        "Every file of one version.",
    ),
}


def body_example(name: str) -> Any:
    """Return an example of a body, made of the examples of its members."""
    return example_value(_resolved(BODY_SCHEMAS[name]))


def _resolved(schema: Any) -> Any:
    """Replace every reference with its schema; of several alternatives take the first."""
    if isinstance(schema, list):
        return [_resolved(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved({**ROW_SCHEMAS, **MANIFEST_SCHEMAS}[schema["$ref"].rsplit("/", 1)[1]])
    if "anyOf" in schema and "examples" not in schema:
        return _resolved(schema["anyOf"][0])
    # An example is data: what looks like a reference in it is none.
    return {
        name: value if name == "examples" else _resolved(value) for name, value in schema.items()
    }
