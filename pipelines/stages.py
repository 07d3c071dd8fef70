"""The stages of a publication, in their order: what each makes, from which others, and its checks.

Also the derivations and the checks that leave rows out, each under a version of its code.

Each stage is an asset of ``definitions.py``; ``publication.py`` does the work.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa

from assets.derive import (
    derived_figures,
    later_statements,
    metrics,
    metrics_ttm,
    organisations,
    sessions,
    signals,
    silent_revisions,
)
from assets.entities.list_files import COMMUNITY_LISTS
from pipelines.guides import generated_guides
from quality.personal_data_audit import leave_out_personal_data
from quality.rules import Suite
from quality.suites import SUITES
from warehouse.methodology.metrics import METRIC_SET, TRAILING_SET
from warehouse.methodology.signals import SIGNAL_SET
from warehouse.publish.awards import STATED_AWARDS
from warehouse.publish.partitions import COUNTRIES, ISSUERS, REGISTERS
from warehouse.publish.snapshot import Derivation, RowCheck
from warehouse.record.relations import relation_of_files
from warehouse.record.tables import (
    ELEMENTS,
    ENTITIES,
    FUNDAMENTALS,
    TENDER_PARTIES,
    TENDER_RELEASES,
)
from warehouse.shared.code_version import code_version
from warehouse.shared.data_files import csv_rows

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


# Registers are audited with ``same_as``, as they are served: under the ids that are pointed to.
NODES = tuple(
    Node(
        row["name"],
        row["group"],
        row["description"],
        *(tuple(row[name].split()) for name in ("deps", "checks", "also")),
    )
    for row in csv_rows(__name__, "nodes")
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


@cache
def checks() -> tuple[RowCheck, ...]:
    """Return what leaves rows out or marks them, under versions made from the code and its lists.

    The version of the first covers the whole audit: a stricter floor or suite is applied at once,
    too.
    """
    tables = (TENDER_RELEASES, TENDER_PARTIES, ENTITIES)
    return (
        RowCheck(code_version("quality", "quality.audit"), leave_out_personal_data, tables),
        RowCheck(
            code_version("later statements", "assets.derive.later_statements"),
            later_statements.mark_later_statements,
            (FUNDAMENTALS, ELEMENTS),
        ),
    )


@cache
def derivations(community: frozenset[str] = COMMUNITY_LISTS) -> tuple[Derivation, ...]:
    """Return what is derived from a snapshot, under versions made from the code that does it.

    ``community`` are the lists of the installation that no exchange or regulator makes.

    The first says which ids are one organisation; the others read canonical ids.
    The last two derive no table: a build is also made again if the code of its files, its mart, of
    what its pages show or of what is withheld changes, and if its guides would say something else.
    """
    files = code_version(
        "files", "assets.exports.export", "assets.page_data", "warehouse.publish.candidate"
    )
    # What the guides say, wherever the code declares it.
    guides = hashlib.sha256(msgspec.json.encode(generated_guides())).hexdigest()[:8]
    return (
        organisations.joins(community),
        organisations.derivation(),
        sessions.derivation(),
        Derivation(
            code_version(METRIC_SET, "assets.derive.metrics"),
            metrics.metrics,
            makes=("metrics", "metrics_absent"),
            subject=ISSUERS,
            reads=("fundamentals", "statements"),
        ),
        Derivation(
            code_version("derived_figures", "assets.derive.derived_figures"),
            derived_figures.derived_figures,
            makes=(derived_figures.TABLE,),
            subject=ISSUERS,
            reads=("fundamentals", "statements"),
        ),
        Derivation(
            code_version(TRAILING_SET, "assets.derive.metrics_ttm"),
            metrics_ttm.metrics_ttm,
            makes=metrics_ttm.TABLES,
            subject=ISSUERS,
            reads=("fundamentals", "statements", derived_figures.TABLE),
        ),
        Derivation(
            code_version(SIGNAL_SET, "assets.derive.signals"),
            signals.signals,
            makes=("signals",),
            subject=COUNTRIES,
            reads=("tender_releases", "tender_parties", "party_matches", STATED_AWARDS),
            extracts=signals.EXTRACTS,
        ),
        Derivation(
            code_version("silent_revisions", "assets.derive.silent_revisions"),
            silent_revisions.silent_revisions,
            makes=(silent_revisions.TABLE,),
            # As a whole: a file of them is small, and what changed is in few figures.
            subject=REGISTERS,
            reads=silent_revisions.READS,
            extracts=silent_revisions.EXTRACTS,
        ),
        Derivation(files, lambda _: {}),
        Derivation(f"guides {guides}", lambda _: {}),
    )


def derived_counts(
    read: Callable[[str], pa.Table], paths: Callable[[str], Iterable[str]], table: str
) -> dict[str, Any]:
    """Return the metadata of a derived table: how many rows it has, and of which kinds.

    ``paths`` returns the files of a table, ``read`` the result of a query.
    """

    def counted(table: str, column: str) -> dict[str, int]:
        statement = (
            f"SELECT {column} AS value, count(*) AS rows FROM {relation_of_files(paths(table))} "
            f"WHERE {column} IS NOT NULL GROUP BY ALL ORDER BY rows DESC, value"
        )
        return {row["value"]: row["rows"] for row in read(statement).to_pylist()}

    def total(where: str = "TRUE") -> int:
        rows = read(f"SELECT count(*) AS rows FROM {relation_of_files(paths(table))} WHERE {where}")
        return int(rows["rows"][0].as_py())

    match table:
        case "same_as":
            vetoed = sum(counted("vetoed_joins", "reason").values())
            return {"ids": total(), **counted(table, "match_method"), "vetoed": vetoed}
        case "party_matches":
            parties, resolved = total(), total("service_id IS NOT NULL")
            return {
                "parties": parties,
                "resolved": resolved,
                "resolution rate": round(resolved / parties, 4) if parties else None,
                **counted(table, "match_method"),
                **counted(table, "reason"),
            }
        case "metrics" | "metrics_ttm":
            return {"values": total(), **counted(f"{table}_absent", "reason")}
        case "first_listings":
            return {"issuers": total(), **counted(table, "mic")}
        case derived_figures.TABLE:
            return {"values": total("reason IS NULL"), **counted(table, "reason")}
        case silent_revisions.TABLE:
            return {"revisions": total(), **counted(table, "source"), **counted(table, "kind")}
        case _:
            return {"rows": total(), **counted(table, "signal_key")}
