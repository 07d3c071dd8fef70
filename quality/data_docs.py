"""Write Great Expectations' Data Docs of an audit as pages that load nothing from other hosts.

Its templates take styles, scripts and a logo from elsewhere: they are removed and replaced by a
short style sheet of our own and an index that needs no script.
"""

import re
import shutil
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

from quality.report import Report
from quality.rules import Suite

# Everything that makes a browser send a request or that a strict content security policy blocks:
# scripts and styles, in elements and in attributes, and external links, images and frames.
_REMOVED = re.compile(
    r"<script\b.*?</script\s*>|<style\b.*?</style\s*>|<title>\s*</title>"
    r"|<link\b[^>]*?href=\"(?:https?:)?//[^>]*>"
    r"|<link\b[^>]*?rel=\"(?:shortcut )?icon\"[^>]*>"
    r"|<img\b[^>]*>|<iframe\b.*?</iframe\s*>|<footer\b.*?</footer\s*>"
    r"|<(?:label|button)\b.*?</(?:label|button)\s*>|<input\b[^>]*>",
    re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTES = re.compile(r"(<[a-z][^<>]*?)\s(?:style|on[a-z]+)=\"[^\"]*\"", re.IGNORECASE)
_EXTERNAL_LINKS = re.compile(
    r"<a\b[^>]*href=\"(?:https?:)?//[^>]*>(.*?)</a>", re.DOTALL | re.IGNORECASE
)
_STYLE_SHEET, _STYLE = "style.css", files("quality").joinpath("static", "data_docs.css")
# Where Great Expectations keeps results, below the folder of its stores.
_VALIDATIONS = "uncommitted/validations"


def forget_results(results: Path, suites: Iterable[Suite]) -> None:
    """Delete what Great Expectations kept of suites that are validated again."""
    for suite in suites:
        shutil.rmtree(results.joinpath(_VALIDATIONS, *suite.name.split(".")), ignore_errors=True)


def write_docs(report: Report, results: Path, folder: Path, board: str | None = None) -> None:
    """Write the Data Docs of a report into a folder; ``board`` is a page to link back to.

    ``results`` is where the audits of the build kept what Great Expectations found.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if results.exists():
        _write_pages(results, folder)
    (folder / _STYLE_SHEET).write_text(_STYLE.read_text("utf-8"), "utf-8")
    (folder / "index.html").write_text(_index(report, folder, board), "utf-8")


def _write_pages(results: Path, folder: Path) -> None:
    # Imported here, as it takes seconds.
    from great_expectations.render.renderer.site_builder import SiteBuilder

    from quality.expectations import open_context

    backend = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}
    builder = SiteBuilder(
        open_context(results),
        store_backend=backend,
        site_name="quality",
        show_how_to_buttons=False,
        # The text "None", as in YAML: that is how Great Expectations leaves a section out.
        site_section_builders={"profiling": "None"},
    )
    builder.build(build_index=False)
    shutil.rmtree(folder / "static", ignore_errors=True)
    for page in folder.rglob("*.html"):
        root = "../" * (len(page.relative_to(folder).parts) - 1)
        page.write_text(_self_contained(page.read_text("utf-8"), root), "utf-8")


def _self_contained(page: str, root: str) -> str:
    page = _EXTERNAL_LINKS.sub(r"\1", _REMOVED.sub("", page))
    # One pass removes one attribute per element.
    while (shorter := _ATTRIBUTES.sub(r"\1", page)) != page:
        page = shorter
    page = page.replace("<html>", '<html lang="en">', 1)
    return page.replace("</head>", f"{_head(root)}</head>", 1)


def _head(root: str) -> str:
    """Return the links of a page; the empty icon stops browsers from requesting one."""
    return f'<link rel="icon" href="data:,"><link rel="stylesheet" href="{root}{_STYLE_SHEET}">'


def _index(report: Report, folder: Path, board: str | None) -> str:
    back = "" if board is None else f'<p><a href="{escape(board)}">Quality board</a></p>'
    rows = "\n".join(_rows(report, folder))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Quality of {escape(report.data_version)}</title>"
        f"{_head('')}</head><body><main>{back}"
        f"<h1>Quality of {escape(report.data_version)}</h1>"
        f"<p>{'All checks passed.' if report.ok else 'Not published: checks failed.'}</p>"
        + (f"<pre class='fail'>{escape(report.problems)}</pre>" if report.problems else "")
        + f"<table><tr><th>Table</th><th>Expectations</th><th>Result</th></tr>{rows}</table>"
        "</main></body></html>"
    )


def _rows(report: Report, folder: Path) -> Iterator[str]:
    for suite in report.plan.suites:
        parts = suite.name.split(".")
        suite_page = Path("expectations", *parts).with_suffix(".html").as_posix()
        pages = sorted(folder.joinpath("validations", *parts).rglob("*.html"))
        result, made_in = report.results.get(suite.name), report.plan.made_in(suite.name)
        outcome = "no rows" if result is None else "met" if result.success else "not met"
        if made_in == report.data_version:
            # Audited with its table, before this report was made.
            outcome = "met" if pages else "no rows"
        elif made_in:
            outcome = f"met, as in {made_in}: nothing changed"
        links = [f'<a href="{page.relative_to(folder).as_posix()}">{outcome}</a>' for page in pages]
        rules = str(len(suite.rules))
        if folder.joinpath(suite_page).is_file():
            rules = f'<a href="{suite_page}">{rules}</a>'
        yield (
            f"<tr><td>{escape(suite.name)}</td><td>{rules}</td>"
            f"<td>{' '.join(links) or outcome}</td></tr>"
        )
