"""The assets that make what is loaded readable, at once, with what is worked out from it.

They are one step: what is derived, measured, exported and served follows from the very loads
that are published, and none of it stays if the audit fails.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from assets.ingest.assets import FRESHNESS_POLICY, table_key
from assets.ingest.metadata import column_metadata
from assets.ingest.resources import IngestResource
from assets.ingest.sources import SOURCES
from assets.source import Source
from assets.tenders.portal_files import own_portals, portals_of
from assets.tenders.sources import portal_source
from pipelines.builds import delete_old_versions, refuse_empty
from pipelines.publication import Publication
from quality.checks import check_results, check_specs
from warehouse.compute.choose import compute_of
from warehouse.mart.audit import AuditFailed
from warehouse.mart.builds import NOTICE, SAMPLE_NOTICE
from warehouse.record.tables import (
    ENTITIES,
    FUNDAMENTALS,
    IDENTIFIERS,
    RECORD_TABLES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.record.worlds import world_of
from warehouse.settings import DEVELOPMENT_WITHHELD_KEY, read_settings
from warehouse.tables import DERIVED

BUILD = "published_build"
_BUILD = dg.AssetKey(BUILD)
_CHECKS = check_specs(_BUILD)


def _loaded(sources: Iterable[Source], *tables: RecordTable) -> list[dg.AssetKey]:
    """Return the keys of the assets that load the given tables."""
    return [
        table_key(source, table)
        for source in sources
        for table in source.tables
        if source.permitted and table in tables
    ]


class Publishing(dg.ConfigurableResource[Any]):
    """Paths and URLs of builds, exports and staging."""

    marts: str
    work: str
    exports: str
    exports_url: str
    signing_key: str
    pages: str
    keep: int
    portal_files: list[str] = Field(default_factory=list)
    withheld_key: str = DEVELOPMENT_WITHHELD_KEY

    def publication(self, notice: str, confirm_loss: str) -> Publication:
        """Create a publication."""
        files = [Path(file) for file in self.portal_files]
        own = own_portals(files, (source.key for source in SOURCES))
        return Publication(
            self.marts,
            Path(self.work),
            self.exports,
            self.exports_url,
            Path(self.signing_key),
            self.pages,
            notice,
            confirm_loss or None,
            portals_of(files),
            self.withheld_key,
            {source.key: source.new_within for source in (*SOURCES, *map(portal_source, own))},
        )


class PublishConfig(dg.Config):
    """Options of one publication: why a loss of rows is right, if there is one."""

    confirm_loss: str = ""


def published_assets(sources: Sequence[Source]) -> dg.AssetsDefinition:
    """Return the assets that publish what was loaded from the sources."""
    # The pool makes the second of two publications wait, and says so.
    decorate = dg.multi_asset(name=BUILD, specs=_specs(sources), check_specs=_CHECKS, pool=BUILD)
    return decorate(published_build)


def _specs(sources: Sequence[Source]) -> list[dg.AssetSpec]:
    def derived(
        name: str, group: str, description: str, *after: RecordTable, also: tuple[str, ...] = ()
    ) -> dg.AssetSpec:
        return dg.AssetSpec(
            name,
            deps=[*also, *_loaded(sources, *after)],
            group_name=group,
            description=description,
            kinds={"duckdb"},
            skippable=True,
            metadata=column_metadata(DERIVED[name]),
        )

    loaded = _loaded(sources, *RECORD_TABLES)
    return [
        derived(
            "same_as",
            "entities",
            "Ids found to be one organisation, and which of them is pointed to.",
            ENTITIES,
            IDENTIFIERS,
        ),
        derived(
            "party_matches",
            "entities",
            "Which organisation each party of tenders is, or why that is not known.",
            TENDER_PARTIES,
            also=("same_as",),
        ),
        derived(
            "metrics",
            "metrics",
            "metrics-v1 of every full year of every issuer, each with its inputs and the days for "
            "which it is the answer; and for every absent value the reason.",
            FUNDAMENTALS,
        ),
        derived(
            "signals",
            "signals",
            "The thirteen procurement panels, by month, with coverage and vintages.",
            TENDER_RELEASES,
            TENDER_PARTIES,
            FUNDAMENTALS,
            also=("party_matches",),
        ),
        derived(
            "quality",
            "published",
            "Measurements against the floors of each dataset, with their history.",
            *RECORD_TABLES,
            also=("metrics", "signals"),
        ),
        dg.AssetSpec(
            "exports",
            deps=["quality", *loaded],
            group_name="published",
            description="Parquet files with every vintage, deltas, and the signed manifest.",
            kinds={"parquet"},
            skippable=True,
        ),
        dg.AssetSpec(
            BUILD,
            deps=["exports", "quality", *loaded],
            group_name="published",
            description="Every vintage loaded so far, as one build that readers switch to at once.",
            kinds={"sqlite"},
            freshness_policy=FRESHNESS_POLICY,
        ),
    ]


def published_build(
    config: PublishConfig, storage: IngestResource, publishing: Publishing
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Publish in one step; a failed audit fails the step, and the build before stays."""
    refuse_empty(storage.record())
    world = world_of(storage.record(), storage.landing())
    notice = SAMPLE_NOTICE if world == "fictional" else NOTICE
    publication = publishing.publication(notice, config.confirm_loss)
    try:
        # Where it is computed is a matter of the machine that runs this.
        with compute_of(read_settings(os.environ)) as publication.compute:
            data_version = publication.run(storage.record())
    except AuditFailed:
        if publication.report is not None:
            yield from check_results(publication.report, _BUILD)
        raise
    deleted = delete_old_versions(
        publishing.marts, publishing.exports, publishing.pages, publishing.keep
    )
    for name, metadata in _metadata_by_asset(publication).items():
        yield dg.MaterializeResult(asset_key=name, metadata=metadata)
    yield dg.MaterializeResult(
        asset_key=BUILD,
        metadata={
            "data_version": data_version,
            "builds deleted": len(deleted),
            "manifest": dg.MetadataValue.url(
                f"{publication.exports_url}/{data_version}/manifest.json"
            ),
            "pages": dg.MetadataValue.path(f"{publication.pages}/{data_version}"),
        },
    )
    yield from _checked(publication)


def _checked(publication: Publication) -> Iterator[dg.AssetCheckResult]:
    if publication.report is not None:
        yield from check_results(publication.report, _BUILD)
        return
    for spec in _CHECKS:
        yield dg.AssetCheckResult(
            asset_key=_BUILD,
            check_name=spec.name,
            passed=True,
            description="Nothing changed since the build that is read passed it.",
        )


def _metadata_by_asset(publication: Publication) -> Mapping[str, dict[str, Any]]:
    """Return the metadata of each derived asset; empty if nothing changed."""
    if publication.report is None or publication.manifest is None:
        return {}
    return {
        **publication.derived,
        "quality": dict(Counter(row.status for row in publication.report.measurements)),
        "exports": {
            "files": len(publication.manifest.artifacts),
            "bytes": sum(artifact.size_bytes for artifact in publication.manifest.artifacts),
            "left out": len(publication.manifest.failed),
        },
    }
