"""No person is served, wherever a portal writes the name and however it is spelled.

Each release of this world has the name of its withheld supplier in another member. The surname
occurs nowhere else, so that it must be in no byte of what is published or answered.
"""

import copy
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assets.ingest.land import land_sample
from assets.ingest.load import load_source
from assets.tenders.ocds import OcdsOrganisation, OcdsRelease, nested_structs, value_kinds
from tests.helpers.found_bytes import files_with
from tests.helpers.installation import BriefPublication, publication, settings_of
from tests.helpers.mcp_service import call, mcp_served
from tests.helpers.rest_service import World, served
from tests.helpers.site import addresses
from tests.helpers.tender_packages import ZA, award_release, write_package
from warehouse.control.keys import KeyStore, create_key, sandbox
from warehouse.names.redaction import Redaction, redaction_of
from warehouse.record.landing import Landing
from warehouse.record.store import Record
from warehouse.shared.errors import AuditFailed
from warehouse.shared.settings import Settings

PERSON = "Zukiswa Wambui Quillfeather"
SURNAME = "quillfeather"
SPELLINGS = (
    PERSON,
    PERSON.upper(),
    "Quillfeather, Zukiswa Wambui",
    "284182-zukiswa-wambui-quillfeather-1-3",
    "Mrs Z. W. Quillfeather",
    "https://example.org/zukiswa_wambui_quillfeather/file.json",
    "zquillfeather@example.org",
    "ZukiswaQuillfeather",
    "Supply by ZUKISWA QUILLFEATHER Ltd of school desks",
)
# Where the name of a party may appear is where it is withheld: there it is written as it is.
PARTY = {"name": PERSON, "id": "p1", "roles": ["supplier"]}
Path_ = tuple[str | int, ...]


