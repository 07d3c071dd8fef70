"""The datasets by their SKU: what each holds, as a card that is written from the contract."""

from collections.abc import Mapping
from dataclasses import dataclass

from warehouse.contract.body_schemas import ROW_SCHEMAS
from warehouse.contract.json_schema import Schema


@dataclass(frozen=True)
class DatasetCard:
    """One dataset: what it is, which records it holds, and what one has to know of it."""

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
            "Amounts are as published, in their own currency.",
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
    notes = "\n".join(f"- {each}" for each in dataset.notes)
    tables = "\n\n".join(f"## {name}\n\n{_members(ROW_SCHEMAS[name])}" for name in dataset.records)
    return f"# {sku}: {dataset.title}\n\n{dataset.about}\n\n{notes}\n\n{tables}\n"


def _members(row: Schema) -> str:
    lines = [
        f"| {name} | {_type(each)} | {each.get('description', '')} |"
        for name, each in row["properties"].items()
    ]
    return "\n".join(("| member | type | meaning |", "|---|---|---|", *lines))


def _type(schema: Schema) -> str:
    kind = schema.get("type", "value")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
