"""``python -m deploy.parser_versions``: tie the version of each parser to its code.

Run it after a change to a parser. It refuses if the code behind a version changed: raise the
version in ``sources.py``, so that the documents of the source are read again everywhere; or, if no
row and no rejection of any document can change by it, say so with ``--same-rows``.
"""

from collections.abc import Iterable

import click

from assets import parser_versions
from assets.ingest.sources import SOURCES
from assets.parser_versions import Locked, is_ours, parser_code, parser_name, read_lock
from assets.source import Parser
from warehouse.shared.errors import SankofaError

_HEADER = "# Written by `python -m deploy.parser_versions`: parser, version, hash of its code.\n"


@click.command()
@click.option("--same-rows", is_flag=True, help="Accept changed code under the same version.")
def main(same_rows: bool) -> None:
    """Write the hash of the code of each parser to its lock."""
    try:
        changed = update_lock(same_rows=same_rows)
    except SankofaError as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join(changed) or "nothing changed")


def update_lock(*, same_rows: bool) -> list[str]:
    """Write the lock; return the parsers whose line is new or changed."""
    locked, current = read_lock(), lock_of(source.parser for source in SOURCES)
    unraised = sorted(
        f"{name} (version {version})"
        for (name, version), code in current.items()
        if locked.get((name, version), code) != code
    )
    if unraised and not same_rows:
        raise SankofaError(
            f"the code of {', '.join(unraised)} changed under the same version. Raise its version "
            "in sources.py, so that its documents are read again; or, if no row and no rejection "
            "can change, run `python -m deploy.parser_versions --same-rows`"
        )
    write_lock(current)
    return sorted(f"{name} {version}" for (name, version), code in current.items() - locked.items())


def lock_of(parsers: Iterable[Parser]) -> Locked:
    """Return the lock that the code of parsers makes."""
    return {
        (parser_name(parser), parser.version): parser_code(parser)
        for parser in parsers
        if is_ours(parser_name(parser))
    }


def write_lock(locked: Locked) -> None:
    """Replace the lock."""
    parser_versions.LOCK.write_text(lock_text(locked), "utf-8")


def lock_text(locked: Locked) -> str:
    """Return a lock as the text of its file."""
    lines = (f"{name} {version} {code}\n" for (name, version), code in sorted(locked.items()))
    return _HEADER + "".join(lines)


if __name__ == "__main__":
    main()
