"""The pages of datasets and panels as data: what each is, which files it has, how to request it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from warehouse.methodology import signals
from warehouse.methodology.signals import Panel
from warehouse.serve.exports import Artifact, Manifest, file_name


@dataclass(frozen=True)
class Card:
    """One dataset or panel: the path of its page, its texts, its files and its statements.

    ``cell_meaning`` says what a cell of its coverage by country and year counts. ``api_path`` has
    placeholders for examples from the build; ``tool`` is the MCP tool for the same data.
    """

    path: str
    title: str
    about: str
    file_keys: tuple[str, ...]
    cell_meaning: str
    api_path: str
    tool: str | None = None
    notes: tuple[str, ...] = ()
    panel: Panel | None = None


DATASETS = (
    Card(
        "datasets/af-fund",
        "AF-FUND: company fundamentals",
        "Figures as companies reported them in XBRL filings, with every restatement as a separate "
        "vintage: choose any day and get what was public by then. Beside them the list of filings.",
        ("af-fund-facts", "af-fund-filings"),
        "number of figures, by the year in which their period ends",
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
        "number of releases, by year of release",
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
        "number of observations, by the year in which their period ends",
        "/v1/macro?series={series}&as_of={as_of}",
        "get_macro",
        ("Annual indicators have no documented release date, so as_of does not return them.",),
    ),
    Card(
        "datasets/macro-series",
        "Macro series, latest values",
        "The open part of AF-MACRO: the latest vintage of every series, no key needed.",
        ("macro-series",),
        "number of observations, by the year in which their period ends",
        "/v1/macro?series={series}",
        "get_macro",
    ),
    Card(
        "datasets/silent-revisions",
        "Silent revisions",
        "What publishers changed without saying so: the value or member before and after, since "
        "when the old one was known, when it was last seen, and when the new one was first seen.",
        ("silent-revisions",),
        "",
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
        "",
        "/v1/quality-metrics/AF-FUND",
        "get_quality_metrics",
    ),
)


def _panel(panel: Panel) -> Card:
    return Card(
        f"signals/{panel.key}",
        panel.title,
        f"{panel.title}, by country and month. Requires {panel.needs}.",
        (panel.key,),
        "share of processes in scope that state what the measures need",
        f"/v1/signals/{panel.key}",
        None,
        panel.notes,
        panel,
    )


PANELS = tuple(_panel(panel) for panel in signals.PANELS)
CARDS = (*DATASETS, *PANELS)
# The titles of datasets by the names that rows have.
TITLES = {card.path.rpartition("/")[2].upper(): card.title for card in CARDS}


class FileContent(msgspec.Struct, frozen=True):
    """Name, type, meaning and nullability of each column of a file, and its first rows."""

    fields: tuple[tuple[str, str, str, bool], ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True)
class PageFile:
    """One file as a page shows it; paths are relative to the address of the service."""

    artifact: Artifact
    content: FileContent
    path: str
    latest: str
    schema: str
    delta: str | None

    @property
    def size(self) -> str:
        """The size for people, in kB or MB."""
        kilobytes = self.artifact.size_bytes / 1000
        return f"{kilobytes:,.0f} kB" if kilobytes < 1000 else f"{kilobytes / 1000:,.1f} MB"


def files_of(
    card: Card, manifest: Manifest | None, contents: Mapping[str, FileContent]
) -> Iterator[PageFile]:
    """Yield the files of a card that the build has."""
    if manifest is None:
        return
    folder = f"exports/{manifest.data_version}/"
    artifacts = {artifact.key: artifact for artifact in manifest.artifacts}
    for key in card.file_keys:
        if key in artifacts and key in contents:
            artifact = artifacts[key]
            delta = artifact.delta
            yield PageFile(
                artifact,
                contents[key],
                folder + file_name(key),
                f"exports/latest/{file_name(key)}",
                folder + artifact.schema_url.rsplit("/", 1)[-1],
                None if delta is None else folder + delta.url.rsplit("/", 1)[-1],
            )
