"""Resources: methodology pages, dataset cards, the licence notice, the export manifest."""

from mcp_types import Resource, ResourceTemplate

from warehouse.contract.datasets import DATASETS, dataset_card
from warehouse.methodology.pages import REFS, methodology_page
from warehouse.read.build_info import export_body
from warehouse.read.mart import Mart

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


def read(mart: Mart, uri: str) -> tuple[str, str] | None:
    """Give the text of a resource and its media type; None if there is no such one."""
    if uri == _LICENCE:
        return mart.build().notice, _PLAIN
    if uri == _MANIFEST:
        return export_body(mart.build()).decode(), _JSON
    if uri.startswith(_DATASET):
        text = dataset_card(uri.removeprefix(_DATASET).upper())
    else:
        name, _, slug = uri.removeprefix(_METHODOLOGY).partition("/")
        text = methodology_page(name, slug) if uri.startswith(_METHODOLOGY) else None
    return None if text is None else (text, _MARKDOWN)
