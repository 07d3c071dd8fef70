"""The Python client installed into an empty environment: it needs nothing else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.packages import stage
from tests.helpers.contract_client import Contract

# Run with -I: without the folder of the tests, and without what the environment adds to the path.
ASK = """
import json, sys
from importlib.metadata import metadata, version
from pathlib import Path
import sankofa_client
from sankofa_client import PackageMissing, Sankofa

with Sankofa() as sankofa:
    facts = sankofa.facts("XJSE:UBF0", as_of="2020-12-31", line_items="revenue", decimals=True)
    try:
        sankofa.bulk("single-bid-rate")
        missing = None
    except PackageMissing as error:
        missing = str(error)
print(json.dumps({
    "version": [sankofa_client.__version__, version("sankofa-client")],
    "requires": metadata("sankofa-client").get_all("Requires-Dist"),
    "typed": Path(sankofa_client.__file__).with_name("py.typed").is_file(),
    "values": [str(value) for value in facts["value_reported"]],
    "missing": missing,
    "of the service": [name for name in ("api", "warehouse", "assets") if name in sys.modules],
}))
"""
OPEN = """
import matplotlib
matplotlib.use("agg")
from sankofa_client import Sankofa

with Sankofa() as sankofa:
    axes = sankofa.company("XJSE:UBF0").plot_vintages("revenue")
    axes.figure.savefig("vintages.png")
    print(axes.get_legend_handles_labels()[1])
    print(len(sankofa.bulk("single-bid-rate", folder="exports")))
    print(len(sankofa.bulk("single-bid-rate", folder="exports", as_="polars")))
    print(len(sankofa.bulk("single-bid-rate", folder="exports", as_="duckdb").fetchall()))
"""


class Empty:
    """An environment with nothing but what a test installs."""

    def __init__(self, folder: Path, service: Contract) -> None:
        self._folder, self._python = folder, folder / "empty" / "bin" / "python"
        self._uv = Path(sys.executable).with_name("uv")
        if self._uv.exists():
            self._run(self._uv, "venv", "--quiet", "--python", sys.executable, folder / "empty")
        else:
            self._run(sys.executable, "-m", "venv", folder / "empty")
        self._service = {
            "SANKOFA_URL": service.server.address,
            "SANKOFA_API_KEY": service.key("sample"),
        }

    def install(self, *requirements: str | Path) -> "subprocess.CompletedProcess[str]":
        """Install requirements and return how that ended."""
        if self._uv.exists():
            return self._run(self._uv, "pip", "install", "--python", self._python, *requirements)
        return self._run(self._python, "-m", "pip", "install", *requirements)

    def run(self, script: str) -> str:
        """Run a script in the environment and return what it prints."""
        completed = self._run(self._python, "-I", "-c", script, **self._service)
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    def _run(self, *command: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
        ours = ("PYTHONPATH", "VIRTUAL_ENV")
        others = {name: value for name, value in os.environ.items() if name not in ours}
        return subprocess.run(
            [str(word) for word in command],
            cwd=self._folder,
            env={**others, **environment},
            capture_output=True,
            text=True,
            timeout=250,
        )


@pytest.mark.nightly
def test_the_client_installs_and_reads_from_a_running_service(
    service: Contract, tmp_path: Path
) -> None:
    copied = tmp_path / "client"
    stage("sankofa-client", copied)
    empty = Empty(tmp_path, service)
    installed = empty.install(copied)
    if installed.returncode != 0 and empty.install("httpx").returncode != 0:
        pytest.skip("left out: no package index can be reached")
    assert installed.returncode == 0, installed.stderr

    answer = json.loads(empty.run(ASK))
    assert answer["version"][0] == answer["version"][1]
    plain = [line for line in answer["requires"] if "extra ==" not in line]
    assert sorted(re.split("[<>]", line)[0] for line in plain) == ["httpx", "pandas"]
    assert answer["typed"] and answer["of the service"] == []
    rows = service.get(
        "/v1/fundamentals/DCHGWRYXXDHC?as_of=2020-12-31&line_items=revenue", "sample"
    ).rows
    assert answer["values"] == [str(row["value_reported"]) for row in rows] != []
    assert answer["missing"].endswith("pip install cryptography")

    bulk = empty.install(f"{copied}[bulk,polars,duckdb,plot]")
    assert bulk.returncode == 0, bulk.stderr
    labels, *rows_of_forms = empty.run(OPEN).splitlines()
    # The periods that were revised, and no others.
    assert labels == "['2020-06-30']"
    assert len(rows_of_forms) == 3 and len(set(rows_of_forms)) == 1 and int(rows_of_forms[0]) > 0
