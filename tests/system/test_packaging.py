"""Three packages are built, have everything, and work where nothing else is."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_string
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest

from deploy import packages
from tests.helpers.paths import ROOT
from tests.helpers.waiting import wait_until

UV = str(Path(sys.executable).with_name("uv"))
# Imports every module, except those that are programs: they would start.
IMPORT_ALL = """
import importlib, importlib.metadata
for file in importlib.metadata.files("sankofa"):
    if file.suffix == ".py" and file.name != "__main__.py":
        importlib.import_module(".".join(file.with_suffix("").parts).removesuffix(".__init__"))
        print(file)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the three packages into a folder."""
    folder = tmp_path_factory.mktemp("packages")
    for name in packages.PACKAGES:
        packages.build(name, folder)
    return folder


def names_in(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata_of(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("/METADATA"))
        return message_from_string(archive.read(name).decode())


@pytest.mark.slow
def test_every_file_of_the_packages_is_in_the_wheel(built: Path) -> None:
    names = {name.removeprefix("mcp/") for name in packages.tracked(*packages.SERVICE)}
    # Of the docs the guides, which the service shows, and not their folders.
    wanted = {name for name in names if name.count("/") == 1 or not name.startswith("docs/")}
    wanted -= {name for name in wanted if name.startswith("docs/") and name.endswith(".svg")}
    (wheel,) = built.glob("sankofa-*.whl")
    assert {name for name in names_in(wheel) if ".dist-info/" not in name} == wanted
    (client,) = built.glob("sankofa_client-*.whl")
    sources = packages.tracked("clients/python/src")
    wanted = {name.removeprefix("clients/python/src/") for name in sources}
    assert {name for name in names_in(client) if ".dist-info/" not in name} == wanted
    (bridge,) = built.glob("sankofa_mcp-*.whl")
    assert {"sankofa_mcp/__init__.py", "sankofa_mcp/bridge.py"} < names_in(bridge)


@pytest.mark.slow
def test_each_package_says_what_it_is_where_an_index_shows_it(built: Path) -> None:
    version = (ROOT / "VERSION").read_text().strip()
    licence = (ROOT / "LICENSE").read_bytes()
    for wheel in built.glob("*.whl"):
        metadata = metadata_of(wheel)
        assert metadata["Version"] == version and metadata.get_all("Classifier")
        text = str(metadata.get_payload())
        links = re.findall(r"\]\(([^)]+)\)", text)
        assert len(text) > 500 and all(re.match("https?://|#", link) for link in links)
        with ZipFile(wheel) as archive:
            (name,) = (each for each in archive.namelist() if each.endswith("/licenses/LICENSE"))
            assert archive.read(name) == licence


@pytest.mark.slow
def test_the_same_commit_gives_the_same_packages(built: Path, tmp_path: Path) -> None:
    for path in packages.build("sankofa-mcp", tmp_path, "https://github.com/other/name"):
        assert path.read_bytes() != (built / path.name).read_bytes()
    for name in ("sankofa-client", "sankofa-mcp"):
        for path in packages.build(name, tmp_path):
            assert path.read_bytes() == (built / path.name).read_bytes()


@pytest.mark.slow
def test_the_bridge_installs_by_name_without_anything_else_and_starts(
    built: Path, tmp_path: Path
) -> None:
    environment = tmp_path / "venv"
    python = environment / "bin" / "python"
    packages.run(UV, "venv", "--quiet", "--python", sys.executable, environment)
    by_name = ("--no-index", "--find-links", built, "sankofa-mcp")
    packages.run(UV, "pip", "install", "--quiet", "--python", python, *by_name)
    listed = packages.run(UV, "pip", "list", "--quiet", "--format=freeze", "--python", python)
    assert [line.partition("=")[0] for line in listed.splitlines()] == ["sankofa-mcp"]

    bridge = str(python.with_name("sankofa-mcp"))
    command = [bridge, "--url=http://127.0.0.1:9/mcp", "--key=none"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answered = subprocess.run(
        command, input=json.dumps(message), capture_output=True, text=True, check=True
    )
    assert "cannot be reached" in json.loads(answered.stdout)["error"]["message"]


@pytest.mark.nightly
def test_an_empty_environment_serves_the_sample_world_from_packages_that_are_named(
    built: Path, tmp_path: Path
) -> None:
    said = packages.install(built, tmp_path / "venv")
    assert "Usage: sankofa " in said and "--url" in said
    assert (ROOT / "VERSION").read_text().strip() in said.splitlines()

    python = tmp_path / "venv" / "bin" / "python"
    with up(python.with_name("sankofa"), tmp_path) as url:
        with urllib.request.urlopen(f"{url}/v1/status", timeout=30) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{url}/guides/rest", timeout=30) as answer:
            assert b"/v1/fundamentals" in answer.read()

    # With the extras, which some modules need.
    locked = ("--require-hashes", "-r", ROOT / "requirements" / "deploy.lock")
    packages.run(UV, "pip", "install", "--python", python, *locked)
    packages.run(UV, "pip", "check", "--python", python)
    imported = packages.run(python, "-W", "ignore", "-c", IMPORT_ALL, cwd=tmp_path)
    assert len(imported.splitlines()) > 100


@contextmanager
def up(command: Path, folder: Path) -> Iterator[str]:
    """Run ``sankofa up`` in an empty folder until REST answers; yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "empty").mkdir()
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    log = folder / "up.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(command), "up", "--port", str(port), "--no-mcp", "--no-dagster"],
            cwd=folder / "empty",
            env=environment,
            stdout=output,
            stderr=output,
        )
    try:
        url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            assert process.poll() is None, log.read_text()
            with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
                return bool(answer.status == 200)
            return False

        wait_until(answers, 600, every=0.5, failure=log.read_text)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
