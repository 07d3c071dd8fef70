"""Great Expectations' Data Docs of an audit as pages that load nothing from other hosts.

An index of our own lists all rules of each table; a result that fails has a page. Its templates
take styles, scripts and a logo from elsewhere: they are replaced by a short style sheet of our own.
"""

import importlib
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from types import ModuleType
from typing import Any

from quality.report import Report

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
# Where pages of a build have them.
DATA_DOCS = "data-docs"


def data_docs(report: Report, board: str | None = None) -> dict[str, str]:
    """Return the Data Docs of a report by name; ``board`` is a page to link back to."""
    failed = {name: each for name, each in report.results.items() if each and not each.success}
    pages = {
        _page_name(name): _self_contained(load_expectations().result_page(result))
        for name, result in failed.items()
    }
    index = _index(report, board)
    return {"index.html": index, _STYLE_SHEET: _STYLE.read_text("utf-8"), **pages}


def _page_name(suite: str) -> str:
    return f"validations/{suite.replace('.', '/')}.html"


def _self_contained(page: str) -> str:
    page = _EXTERNAL_LINKS.sub(r"\1", _REMOVED.sub("", page))
    # One pass removes one attribute per element.
    while (shorter := _ATTRIBUTES.sub(r"\1", page)) != page:
        page = shorter
    page = page.replace("<html>", '<html lang="en">', 1)
    # Pages of suites are two folders below the index.
    return page.replace("</head>", f"{_head('../../')}</head>", 1)


def _head(root: str) -> str:
    """Return the links of a page; the empty icon stops browsers from requesting one."""
    return f'<link rel="icon" href="data:,"><link rel="stylesheet" href="{root}{_STYLE_SHEET}">'


def _index(report: Report, board: str | None) -> str:
    back = "" if board is None else f'<p><a href="{escape(board)}">Quality board</a></p>'
    rows = "\n".join(_rows(report))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Quality of {escape(report.data_version)}</title>"
        f"{_head('')}</head><body><main>{back}"
        f"<h1>Quality of {escape(report.data_version)}</h1>"
        f"<p>{'All checks passed.' if report.ok else 'Not published: checks failed.'}</p>"
        + (f"<pre class='fail'>{escape(report.problems)}</pre>" if report.problems else "")
        + f"<table><tr><th>Table</th><th>Expected</th><th>Result</th></tr>{rows}</table>"
        "</main></body></html>"
    )


def _rows(report: Report) -> Iterator[str]:
    for suite in report.plan.suites:
        result, made_in = report.results.get(suite.name), report.plan.made_in(suite.name)
        was_checked = result is not None or (made_in and report.plan.has_rows(suite))
        outcome = "met" if was_checked else "no rows"
        if was_checked and made_in not in ("", report.data_version):
            outcome += f", as in {made_in}: nothing changed"
        if result is not None and not result.success:
            outcome = f'<a href="{_page_name(suite.name)}">not met</a>'
        rules = "".join(f"<li>{escape(rule.words)}</li>" for rule in suite.rules)
        yield f"<tr><td>{escape(suite.name)}</td><td><ul>{rules}</ul></td><td>{outcome}</td></tr>"


_LATER = ("scipy", "scipy.stats", "altair")


def load_expectations() -> ModuleType:
    """Import what runs Great Expectations: it takes seconds, so only what needs it pays for it."""
    # The warnings are about its own imports.
    with warnings.catch_warnings(), _without_plots():
        warnings.simplefilter("ignore", DeprecationWarning)
        from quality import expectations
    return expectations


class _Later(ModuleType):
    """A module that is imported when one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        # The import system asks for names like __path__ of a module that it finds.
        if name.startswith("__") or sys.modules.get(self.__name__) is self:
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def _without_plots() -> Iterator[None]:
    """Import Great Expectations without scipy.stats and altair until something needs them.

    It imports both for expectations about distributions and for plots, which no suite has; they are
    half of the seconds that its import takes. While it is imported, stand-ins take their place,
    which import the real package when one of its names is used.
    """
    later = {name: _Later(name) for name in _LATER if name not in sys.modules}
    if "scipy" in later:
        vars(later["scipy"])["stats"] = later["scipy.stats"]
    elif "scipy.stats" in later:
        # Whoever imported scipy gets its parts as they are.
        del later["scipy.stats"]
    sys.modules.update(later)
    try:
        yield
    finally:
        for name in later:
            del sys.modules[name]
