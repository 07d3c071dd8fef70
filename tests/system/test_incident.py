"""A person is served: the procedure of the operating guide, from the report to the last byte."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assets.source import fictional
from tests.helpers.found_bytes import files_with
from tests.helpers.installation import run_command, settings_of
from tests.helpers.mcp_service import call, mcp_served
from tests.helpers.paths import ROOT
from tests.helpers.rest_service import Served, World, served
from tests.helpers.site import addresses
from tests.helpers.tender_packages import ZA, award_release, write_package
from warehouse.control.keys import KeyStore, create_key, sandbox
from warehouse.publish.builds import builds_at
from warehouse.serve.build import Mart
from warehouse.shared.errors import UnknownVersion

# A sole trader whose name passes the organisation check, as real ones do.
PERSON = "Nomsa Fictional Dlamini CC"
DOCUMENT = f"{fictional(ZA).base_url}/a.json"


def procedure() -> list[str]:
    """Return the blocks of commands of the procedure, exactly as the guide has them."""
    guide = (ROOT / "docs" / "incidents.md").read_text("utf-8")
    section = guide.split("## Personal data is served", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


class Surfaces:
    """REST and MCP of an installation, running, and its files and pages."""

    def __init__(self, world: World, rest: Served, mcp: Served) -> None:
        self._world, self._rest, self._mcp = world, rest, mcp

    def get(self, path: str, **headers: str) -> bytes:
        return self._rest.get(path, self._world.paid, **headers)[2]

    def naming(self) -> set[str]:
        """Return every way in which the name can be read from outside."""
        name = PERSON.encode()
        answers = {
            "REST parties": self.get("/v1/tender-parties?country=ZA"),
            "REST tenders": self.get("/v1/tenders?country=ZA&limit=100"),
            "REST search": self.get("/v1/tenders?country=ZA&query=dlamini"),
            "MCP": json.dumps(
                call(self._mcp, self._world.paid, "search_tenders", {"country": "ZA"}).json()
            ).encode(),
            **{f"page {path}": self.get(f"/{path}") for path in addresses()},
            **dict(self._files()),
        }
        return {where for where, body in answers.items() if name in body}

    def _files(self) -> Iterator[tuple[str, bytes]]:
        manifest = json.loads(self.get("/v1/export"))
        for artifact in manifest["artifacts"]:
            body = self.get(f"/exports/{manifest['data_version']}/{artifact['key']}.parquet")
            yield artifact["key"], str(pq.read_table(io.BytesIO(body)).to_pylist()).encode()


@contextmanager
def surfaces(home: Path) -> Iterator[Surfaces]:
    store = KeyStore(home / "control.sqlite")
    world = World(home, sandbox(store), create_key(store, "professional"))
    with served(world) as rest, mcp_served(world) as mcp:
        yield Surfaces(world, rest, mcp)


def run(home: Path, block: str, **variables: str) -> str:
    """Run a block of the guide in a shell, stopping at the first failure."""
    commands = Path(sys.executable).parent
    environment = {"SANKOFA_HOME": str(home), "PATH": f"{commands}:/usr/bin:/bin", **variables}
    done = subprocess.run(
        ["bash", "-c", f"set -eo pipefail\n{block}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
def test_the_procedure_for_personal_data_ends_with_nothing_left(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = settings_of(home)
    firm = "Open Fictional Roads (Pty) Ltd"
    write_package(
        settings, "2026-05-03", "a.json", award_release(1, PERSON), award_release(2, firm)
    )
    write_package(settings, "2026-05-04", "b.json", award_release(2, firm), award_release(3, firm))
    for command in (("ingest", ZA.key), ("publish",)):
        status, out, err = run_command(home, *command)
        assert status == 0, out + err
    older = str(builds_at(settings.marts).current())
    withholding, erasing = procedure()
    with surfaces(home) as seen:
        assert {"REST parties", "REST tenders", "MCP", "af-tender-parties"} <= seen.naming()

        said = run(home, withholding, NAME=PERSON)
        newer = str(builds_at(settings.marts).current())
        assert f"published as data_version {newer}" in said and f"dropped {older}" in said
        assert seen.naming() == set()
        assert firm.encode() in seen.get("/v1/tender-parties?country=ZA")
        (tender,) = [
            row
            for row in json.loads(seen.get("/v1/tenders?country=ZA"))["data"]
            if row["ocid"].endswith("-1")
        ]
        assert tender["parties_withheld"] == 1
        refused = json.loads(seen.get("/v1/tenders?country=ZA", X_Data_Version=older))
        assert "was withdrawn" in refused["detail"]
        assert b"not_found" in seen.get(f"/exports/{older}/manifest.json")

        # The record and the landing still have it, until the document is erased.
        assert {path.split("/")[0] for path in files_with(home, PERSON)} == {
            "landing",
            "record",
            "sample",
        }
        said = run(home, erasing, DOCUMENT=DOCUMENT)
        assert "erased; published as data_version" in said
        assert files_with(home, "dlamini") == []
        assert seen.naming() == set()
        # What the erased document also said is now read from the one that repeats it.
        ocids = [row["ocid"] for row in json.loads(seen.get("/v1/tenders?country=ZA"))["data"]]
        assert sorted(ocids) == ["ocds-9t57fa-2", "ocds-9t57fa-3"]
        refused = json.loads(seen.get("/v1/tenders?country=ZA", X_Data_Version=newer))
        assert "a document in it was erased" in refused["detail"]
    with pytest.raises(UnknownVersion, match="a document in it was erased"):
        Mart(settings.marts).at(older).build()
