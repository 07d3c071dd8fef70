"""The guides of ``docs`` as pages of the service."""

import re
from pathlib import Path

import falcon

from api.site.render import Pages
from warehouse.contract.problems import Problem

# Next to the other packages, in a checkout as in a wheel.
_DOCS = Path(__file__).parents[2] / "docs"
_INDEX = "index"
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
# For whoever edits a guide, and for the tests that run its code.
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_TO_GUIDE = re.compile(r"\]\(([a-z-]+)\.md(#[^)]*)?\)")
# Where the guides find the service that they describe.
_LOCAL_URL = "http://127.0.0.1:8321"
# Links to what only the repository has.
_TO_REPOSITORY = re.compile(r"!?\[([^\]]*)\]\((?![a-z]+:|/|#)[^)]*\)")


class Guides:
    """The guides by name, read when the service starts; none where there are no docs."""

    def __init__(self, folder: Path = _DOCS) -> None:
        texts = {
            path.stem: _COMMENT.sub("", path.read_text("utf-8"))
            for path in sorted(folder.glob("*.md"))
        }
        self.titles = {
            name: (_TITLE.search(text) or [name, name])[1] for name, text in texts.items()
        }
        self._texts = texts

    def markdown(self, name: str, root: str, base_url: str) -> str | None:
        """Return a guide whose links and code lead to this service; None if there is none."""
        text = self._texts.get(name)
        if text is None:
            return None

        def link(match: re.Match[str]) -> str:
            known = match[1] in self._texts
            return f"]({root}guides/{match[1]}{match[2] or ''})" if known else match[0]

        text = _TO_REPOSITORY.sub(r"\1", _TO_GUIDE.sub(link, text))
        return text.replace(_LOCAL_URL, base_url) if base_url else text


class GuidePage:
    """One guide, or the one that lists them."""

    open = True

    def __init__(self, guides: Guides, pages: Pages) -> None:
        self._guides, self._pages = guides, pages

    def on_get(self, req: falcon.Request, resp: falcon.Response, name: str = _INDEX) -> None:
        """Send the page: HTML to a browser, else Markdown; without a name that which lists all."""
        text = self._guides.markdown(name, self._pages.root(req), req.context.base_url)
        if text is None:
            raise Problem("not_found", f"There is no guide {name[:64]!r}; see /guides.")
        self._pages.send_markdown(req, resp, text, self._guides.titles[name])

    on_head = on_get
