"""A finished build is searched for every withheld name before anyone can read it."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from pipelines.commands.main import sankofa
from pipelines.stages import NODES
from quality.personal_data_audit import names_of_build
from quality.withheld_search import BuildSearch, WithheldNames
from tests.helpers.damage import copy_home
from tests.helpers.installation import (
    BriefPublication,
    WholePublication,
    publication,
    settings_of,
)
from tests.helpers.record_rows import entity_row, load, party_row, release_row
from tests.helpers.withheld_key import WITHHELD_KEY
from warehouse.names.redaction import Redaction, seal_names
from warehouse.publish.builds import builds_at
from warehouse.publish.manifest import BuildFile
from warehouse.publish.packs import opened_frame, sealed_frame
from warehouse.publish.write import MartFiles
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, TENDER_PARTIES, TENDER_RELEASES
from warehouse.record.withheld import name_subject, withhold
from warehouse.serve.finished_files import finished_files
from warehouse.shared.errors import AuditFailed
from warehouse.shared.settings import Settings

SECRET = WITHHELD_KEY.encode()
# Sole traders of one process, of whom one has a namesake, and a person whom the operator withheld.
TRADER, NAMESAKE, REPORTED = "Thandeka Ravenscroft", "Zukiswa Quillfeather", "Babajide Thistlewood"
BUYER = "Mzansi Fictional Roads (Pty) Ltd"


def release(title: str) -> str:
    return json.dumps({"buyer": {"id": "1", "name": BUYER}, "tender": {"title": title}})


def load_world(settings: Settings) -> Record:
    record = Record(settings.record)
    sealed = seal_names(SECRET, [TRADER, NAMESAKE])
    named = release(f"Catering by T. RAVENSCROFT and {TRADER}")
    load(
        record,
        TENDER_RELEASES,
        release_row(1, release=named, withheld_names=sealed),
        # Somebody of the same name, in a process without withheld parties.
        release_row(2, release=release(f"Repairs at the {NAMESAKE} school")),
    )
    load(record, TENDER_PARTIES, party_row(), party_row(ocid="ocds-0002", name="Roads Ltd"))
    load(record, ENTITIES, entity_row())
    withhold(record, [name_subject(SECRET, REPORTED)], "reported", "test", SECRET)
    return record


def made(settings: Settings) -> WholePublication:
    """Return a publication of which all is made but the switch."""
    publishing = publication(settings, BriefPublication)
    publishing.begin()
    for node in NODES:
        publishing.make(node)
    assert publishing.audit().ok
    publishing.export()
    publishing.write_mart()
    return publishing


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("finished") / "home"
    load_world(settings_of(home))
    made(settings_of(home))
    return home


@pytest.fixture
def here(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    return settings_of(copy_home(finished, tmp_path / "home"))


def mart_file(settings: Settings, table: str) -> tuple[Path, BuildFile]:
    publishing = publication(settings, BriefPublication)
    files = publishing.candidate.handed_over("mart", MartFiles).files
    return Path(settings.marts), next(file for file in files if file.table == table)


def rewrite_cell(settings: Settings) -> str:
    """Write the name of a trader into a cell of an export, in capitals and turned round."""
    (path,) = Path(settings.exports).glob("*/af-tender-releases.parquet")
    rows = pq.read_table(path)
    refs = [
        "ravenscroft%2C%20THANDEKA" if ocid == "ocds-0001" else ref
        for ocid, ref in zip(rows["ocid"].to_pylist(), rows["source_ref"].to_pylist(), strict=True)
    ]
    place = rows.schema.get_field_index("source_ref")
    pq.write_table(rows.set_column(place, "source_ref", pa.array(refs)), path)
    return "export 2"


def rewrite_page(settings: Settings) -> str:
    """Write the name of a trader into what a page shows."""
    return _rewrite_page_data(settings, '{"body":"of Thandeka Ravenscroft"}')


def rewrite_panel(settings: Settings) -> str:
    """Write the name that the operator withheld into what a page shows, with an initial."""
    return _rewrite_page_data(settings, '{"body":[["DC1","B. Thistlewood (Pty) Ltd"]]}')


def _rewrite_page_data(settings: Settings, row: str) -> str:
    folder, file = mart_file(settings, "page_data")
    with closing(sqlite3.connect(folder / file.path)) as mart, mart:
        number = "SELECT row_number FROM page_data WHERE name = 'issuers'"
        rewrite_pack(mart, lambda _: row.encode() + b",", *mart.execute(number).fetchone())
    return "table page_data, column row"


def rewrite_pack(
    mart: sqlite3.Connection, rewrite: Callable[[bytes], bytes], first_row: int = 1
) -> None:
    """Replace the rows of a pack by others, as if they had been published so."""
    select = "SELECT head, body FROM packs WHERE first_row = ?"
    head, body = mart.execute(select, (first_row,)).fetchone()
    numbers = np.frombuffer(head, "<i4").copy()
    before = opened_frame(body, int(numbers[-1]), head)
    rows = rewrite(before)
    assert rows != before
    numbers[-1] = len(rows)
    head = numbers.tobytes()
    values = (head, sealed_frame(rows, head), first_row)
    mart.execute("UPDATE packs SET head = ?, body = ? WHERE first_row = ?", values)


def rewrite_index(settings: Settings) -> str:
    """Let the index of words find a release by the name of its trader."""
    folder, file = mart_file(settings, "tender_releases")
    with closing(sqlite3.connect(folder / file.path)) as mart, mart:
        number = mart.execute(
            "SELECT row_number FROM tender_releases WHERE ocid = 'ocds-0001'"
        ).fetchone()[0]
        words = (number, "", "ravenscroft thandeka")
        mart.execute("INSERT INTO words (rowid, name, more) VALUES (?, ?, ?)", words)
    return "table tender_releases, column words, row"


def rewrite_frame(settings: Settings) -> str:
    """Write the name of a trader into a compressed pack of releases."""
    folder, file = mart_file(settings, "tender_releases")
    removed, written = b"[withheld] and [withheld]", TRADER.encode().ljust(25)
    with closing(sqlite3.connect(folder / file.path)) as mart, mart:
        rewrite_pack(mart, lambda rows: rows.replace(removed, written))
    return "table tender_releases, column row.tender.title, row tender_releases"


@pytest.mark.parametrize(
    "rewrite", [rewrite_cell, rewrite_page, rewrite_panel, rewrite_index, rewrite_frame]
)
def test_a_build_that_has_a_withheld_name_is_refused_with_its_place(
    here: Settings, rewrite: Callable[[Settings], str]
) -> None:
    place = rewrite(here)
    with pytest.raises(AuditFailed) as refused:
        publication(here, BriefPublication).switch()
    says = str(refused.value)
    assert place in says
    assert not any(word in says.lower() for word in ("ravenscroft", "thistlewood"))
    # None of it can be read, and the reason is kept with the tables.
    assert builds_at(here.marts).current() is None
    assert not list(Path(here.exports).glob("*/manifest.json"))
    (why,) = here.work.glob("failed/*/why.txt")
    assert place in why.read_text()


def test_a_build_without_withheld_names_is_published_and_the_check_finds_nothing(
    here: Settings,
) -> None:
    version = publication(here, BriefPublication).switch()
    assert builds_at(here.marts).current() == version
    checked = CliRunner().invoke(sankofa, ["withheld", "--check"])
    assert (checked.exit_code, checked.output) == (0, "0 places\n")
    # From now on the name of the school is withheld as well, and is served still.
    withhold(Record(here.record), [name_subject(SECRET, NAMESAKE)], "reported", "test", SECRET)
    checked = CliRunner().invoke(sankofa, ["withheld", "--check"])
    assert checked.exit_code == 1
    assert "export " in checked.output
    assert "table tender_releases, column row.tender.title" in checked.output
    assert "quillfeather" not in checked.output.lower()


def test_a_place_that_is_not_redacted_is_found(
    here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With one more release, all of the country are read again.
    load(Record(here.record), TENDER_RELEASES, release_row(3, release=release("Road works")))
    monkeypatch.setattr(Redaction, "release", lambda _, text: text)
    with pytest.raises(AuditFailed, match=r"column row\.tender\.title.*a party withheld"):
        made(here).switch()


def test_files_that_were_searched_are_searched_again_only_for_new_names(here: Settings) -> None:
    publishing = publication(here, BriefPublication)
    files = list(
        finished_files(
            Path(here.marts),
            publishing.candidate.handed_over("mart", MartFiles).files,
            here.exports,
            publishing.data_version,
            {},
        )
    )
    with publishing.candidate.snapshot() as snapshot:
        names = names_of_build(snapshot, SECRET)

    def read(names: WithheldNames) -> set[str]:
        search = BuildSearch(names, SECRET, here.work)
        assert {finding.name for finding in search.findings(files)} <= {("zukiswa", "quillfeather")}
        search.remember()
        return set(search.read)

    every = {file.name for file in files}
    assert read(names) == every
    assert read(names) == set()
    # Of a process that only some files have.
    more = {**names.processes, "ocds-0002": names.processes["ocds-0001"]}
    of_process = read(WithheldNames(names.everywhere, more, names.elsewhere))
    assert of_process == {file.name for file in files if "ocds-0002" in file.processes()}
    # In whatever is of tenders and of no process.
    elsewhere = names.elsewhere | {("sibusiso", "applegarth")}
    of_none = read(WithheldNames(names.everywhere, more, elsewhere))
    assert of_none & of_process == set()
    assert {file.name for file in files if file.table == "page_data"} <= of_none
    # Of an operator: wherever it may be.
    everywhere = {**names.everywhere, ("gugulethu", "winterbourne"): "id"}
    assert read(WithheldNames(everywhere, more, elsewhere)) == every
