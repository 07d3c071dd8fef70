"""`sankofa withhold` and `release` take whatever the service shows, and say what they affect."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.builds import drop_builds
from pipelines.commands.doctor import held_back
from pipelines.commands.doctor_machine import CheckContext
from pipelines.commands.main import sankofa
from tests.helpers.damage import copy_home
from tests.helpers.installation import settings_of
from tests.helpers.publishing import publish
from tests.helpers.reads import releases
from tests.helpers.record_rows import entity_row, load, party_row, release_row
from tests.helpers.whole_tables import query
from warehouse.publish.builds import builds_at
from warehouse.record.erase import enter_erasure
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.store import Record, open_record
from warehouse.record.tables import ENTITIES, TENDER_PARTIES, TENDER_RELEASES
from warehouse.serve.build import Mart
from warehouse.shared.errors import SankofaError, UnknownVersion
from warehouse.shared.settings import Settings

PERSON = "Nomsa Fictional Dlamini"
PARTY = {"source": "test", "party_key": "ZA-ID:8001", "identifier_scheme": "ZA-ID"}
URL = "https://example.org/releases.json"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = settings_of(tmp_path_factory.mktemp("published") / "home")
    response = FetchedResponse("test", URL, b"{}", "cc-by", datetime(2026, 1, 1, 6, tzinfo=UTC))
    document, _ = Landing(home.landing).land(response)
    place = {"document": document.sha256, "source_ref": f"{URL}#/releases/0"}
    record = Record(home.record)
    body = json.dumps({"buyer": {"id": "8001", "name": PERSON}})
    load(record, TENDER_RELEASES, release_row(1, release=body, **place), release_row(2))
    load(
        record,
        TENDER_PARTIES,
        party_row(name=PERSON, identifier_id="8001", **PARTY, **place),
        party_row(ocid="ocds-0002", name="Roads Ltd"),
    )
    load(record, ENTITIES, entity_row(service_id="DCTEST1"))
    publish(record, home.marts, "notice")
    return home.home


@pytest.fixture
def here(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path / "home"))
    return settings_of(copy_home(published, tmp_path / "home"))


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(sankofa, arguments)
    return result.exit_code, result.output


def served_names(settings: Settings) -> str:
    page = releases(Mart(settings.marts), "ZA")
    return b"".join(bytes(row) for row in page.rows).decode()


def served_id(settings: Settings, table: str, member: str) -> str:
    """Return the id that the service shows for the row that names the person."""
    rows = query(Mart(settings.marts).build(), f"SELECT row FROM {table}")
    (row,) = [row for (row,) in rows if PERSON.encode() in bytes(row)]
    return str(json.loads(row)[member])


def row_id(settings: Settings) -> str:
    record = open_record(settings)
    rows = record.query(
        "SELECT md5(concat_ws('/', figure, figure_check, sighting, available_at)) AS row_id "
        f"FROM {record.relation('tender_releases')} WHERE ocid = 'ocds-0001'"
    )
    return str(rows["row_id"][0])


QUOTED: Mapping[str, Callable[[Settings], str]] = {
    "the name": lambda _: "nomsa fictional DLAMINI",
    "the party_id": lambda home: served_id(home, "tender_parties", "party_id"),
    "the key of the party": lambda _: "ZA-ID:8001",
    "the number of the party": lambda _: "8001",
    "the ocid": lambda _: "ocds-0001",
    "the record_id of the release": row_id,
    "the source_ref": lambda _: f"{URL}#/releases/0",
    "the address of the document": lambda _: URL,
    "the SHA-256 of the document": lambda home: Landing(home.landing).find(url=URL)[0].sha256,
    "the beginning of the SHA-256": lambda home: Landing(home.landing).find(url=URL)[0].sha256[:12],
}


def test_what_the_service_shows_can_be_withheld_and_released(here: Settings) -> None:
    record, published = Record(here.record), set()
    assert PERSON in served_names(here)
    for quoted, text in {quoted: made(here) for quoted, made in QUOTED.items()}.items():
        status, said = run("withhold", text, "--why", "reported", "--dry-run")
        assert (status, "tender_" in said, "dry run" in said) == (0, True, True), quoted
        assert run("withheld")[1].strip() == "nothing is withheld"
        status, said = run("withhold", text, "--why", "reported", "--yes")
        assert (status, "withheld as" in said) == (0, True), quoted
        listed = run("withheld", "--json")[1]
        assert PERSON.split()[-1] not in listed
        withheld = frozenset(entry["withheld_id"] for entry in json.loads(listed))
        # What withholds the same as another text is published once.
        if withheld not in published:
            publish(record, here.marts, "notice")
            assert PERSON not in served_names(here), quoted
            published.add(withheld)
        status, said = run("release", text, "--why", "it is a firm")
        assert (status, "released as" in said) == (0, True), quoted
    publish(record, here.marts, "notice")
    assert PERSON in served_names(here)


def test_an_organisation_is_withheld_with_its_names(here: Settings) -> None:
    load(Record(here.record), TENDER_PARTIES, party_row(name="Ubuntu Fictional Mining Ltd"))
    status, said = run("withhold", "DCTEST1", "--why", "reported", "--json", "--yes")
    assert (status, json.loads(said)["rows"]) == (0, {"entities": 1, "tender_parties": 1})
    assert len(json.loads(said)["withheld"]) == 3


def test_what_is_nowhere_is_refused_and_the_message_says_what_was_looked_for(
    here: Settings,
) -> None:
    status, said = run("withhold", "Nobody At All", "--why", "reported")
    assert status == 1
    assert "the name of a party" in said
    assert "SHA-256 of a document" in said
    status, said = run("withhold", "Nobody At All", "--why", "reported", "--in-advance")
    assert (status, "withheld as" in said) == (0, True)
    status, said = run("release", "nobody at all", "--why", "a mistake")
    assert (status, "released as" in said) == (0, True)
    status, said = run("release", "Nobody At All", "--why", "twice")
    assert (status, "is not withheld" in said) == (1, True)


def test_a_name_that_is_only_in_texts_is_withheld_there(here: Settings) -> None:
    text = json.dumps({"tender": {"title": "Report of Fictional, Thandi Mokoena"}})
    # The second was withdrawn, and has a name in its id alone.
    named = release_row(8, release=None, release_id="8-thandi-mokoena-fictional")
    load(Record(here.record), TENDER_RELEASES, release_row(7, release=text), named)
    name = "Thandi Mokoena Fictional"
    status, said = run("withhold", name, "--why", "reported", "--dry-run")
    assert (status, "Fictional, Thandi Mokoena" in said) == (0, True)
    assert run("withhold", name, "--why", "reported", "--yes")[0] == 0
    publish(Record(here.record), here.marts, "notice")
    assert "Report of [withheld]" in served_names(here)


def test_a_name_is_withheld_only_after_somebody_has_seen_what_it_covers(here: Settings) -> None:
    firm = "Nomsa Fictional Dlamini & Sons (Pty) Ltd"
    load(Record(here.record), TENDER_PARTIES, party_row(ocid="ocds-0009", name=firm))
    status, said = run("withhold", PERSON, "--why", "reported")
    assert (status, firm in said, "--yes" in said) == (1, True, True)
    assert run("withheld")[1].strip() == "nothing is withheld"


def test_the_reason_may_not_repeat_the_name(here: Settings) -> None:
    status, said = run("withhold", PERSON, "--why", f"{PERSON} is a person")
    assert (status, "without the name" in said) == (1, True)


def test_withholding_twice_changes_nothing(here: Settings) -> None:
    run("withhold", PERSON, "--why", "reported", "--yes")
    status, said = run("withhold", PERSON, "--why", "reported again", "--yes")
    assert (status, "withheld already" in said) == (0, True)
    assert Record(here.record).table("withheld").count() == 1


def test_a_tombstone_is_released_by_its_id(here: Settings) -> None:
    run("withhold", PERSON, "--why", "reported", "--yes")
    (entry,) = json.loads(run("withheld", "--json")[1])
    assert run("release", entry["withheld_id"][:12], "--why", "a firm")[0] == 0
    (entry,) = json.loads(run("withheld", "--all", "--json")[1])
    assert (entry["released"], entry["why"]) == (True, "a firm")


def test_dropped_builds_are_gone_with_files_and_pins_say_so(here: Settings) -> None:
    older = str(builds_at(here.marts).current())
    run("withhold", PERSON, "--why", "reported", "--yes")
    newer = publish(Record(here.record), here.marts, "notice")
    (Path(here.exports) / older).mkdir(parents=True)
    (Path(here.exports) / older / "manifest.json").write_text("{}")
    assert run("builds", "drop", "--json", "--all-others") == (
        0,
        json.dumps({"dropped": [older]}, indent=2) + "\n",
    )
    assert builds_at(here.marts).names() == [newer]
    assert not list(Path(here.exports).iterdir())
    with pytest.raises(UnknownVersion, match="was withdrawn: its publisher removed it on 2"):
        Mart(here.marts).at(older).build()
    assert run("builds", "drop", "--all-others")[1].strip() == "there is no other build"


def test_readers_are_not_rolled_back_to_a_build_with_what_was_withheld_since(
    here: Settings,
) -> None:
    older = str(builds_at(here.marts).current())
    run("withhold", PERSON, "--why", "reported", "--yes")
    newer = publish(Record(here.record), here.marts, "notice")
    status, said = run("rollback")
    assert (status, f"{older} was made before" in said) == (1, True)
    assert "`sankofa publish`" in said
    assert builds_at(here.marts).current() == newer
    assert run("rollback", "--even-with-withheld")[0] == 0
    assert builds_at(here.marts).current() == older
    # The newer build follows what is withheld.
    assert run("rollback", newer)[0] == 0


def test_every_action_is_in_the_trail_with_its_reason_and_without_a_name(here: Settings) -> None:
    older = str(builds_at(here.marts).current())
    run("withhold", PERSON, "--why", "reported", "--yes")
    run("withhold", PERSON, "--why", "dry", "--yes", "--dry-run")
    newer = publish(Record(here.record), here.marts, "notice")
    assert run("release", PERSON, "--why", f"it is {PERSON}")[0] == 1
    run("release", PERSON, "--why", "a mistake")
    run("rollback", "20000101.1", "--why", "a typo")
    run("rollback", older, "--why", "bad data", "--even-with-withheld")
    run("builds", "drop", newer, "--why", "not needed")

    rows = json.loads(run("actions", "--json")[1])

    withheld = [entry["withheld_id"] for entry in json.loads(run("withheld", "--all", "--json")[1])]
    assert [(row["kind"], row["what"], row["why"]) for row in rows] == [
        ("withhold", f"party {withheld[0][:12]}", "reported"),
        ("release", f"party {withheld[0][:12]}", "a mistake"),
        ("rollback", f"from {newer} to 20000101.1", "a typo"),
        ("rollback", f"from {newer} to {older}", "bad data"),
        ("builds drop", newer, "not needed"),
    ]
    assert [row["failure"] is not None for row in rows] == [False, False, True, False, False]
    assert PERSON not in str(rows)


def test_the_build_that_is_served_and_unknown_ones_are_not_dropped(here: Settings) -> None:
    current = str(builds_at(here.marts).current())
    with pytest.raises(SankofaError, match="is being served"):
        drop_builds(here, [current])
    with pytest.raises(UnknownVersion, match="there is no build"):
        drop_builds(here, ["20000101.1"])
    assert run("builds", "drop")[0] == 2


def test_doctor_says_when_a_build_contains_what_is_withheld_or_erased(here: Settings) -> None:
    context = CheckContext(here, "127.0.0.1", {})
    assert list(held_back(context)) == []
    run("withhold", PERSON, "--why", "reported", "--yes")
    (finding,) = held_back(context)
    assert (finding.state, finding.do) == ("fault", "`sankofa publish`")
    publish(Record(here.record), here.marts, "notice")
    (finding,) = held_back(context)
    assert (finding.state, "1 older builds" in finding.says) == ("note", True)
    run("builds", "drop", "--all-others")
    assert list(held_back(context)) == []
    (document,) = {document.sha256 for document in Landing(here.landing).find(url=URL)}
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    enter_erasure(Record(here.record), document, "test", moment, "a request", "op")
    assert [finding.subject for finding in held_back(context)] == ["erased", "withheld"]
