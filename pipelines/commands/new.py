"""``sankofa new``: begin a source, a portal, a metric or a panel, with a test.

What it writes belongs to a checkout, so ``deploy/new.py`` of the checkout does the work: a package
that was installed has neither tests nor pages to add to.
"""

import subprocess
import sys
from pathlib import Path

import click

from pipelines.output import json_option
from warehouse.shared.errors import SankofaError

_ROOT = Path(__file__).parents[2]


@click.command()
@click.argument("kind", type=click.Choice(("source", "portal", "metric", "panel")))
@click.argument("name")
@json_option
@click.pass_context
def new(context: click.Context, kind: str, name: str, as_json: bool) -> None:
    """Write the files with which a new source, portal, metric or panel begins.

    They go into this checkout, with a test that passes, and never over a file that exists. A source
    begins as a CSV of macroeconomic figures; docs/add-a-source.md says what to copy for others.
    """
    if not (_ROOT / "deploy" / "new.py").exists():
        raise SankofaError(
            f"{_ROOT} is no checkout of the repository: clone it, run `make test-fast` once, and "
            "use its `.venv/bin/sankofa`"
        )
    words = [sys.executable, "-m", "deploy.new", kind, name, *(["--json"] if as_json else [])]
    context.exit(subprocess.run(words, cwd=_ROOT, check=False).returncode)  # noqa: S603
