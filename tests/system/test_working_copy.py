"""A working copy: a bug of a parser is named and its fix reads what was missed, by itself."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.checkout_copy import UNFINISHED
from tests.helpers.paths import ROOT

H10 = "assets/macro/h10.py"
HEADER = "KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE,OBS_STATUS"
RATES = f"{HEADER}\nEXR.D.ZAR.EUR.SP00.A,D,ZAR,EUR,SP00,A,2024-01-02,20.4,A\n"
SANKOFA = "from pipelines.commands.main import main; main()"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the code whose lock fits it, next to a home."""
    for package in ("warehouse", "quality", "assets", "pipelines", "deploy"):
        ignored = shutil.ignore_patterns(*UNFINISHED)
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    run(tmp_path, "-m", "deploy.parser_versions", "--same-rows")
    return tmp_path


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = {"SANKOFA_HOME": str(checkout / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env=os.environ | home,
        capture_output=True,
        text=True,
        check=False,
    )


def ingest(checkout: Path) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Run a plain ``sankofa ingest``; return status, outcome by source, and the error."""
    done = run(checkout, "-c", SANKOFA, "ingest", "h10", "ecb", "--sample", "--json")
    outcomes = {outcome["source"]: outcome for outcome in json.loads(done.stdout)}
    return done.returncode, outcomes, done.stderr


def counts(outcome: dict[str, Any]) -> dict[str, int]:
    return {name: number for name, number in outcome["counts"].items() if number}


def put(checkout: Path, path: str, text: str, headers: str | None = None) -> None:
    file = checkout / "home" / "sample" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if headers is not None:
        file.with_name(f"{file.name}.headers.json").write_text(headers)


def rate(checkout: Path, day: str, month: str, value: str) -> None:
    text = f"Date,Country,Exchange rate\n{month}-01,South Africa,{value}\n"
    put(checkout, f"h10/{day}/monthly.csv", text, '{"frequency": "monthly"}')


@pytest.mark.nightly
def test_a_bug_is_named_and_its_fix_reads_what_was_missed_and_nothing_else(checkout: Path) -> None:
    rate(checkout, "2024-02-05", "2024-01", "18.8")
    put(checkout, "ecb/2024-01-05/zar.csv", RATES)
    status, outcomes, _ = ingest(checkout)
    assert status == 0
    assert counts(outcomes["h10"]) == counts(outcomes["ecb"]) == {"read": 1, "appended": 1}

    # Somebody breaks the parser; a new document comes in.
    code = (checkout / H10).read_text()
    signature = "def parse(document: Document, body: bytes) -> Parsed:\n"
    assert signature in code
    broken = code.replace(signature, f"{signature}    return {{}}['rate']\n")
    (checkout / H10).write_text(broken)
    rate(checkout, "2024-03-05", "2024-02", "19.1")
    status, outcomes, error = ingest(checkout)
    assert status == 1
    assert "h10 failed" in error
    assert counts(outcomes["h10"]) == counts(outcomes["ecb"]) == {}
    assert "the parser of h10 failed on 2 documents" in outcomes["h10"]["failed"]
    assert "KeyError: 'rate' (assets/macro/h10.py:" in outcomes["h10"]["failed"]
    failed = outcomes["h10"]["failures"]
    assert {failure["url"].rpartition("/")[2] for failure in failed} == {"monthly.csv"}
    examined = run(checkout, "-c", SANKOFA, "doctor", "--json")
    assert "failed on 2 documents, which are unread" in examined.stdout

    # The fix: the document read before is not read again.
    (checkout / H10).write_text(code)
    status, outcomes, _ = ingest(checkout)
    assert status == 0
    assert counts(outcomes["h10"]) == {"read": 1, "appended": 1}
    assert counts(outcomes["ecb"]) == {}

    # Changed code takes effect by itself, for its source alone.
    (checkout / H10).write_text(code + "\nCHANGED = True\n")
    _, outcomes, _ = ingest(checkout)
    assert counts(outcomes["h10"]) == {"read": 2, "held": 2}
    assert counts(outcomes["ecb"]) == {}
