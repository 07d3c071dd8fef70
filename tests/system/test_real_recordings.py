"""The real files as recordings: ingested into a fresh home, published, and nothing local in it."""

import csv
import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from assets.ingest.sources import sources_of
from pipelines.commands.main import sankofa
from tests.helpers.local_traces import source_refs, traces
from tests.helpers.paths import REAL, ROOT
from tests.helpers.real_recordings import write_manifest
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.publish.builds import NOTICE
from warehouse.record.landing import open_landing
from warehouse.serve.build import Mart
from warehouse.shared.settings import read_settings

# All 483 files take two minutes: enough of every source for each of its formats.
FILES_OF_A_SOURCE = 3
LARGEST = 500_000


def some_of(manifest: Path) -> int:
    """Leave some files of each source in a manifest; return their number."""
    with manifest.open(newline="") as file:
        header, *lines = csv.reader(file, delimiter="\t")
    chosen: dict[str, list[list[str]]] = {}
    for line in lines:
        if Path(line[0]).stat().st_size < LARGEST:
            chosen.setdefault(line[3], []).append(line)
    kept = [line for of_source in chosen.values() for line in of_source[:FILES_OF_A_SOURCE]]
    with manifest.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([header, *kept])
    return len(kept)


@pytest.mark.shared
@pytest.mark.nightly
def test_real_files_are_published_with_the_addresses_of_their_publishers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_manifest(tmp_path) > 400
    number = some_of(tmp_path / "manifest.tsv")
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SANKOFA_PORTALS", str(tmp_path / "portals.toml"))
    monkeypatch.setenv("SANKOFA_WITHHELD_KEY", WITHHELD_KEY)
    monkeypatch.setenv("SANKOFA_BASE_URL", "https://data.example.org")
    settings = read_settings(os.environ)
    ingested = CliRunner().invoke(sankofa, ["ingest", "--manifest", str(tmp_path / "manifest.tsv")])
    assert ingested.exit_code == 0, ingested.output
    # Whatever lies in that folder does not make real data fictional.
    sample = settings.sample / "h10" / "2024-03-01" / "monthly.csv"
    sample.parent.mkdir(parents=True)
    sample.write_text("Date,Country,Exchange rate\n")
    published = CliRunner().invoke(sankofa, ["publish"])
    assert published.exit_code == 0, published.output

    assert open_landing(settings).world() == "real"
    assert Mart(settings.marts).build().notice == NOTICE
    keys = {source.key: source for source in sources_of(settings)}
    landed = [document for key in keys for document in open_landing(settings).documents(key)]
    assert len(landed) == number
    references = source_refs(settings)
    assert len({source for source, _ in references}) > 20
    for source, url in references:
        assert keys[source].is_published_at(url), url
        assert urlsplit(url).scheme in ("http", "https")
    assert traces(settings, str(tmp_path), str(REAL), str(ROOT)) == []
