"""The ``sankofa`` command: its help, its shells, its exit statuses and its JSON output."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from pipelines.commands import main as sankofa_main
from pipelines.commands.exit_status import MEANINGS, Exit
from pipelines.commands.main import COMMANDS, sankofa
from tests.helpers.installation import run_command, sample_home
from tests.helpers.made_once import copy_of
from warehouse.control.keys import KeyStore, list_keys, usable_sandbox_key


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = copy_of(sample_home(tmp_path_factory), "commanded", tmp_path_factory)
    status, _, err = run_command(
        home, "keys", "create", "--tier", "starter", "--label", "Example Bank"
    )
    assert status == 0, err
    return home


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(sankofa, words)


def test_the_help_has_every_command_under_a_heading_and_every_exit_status() -> None:
    help_text = run("--help").output
    sections = {listed["section"] for listed in COMMANDS.values()}
    for text in (*sections, *COMMANDS, *MEANINGS.values()):
        assert text in " ".join(help_text.split())


def test_every_command_says_what_it_does_and_the_help_has_its_first_sentence() -> None:
    context = click.Context(sankofa)
    for name, listed in COMMANDS.items():
        command = sankofa.get_command(context, name)
        assert command is not None and command.name == name
        assert command.get_short_help_str(90) == listed["summary"]
        for subname, subcommand in getattr(command, "commands", {}).items():
            assert subcommand.help, f"{name} {subname}"


def test_the_help_imports_no_heavy_library() -> None:
    heavy = (
        "dagster",
        "duckdb",
        "deltalake",
        "pyarrow",
        "pandas",
        "rich",
        "sqlalchemy",
    )
    script = (
        "import sys; from pipelines.commands.main import sankofa\n"
        "sankofa(['--help'], standalone_mode=False)\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    completed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert completed.stdout.splitlines()[-1] == "[]"


def test_bash_completes_commands_and_sources(home: Path) -> None:
    completion = {
        "_SANKOFA_COMPLETE": "bash_complete",
        "COMP_CWORD": "1",
        "COMP_WORDS": "sankofa qu",
    }
    assert run_command(home, **completion)[1].split() == ["plain,quarantine", "plain,quality"]
    completion |= {"COMP_CWORD": "2", "COMP_WORDS": "sankofa ingest wor"}
    assert run_command(home, **completion)[1].split() == ["plain,worldbank"]


@pytest.mark.parametrize(
    ("words", "setting", "status"),
    [
        (("nonsense",), {}, Exit.USAGE),
        (("quarantine", "retry"), {}, Exit.USAGE),
        (("quality",), {}, Exit.NOTHING_PUBLISHED),
        (("rollback",), {}, Exit.NOTHING_PUBLISHED),
        (("keys", "list"), {}, Exit.OK),
        (("builds",), {"SANKOFA_MARTS": "mysql://u:hidden@127.0.0.1:1/x"}, Exit.STORE_DOWN),
        (
            ("keys", "usage"),
            {"SANKOFA_CONTROL": "postgresql://u:hidden@[::1]:1/x"},
            Exit.STORE_DOWN,
        ),
        (("ingest", "nonsense"), {}, Exit.FAILED),
        (("quarantine", "show", "0123456789"), {}, Exit.FAILED),
        (("builds",), {}, Exit.OK),
    ],
)
def test_an_exit_status_says_what_kind_of_failure_it_was(
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    setting: dict[str, str],
    status: Exit,
) -> None:
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    completed = run(*words)
    assert completed.exit_code == status, completed.output
    assert "Traceback" not in completed.output and "hidden" not in completed.output
    assert (status in (Exit.OK, Exit.USAGE)) != completed.stderr.startswith("sankofa: ")


def test_the_sandbox_key_is_made_once_and_can_be_printed_again(empty: Path) -> None:
    first, again = run("keys", "sandbox"), run("keys", "sandbox", "--json")
    assert first.exit_code == again.exit_code == Exit.OK
    key = first.stdout.strip()
    assert json.loads(again.stdout) == {"key": key}
    store = KeyStore(empty / "control.sqlite")
    assert usable_sandbox_key(store) == key
    assert [(row.tier, row.sandbox) for row in list_keys(store)] == [("sample", True)]
    run("keys", "revoke", key[:12])
    revoked = run("keys", "sandbox")
    assert revoked.exit_code == Exit.FAILED and "was revoked" in revoked.stderr


def test_a_disk_error_is_reported_as_a_sentence(empty: Path) -> None:
    (empty / "sample").write_text("a file instead of the folder")
    completed = run("sample")
    assert completed.exit_code == Exit.FAILED
    assert "sankofa: " in completed.stderr and "`sankofa doctor`" in completed.stderr


def test_each_step_names_the_next_one_in_order(empty: Path) -> None:
    steps = "`sankofa sample`, `sankofa ingest` and `sankofa publish`"
    assert steps in run("ingest").stderr and steps in run("publish").stderr
    assert steps in run("builds").stdout
    written = run("sample").stdout
    assert written.endswith("next: `sankofa ingest`, then `sankofa publish`\n")


LISTED = (
    ("builds",),
    ("quality",),
    ("quarantine", "list"),
    ("quarantine", "retry", "--source", "h10"),
    ("keys", "list"),
    ("keys", "usage"),
    ("actions",),
    ("ingest", "h10"),
)


@pytest.mark.parametrize("words", LISTED, ids=" ".join)
def test_json_output_is_nothing_but_json(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(home))
    completed = run(*words, "--json")
    assert completed.exit_code == 0, completed.output
    assert json.loads(completed.stdout)
    assert run(*words).stdout.strip()


def test_the_quality_report_is_that_of_the_current_build(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(home))
    (build,) = json.loads(run("builds", "--json").stdout)
    rows = json.loads(run("quality", "--json").stdout)
    assert build["current"] and {row["data_version"] for row in rows} == {build["data_version"]}
    failed = json.loads(run("quality", "--status", "FAIL", "--json").stdout)
    assert failed == [row for row in rows if row["status"] == "FAIL"]
    board = run("quality").stdout
    # Whichever are shown, all are counted.
    assert run("quality", "--status", "FAIL").stdout.splitlines()[-1] == board.splitlines()[-1]
    assert " ≥ 1 " in board and " ≤ 7 " in board
    assert f"{len(failed)} FAIL" in board and f"data_version {build['data_version']}" in board


def test_a_table_fits_the_terminal(home: Path) -> None:
    lines = in_terminal(home, 60, "quality")
    assert max(map(len, lines)) <= 60
    assert len(lines) > 2


EVERY_TABLE = (
    ("sources",),
    ("sources", "za-etenders"),
    ("quality",),
    ("quality", "--left-out"),
    ("quarantine", "list"),
    ("keys", "list"),
    ("keys", "usage"),
    ("actions",),
    ("builds",),
    ("withheld",),
    ("withhold", "ocds-9t57fa-165000", "--why", "a " * 60, "--dry-run"),
    ("why", "ocds-9t57fa-165000"),
    ("why", "FX.EUR.ZAR", "2026-02", "--as-of", "2026-03-31"),
    ("doctor",),
)


@pytest.mark.parametrize("words", EVERY_TABLE, ids=lambda words: " ".join(words[:2]))
def test_every_table_fits_80_columns_and_json_has_what_is_left_out(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(home))
    monkeypatch.setattr("pipelines.output.terminal_width", lambda: 80)
    lines = run(*words).stdout.splitlines()
    tables = [line for line in lines if "  " in line.strip()] or lines
    assert lines and max(map(len, tables)) <= 80
    # Of a table that is squeezed too much, columns have one or two letters a line.
    assert len(lines) < 200, "\n".join(lines[:20])
    left_out = [line for line in lines if line.startswith("not shown: ")]
    assert all(line.endswith("see --json, or a terminal of 120 columns") for line in left_out)


def test_every_command_that_prints_a_table_is_looked_at() -> None:
    folder = Path(sankofa_main.__file__).parent
    printing = {path.stem for path in folder.glob("*.py") if "print_table(" in path.read_text()}
    # `sankofa publish` counts what it wrote, a name and numbers; `live` leads a person.
    assert printing - {"publish", "live"} <= {"withhold", *(words[0] for words in EVERY_TABLE)}


def in_terminal(home: Path, width: int, *words: str) -> list[str]:
    """Run the command in a terminal of a width; return the lines without their colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
    }
    with subprocess.Popen(
        [sys.executable, "-m", "pipelines.commands.main", *words],
        env={**environment, "SANKOFA_HOME": str(home), "TERM": "xterm"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        output = bytearray()
        try:
            while piece := os.read(ours, 65_536):
                output += piece
        except OSError:
            pass  # the terminal was closed: there is no more output
        finally:
            os.close(ours)
    assert process.returncode == 0
    return click.unstyle(output.decode()).replace("\r", "").splitlines()
