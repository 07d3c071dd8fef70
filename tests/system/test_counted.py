"""What ingest and publish count: outcomes, durations and when something last went well."""

from pathlib import Path

import pytest

from assets.ingest.assets import counted_fetch, counted_load
from pipelines.publication import count_publication, counted_stage
from tests.helpers.metrics import exposed, value
from warehouse.shared.errors import AlreadyPublished


def test_a_load_with_failed_documents_is_a_failed_one_and_says_how_many(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with counted_load(folder, "ecb") as rows:
        rows.documents_failed = 2
    samples = exposed(tmp_path)
    assert value(samples, "sankofa_documents_failed", source="ecb") == 2
    assert value(samples, "sankofa_ingests_total", source="ecb", outcome="failed") == 1
    assert not any("last_success" in name for name, _ in samples)
    with counted_load(folder, "ecb") as rows:
        rows.documents_failed = 0
    samples = exposed(tmp_path)
    assert value(samples, "sankofa_documents_failed", source="ecb") == 0
    assert value(samples, "sankofa_ingest_last_success_timestamp_seconds", source="ecb") > 1.7e9


def test_a_fetch_or_load_that_raises_is_counted_and_raises(tmp_path: Path) -> None:
    for work in (counted_fetch, counted_load):
        with pytest.raises(OSError, match="no network"), work(str(tmp_path), "ecb"):
            raise OSError("no network")
    samples = exposed(tmp_path)
    assert value(samples, "sankofa_fetches_total", source="ecb", outcome="failed") == 1
    assert value(samples, "sankofa_ingests_total", source="ecb", outcome="failed") == 1


def test_a_publication_is_published_unchanged_refused_or_failed(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with counted_stage(folder, "metrics"):
        pass
    with pytest.raises(OSError, match="full"), counted_stage(folder, "mart"):
        raise OSError("full")
    with pytest.raises(AlreadyPublished), counted_stage(folder, "mart"):
        raise AlreadyPublished("by another run")
    count_publication(folder, "refused")
    count_publication(folder, "unchanged")
    count_publication(folder, "published", begun_at=0)
    samples = exposed(tmp_path)
    for outcome in ("failed", "refused", "unchanged", "published"):
        assert value(samples, "sankofa_publications_total", outcome=outcome) == 1
    assert value(samples, "sankofa_publication_duration_seconds") > 1.7e9
    assert value(samples, "sankofa_publication_stage_seconds_total", stage="metrics") >= 0
