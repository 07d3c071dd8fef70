"""Publishing exports: signed, immutable, switched atomically, with deltas."""

import hashlib
import json
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import jsonschema
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner
from fsspec.implementations.memory import MemoryFileSystem

from assets.exports.artifacts import EXPORT_FILES
from assets.exports.export import export, switch_latest
from pipelines.commands.main import sankofa as command
from tests.helpers.exports import (
    NOW,
    fact_row,
    load,
    release_row,
    signals,
    staged,
    verify_export,
)
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT
from tests.helpers.waiting import wait_until
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, TENDER_RELEASES
from warehouse.serve.exports import MANIFEST_FILE, Manifest, PublishedExports
from warehouse.shared.errors import NothingPublished, SankofaError, UnknownVersion
from warehouse.shared.file_store import FileStore
from warehouse.shared.signing import SigningKey

FIRST, SECOND = "20261114.1", "20261114.2"
STORE = "memory://exports"
TEXT, COUNT = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}
URL = {"type": "string", "pattern": "^[a-z0-9.-]+$"}
DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
DAY = {"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}


def exactly(**members: Any) -> dict[str, Any]:
    """Return the JSON Schema of an object with exactly these members."""
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


MANIFEST = exactly(
    data_version={"type": "string", "pattern": r"^[0-9]{8}\.[0-9]+$"},
    generated_at={"type": "string", "pattern": "Z$"},
    artifacts={
        "type": "array",
        "items": exactly(
            key={"type": "string", "pattern": "^[a-z0-9-]+$"},
            title=TEXT,
            kind={"enum": ["open-panel", "licensed"]},
            sku={"enum": ["AF-FUND", "AF-TENDER", "AF-MACRO", None]},
            signal_key={"type": ["string", "null"], "pattern": "^[a-z0-9-]+$"},
            url=URL,
            requires_key={"type": "boolean"},
            required_tier={"enum": ["starter", None]},
            license=TEXT,
            rows=COUNT,
            columns={"type": "array", "minItems": 1, "items": exactly(name=TEXT, type=TEXT)},
            size_bytes=COUNT,
            sha256=DIGEST,
            schema_url=URL,
            period_min=DAY,
            period_max=DAY,
            sort_key={"type": "array", "minItems": 1, "items": TEXT},
            methodology_ref={"type": ["string", "null"]},
            delta={
                "oneOf": [
                    {"type": "null"},
                    exactly(
                        against=TEXT,
                        url=URL,
                        rows=COUNT,
                        size_bytes=COUNT,
                        sha256=DIGEST,
                        key=TEXT,
                        meaning=TEXT,
                        sql_apply=TEXT,
                    ),
                ]
            },
            sql_as_of={"type": ["string", "null"]},
        ),
    },
    failed={"type": "array", "items": exactly(key=TEXT, title=TEXT, sku={}, reason=TEXT)},
    signature_url=URL,
    datapackage_url=URL,
)


class DatedMemory(MemoryFileSystem):  # type: ignore[misc]
    """A store in memory that says when a file was written, as object stores do."""

    def find(self, *arguments: Any, detail: bool = False, **options: Any) -> Any:
        found = super().find(*arguments, detail=detail, **options)
        if not detail:
            return found
        return {path: {**entry, "mtime": entry.get("created")} for path, entry in found.items()}


@dataclass(frozen=True)
class Exported:
    """A record at two moments, and its exports to a folder and to a store."""

    home: Path
    key: SigningKey
    first: Snapshot
    second: Snapshot
    manifests: dict[str, tuple[Manifest, Manifest]]

    @property
    def folder(self) -> str:
        return str(self.home / "out")

    def export(self, snapshot: Snapshot, destination: str, previous: str | None = None) -> Manifest:
        return export(
            snapshot,
            destination,
            signing_key=self.key,
            previous=previous,
            notice="FICTIONAL",
            now=NOW,
        )

    def copy(self, destination: str, *versions: str) -> None:
        """Copy versions to an empty destination, for a test to change."""
        for version in versions:
            for path in Path(self.folder, version).iterdir():
                FileStore.of(destination).put(path.read_bytes(), version, path.name)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    home = tmp_path_factory.mktemp("exported")
    fsspec.register_implementation("memory", DatedMemory, clobber=True)
    record, key = Record(str(home / "record")), SigningKey.at(home / "keys" / "signing.pem")
    load_first(record)
    with ExitStack() as staging:
        first = staging.enter_context(staged(record, home, FIRST))
        load_later(record)
        second = staging.enter_context(staged(record, home, SECOND))
        # One month is revised, and one panel loses a row.
        second.add({"signals": signals(lambda n: Decimal(n) / 4).slice(1)})
        made = Exported(home, key, first, second, {})
        for destination in (made.folder, STORE):
            made.manifests[destination] = (
                made.export(first, destination),
                made.export(second, destination, FIRST),
            )
        yield made
    fsspec.filesystem("memory").rm(STORE, recursive=True)
    fsspec.register_implementation("memory", MemoryFileSystem, clobber=True)


@pytest.fixture(params=["folder", "memory"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty destination of each kind."""
    if request.param == "folder":
        yield str(tmp_path / "out")
    else:
        yield "memory://empty"
        fsspec.filesystem("memory").rm("memory://empty", recursive=True)


def load_first(record: Record) -> None:
    load(record, FUNDAMENTALS, *(fact_row(f"item{n}", str(n)) for n in range(20)))
    load(record, TENDER_RELEASES, release_row(1), release_row(2))


def load_later(record: Record) -> None:
    """Load a restatement, a new figure, and a changed release."""
    publication = {"available_at": date(2026, 4, 1), "publication": "p2", "document": "d1"}
    load(
        record,
        FUNDAMENTALS,
        fact_row("item3", "3.5", **publication),
        fact_row("new", "1", **publication),
    )
    load(record, TENDER_RELEASES, release_row(2, tag="award", **publication))


def read(destination: str, version: str, name: str) -> list[dict[str, Any]]:
    with FileStore.of(destination).open(version, name) as file:
        return list(pq.read_table(file).to_pylist())


@pytest.mark.parametrize("store", ["folder", "memory"])
def test_the_previous_file_and_the_delta_make_the_new_file(
    shared: Exported, tmp_path: Path, store: str
) -> None:
    destination = shared.folder if store == "folder" else STORE
    first, manifest = shared.manifests[destination]
    assert not [artifact for artifact in first.artifacts if artifact.delta]

    changes = {}
    engine = duckdb.connect()
    for artifact in manifest.artifacts:
        delta = artifact.delta
        assert delta is not None and delta.against == FIRST
        for version, suffix in ((FIRST, ""), (SECOND, ".delta")):
            body = FileStore.of(destination).read(version, f"{artifact.key}{suffix}.parquet")
            (tmp_path / f"{version}.parquet").write_bytes(body)
        paths = {
            "previous": tmp_path / f"{FIRST}.parquet",
            "delta": tmp_path / f"{SECOND}.parquet",
        }
        applied = engine.sql(
            f"SELECT * FROM ({delta.sql_apply.format(**paths)}) ORDER BY {artifact.sort_key[-1]}"
        )
        expected = read(destination, SECOND, f"{artifact.key}.parquet")
        expected.sort(key=lambda row: str(row[artifact.sort_key[-1]]))
        assert (
            applied.to_arrow_table().cast(pq.read_schema(tmp_path / f"{FIRST}.parquet")).to_pylist()
            == expected
        )
        rows = read(destination, SECOND, f"{artifact.key}.delta.parquet")
        assert len(rows) == delta.rows
        changes[artifact.key] = sorted(row["change"] for row in rows)
    engine.close()
    assert changes["af-fund-facts"] == ["put"] * 3
    assert changes["af-tender-releases"] == ["put"] * 2
    assert changes["af-macro-series"] == []
    assert changes["procurement-demand"] == ["put", "put", "removed"]


def test_without_a_previous_version_or_with_other_columns_there_is_no_delta(
    shared: Exported, tmp_path: Path
) -> None:
    folder = str(tmp_path / "out")
    without_previous = shared.export(shared.first, folder, "20200101.1")
    changed_path = Path(folder) / FIRST / "macro-series.parquet"
    pq.write_table(pq.read_table(changed_path).drop_columns(["unit"]), changed_path)
    second = shared.export(shared.second, folder, FIRST)

    assert not [artifact for artifact in without_previous.artifacts if artifact.delta]
    keys_without_delta = [artifact.key for artifact in second.artifacts if artifact.delta is None]
    assert keys_without_delta == ["macro-series"]


@pytest.fixture(scope="module")
def incomplete(shared: Exported, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an export of a snapshot that lacks some tables."""
    folder = tmp_path_factory.mktemp("incomplete")
    record, missing = Record(str(folder / "record")), ("signals", "quality", "party_matches")
    load(record, TENDER_RELEASES, release_row(1))
    with staged(record, folder, FIRST, *missing) as snapshot:
        shared.export(snapshot, str(folder / "out"))
    return str(folder / "out")


def test_files_of_a_missing_table_fail_and_name_the_table(incomplete: str) -> None:
    manifest = PublishedExports(incomplete).manifest(FIRST)
    failed = {artifact.key: artifact.reason for artifact in manifest.failed}
    assert len(failed) == 13 + 1 + 4
    assert "no signals" in failed["single-bid-rate"]
    assert "no quality" in failed["quality-history"]
    assert "no party_matches" in failed["af-tender-awards"]
    assert not set(failed) & {artifact.key for artifact in manifest.artifacts}


def test_the_manifest_conforms_to_its_schema(shared: Exported, incomplete: str) -> None:
    for destination, version in ((incomplete, FIRST), (shared.folder, SECOND)):
        manifest = json.loads(FileStore.of(destination).read(version, MANIFEST_FILE))
        jsonschema.validate(manifest, MANIFEST, jsonschema.Draft202012Validator)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**manifest, "more": 1}, MANIFEST)


def test_descriptions_name_every_file_with_its_digest(shared: Exported) -> None:
    folder, (manifest, _) = shared.folder, shared.manifests[shared.folder]
    digests = [artifact.sha256 for artifact in manifest.artifacts]
    package = json.loads((Path(folder) / FIRST / "datapackage.json").read_text())
    croissant = json.loads((Path(folder) / FIRST / "croissant.json").read_text())
    assert [resource["hash"] for resource in package["resources"]] == [
        f"sha256:{d}" for d in digests
    ]
    assert [file_object["sha256"] for file_object in croissant["distribution"]] == digests
    # A bucket without elements has no file.
    written = {artifact.key for artifact in manifest.artifacts}
    files = [export_file for export_file in EXPORT_FILES if export_file.key in written]
    for export_file, resource, record_set in zip(
        files, package["resources"], croissant["recordSet"], strict=True
    ):
        names = [column.name for column in export_file.columns]
        assert [field["name"] for field in resource["schema"]["fields"]] == names
        assert all(field["description"] for field in resource["schema"]["fields"])
        assert [field["source"]["extract"]["column"] for field in record_set["field"]] == names
        schema = json.loads((Path(folder) / FIRST / f"{export_file.key}.schema.json").read_text())
        assert schema == resource["schema"]


def test_any_change_of_a_signed_file_is_detected(shared: Exported, tmp_path: Path) -> None:
    folder = str(tmp_path / "out")
    shared.copy(folder, SECOND)
    version_folder = Path(folder) / SECOND
    other_key = SigningKey.at(tmp_path / "other.pem")
    own_key = shared.key.public_pem()

    assert verify_export(folder, SECOND) == verify_export(folder, SECOND, own_key) == []
    assert "signature" in verify_export(folder, SECOND, other_key.public_pem())[0]
    for name in ("af-fund-facts.parquet", "af-fund-facts.delta.parquet"):
        body = (version_folder / name).read_bytes()
        (version_folder / name).write_bytes(body[:-20] + bytes([body[-20] ^ 1]) + body[-19:])
        (problem,) = verify_export(folder, SECOND)
        assert problem.startswith(f"{name}: its SHA-256")
        (version_folder / name).unlink()
        assert verify_export(folder, SECOND) == [f"{name}: is missing"]
        (version_folder / name).write_bytes(body)
    signed = (version_folder / "manifest.json").read_bytes()
    changed = signed.replace(b'"rows": 22', b'"rows": 21')
    assert changed != signed
    (version_folder / "manifest.json").write_bytes(changed)
    assert "signature" in verify_export(folder, SECOND)[0]


def test_a_signing_key_is_created_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "signing.pem"
    signing_key = SigningKey.at(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SigningKey.at(path).public_pem() == signing_key.public_pem()
    assert list(path.parent.iterdir()) == [path]
    assert b"PRIVATE" not in signing_key.public_pem()
    path.chmod(0o644)
    with pytest.raises(SankofaError, match="chmod 600"):
        SigningKey.at(path)
    path.chmod(0o600)
    path.write_text("nothing")
    with pytest.raises(SankofaError, match="not an Ed25519 key"):
        SigningKey.at(path)


def test_a_version_never_changes(shared: Exported) -> None:
    files = [path for path in Path(shared.folder, FIRST).rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    with pytest.raises(SankofaError, match=FIRST):
        shared.export(shared.first, shared.folder)
    assert before == {path: path.read_bytes() for path in files}


def test_latest_is_switched_only_to_a_complete_version(shared: Exported, empty: str) -> None:
    shared.copy(empty, FIRST)
    published = PublishedExports(empty)

    with pytest.raises(NothingPublished):
        published.latest()
    for version in (SECOND, "../x", "latest"):
        with pytest.raises(UnknownVersion):
            switch_latest(empty, version)
    switch_latest(empty, FIRST)
    assert published.latest() == FIRST
    shared.export(shared.second, empty, FIRST)
    assert published.manifest().data_version == FIRST
    switch_latest(empty, SECOND)
    assert published.manifest().data_version == SECOND
    assert published.versions() == [FIRST, SECOND]


def test_only_files_named_in_the_manifest_are_published(shared: Exported, empty: str) -> None:
    manifest, _ = shared.manifests[shared.folder]
    shared.copy(empty, FIRST)
    switch_latest(empty, FIRST)
    FileStore.of(empty).put(b"secret", FIRST, "beside.parquet")
    published = PublishedExports(empty)

    for artifact in manifest.artifacts:
        published_file = published.file("latest", artifact.url)
        assert published_file is not None and published_file.required_tier == artifact.required_tier
        with published_file.open() as file:
            file.seek(-4, 2)
            assert file.read() == b"PAR1"
            assert file.tell() == published_file.size_bytes == artifact.size_bytes
        schema = published.file(FIRST, artifact.schema_url)
        assert schema is not None and schema.required_tier is None
    for name in ("manifest.json", "manifest.json.sig", "signing-key.pem", "croissant.json"):
        assert published.file(FIRST, name) is not None
    for name in ("beside.parquet", "../latest", "af-fund-facts.delta.parquet", "", "af-fund-facts"):
        assert published.file(FIRST, name) is None


def kill_an_export(home: Path, version: str, killed_at: str) -> None:
    """Kill the process that exports a version at a step."""
    command = [sys.executable, "-m", "tests.helpers.exports", str(home), version]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    if killed_at == "first file":

        def has_a_file() -> bool:
            assert child.poll() is None
            return any((home / "out" / version).glob("*.parquet"))

        wait_until(has_a_file, every=0.005)
    else:
        assert child.stdout is not None and child.stdout.readline() == b"signing\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()


@pytest.mark.nightly
def test_after_killed_exports_latest_stays_and_the_next_run_succeeds(
    shared: Exported, tmp_path: Path
) -> None:
    for name in ("record", "keys"):
        shutil.copytree(shared.home / name, tmp_path / name)
    folder = str(tmp_path / "out")
    shared.copy(folder, FIRST)
    switch_latest(folder, FIRST)
    killed = {"signing": "20261114.4"}
    if is_nightly():
        killed["first file"] = "20261114.3"
    for killed_at, version in killed.items():
        kill_an_export(tmp_path, version, killed_at)

        assert list(Path(folder, version).iterdir())
        assert PublishedExports(folder).manifest().data_version == FIRST
        assert PublishedExports(folder).versions() == [FIRST]
    shared.export(shared.second, folder, FIRST)
    switch_latest(folder, SECOND)
    assert PublishedExports(folder).versions() == [FIRST, SECOND]
    assert verify_export(folder, SECOND) == []


def test_the_open_panels_become_a_dataset_with_a_card_that_names_each_of_them(
    shared: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = PublishedExports(shared.folder)
    monkeypatch.setenv("SANKOFA_EXPORTS", shared.folder)
    done = CliRunner().invoke(command, ["exports", "card", str(tmp_path / "set"), SECOND])
    assert done.exit_code == 0, done.output
    _, head, text = (tmp_path / "set" / "README.md").read_text("utf-8").split("---\n", 2)
    card = yaml.safe_load(head)
    open_panels = {
        artifact.key: artifact
        for artifact in published.manifest(SECOND).artifacts
        if artifact.kind == "open-panel" and artifact.rows
    }
    assert {each["config_name"] for each in card["configs"]} == set(open_panels)
    assert card["license"] == "cc-by-4.0"
    croissant = json.loads((tmp_path / "set" / "croissant.json").read_text("utf-8"))
    assert {each["@id"] for each in croissant["distribution"]} == set(open_panels)
    assert {each["@id"] for each in croissant["recordSet"]} == {
        f"{key}-rows" for key in open_panels
    }
    for each in card["configs"]:
        body = (tmp_path / "set" / each["data_files"]).read_bytes()
        assert hashlib.sha256(body).hexdigest() == open_panels[each["config_name"]].sha256
    assert not list((tmp_path / "set").glob("af-*"))
    sql = text.partition("```sql\n")[2].partition("```")[0]
    with chdir(tmp_path / "set"):
        assert duckdb.execute(sql).fetchall()
