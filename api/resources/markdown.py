"""Our own Markdown as a page; HTML inside it is shown as text."""

import html

from markdown_it import MarkdownIt

_RENDER = MarkdownIt("commonmark", {"html": False}).enable("table")


def to_html(markdown: str, title: str, navigation: str = "") -> str:
    """Give a whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Sankofa: {html.escape(title)}</title>"
        '<link rel="icon" href="/docs/icon.svg">'
        '<link rel="stylesheet" href="/docs/docs.css"></head>'
        f"<body>{navigation}<main>\n"
        f"{_RENDER.render(markdown)}</main></body></html>\n"
    )
