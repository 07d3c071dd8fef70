"""``sankofa keys``: who may ask, and how much they have asked."""

import os
import time
from datetime import timedelta
from typing import get_args

import click

from pipelines.places import places
from warehouse.errors import SankofaError
from warehouse.keys import Issued, KeyStore, create, issued, revoke, rotate
from warehouse.tiers import TierName, configured_tiers

_NAME = click.argument("name", metavar="PREFIX_OR_ID")


@click.group()
def keys() -> None:
    """Make, list and end API keys, and see what they have asked."""


@keys.command("create")
@click.option("--tier", type=click.Choice(get_args(TierName)), required=True)
@click.option("--label", default="", help="Whose key it is; shown in the list only.")
def create_key(tier: TierName, label: str) -> None:
    """Make a key and print it: the only time that it is shown."""
    click.echo(create(_store(), tier, label))


@keys.command("list")
def list_keys() -> None:
    """List every key that was made, by its public prefix."""
    click.echo(f"{'prefix':12}  {'id':16}  {'tier':12}  {'made':10}  {'state':26}  label")
    for row in _read(_store()):
        click.echo(
            f"{row.prefix:12}  {row.key_id:16}  {row.tier:12}  {row.created_at:%Y-%m-%d}  "
            f"{_state(row):26}  {row.label}"
        )


@keys.command("revoke")
@_NAME
def revoke_key(name: str) -> None:
    """End a key; within a second nobody gets in with it."""
    click.echo(f"{revoke(_store(), name).prefix} is revoked")


@keys.command("rotate")
@_NAME
@click.option(
    "--overlap-hours",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 24 * 90),
    help="For how long the key before still works.",
)
def rotate_key(name: str, overlap_hours: float) -> None:
    """Make a new key in place of one and print it; tier, label and use go on."""
    click.echo(rotate(_store(), name, timedelta(hours=overlap_hours)))


@keys.command("usage")
@click.option("--month", help="YYYY-MM, this month or the one before. Default: this month, UTC.")
def show_usage(month: str | None) -> None:
    """Show what each key was charged in a month, and what its tier allows."""
    # What counts takes a while to load; no other command needs it.
    from warehouse.usage import Usage, month_at

    counted, tiers = Usage(places().usage), configured_tiers(os.environ)
    asked = month or month_at(time.time()).name
    shown = {row.key_id: row for row in _read(_store())}
    click.echo(f"{'prefix':12}  {'tier':12}  {'charged':>10}  {'of':>10}  label   ({asked})")
    for row in shown.values():
        limit = next(tier.per_month for tier in tiers.values() if tier.name == row.tier)
        of = f"{limit:,}"
        used = counted.used(row.key_id, asked)
        click.echo(f"{row.prefix:12}  {row.tier:12}  {used:>10,}  {of:>10}  {row.label}")


def _store() -> KeyStore:
    return KeyStore(places().keys)


def _read(store: KeyStore) -> list[Issued]:
    try:
        return issued(store)
    except SankofaError as error:
        raise SankofaError(f"{error}; `sankofa keys create` makes the store") from error


def _state(row: Issued) -> str:
    if row.ends_at is None:
        return "in use"
    return f"{'ends' if row.holds() else 'ended'} {row.ends_at:%Y-%m-%d %H:%M} UTC"
