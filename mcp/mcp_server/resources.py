"""Resources: methodology pages, dataset cards, the licence notice, the export manifest."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_types import Resource, ResourceTemplate

from warehouse.contract.body_schemas import ROW_SCHEMAS
from warehouse.contract.json_schema import Schema
from warehouse.methodology.pages import REFS, methodology_page
from warehouse.read.build_info import export_body
from warehouse.read.mart import Mart


@dataclass(frozen=True)
class DatasetCard:
    """One dataset: what it is, which rows it has, and what its users need to know."""

    title: str
    about: str
    records: tuple[str, ...]
    notes: tuple[str, ...]


_NULL = "A null is not known; it is never zero, and nothing is estimated or interpolated."

DATASETS: Mapping[str, DatasetCard] = {
    "AF-FUND": DatasetCard(
        "Reported company fundamentals",
        "Figures as issuers reported them, each with every restatement.",
        ("Fact",),
        (
            "A new vintage is a new value of the same figure in a later filing; a comparative "
            "column that repeats a value is none.",
            "`as_of` answers with what was knowable at the end of that day in UTC.",
            "Values are in the reported currency and scale; nothing is converted or annualised.",
            _NULL,
        ),
    ),
    "AF-TENDER": DatasetCard(
        "Public procurement",
        "Open Contracting releases from portals whose licences permit redistribution, and the "
        "organisations that they name.",
        ("Release", "TenderParty"),
        (
            "Parties that are not established to be organisations are withheld and counted; the "
            "check is conservative, so that some real firms are withheld too.",
            "Amounts are as published, in their own currency. `implausible` has the paths of those "
            "that cannot be: leave them out of sums.",
            _NULL,
        ),
    ),
    "AF-MACRO": DatasetCard(
        "Macroeconomic series and annual indicators",
        "Exchange rates and prices with every vintage, and annual development indicators.",
        ("SeriesObservation", "AnnualObservation"),
        (
            "`as_of` gives the vintage known on that day. Annual indicators have no evidenced "
            "release date and are left out of any `as_of`.",
            _NULL,
        ),
    ),
}


def dataset_card(sku: str) -> str | None:
    """Write the card of a dataset in Markdown; None if there is no such one."""
    dataset = DATASETS.get(sku)
    if dataset is None:
        return None
    notes = "\n".join(f"- {note}" for note in dataset.notes)
    tables = "\n\n".join(f"## {name}\n\n{_members(ROW_SCHEMAS[name])}" for name in dataset.records)
    return f"# {sku}: {dataset.title}\n\n{dataset.about}\n\n{notes}\n\n{tables}\n"


def _members(row: Schema) -> str:
    lines = [
        f"| {name} | {_type(schema)} | {schema.get('description', '')} |"
        for name, schema in row["properties"].items()
    ]
    return "\n".join(("| member | type | meaning |", "|---|---|---|", *lines))


def _type(schema: Schema) -> str:
    kind = schema.get("type", "value")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


_MARKDOWN, _JSON, _PLAIN = "text/markdown", "application/json", "text/plain"
_METHODOLOGY, _DATASET = "sankofa://methodology/", "sankofa://datasets/"
_LICENCE, _MANIFEST = "sankofa://licence", "sankofa://exports/manifest"

TEMPLATES = [
    ResourceTemplate(
        uri_template=_METHODOLOGY + "{set}/{slug}",
        name="methodology",
        title="Methodology of a derived value",
        description="How a metric or signal is worked out; methodology_ref of a row is {set}/"
        "{slug}.",
        mime_type=_MARKDOWN,
    ),
    ResourceTemplate(
        uri_template=_DATASET + "{sku}",
        name="dataset",
        title="Card of a dataset",
        description="What a dataset holds, member by member. sku: " + ", ".join(DATASETS) + ".",
        mime_type=_MARKDOWN,
    ),
]


def _resource(uri: str, name: str, title: str, mime_type: str) -> Resource:
    return Resource(uri=uri, name=name, title=title, mime_type=mime_type)


RESOURCES = [
    _resource(_LICENCE, "licence", "Licence notice of the data", _PLAIN),
    _resource(_MANIFEST, "export-manifest", "Every Parquet file of the build", _JSON),
    *(
        _resource(f"{_DATASET}{sku}", sku, f"{sku}: {dataset.title}", _MARKDOWN)
        for sku, dataset in DATASETS.items()
    ),
    *(
        _resource(f"{_METHODOLOGY}{ref}", ref, f"How {ref.partition('/')[2]} is made", _MARKDOWN)
        for ref in REFS
    ),
]


def read(mart: Mart, uri: str, exports_url: str) -> tuple[str, str] | None:
    """Return the text and media type of a resource; None if there is none at ``uri``."""
    if uri == _LICENCE:
        return mart.build().notice, _PLAIN
    if uri == _MANIFEST:
        return export_body(mart.build(), exports_url).decode(), _JSON
    if uri.startswith(_DATASET):
        text = dataset_card(uri.removeprefix(_DATASET).upper())
    else:
        name, _, slug = uri.removeprefix(_METHODOLOGY).partition("/")
        text = methodology_page(name, slug) if uri.startswith(_METHODOLOGY) else None
    return None if text is None else (text, _MARKDOWN)
