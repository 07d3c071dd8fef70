"""The stages of a publication, in their order: what each makes, from which others, and its checks.

Each stage is an asset of ``publish.py``; ``publication.py`` does the work.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from quality.rules import Suite
from quality.suites import SUITES
from warehouse.publish.awards import STATED_AWARDS
from warehouse.publish.nodes import TENDER_FACTS

SNAPSHOT, QUALITY, EXPORTS, MART = "snapshot", "quality", "exports", "mart"
BUILD = "published_build"


@dataclass(frozen=True)
class Node:
    """A stage between the snapshot and its audit, which makes files of every partition.

    ``checks`` are the suites that speak of what it makes: all that they read is there then.
    ``also`` are nodes of the same step that are of no interest by themselves.
    """

    name: str
    group: str
    description: str
    deps: tuple[str, ...]
    checks: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


NODES = (
    Node(
        "registers",
        "snapshot",
        "Organisations and their identifiers as registers state them.",
        (SNAPSHOT,),
    ),
    Node(
        "same_as",
        "snapshot",
        "Ids found to be one organisation, and which of them is pointed to.",
        ("registers",),
        # Registers are audited as they are served: under the ids that are pointed to.
        ("record.entities", "record.identifiers", "served.identifiers", "served.same_as"),
    ),
    Node(
        "figures",
        "snapshot",
        "Every vintage of every reported figure and of the list of filings, under canonical ids.",
        ("same_as",),
        (
            *("record.fundamentals", "served.fundamentals"),
            *("record.filings", "served.filings"),
        ),
    ),
    Node(
        "tenders",
        "snapshot",
        "Every vintage of every tender release and of its parties.",
        ("same_as",),
        ("record.tender_releases", "record.tender_parties"),
        also=(STATED_AWARDS,),
    ),
    Node(
        "macro",
        "snapshot",
        "Every vintage of the macroeconomic series.",
        ("same_as",),
        (
            "record.macro_annual",
            "record.macro_series",
            "served.macro_annual",
            "served.macro_series",
        ),
    ),
    Node(
        "party_matches",
        "parties",
        "Which organisation each party of tenders is, or why that is not known.",
        ("same_as", "tenders"),
        (
            *("served.party_matches", "served.tender_releases", "served.tender_parties"),
            *("served.award_facts", "served.tender_facts"),
        ),
        also=(TENDER_FACTS,),
    ),
    Node(
        "metrics",
        "metrics",
        "metrics-v1 of every full year of every issuer, each with its inputs and the days for "
        "which it is the answer; and for every absent value the reason.",
        ("figures",),
        ("served.metrics", "served.metrics_absent"),
    ),
    Node(
        "signals",
        "signals",
        "The thirteen procurement panels, by month, with coverage and vintages.",
        ("tenders", "party_matches", "figures"),
        ("served.signals",),
    ),
    Node(
        "silent_revisions",
        "revisions",
        "What publishers changed without saying so: before, after, and when each was seen.",
        ("figures", "tenders", "macro"),
        ("served.silent_revisions",),
    ),
)
# What each stage is made from.
DEPS: dict[str, tuple[str, ...]] = {
    SNAPSHOT: (),
    **{node.name: node.deps for node in NODES},
    QUALITY: tuple(node.name for node in NODES),
    EXPORTS: (QUALITY,),
    MART: (EXPORTS,),
    BUILD: (MART,),
}
STAGES, NODE_NAMES = tuple(DEPS), frozenset(node.name for node in NODES)
_NAMES = {name for node in NODES for name in node.checks}
# The suites of what only the audit of the whole snapshot adds or can read.
WHOLE_SUITES = tuple(suite for suite in SUITES if suite.name not in _NAMES)


def suites_of(node: Node) -> tuple[Suite, ...]:
    """Return the suites that a node is checked by."""
    return tuple(suite for suite in SUITES if suite.name in node.checks)


def files_of(stages: Collection[str]) -> list[str]:
    """Return the names of what stages hand over; the snapshot is there before all of them."""
    also = [name for node in NODES if node.name in stages for name in node.also]
    return [*(stage for stage in stages if stage != SNAPSHOT), *also]


def stages_after(stage: str) -> Iterator[str]:
    """Yield every stage that depends on a stage."""
    after = {stage}
    for name, deps in DEPS.items():
        if not after.isdisjoint(deps):
            after.add(name)
            yield name
