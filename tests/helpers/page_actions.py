"""What tests do with a page in a browser, and a plain web host for it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.helpers.browser import Page

SETTLED = """
document.readyState === 'complete' &&
!(document.getElementById('status')?.textContent || '').match(/Loading/) &&
[...document.querySelectorAll('.plot')].every((plot) => plot.dataset.drawn)
"""
# How many lines, dots and labels each chart has.
DRAWN = """
[...document.querySelectorAll('.plot')].map(
  (plot) => plot.querySelectorAll('svg path[stroke], svg circle, svg text').length)
"""


def go(page: Page, address: str) -> None:
    """Open an address and wait until it has settled."""
    page.errors.clear()
    page.requested_urls.clear()
    page.open(address)
    page.wait_for(SETTLED)


def choose(page: Page, name: str, value: str) -> None:
    """Set a control as a visitor does."""
    page.evaluate(
        f"(() => {{ const field = document.querySelector('[name={name}]'); "
        f"field.value = '{value}'; field.dispatchEvent(new Event('change')); }})()"
    )


def rows_of(page: Page, table: str) -> list[list[str]]:
    """Read the cells of a table."""
    rows = page.evaluate(
        f"[...document.querySelectorAll('#{table} tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return [[str(cell) for cell in row] for row in rows]


class Quiet(SimpleHTTPRequestHandler):
    """Serves the files of a folder without logging."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def plain_host(folder: Path) -> Iterator[str]:
    """Serve a folder as any web host does; yield its address."""
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        thread = threading.Thread(target=host.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{host.server_port}"
        host.shutdown()
        thread.join(10)
