"""Descriptions of an export for other tools: Frictionless Data Package and ML Croissant."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from assets.exports.artifacts import LICENCES, ExportFile
from assets.exports.file_columns import FileColumn
from warehouse.serve.exports import PARQUET, Artifact, ArtifactKind, file_name

NAME = "sankofa-exports"
TITLE = "Sankofa: what was knowable on any past day, for African and emerging markets"
_LICENCE_PAGES: dict[ArtifactKind, str | None] = {
    "open-panel": "https://creativecommons.org/licenses/by/4.0/",
    "licensed": None,
}
Described = Sequence[tuple[ExportFile, Artifact]]


def table_schema(export_file: ExportFile) -> dict[str, Any]:
    """Describe the columns of a file as a Frictionless Table Schema."""
    fields = [
        {
            "name": column.name,
            "type": _type_names(column.field.type)[0],
            "description": column.meaning,
            "example": _json_example(column.example),
            "constraints": {"required": not column.field.nullable},
        }
        for column in export_file.columns
    ]
    return {"fields": fields, "primaryKey": [export_file.id]}


def datapackage(described: Described, data_version: str, notice: str, created: datetime) -> Any:
    """Describe all files as a Data Package, version 2."""
    kinds = dict.fromkeys(export_file.kind for export_file, _ in described)
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": NAME,
        "title": TITLE,
        "description": notice,
        "version": data_version,
        "created": created.isoformat().replace("+00:00", "Z"),
        "licenses": [_licence(kind) for kind in kinds],
        "resources": [_resource(export_file, artifact) for export_file, artifact in described],
    }


def croissant(described: Described, data_version: str, notice: str, created: datetime) -> Any:
    """Describe all files and their fields as ML Croissant 1.0."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": NAME,
        "description": f"{TITLE}. {notice}",
        "citeAs": f"Sankofa, data_version {data_version}",
        "version": data_version,
        "datePublished": created.isoformat(),
        "license": list(
            dict.fromkeys(_licence_url(export_file.kind) for export_file, _ in described)
        ),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": export_file.key,
                "name": file_name(export_file.key),
                "description": export_file.title,
                "contentUrl": artifact.url,
                "contentSize": f"{artifact.size_bytes} B",
                "encodingFormat": "application/x-parquet",
                "sha256": artifact.sha256,
            }
            for export_file, artifact in described
        ],
        "recordSet": [_record_set(export_file) for export_file, _ in described],
    }


def _resource(export_file: ExportFile, artifact: Artifact) -> dict[str, Any]:
    return {
        "name": export_file.key,
        "title": export_file.title,
        "path": file_name(export_file.key),
        "format": "parquet",
        "mediatype": PARQUET,
        "bytes": artifact.size_bytes,
        "hash": f"sha256:{artifact.sha256}",
        "licenses": [_licence(export_file.kind)],
        "schema": table_schema(export_file),
    }


def _record_set(export_file: ExportFile) -> dict[str, Any]:
    name = f"{export_file.key}-rows"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": export_file.title,
        "key": {"@id": f"{name}/{export_file.id}"},
        "field": [_field(export_file, name, column) for column in export_file.columns],
    }


def _field(export_file: ExportFile, record_set: str, column: FileColumn) -> dict[str, Any]:
    described = {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.name}",
        "name": f"{record_set}/{column.name}",
        "description": column.meaning,
        "dataType": _type_names(column.field.type)[1],
        "source": {"fileObject": {"@id": export_file.key}, "extract": {"column": column.name}},
    }
    return described | ({"repeated": True} if pa.types.is_list(column.field.type) else {})


def _licence(kind: ArtifactKind) -> dict[str, str]:
    page = _LICENCE_PAGES[kind]
    return {"name": LICENCES[kind]} | ({"path": page} if page else {})


def _licence_url(kind: ArtifactKind) -> str:
    return _LICENCE_PAGES[kind] or LICENCES[kind]


def _type_names(data_type: pa.DataType) -> tuple[str, str]:
    """Return the names of an Arrow type in Table Schema and in Croissant."""
    if pa.types.is_list(data_type):
        return "array", _type_names(data_type.value_type)[1]
    return {
        pa.string(): ("string", "sc:Text"),
        pa.int64(): ("integer", "sc:Integer"),
        pa.bool_(): ("boolean", "sc:Boolean"),
        pa.date32(): ("date", "sc:Date"),
        pa.timestamp("us", tz="UTC"): ("datetime", "sc:DateTime"),
    }.get(data_type, ("number", "sc:Float"))


def _json_example(example: Any) -> Any:
    if isinstance(example, Decimal):
        return str(example)
    return example.isoformat() if isinstance(example, date) else example


# The terms of Croissant that are called as in its vocabulary.
_TERMS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty"),
    *("fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField"),
    *("path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    **{name: f"cr:{name}" for name in _TERMS},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
