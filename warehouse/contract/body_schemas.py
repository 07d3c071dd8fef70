"""JSON Schemas of response bodies, by the name that declarations use."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, get_args

import msgspec

from warehouse.contract import row_schemas
from warehouse.contract.json_schema import (
    Schema,
    array_schema,
    example_value,
    member_schema,
    nullable,
    object_schema,
    type_schema,
)
from warehouse.exports.published import Artifact, Failed
from warehouse.methodology.metrics import LATER_REASONS, AbsentReason
from warehouse.read.crosswalk import ID_TYPES
from warehouse.read.why_empty import EmptyCode

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
    dict.fromkeys(get_args(AbsentReason), _NUMBER),
    "Issuers left out, by reason. A pinned answer has the reasons that its build distinguished.",
    optional=LATER_REASONS,
)


ROW_SCHEMAS: Mapping[str, Schema] = {
    "Fact": row_schemas.FACT,
    "Filing": row_schemas.FILING,
    "Release": row_schemas.RELEASE,
    "SharedFact": row_schemas.SHARED_FACT,
    "TenderParty": row_schemas.PARTY,
    "SeriesObservation": row_schemas.MACRO_SERIES,
    "AnnualObservation": row_schemas.MACRO_ANNUAL,
    "Entity": row_schemas.ENTITY,
    "EntityMatch": row_schemas.ENTITY_MATCH,
    "SearchResult": row_schemas.SEARCH_RESULT,
    "Identifier": row_schemas.IDENTIFIER,
    "Match": row_schemas.MATCH,
    "RankedMetric": row_schemas.RANKED,
    "Metric": row_schemas.METRIC,
    "Observation": row_schemas.SIGNAL,
    "QualityRecord": row_schemas.QUALITY,
    "CatalogueEntry": row_schemas.CATALOGUE_ENTRY,
    "Change": row_schemas.CHANGE,
    "Version": row_schemas.VERSION,
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
            "service_id": row_schemas.MATCH["properties"]["service_id"],
            "legal_name": row_schemas.MATCH["properties"]["legal_name"],
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
