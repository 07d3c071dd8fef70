"""Pages from templates, with links that hold wherever the folder is put."""

import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from assets.pages.snippets import API, KEY, MCP, OWN_KEY

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_FILLED_IN = re.compile("|".join(re.escape(each) for each in (API, MCP, KEY, OWN_KEY)))


class Pages:
    """Writes pages below a folder; ``common`` is what all of them know."""

    def __init__(self, folder: Path, api: str, **common: Any) -> None:
        self._folder, self._common = folder, common
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._written = {API: api, MCP: api, KEY: "SANDBOX_KEY", OWN_KEY: "YOUR_KEY"}
        self._templates.filters.update(code=self._code, day=_day, number=_number)

    def write(self, address: str, template: str, **given: Any) -> None:
        """Write the page of an address such as ``datasets/af-fund``; the root has none."""
        page = self._templates.get_template(template).render(
            root="../" * (address.count("/") + 1) if address else "./",
            address=address,
            **self._common,
            **given,
        )
        place = self._folder / address / "index.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page, "utf-8")

    def _code(self, code: str) -> Markup:
        """Mark what the script of a page fills in."""
        shown = str(escape(code))
        return Markup(_FILLED_IN.sub(self._span, shown))  # noqa: S704

    def _span(self, found: re.Match[str]) -> str:
        name = found[0].strip("{}").lower().replace("_", "-")
        return f'<span class="fill {name}">{escape(self._written[found[0]])}</span>'


def _day(value: date | datetime | None) -> str:
    return "–" if value is None else value.strftime("%Y-%m-%d")


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
