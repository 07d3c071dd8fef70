"""A licence is declared once, with its evidence; what is restricted is refused before a request."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.fetching.fetchers import FetchTask, Window
from assets.ingest.land import Prober, land_live, probe
from assets.ingest.sources import SOURCES
from assets.source import Source
from pipelines.guides import generated_guides
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.shared.errors import LicenceError
from warehouse.shared.settings import read_settings
from warehouse.tables.sighting import OPEN_CLASSES

RESTRICTED = [source for source in SOURCES if not source.permitted]
READ = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("source", RESTRICTED, ids=lambda source: source.key)
def test_a_restricted_source_is_refused_before_anything_is_asked(
    source: Source, tmp_path: Path
) -> None:
    def ask(_: FetchTask) -> Iterator[FetchedResponse]:
        raise AssertionError("a request was made")

    landing, settings = Landing(str(tmp_path / "landing")), read_settings({})
    asking = replace(source, fetch=ask, base_url=source.base_url or "https://source.example")
    with pytest.raises(LicenceError, match=f"{source.key} is refused"):
        land_live(landing, asking, Window(), settings)
    with Prober(settings) as client, pytest.raises(LicenceError, match="is refused"):
        probe(client, asking, settings)
    recorded = FetchedResponse(
        source.key, "https://source.example/1", b"1", source.license_class, READ
    )
    with pytest.raises(LicenceError, match="forbids redistribution"):
        landing.land(recorded)
    assert landing.documents(source.key) == []


def test_there_are_restricted_sources_and_the_table_says_that_they_are_refused() -> None:
    refused = {
        line.split("`")[1]
        for line in generated_guides()["licences"].splitlines()
        if line.endswith("refused |")
    }

    assert refused == {source.key for source in RESTRICTED} != set()


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.key)
def test_what_is_served_has_evidence_of_its_licence(source: Source) -> None:
    if source.license_class in OPEN_CLASSES:
        assert source.license_evidence != "not stated"
    if source.license_evidence == "on the page":
        assert source.license_url is not None
    if source.license_evidence == "not stated":
        assert not source.permitted
