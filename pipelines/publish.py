"""The assets that make what is loaded readable, at once, with what is worked out from it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets.entities.derive import derivation, told_of_parties, told_of_same
from assets.ground import Ground
from assets.ingest import table_key
from pipelines.sources import SOURCES
from warehouse.mart.build import publish
from warehouse.mart.derived import Derivation, Tables
from warehouse.mart.notices import NOTICE, SAMPLE_NOTICE
from warehouse.record.snapshot import Snapshot
from warehouse.record.tables import (
    ENTITIES,
    IDENTIFIERS,
    RECORD_TABLES,
    TENDER_PARTIES,
    RecordTable,
)

_KNOWN = (ENTITIES, IDENTIFIERS)


def _loaded(*tables: RecordTable) -> list[dg.AssetKey]:
    """Name the assets that load some tables."""
    return [
        table_key(source, table)
        for source in SOURCES
        for table in source.tables
        if source.permitted and table in tables
    ]


class Marts(dg.ConfigurableResource[Any]):
    """The folder of the published builds."""

    folder: str


@dg.multi_asset(
    name="published_build",
    specs=[
        dg.AssetSpec(
            "same_as",
            deps=_loaded(*_KNOWN),
            group_name="entities",
            description="Ids found to be one organisation, and which of them is pointed to.",
            kinds={"duckdb"},
            skippable=True,
        ),
        dg.AssetSpec(
            "party_matches",
            deps=["same_as", *_loaded(TENDER_PARTIES)],
            group_name="entities",
            description="Which organisation each party of tenders is, or why that is not known.",
            kinds={"duckdb"},
            skippable=True,
        ),
        dg.AssetSpec(
            "published_build",
            deps=["same_as", "party_matches", *_loaded(*RECORD_TABLES)],
            group_name="published",
            description="Every vintage loaded so far, as one build that readers switch to at once.",
            kinds={"sqlite"},
        ),
    ],
)
def published_build(ground: Ground, marts: Marts) -> Iterator[dg.MaterializeResult[None]]:
    """Publish in one step: what is derived follows from the very loads that are published."""
    made: dict[str, Any] = {}
    organisations = derivation()

    def derive(snapshot: Snapshot, tables: Tables) -> Tables:
        made.update(organisations.derive(snapshot, tables))
        return made

    kept = [Derivation(organisations.version, derive)]
    sampled = any(Path(ground.documents).glob("*/*"))
    notice = SAMPLE_NOTICE if sampled else NOTICE
    data_version = publish(ground.record(), Path(marts.folder), notice, kept)
    if made:
        yield dg.MaterializeResult(asset_key="same_as", metadata=told_of_same(made["same_as"]))
        told = told_of_parties(made["party_matches"])
        yield dg.MaterializeResult(asset_key="party_matches", metadata=told)
    yield dg.MaterializeResult(asset_key="published_build", metadata={"data_version": data_version})
