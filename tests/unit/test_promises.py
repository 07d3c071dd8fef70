"""The list of promises names every test file once, and no test that does not exist."""

import ast
import re
from collections import Counter

from tests.helpers.paths import ROOT

PROMISES = (ROOT / "tests" / "PROMISES.md").read_text("utf-8")


def test_every_test_file_has_its_promise_in_the_list_once() -> None:
    named = Counter(re.findall(r"^\| .+ \| `(tests/[\w/]+\.py)` \|$", PROMISES, re.MULTILINE))
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert set(named) == files
    assert max(named.values()) == 1


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PROMISES)
    assert named
    for path, name in named:
        module = ast.parse((ROOT / path).read_text("utf-8"))
        functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
        assert name in functions, f"{path}::{name}"
