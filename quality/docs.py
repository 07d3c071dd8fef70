"""Great Expectations' Data Docs of an audit, as pages that ask nothing of another host.

Its templates take styles, scripts and a logo from elsewhere: they are cut out, a short style
sheet of our own stands in for them, and so does an index that needs no script.
"""

import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path

from quality.report import Report
from quality.suites import SUITES

# Whatever makes a browser ask: scripts at all, and links, images and frames elsewhere.
_CUT = re.compile(
    r"<script\b.*?</script\s*>"
    r"|<link\b[^>]*?href=\"(?:https?:)?//[^>]*>"
    r"|<link\b[^>]*?rel=\"(?:shortcut )?icon\"[^>]*>"
    r"|<img\b[^>]*>|<iframe\b.*?</iframe\s*>|<footer\b.*?</footer\s*>"
    r"|@font-face\s*\{.*?\}|@import[^;]*;",
    re.DOTALL | re.IGNORECASE,
)
_BACKGROUND = re.compile(r"url\(\s*['\"]?(?:https?:)?//[^)]*\)", re.IGNORECASE)
_ELSEWHERE = re.compile(r"<a\b[^>]*href=\"(?:https?:)?//[^>]*>(.*?)</a>", re.DOTALL | re.IGNORECASE)
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 75em; padding: 1em }
table { border-collapse: collapse; width: 100% }
th, td { border: 1px solid #ccc; padding: .3em .6em; text-align: left; vertical-align: top }
.fa-check-circle::before { content: "met" } .fa-times::before { content: "not met" }
.fa-exclamation-triangle::before { content: "could not be checked" }
.fail { color: #a00 } .badge { font-weight: bold }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } a { color: #8cf } }
"""


def write_docs(report: Report, folder: Path) -> None:
    """Write the site of a report into a folder, anew."""
    from great_expectations.render.renderer.site_builder import SiteBuilder

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    backend = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}
    builder = SiteBuilder(
        report.context,
        store_backend=backend,
        site_name="quality",
        show_how_to_buttons=False,
        site_section_builders={"profiling": "None"},
    )
    builder.build(build_index=False)
    shutil.rmtree(folder / "static", ignore_errors=True)
    for page in folder.rglob("*.html"):
        page.write_text(_alone(page.read_text("utf-8")), "utf-8")
    (folder / "index.html").write_text(_index(report, folder), "utf-8")


def _alone(page: str) -> str:
    page = _BACKGROUND.sub("none", _ELSEWHERE.sub(r"\1", _CUT.sub("", page)))
    return page.replace("</head>", f"<style>{_STYLE}</style></head>", 1)


def _index(report: Report, folder: Path) -> str:
    rows = "\n".join(_rows(report, folder))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Quality of '
        f"{escape(report.data_version)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>Quality of {escape(report.data_version)}</h1>"
        f"<p>{'Every expectation is met.' if report.ok else 'Not to be published.'}</p>"
        f"<pre class='fail'>{escape(report.words)}</pre>"
        f"<table><tr><th>Table</th><th>Expectations</th><th>Result</th></tr>{rows}</table>"
        "</body></html>"
    )


def _rows(report: Report, folder: Path) -> Iterator[str]:
    for suite in SUITES:
        parts = suite.name.split(".")
        expected = Path("expectations", *parts).with_suffix(".html").as_posix()
        results = sorted(folder.joinpath("validations", *parts).rglob("*.html"))
        found = report.results.get(suite.name)
        said = "no rows" if found is None else "met" if found.success else "not met"
        links = [f'<a href="{each.relative_to(folder).as_posix()}">{said}</a>' for each in results]
        yield (
            f"<tr><td>{escape(suite.name)}</td>"
            f'<td><a href="{expected}">{len(suite.rules)}</a></td>'
            f"<td>{' '.join(links) or said}</td></tr>"
        )
