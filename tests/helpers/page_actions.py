"""What tests do with a page in a browser."""

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
