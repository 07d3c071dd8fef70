"""``sankofa verify``: whether everything stored is what was written, and what to do if not."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import click
from rich.padding import Padding
from rich.text import Text

from pipelines.commands.exit_status import Exit
from pipelines.dagster_home import PUBLISH
from pipelines.jobs import run_job
from pipelines.output import console, json_option, print_json, progress_console
from pipelines.verify import STORES, Damage, examine
from warehouse.contract.receipts import checked_receipt
from warehouse.publish.builds import builds_at
from warehouse.record.integrity import note_files
from warehouse.record.store import open_record
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import Settings, read_settings
from warehouse.shared.signing import SigningKey

# Lines of one store that are shown; all of them are in the JSON.
_MOST_SHOWN = 20


@click.command()
@click.option(
    "--repair", "repairs", is_flag=True, help="Make again what can be made from the record."
)
@json_option
@click.pass_context
def verify(context: click.Context, repairs: bool, as_json: bool) -> None:
    """Check every file: landing, record, builds, exports, keys, counters, stage.

    Says what to restore from a backup and what can be made again, which --repair does: a new build
    takes the place of the damaged one. Exits with 1 if anything is damaged, or still is after the
    repair.
    """
    settings = read_settings()
    damaged = _examined(settings, as_json)
    repaired = 0
    if repairs and any(damage.remake for damage in damaged):
        with progress_console().status("Making again what is damaged"):
            _repair(settings, damaged)
        before, damaged = damaged, _examined(settings, True)
        repaired = sum(damage not in damaged for damage in before)
    if as_json:
        shown = ("what", "says", "do", "remake")
        listed = [{name: getattr(damage, name) for name in shown} for damage in damaged]
        print_json({"repaired": repaired, "damaged": listed})
    else:
        _summarise(damaged, repaired)
    context.exit(Exit.FAILED if damaged else Exit.OK)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("verify-receipt")
@click.argument("receipt", type=_FILE)
@click.argument("body", type=_FILE)
@click.option("--key", type=_FILE, help="Public key in PEM. Default: that of this home.")
@json_option
def verify_receipt(receipt: Path, body: Path, key: Path | None, as_json: bool) -> None:
    """Check the receipt of an answer and its bytes; no network is used.

    RECEIPT and BODY are files with both as they were sent. Exits with 1 if a byte of either is
    another one, or if the receipt was signed with another key.
    """
    settings = read_settings()
    if key is None and not settings.signing_key.exists():
        raise SankofaError(
            "this home has no signing key: pass --key with the file that the service has at "
            "/exports/signing-key.pem"
        )
    public_pem = key.read_bytes() if key else SigningKey.at(settings.signing_key).public_pem()
    # Editors and shells end a file with a line break.
    stated = checked_receipt(receipt.read_bytes().rstrip(b"\r\n"), body.read_bytes(), public_pem)
    if as_json:
        print_json(stated)
        return
    click.echo("the receipt is right, and of these bytes")
    for name, value in stated.items():
        click.echo(f"{name}: {json.dumps(value) if isinstance(value, dict) else value}")


def _examined(settings: Settings, silent: bool) -> list[Damage]:
    found: list[Damage] = []
    names = list(STORES)
    with progress_console().status(f"Checking {names[0]}") as status:
        for number, (name, damaged) in enumerate(examine(settings), 1):
            found += damaged
            if not silent:
                _show(name, damaged)
            if number < len(names):
                status.update(f"Checking {names[number]}")
    return found


def _show(name: str, damaged: list[Damage]) -> None:
    out = console()
    if not damaged:
        out.print(Text.assemble(("✓ ", "green"), (name, "bold"), ": intact"))
        return
    out.print(Text.assemble(("✗ ", "bold red"), (name, "bold"), f": {len(damaged):,} damaged"))
    for damage in damaged[:_MOST_SHOWN]:
        out.print(Padding(Text(f"{damage.what}: {damage.says}"), (0, 0, 0, 2), expand=False))
        out.print(Padding(Text(f"→ {damage.do}", "cyan"), (0, 0, 0, 4), expand=False))
    if len(damaged) > _MOST_SHOWN:
        out.print(f"  … and {len(damaged) - _MOST_SHOWN:,} more; see --json")


def _summarise(damaged: list[Damage], repaired: int) -> None:
    if repaired:
        click.echo(f"\n{repaired:,} repaired")
        for damage in damaged[:_MOST_SHOWN]:
            console().print(Text(f"still damaged: {damage.what}: {damage.says}"))
            console().print(Text(f"  → {damage.do}", "cyan"))
    made = sum(damage.remake for damage in damaged)
    click.echo(
        "\neverything stored is intact"
        if not damaged
        else f"\n{len(damaged):,} damaged: {made:,} can be made again, {len(damaged) - made:,} "
        "need a backup"
    )


def _repair(settings: Settings, damaged: Sequence[Damage]) -> None:
    """Delete damaged files that can be made again, and publish a build that has them anew."""
    with builds_at(settings.marts).publishing_lock():
        for damage in damaged:
            if damage.remake and damage.delete is not None:
                if damage.delete.is_dir():
                    shutil.rmtree(damage.delete)
                else:
                    damage.delete.unlink(missing_ok=True)
    note_files(open_record(settings))
    if any(damage.remake and damage.what != "record" for damage in damaged):
        run_job(settings, PUBLISH)
