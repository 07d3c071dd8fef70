"""``sankofa new`` begins a source, a portal, a metric or a panel with a test that passes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from deploy.new import Kind, scaffold, write
from pipelines.commands import new as command
from pipelines.commands.main import sankofa
from tests.helpers.checkout_copy import UNFINISHED
from tests.helpers.paths import ROOT
from warehouse.shared.errors import SankofaError

FOLDERS = ("api", "assets", "deploy", "docs", "mcp", "pipelines", "quality", "tests", "warehouse")
NAMES: dict[Kind, tuple[str, ...]] = {
    # Two, since an entry must also find its place next to one that was added before.
    "source": ("stats-office", "central-bank"),
    "portal": ("na-epc", "bw-ppadb"),
    "metric": ("cash_to_assets", "cash_to_size"),
    "panel": ("stated-value", "priced-tenders"),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "checkout"
    ignored = shutil.ignore_patterns(*UNFINISHED, "bench", "fuzz", "data", "vendor")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.cfg", ".sqruff"):
        shutil.copy(ROOT / name, folder)
    for kind, names in NAMES.items():
        for name in names:
            write(folder, scaffold(folder, kind, name))
    return folder


def run_in(checkout: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    path = f"{checkout}:{checkout / 'mcp'}"
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_the_tests_of_everything_that_was_begun_pass(checkout: Path) -> None:
    folders = {"source": "unit/assets/test_macro_", "portal": "unit/assets/test_portal_"}
    folders |= {"metric": "unit/warehouse/test_metric_", "panel": "models/test_signal_"}
    tests = [
        f"tests/{folders[kind]}{name.replace('-', '_')}.py"
        for kind, names in NAMES.items()
        for name in names
    ]
    completed = run_in(checkout, "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert completed.returncode == 0, completed.stdout
    assert "14 passed" in completed.stdout


def test_what_is_written_is_formatted_and_says_where_to_fill_in(checkout: Path) -> None:
    written = [path for path in checkout.rglob("*.py") if "FILL IN" in path.read_text("utf-8")]
    # A parser and a test for each source, a test for each other, and the list of sources.
    assert len(written) >= 12
    for words in (("check", "-q"), ("format", "-q", "--check")):
        completed = run_in(checkout, "ruff", *words, *map(str, written))
        assert completed.returncode == 0, completed.stdout + completed.stderr
    sqruff = Path(sys.executable).with_name("sqruff")
    linted = subprocess.run([sqruff, "lint", "assets/derive"], cwd=checkout, capture_output=True)
    assert linted.returncode == 0, linted.stdout


@pytest.mark.parametrize(("kind", "names"), NAMES.items())
def test_nothing_is_overwritten(checkout: Path, kind: Kind, names: tuple[str, ...]) -> None:
    def contents() -> dict[Path, bytes]:
        paths = (path for kind in ("*.py", "*.csv", "*.toml") for path in checkout.rglob(kind))
        return {path: path.read_bytes() for path in paths}

    before = contents()
    with pytest.raises(SankofaError, match="already; nothing was written"):
        write(checkout, scaffold(checkout, kind, names[0]))
    assert contents() == before


def test_a_file_in_the_way_stops_it_before_anything_is_written(checkout: Path) -> None:
    (checkout / "assets" / "macro" / "in_the_way.py").touch()
    before = (checkout / "assets" / "macro" / "sources.py").read_bytes()
    with pytest.raises(SankofaError, match=r"in_the_way\.py exists already; nothing was written"):
        write(checkout, scaffold(checkout, "source", "in-the-way"))
    assert (checkout / "assets" / "macro" / "sources.py").read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "name"),
    [("source", "Stats Office"), ("portal", "namibia"), ("metric", "a-b"), ("panel", "../x")],
)
def test_a_name_of_another_form_is_refused_with_an_example(
    checkout: Path, kind: Kind, name: str
) -> None:
    with pytest.raises(SankofaError, match=f"cannot be the name of a {kind}: give .*such as"):
        scaffold(checkout, kind, name)


def test_a_source_names_a_parser_to_copy_for_every_other_kind(checkout: Path) -> None:
    made = scaffold(checkout, "source", "another-office")
    steps = " ".join(made.steps)
    page = (checkout / "docs" / "add-a-source.md").read_text("utf-8")
    table = page.partition("| kind |")[2].partition("\n\n")[0]
    named = set(re.findall(r"(?:assets|tests)/[\w/]+\.py", table + steps))
    assert {"assets/filings/companyfacts.py", "assets/entities/mappings.py"} <= named
    assert all((checkout / path).exists() for path in named - set(made.new))


def test_the_command_names_the_files_the_test_and_what_to_fill_in(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_ROOT", checkout)
    for status in (0, 1):
        assert CliRunner().invoke(sankofa, ["new", "portal", "xk-example"]).exit_code == status
    written, refused = capfd.readouterr()
    assert "changed  assets/tenders/portals.toml" in written
    assert "python -m pytest tests/unit/assets/test_portal_xk_example.py" in written
    assert "Fill in:" in written
    assert refused.startswith("sankofa: ") and "already; nothing was written" in refused


def test_an_installed_package_says_where_to_get_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_ROOT", tmp_path)
    result = CliRunner().invoke(sankofa, ["new", "metric", "cash_to_assets"])
    assert "is no checkout of the repository" in result.output
