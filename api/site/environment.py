"""The Jinja environment of all pages, and the links that each of them has."""

import re
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from api.site import formats

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_TEMPLATES = _HERE / "templates"
_FILES = "exports/"
# Path and label.
Link = tuple[str, str]
NAVIGATION: tuple[Link, ...] = (
    ("issuers", "Companies"),
    ("tenders", "Tenders"),
    ("series", "Macro"),
    ("countries", "Countries"),
    ("screen", "Screen"),
    ("signals/", "Signals"),
    ("datasets/", "Datasets"),
    ("quality/", "Quality"),
    ("guides", "Guides"),
    ("docs", "API"),
    ("pricing", "Pricing"),
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
    ("docs", "API reference"),
    ("guides", "Guides"),
    ("methodology", "Methodology"),
    ("pricing", "Pricing and keys"),
    ("usage", "Your usage"),
    ("changes", "Changes"),
    ("revisions/", "Silent revisions"),
    ("quality/", "Quality"),
    (_FILES, "Files of every version"),
)
_CODE = re.compile("`([^`]+)`")


def linked_pages(links: Iterable[Link] = (*NAVIGATION, *FOOTER), *, has_files: bool) -> list[Link]:
    """Return the links to what is served; without files of builds, not to the list of them."""
    return [link for link in links if has_files or link[0] != _FILES]


def page_environment(has_files: bool) -> Environment:
    """Return the environment of the templates; ``has_files`` if the files of builds are served."""
    environment = Environment(
        # StrictUndefined: a misspelt variable must fail and not leave a gap in a page.
        loader=FileSystemLoader(_TEMPLATES),
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
        indicator_title=formats.indicator_title,
        inline_code=_inline_code,
        number=formats.number,
        percent=formats.percent,
        series_title=formats.series_title,
        source=formats.source_name,
        words=formats.words,
    )
    environment.globals["sections"] = _SECTIONS
    environment.globals["navigation"] = linked_pages(NAVIGATION, has_files=has_files)
    environment.globals["footer"] = linked_pages(FOOTER, has_files=has_files)
    return environment


def _inline_code(text: str) -> Markup:
    """Return a text in which what stands between backticks is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704
