"""What ``sankofa new`` does: begin a source, a portal, a metric or a panel, with a test."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import click

from pipelines.output import json_option, print_json
from warehouse.shared.data_files import HOME_CURRENCY
from warehouse.shared.errors import SankofaError

Kind = Literal["source", "portal", "metric", "panel"]
_ROOT, _TEMPLATES = Path(__file__).parents[1], Path(__file__).with_name("templates")
_HYPHENED = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_UNDERSCORED = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_PORTAL = re.compile(r"[a-z]{2}(-[a-z0-9]+)+")


@dataclass(frozen=True)
class Scaffold:
    """Files to change and to write, the last of which is the test to run; what to fill in."""

    changed: dict[str, str]
    new: dict[str, str]
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Name:
    """A name in the forms in which files need it."""

    key: str

    @property
    def snake(self) -> str:
        return self.key.replace("-", "_")

    @property
    def words(self) -> str:
        words = self.key.replace("-", " ").replace("_", " ")
        return words[0].upper() + words[1:]

    def filled(self, template: str) -> str:
        """Return a template with the name in it."""
        text = (_TEMPLATES / template).read_text("utf-8")
        forms = {"KEY": self.key, "SNAKE": self.snake, "WORDS": self.words}
        forms["COUNTRY"] = self.key[:2].upper()
        return re.sub(r"@([A-Z]+)@", lambda match: forms[match[1]], text)


def scaffold(root: Path, kind: Kind, key: str) -> Scaffold:
    """Return what to write into a checkout; raise SankofaError if the name is wrong or taken."""
    _check_name(kind, key)
    steps = _Name(key).filled(f"{kind}_steps.txt").splitlines()
    return replace(_KINDS[kind](root, _Name(key)), steps=tuple(steps))


def write(root: Path, made: Scaffold) -> None:
    """Write all files, or none of them if a new one exists."""
    taken = [path for path in made.new if (root / path).exists()]
    if taken:
        raise SankofaError(f"{taken[0]} exists already; nothing was written. Choose another name")
    for path, text in (made.changed | made.new).items():
        (root / path).write_text(text, "utf-8")


def _check_name(kind: Kind, key: str) -> None:
    pattern, form = {
        "source": (_HYPHENED, "lower-case words joined by hyphens, such as stats-office"),
        "portal": (_PORTAL, "a country's two letters and a word, such as na-epc"),
        "metric": (_UNDERSCORED, "lower-case words joined by underscores, such as cash_to_assets"),
        "panel": (_HYPHENED, "lower-case words joined by hyphens, such as stated-value"),
    }[kind]
    if not pattern.fullmatch(key) or (kind == "portal" and key[:2].upper() not in HOME_CURRENCY):
        raise SankofaError(f"{key!r} cannot be the name of a {kind}: give {form}")


def _source(root: Path, name: _Name) -> Scaffold:
    sources, parser = "assets/macro/sources.py", f"assets/macro/{name.snake}.py"
    described = "assets/macro/sources.toml"
    test = f"tests/unit/assets/test_macro_{name.snake}.py"
    text = _text(root, sources)
    _refuse_taken(f'"{name.key}"', text, sources)
    imported = re.search(r"^from assets\.macro import (?:\(([^)]+)\)|(.+))$", text, re.MULTILINE)
    if imported is None:
        raise _no_place(sources)
    modules = {word.strip() for word in (imported[1] or imported[2]).split(",") if word.strip()}
    listed = ", ".join(sorted({*modules, name.snake}))
    line = f"from assets.macro import {listed}"
    if len(line) > 100:
        lines = "".join(f"    {module},\n" for module in sorted({*modules, name.snake}))
        line = f"from assets.macro import (\n{lines})"
    text = text[: imported.start()] + line + text[imported.end() :]
    entry = f'    _described("{name.key}", Parser(1, {name.snake}.parse)),\n'
    return Scaffold(
        {
            sources: _inserted(text, r"^(?=\)\n\Z)", entry, sources),
            described: f"{_text(root, described)}\n{name.filled('source_entry.txt')}",
        },
        {parser: name.filled("source_parser.txt"), test: name.filled("source_test.txt")},
    )


def _portal(root: Path, name: _Name) -> Scaffold:
    portals, test = "assets/tenders/portals.toml", f"tests/unit/assets/test_portal_{name.snake}.py"
    text = _text(root, portals)
    _refuse_taken(f"[{name.key}]\n", text, portals)
    return Scaffold(
        {portals: f"{text.rstrip()}\n\n{name.filled('portal_entry.txt')}"},
        {test: name.filled("portal_test.txt")},
    )


def _metric(root: Path, name: _Name) -> Scaffold:
    formulas, model = "warehouse/methodology/formulas.csv", "tests/models/metric_model.py"
    test = f"tests/unit/warehouse/test_metric_{name.snake}.py"
    text, plans = _text(root, formulas), _text(root, model)
    _refuse_taken(f"\n{name.key},", text, formulas)
    plan = f'    "{name.key}": _margin("cash", "total_assets"),\n'
    return Scaffold(
        {
            formulas: text + name.filled("metric_entry.txt"),
            model: _inserted(plans, r"^PLANS: .*\{\n", plan, model),
        },
        {test: name.filled("metric_test.txt")},
    )


def _panel(root: Path, name: _Name) -> Scaffold:
    panels, measures = (f"warehouse/methodology/{table}.csv" for table in ("panels", "measures"))
    rates = "assets/derive/sql/rates.sql"
    model, test = "tests/models/signals_model.py", f"tests/models/test_signal_{name.snake}.py"
    text, sql, plain = _text(root, panels), _text(root, rates), _text(root, model)
    _refuse_taken(f"\n{name.key},", text, panels)
    column = f"is_{name.snake}"
    answer = f"        CAST(units IS NOT NULL AS INTEGER) AS {column},\n"
    sql = _inserted(sql, r"^(?=        method\n    FROM states)", answer, rates)
    for end, line in (
        ("'method'\n        ]) AS question", f"'{name.snake}'"),
        ("method\n        ]) AS value", column),
    ):
        place = rf"^(?=            {re.escape(end)})"
        sql = _inserted(sql, place, f"            {line},\n", rates)
    measure = f"    ('{name.snake}', '{name.key}', '{name.snake}_rate'),\n"
    sql = _inserted(sql, r"^    \('revalued', .*\),\n", measure, rates)
    plan = name.filled("panel_model.txt")
    return Scaffold(
        {
            panels: text + name.filled("panel_entry.txt"),
            measures: _text(root, measures) + name.filled("measure_entry.txt"),
            rates: sql,
            model: _inserted(plain, r"^(?=    \}\n    for method in )", plan, model),
        },
        {test: name.filled("panel_test.txt")},
    )


_KINDS: Mapping[Kind, Callable[[Path, _Name], Scaffold]] = {
    "source": _source,
    "portal": _portal,
    "metric": _metric,
    "panel": _panel,
}


def _text(root: Path, path: str) -> str:
    return (root / path).read_text("utf-8")


def _refuse_taken(mark: str, text: str, path: str) -> None:
    if mark in text:
        raise SankofaError(f"{path} has {mark.strip()} already; nothing was written")


def _inserted(text: str, place: str, addition: str, path: str) -> str:
    """Insert a text after the one place that a pattern matches."""
    found = list(re.finditer(place, text, re.MULTILINE))
    if len(found) != 1:
        raise _no_place(path)
    return text[: found[0].end()] + addition + text[found[0].end() :]


def _no_place(path: str) -> SankofaError:
    return SankofaError(
        f"{path} has changed so much that an entry finds no place; nothing was written. Add it by "
        "hand, as the page of docs/ shows"
    )


@click.command()
@click.argument("kind", type=click.Choice(("source", "portal", "metric", "panel")))
@click.argument("name")
@json_option
def main(kind: Kind, name: str, as_json: bool) -> None:
    """Write the files, as ``pipelines/commands/new.py`` describes them."""
    try:
        made = scaffold(_ROOT, kind, name)
        write(_ROOT, made)
    except SankofaError as error:
        sys.exit(f"sankofa: {error}")
    *_, test = made.new
    if as_json:
        files = dict.fromkeys(made.changed, "changed") | dict.fromkeys(made.new, "written")
        print_json({"files": files, "test": test, "fill_in": made.steps})
        return
    for path in made.changed:
        click.echo(f"changed  {path}")
    for path in made.new:
        click.echo(f"wrote    {path}")
    click.echo(f"\nIts test passes:\n  python -m pytest {test}\n\nFill in:")
    for step in made.steps:
        click.echo(f"  - {step}")


if __name__ == "__main__":
    main()
