"""The ``sankofa`` command: its help, its shells, its exit statuses, what scripts read of it."""

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

from pipelines.commands.exit_status import MEANINGS, Exit
from pipelines.commands.main import SECTIONS, sankofa
from tests.helpers.installation import copy_of, run_command, sample_home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = copy_of(sample_home(tmp_path_factory), "commanded", tmp_path_factory)
    status, _, err = run_command(
        made, "keys", "create", "--tier", "starter", "--label", "Example Bank"
    )
    assert status == 0, err
    return made


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("SANKOFA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(sankofa, words)


def test_the_help_has_every_command_under_a_heading_and_every_exit_status() -> None:
    shown = run("--help").output
    placed = {name for names in SECTIONS.values() for name in names}
    assert {name for name, each in sankofa.commands.items() if not each.hidden} <= placed
    for text in (*SECTIONS, *sankofa.commands.keys() - {"demo"}, *MEANINGS.values()):
        assert text in " ".join(shown.split())


def test_every_command_says_what_it_does() -> None:
    for name, command in sankofa.commands.items():
        assert command.help, name
        for below, each in getattr(command, "commands", {}).items():
            assert each.help, f"{name} {below}"


def test_the_help_waits_for_nothing_that_only_the_work_needs() -> None:
    heavy = (
        "dagster",
        "duckdb",
        "deltalake",
        "pyarrow",
        "pandas",
        "rich",
        "sqlalchemy",
        "pydantic",
    )
    script = (
        "import sys; from pipelines.commands.main import sankofa\n"
        "sankofa(['--help'], standalone_mode=False)\n"
        f"print([each for each in {heavy!r} if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    printed = run("completion", shell)
    assert printed.exit_code == 0, printed.output
    assert "_SANKOFA_COMPLETE" in printed.output


def test_bash_completes_commands_and_sources(home: Path) -> None:
    asked = {"_SANKOFA_COMPLETE": "bash_complete", "COMP_CWORD": "1", "COMP_WORDS": "sankofa qu"}
    assert run_command(home, **asked)[1].split() == ["plain,quarantine", "plain,quality"]
    asked |= {"COMP_CWORD": "2", "COMP_WORDS": "sankofa ingest wor"}
    assert run_command(home, **asked)[1].split() == ["plain,worldbank"]


@pytest.mark.parametrize(
    ("words", "setting", "status"),
    [
        (("nonsense",), {}, Exit.USAGE),
        (("quarantine", "retry"), {}, Exit.USAGE),
        (("quality",), {}, Exit.NOTHING_PUBLISHED),
        (("quality", "--history"), {}, Exit.NOTHING_PUBLISHED),
        (("rollback",), {}, Exit.NOTHING_PUBLISHED),
        (("keys", "list"), {}, Exit.STORE_DOWN),
        (("builds",), {"SANKOFA_MARTS": "postgresql://u:hidden@127.0.0.1:1/x"}, Exit.STORE_DOWN),
        (("builds",), {"SANKOFA_MARTS": "mysql://u:hidden@127.0.0.1:1/x"}, Exit.STORE_DOWN),
        (("keys", "usage"), {"SANKOFA_KEYS": "redis://:hidden@127.0.0.1:1/0"}, Exit.STORE_DOWN),
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
    done = run(*words)
    assert done.exit_code == status, done.output
    assert "Traceback" not in done.output and "hidden" not in done.output
    assert (status in (Exit.OK, Exit.USAGE)) != done.stderr.startswith("sankofa: ")


def test_what_the_disk_refuses_is_a_sentence_too(empty: Path) -> None:
    (empty / "sample").write_text("a file in place of the folder")
    done = run("sample")
    assert done.exit_code == Exit.FAILED
    assert "sankofa: " in done.stderr and "`sankofa doctor`" in done.stderr


LISTED = (
    ("builds",),
    ("quality",),
    ("quality", "--history"),
    ("quarantine", "list"),
    ("quarantine", "retry", "--source", "h10"),
    ("keys", "list"),
    ("keys", "usage"),
    ("ingest", "h10"),
)


@pytest.mark.parametrize("words", LISTED, ids=" ".join)
def test_a_script_reads_json_and_nothing_else(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(home))
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)
    assert run(*words).stdout.strip()


def test_the_board_is_that_of_the_build_that_is_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(home))
    (build,) = json.loads(run("builds", "--json").stdout)
    rows = json.loads(run("quality", "--json").stdout)
    assert build["current"] and {row["data_version"] for row in rows} == {build["data_version"]}
    failed = json.loads(run("quality", "--status", "FAIL", "--json").stdout)
    assert failed == [row for row in rows if row["status"] == "FAIL"]
    board = run("quality").stdout
    assert f"{len(failed)} FAIL" in board and f"data_version {build['data_version']}" in board
    past = json.loads(run("quality", "--history", "--json").stdout)
    assert sorted(map(json.dumps, past)) == sorted(map(json.dumps, rows))


@pytest.mark.parametrize(
    ("words", "width"),
    [(("quality",), 60), (("quality",), 100), (("quarantine", "list"), 60)],
    ids=str,
)
def test_a_table_fits_the_terminal(home: Path, words: tuple[str, ...], width: int) -> None:
    shown = in_terminal(home, width, *words)
    assert max(map(len, shown)) <= width
    assert len(shown) > 2


def in_terminal(home: Path, width: int, *words: str) -> list[str]:
    """Run the command in a terminal of a width; give the lines without their colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-m", "pipelines.commands.main", *words],
        env={**kept, "SANKOFA_HOME": str(home), "TERM": "xterm"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        run_command = bytearray()
        try:
            while piece := os.read(ours, 65_536):
                run_command += piece
        except OSError:
            pass  # the terminal was hung up: nothing more comes
        finally:
            os.close(ours)
    assert process.returncode == 0
    return click.unstyle(run_command.decode()).replace("\r", "").splitlines()