def text_members(struct: type = OcdsRelease, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the path of every member of a release that can be a text."""
    for name in value_kinds(struct):
        yield (*path, name)
    for name, (inner, is_list) in nested_structs(struct).items():
        here = (*path, name, 0) if is_list else (*path, name)
        if inner is OcdsOrganisation:
            yield from ((*here, member) for member in ("id", "name"))
        elif inner.__name__ == "OcdsMoney":
            yield (*here, "currency")
        else:
            yield from text_members(inner, here)
    if struct is OcdsRelease:
        yield from (("ocid",), ("id",), ("tag", 0), ("date",))


def release_with(number: int, path: Path_, text: str) -> dict[str, Any]:
    """Return a release of a withheld supplier with a text in one of its members."""
    release = copy.deepcopy(award_release(number, PERSON))
    release["parties"] = [PARTY]
    if path == ("ocid",):
        text = f"ocds-9t57fa-{number}-{text}"
    place: Any = release
    for name, following in pairwise(path):
        if isinstance(place, list):
            while len(place) <= int(name):
                place.append({})
            place = place[int(name)]
        else:
            place = place.setdefault(str(name), [] if following == 0 else {})
    if isinstance(place, list):
        place[:] = [text]
    else:
        place[path[-1]] = text
    return release


def planted() -> Iterator[dict[str, Any]]:
    number = 1000
    for path in text_members():
        for text in SPELLINGS:
            number += 1
            yield release_with(number, path, text)


def write_documents(home: Settings) -> int:
    """Write the releases, and two processes whose person is named in another release."""
    releases = list(planted())
    write_package(home, "2026-05-03", "a.json", *releases)
    quiet = award_release(1, "Open Fictional Roads (Pty) Ltd")
    quiet["tender"]["title"] = f"Payment of {PERSON}"
    quiet |= {"id": "1-tender", "tag": ["tender"]}
    write_package(home, "2026-05-03", "b.json", quiet, award_release(1, PERSON))
    write_package(home, "2026-05-03", f"{PERSON}.json", award_release(2, PERSON))
    return len(releases)


def load_and_publish(home: Settings) -> None:
    landing, record = Landing(home.landing), Record(home.record)
    land_sample(landing, home.sample, ZA)
    load_source(record, landing, ZA)
    publication(home, BriefPublication).run()


def published_files(home: Settings) -> list[str]:
    """Return the published files that contain the surname, decompressed."""
    return [
        f"{folder.name}/{path}"
        for folder in (Path(home.marts), Path(home.exports))
        for path in files_with(folder, SURNAME)
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    home = settings_of(tmp_path_factory.mktemp("persons") / "home")
    write_documents(home)
    load_and_publish(home)
    return home


def test_a_withheld_name_is_in_no_file_of_a_build_wherever_the_portal_wrote_it(
    home: Settings,
) -> None:
    assert published_files(home) == []


def test_no_release_is_lost_for_a_name_in_it_and_its_rows_still_join(home: Settings) -> None:
    def column(file: str, name: str) -> set[str]:
        (path,) = Path(home.exports).glob(f"*/{file}.parquet")
        return set(pq.read_table(path, columns=[name])[name].to_pylist())

    members = list(text_members())
    assert len(members) > 40
    releases = column("af-tender-releases", "ocid")
    # Each planted release is a process of its own; two more are written by hand.
    assert len(releases) == len(members) * len(SPELLINGS) + 2
    assert column("af-tender-awards", "ocid") == releases
    assert any("~" in ocid for ocid in releases)


def test_neither_rest_nor_mcp_answers_with_a_withheld_name(home: Settings) -> None:
    store = KeyStore(home.home / "control.sqlite")
    world = World(home.home, sandbox(store), create_key(store, "professional"))
    with served(world) as rest, mcp_served(world) as mcp:
        cursor, count = "", 0
        while True:
            status, _, body = rest.get(f"/v1/tenders?country=ZA&limit=500{cursor}", world.paid)
            assert status == 200
            assert SURNAME not in body.decode().lower()
            page = json.loads(body)
            count += len(page["data"])
            for row in page["data"][:3]:
                path = f"/v1/tenders/{row['ocid']}"
                assert rest.get(path, world.paid)[0] == 200
            if not page.get("next_cursor"):
                break
            cursor = f"&cursor={page['next_cursor']}"
        # Two of the releases written by hand are of one process.
        assert count == len(list(planted())) + 3
        for path in (
            "/v1/tender-parties?country=ZA&limit=1000",
            "/v1/tenders?country=ZA&limit=1000&format=csv",
            "/v1/changes?since=2026-01-01",
            "/changes.atom",
            "/sitemap.xml",
            *(f"/{address}" for address in addresses()),
        ):
            status, _, answer_body = rest.get(path, world.paid)
            assert (status, SURNAME in answer_body.decode().lower()) == (200, False), path
        # The answer repeats the question, and has no row.
        for path in ("/v1/search", "/v1/tenders?country=ZA"):
            separator = "&" if "?" in path else "?"
            found = rest.get(f"{path}{separator}query={SURNAME}", world.paid)[2]
            assert json.loads(found)["data"] == []
        answer = call(mcp, world.paid, "search_tenders", {"country": "ZA", "limit": 50}).json()
        assert SURNAME not in json.dumps(answer).lower()


# By day, one case of it: `test_a_place_that_is_not_redacted_is_found` of the search.
@pytest.mark.nightly
@pytest.mark.parametrize("place", ["identifier", "address", "text"])
def test_each_place_of_redaction_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Without one of them, the name is in the build, whose own search refuses to publish it."""
    monkeypatch.setattr(Redaction, place, lambda _, value: value)
    redaction_of.cache_clear()
    home = settings_of(tmp_path / "home")
    release = award_release(3, PERSON)
    release["id"] = "3-zukiswa-wambui-quillfeather"
    release["tender"]["title"] = f"Desks by {PERSON}"
    write_package(home, "2026-05-03", f"{PERSON}.json", release)
    with pytest.raises(AuditFailed, match="a party withheld in the process"):
        load_and_publish(home)
    assert published_files(home)
