"""The guides list every setting, endpoint, command and exit status, and link to each other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.endpoints.declarations import ENDPOINTS
from api.endpoints.endpoint import Endpoint
from pipelines.commands.exit_status import MEANINGS
from pipelines.commands.main import COMMANDS
from pipelines.guides import generated_guides
from tests.helpers.paths import ROOT
from warehouse.contract.schemas import BODY_SCHEMAS
from warehouse.shared.settings import SETTINGS

OPERATING = (ROOT / "docs" / "operating.md").read_text("utf-8")
REST = (ROOT / "docs" / "rest.md").read_text("utf-8")
FOLDERS = ("api", "assets", "mcp/mcp_server", "pipelines", "quality", "warehouse")


def settings_in(path: Path) -> Iterator[str]:
    """Yield the settings that a file names in its code."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and re.fullmatch(r"SANKOFA_[A-Z0-9_]+", str(node.value)):
            yield str(node.value)
        if isinstance(node, ast.keyword) and str(node.arg).startswith("SANKOFA_"):
            yield str(node.arg)


@pytest.mark.slow
def test_the_table_of_settings_is_all_that_the_code_reads() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    declared = {setting.prefix for setting in SETTINGS.values()}
    assert {name for path in files for name in settings_in(path)} <= declared
    listed = re.findall(
        r"^\| `(SANKOFA_[A-Z0-9_]+(?:<\w+>)?)`", generated_guides()["settings"], re.MULTILINE
    )
    assert listed == [setting.name for setting in SETTINGS.values()]


def test_only_entry_points_read_the_environment() -> None:
    entry_points = {
        "api/__main__.py",
        "mcp/mcp_server/__main__.py",
        # The program of the bundle, which runs without the rest.
        "mcp/mcp_server/stdio_bridge.py",
        "pipelines/definitions.py",
        # Started by itself, before Dagster's own programs.
        "pipelines/dagster_home.py",
        "pipelines/jobs.py",
        # Children inherit ours.
        "pipelines/supervisor.py",
        # It defines what they call.
        "warehouse/shared/settings.py",
    }
    reads = re.compile(r"os\.environ|read_settings\(")
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    names = {str(path.relative_to(ROOT)) for path in files if reads.search(path.read_text())}
    assert {name for name in names if not name.startswith("pipelines/commands/")} == entry_points


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: str(endpoint.path))
def test_the_table_of_endpoints_has_its_parameters_and_rows(endpoint: Endpoint) -> None:
    (line,) = re.findall(rf"^\| `{re.escape(endpoint.path)}` \|.*$", REST, re.MULTILINE)
    _, _, _, parameters, rows, _ = line.split("|")
    # Those that every list has, or every endpoint with a key, are named once, above the table.
    of_lists = ["data_version", "receipt"]
    of_lists += ["limit", "cursor", "format", "fields"] if endpoint.listing else []
    sent = [each for each in endpoint.parameters if each.location != "path"]
    own = [each.name for each in sent if each.name not in of_lists]
    assert re.findall(r"`(\w+)`", parameters) == own
    required = [each.name for each in sent if each.required]
    assert re.findall(r"\*\*`(\w+)`\*\*", parameters) == required
    schema_names = re.findall(r"#/components/schemas/(\w+)", str(BODY_SCHEMAS[endpoint.body]))
    named = [name for name in dict.fromkeys(schema_names) if name not in ("Artifact", "Failed")]
    assert re.findall(r"\[(\w+)\]", rows) == named


def test_no_other_endpoint_is_listed() -> None:
    listed = set(re.findall(r"^\| `(/[^`]*)` \|", REST, re.MULTILINE))
    assert listed == {endpoint.path for endpoint in ENDPOINTS}


def test_every_command_and_exit_status_is_listed() -> None:
    table = "\n".join(re.findall(r"^\| `sankofa .*$", OPERATING, re.MULTILINE))
    assert set(re.findall(r"`sankofa ([\w-]+)`", table)) == set(COMMANDS)
    listed_statuses = dict(re.findall(r"^\| (\d) \| (.+) \|$", OPERATING, re.MULTILINE))
    assert listed_statuses == {str(int(status)): words for status, words in MEANINGS.items()}


def test_links_to_guides_of_the_service_lead_to_one_that_it_makes() -> None:
    linked = re.compile(r"http://127\.0\.0\.1:8321/guides/([a-z-]+)")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    names = {name for page in pages for name in linked.findall(page.read_text("utf-8"))}
    assert names == set(generated_guides())
