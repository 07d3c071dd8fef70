"""The official TypeScript clients and the official conformance suite, both from npm.

They run if SANKOFA_NPM=1 is set: npm needs a network and half a minute to install them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.key_proxy import key_adding
from tests.helpers.mcp_world import EXAMPLES, Agents
from tests.helpers.paths import ROOT

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif("SANKOFA_NPM" not in os.environ, reason="left out: set SANKOFA_NPM=1"),
]
LIBRARIES = ("@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0")
# The suite needs a newer Node than the clients do; npm brings it.
SUITE = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22")

# What a server with tools and resources has to pass, its own or the suite's fixtures among them.
PASSED = {
    "2025-11-25": {
        "server-initialize",
        "ping",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-image",
        "tools-call-audio",
        "tools-call-embedded-resource",
        "tools-call-mixed-content",
        "tools-call-error",
        "json-schema-2020-12",
        "resources-list",
        "resources-read-text",
        "resources-read-binary",
        "resources-templates-read",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-image",
        "tools-call-audio",
        "tools-call-embedded-resource",
        "tools-call-mixed-content",
        "tools-call-error",
        "json-schema-2020-12",
        "server-sse-multiple-streams",
        "resources-list",
        "resources-read-text",
        "resources-read-binary",
        "resources-templates-read",
        "sep-2164-resource-not-found",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "http-custom-header-server-validation",
        "input-required-result-unsupported-methods",
    },
}


@pytest.fixture(scope="module")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the clients and the suite; where that cannot be done, leave the tests out."""
    if shutil.which("npm") is None:
        pytest.skip("left out: there is no npm")
    folder = tmp_path_factory.mktemp("npm")
    (folder / "package.json").write_text('{"private": true}')
    command = ["npm", "install", "--no-audit", "--no-fund", *LIBRARIES, *SUITE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"left out: npm cannot install: {done.stderr[-300:]}")
    shutil.copy(ROOT / "tests" / "helpers" / "mcp_client.mjs", folder)
    return folder


@pytest.mark.parametrize("library", ["@modelcontextprotocol/sdk", "@modelcontextprotocol/client"])
def test_the_typescript_client_lists_and_calls_every_tool(
    agents: Agents, npm: Path, library: str
) -> None:
    url, key = f"{agents.server.address}/mcp", agents.world.paid
    command = ["node", "mcp_client.mjs", library, url, key, json.dumps(EXAMPLES)]
    done = subprocess.run(command, cwd=npm, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert set(answer["tools"]) == set(EXAMPLES) == set(answer["calls"])
    for call in answer["calls"].values():
        # A verdict has no rows to count.
        assert call.get("count") == call.get("text") and call["refused"] == "parameter_unknown"
    assert answer["resources"] > 40 and answer["licence"]


@contextmanager
def fixtures_served(agents: Agents) -> Iterator[int]:
    stores = [str(agents.world.marts), str(agents.world.keys)]
    command = [sys.executable, "-m", "tests.helpers.mcp_conformance_server", *stores]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


@pytest.mark.parametrize("version", sorted(PASSED))
def test_the_official_suite_passes_where_it_applies(
    agents: Agents, npm: Path, version: str
) -> None:
    script = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    with fixtures_served(agents) as port, key_adding(port, agents.world.paid) as address:
        command = ["node_modules/.bin/node", script, "server", "--url", f"{address}/mcp"]
        command += ["--suite", "all", "--spec-version", version]
        done = subprocess.run(command, cwd=npm, capture_output=True, text=True, timeout=500)
    results = re.findall(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", done.stdout, re.MULTILINE)
    passed = {name for name, right, wrong in results if int(right) and not int(wrong)}
    assert PASSED[version] <= passed, (PASSED[version] - passed, done.stdout[-3_000:])
