"""The wheel has everything, and works where nothing else is."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.waiting import wait_until

PACKAGES = ("api", "assets", "docs", "mcp/mcp_server", "pipelines", "quality", "warehouse")
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
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build an sdist of what Git knows, and the wheel from nothing but that."""
    folder, made = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in (*tracked(*PACKAGES), "LICENSE", "README.md", "pyproject.toml", "setup.cfg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    run(UV, "build", "--no-build-isolation", "--python", sys.executable, "-o", made, folder)
    assert len(list(made.glob("*.tar.gz"))) == 1
    (built,) = made.glob("*.whl")
    return built


def tracked(*folders: str) -> list[str]:
    listed = run("git", "-C", ROOT, "ls-files", *folders)
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


def run(*words: str | Path, cwd: Path | None = None, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    names = {name.removeprefix("mcp/") for name in tracked(*PACKAGES)}
    # Of the docs the guides, which the service shows, and not their folders.
    wanted = {name for name in names if name.count("/") == 1 or not name.startswith("docs/")}
    wanted -= {name for name in wanted if name.startswith("docs/") and name.endswith(".svg")}
    with ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == wanted


@pytest.mark.nightly
def test_an_empty_environment_serves_the_sample_world_from_the_wheel(
    wheel: Path, tmp_path: Path
) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    run(UV, "venv", "--python", sys.executable, tmp_path / "venv")

    def install(*words: str | Path) -> None:
        run(UV, "pip", "install", "--python", python, *words)

    install("--require-hashes", "-r", ROOT / "requirements" / "run.lock")
    install("--no-deps", wheel)
    run(UV, "pip", "check", "--python", python)

    with up(python.with_name("sankofa"), tmp_path) as url:
        with urllib.request.urlopen(f"{url}/v1/status", timeout=30) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{url}/guides/rest", timeout=30) as answer:
            assert b"/v1/fundamentals" in answer.read()

    # With the extras, which some modules need.
    install("--require-hashes", "-r", ROOT / "requirements" / "deploy.lock")
    run(UV, "pip", "check", "--python", python)
    imported = run(python, "-W", "ignore", "-c", IMPORT_ALL, cwd=tmp_path)
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
