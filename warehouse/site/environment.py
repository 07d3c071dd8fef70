"""The Jinja environment of all pages."""

import re
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from warehouse.site import formats, titles

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
TEMPLATES = _HERE / "templates"
_FILES = "exports/"
# Path, label, and whether the service renders it: a copy of the build's pages does not have those.
Link = tuple[str, str, bool]
NAVIGATION: tuple[Link, ...] = (
    ("issuers", "Companies", True),
    ("tenders", "Tenders", True),
    ("series", "Macro", True),
    ("countries", "Countries", True),
    ("screen", "Screen", True),
    ("signals/", "Signals", False),
    ("datasets/", "Datasets", False),
    ("quality/", "Quality", False),
    ("guides", "Guides", True),
    ("docs", "API", True),
    ("pricing", "Pricing", True),
)
# Pages below none of the links, and the link that they belong to.
_SECTIONS = {
    "indicators": "series",
    "buyers": "tenders",
    "suppliers": "tenders",
    "methodology": "docs",
    "problems": "docs",
}
# At the end of every page.
FOOTER: tuple[Link, ...] = (
    ("docs", "API reference", True),
    ("guides", "Guides", True),
    ("methodology", "Methodology", True),
    ("pricing", "Pricing and keys", True),
    ("usage", "Your usage", True),
    ("changes", "Changes", True),
    ("revisions/", "Silent revisions", False),
    ("quality/", "Quality", False),
    (_FILES, "Files of every version", True),
)
# What a service without the pages of builds still has.
_WITHOUT_SITE = ("docs", "methodology", "pricing", "usage")
_CODE = re.compile("`([^`]+)`")


def linked_pages(
    links: Iterable[Link] = (*NAVIGATION, *FOOTER), site: bool = True, files: bool = True
) -> list[Link]:
    """Return the links to what is served: pages of builds (``site``), and their files."""
    return [
        link
        for link in links
        if (site or link[0] in _WITHOUT_SITE) and (files or link[0] != _FILES)
    ]


def page_environment(templates: Path, site: bool = True, files: bool = True) -> Environment:
    """Return the environment for the templates of a folder, with the shared ones.

    Without ``site`` pages link to no page that is written or rendered from a build, without
    ``files`` not to the list of files.
    """
    environment = Environment(
        # StrictUndefined: a misspelt variable must fail and not leave a gap in a page.
        loader=FileSystemLoader([templates, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        amount=formats.amount,
        change=formats.change,
        country=formats.country_name,
        day=formats.day,
        digits=formats.digits,
        headline=formats.headline,
        indicator_title=titles.indicator_title,
        inline_code=_inline_code,
        number=formats.number,
        percent=formats.percent,
        series_title=titles.series_title,
        source=formats.source_name,
        words=formats.words,
    )
    environment.globals["site"] = site
    environment.globals["sections"] = _SECTIONS
    environment.globals["navigation"] = linked_pages(NAVIGATION, site, files)
    environment.globals["footer"] = linked_pages(FOOTER, site, files)
    return environment


def _inline_code(text: str) -> Markup:
    """Return a text in which what stands between backticks is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704
