"""``sankofa keys`` and ``actions``: API keys with their usage, and what operators did."""

from datetime import UTC, date, datetime, time, timedelta
from ipaddress import ip_network
from time import time as seconds_now
from typing import get_args

import click

from pipelines.output import (
    Column,
    Styled,
    json_option,
    moment,
    number,
    print_json,
    print_rows,
    print_table,
)
from warehouse.control import keys as key_store
from warehouse.control.keys import KeyStore
from warehouse.control.models import ACTION_KINDS, Action, ApiKey, list_actions
from warehouse.serve.counters import month_at, month_before
from warehouse.serve.usage import Usage
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import read_settings
from warehouse.shared.tiers import Dataset, TierName, configured_tiers

_NAME = click.argument("name", metavar="PREFIX_OR_ID")
_WHY = click.option("--why", default="", help="The reason, for `sankofa actions`.")


def _expiry(value: str) -> datetime:
    """Return a day, or a number of days from now, as the moment at which a key expires."""
    now = datetime.now(UTC)
    try:
        if value.isdecimal():
            moment = now + timedelta(days=int(value))
        else:
            moment = datetime.combine(date.fromisoformat(value), time.min, UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{value!r} is neither a day such as 2027-01-01 nor a number of days"
        ) from None
    if moment <= now:
        raise click.BadParameter(f"{value} has passed; give a later day")
    return moment


def _network(value: str) -> str:
    """Return a network in CIDR notation as it is stored."""
    try:
        return str(ip_network(value))
    except ValueError as error:
        raise click.BadParameter(
            f"{error}; write a network as 192.0.2.0/24 or 2001:db8::/32"
        ) from None


@click.group()
def keys() -> None:
    """Create, list and revoke API keys, and show their usage."""


@keys.command("create")
@click.option("--tier", type=click.Choice(get_args(TierName)), required=True)
@click.option("--label", default="", help="Owner of the key; shown in the list only.")
@click.option(
    "--expires",
    type=_expiry,
    metavar="YYYY-MM-DD|DAYS",
    help="First day, UTC, on which it does not work any more, or the days that it works.",
)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    type=click.Choice(get_args(Dataset)),
    help="Dataset that it is limited to; may be repeated.",
)
@click.option(
    "--network",
    "networks",
    multiple=True,
    type=_network,
    metavar="CIDR",
    help="Network that it may be sent from, such as 192.0.2.0/24; may be repeated.",
)
@_WHY
@json_option
def create_key(
    tier: TierName,
    label: str,
    expires: datetime | None,
    datasets: tuple[str, ...],
    networks: tuple[str, ...],
    why: str,
    as_json: bool,
) -> None:
    """Create a key and print it; it is shown only this once."""
    key = key_store.create_key(
        *(_store(), tier, label),
        expires_at=expires,
        datasets=datasets,
        networks=networks,
        why=why,
    )
    _show(key, as_json)


@keys.command("sandbox")
@json_option
def sandbox_key(as_json: bool) -> None:
    """Print the public sandbox key, of the sample tier; create it the first time.

    It is shown at /docs to everybody, and counted separately for each network.
    """
    store = _store()
    key = key_store.sandbox(store)
    if key_store.usable_sandbox_key(store) is None:
        raise SankofaError("the sandbox key was revoked; create a key of the sample tier instead")
    _show(key, as_json)


@keys.command("list")
@json_option
def list_keys(as_json: bool) -> None:
    """List all keys by their public prefix."""
    rows = _read(_store())
    if as_json:
        hidden = {"sha256", "sandbox"}
        print_json([{**row.model_dump(exclude=hidden), "in_use": row.is_active()} for row in rows])
        return
    print_table(
        rows,
        Column("prefix", lambda row: row.prefix, whole=True),
        Column("id", lambda row: row.key_id, whole=True, wide=True),
        Column("tier", lambda row: row.tier, whole=True),
        Column("made", lambda row: f"{row.created_at:%Y-%m-%d}", whole=True),
        Column("state", lambda row: Styled(_state(row), "green" if row.is_active() else "red")),
        Column("only", lambda row: ", ".join((*row.datasets, *row.networks)), wide=True),
        Column("label", lambda row: row.label),
    )


@keys.command("revoke")
@_NAME
@_WHY
@json_option
def revoke_key(name: str, why: str, as_json: bool) -> None:
    """Revoke a key; it stops working within a second."""
    ended = key_store.revoke_key(_store(), name, why)
    if as_json:
        print_json({"prefix": ended.prefix, "ends_at": ended.ends_at})
    else:
        click.echo(f"{ended.prefix} is revoked")


@keys.command("rotate")
@_NAME
@click.option(
    "--overlap-hours",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 24 * 90),
    help="How long the old key keeps working.",
)
@_WHY
@json_option
def rotate_key(name: str, overlap_hours: float, why: str, as_json: bool) -> None:
    """Replace a key and print the new one; tier, label, limits and usage carry over."""
    _show(key_store.rotate_key(_store(), name, timedelta(hours=overlap_hours), why), as_json)


@keys.command("usage")
@click.option("--month", help="YYYY-MM, this month or the one before. Default: this month, UTC.")
@json_option
def show_usage(month: str | None, as_json: bool) -> None:
    """Show the requests charged to each key in a month, and its limit."""
    settings = read_settings()
    usage, tiers = Usage(settings.usage), configured_tiers(settings.tiers_file)
    this_month = month_at(seconds_now()).name
    chosen_month, counts = month or this_month, (this_month, month_before(this_month))
    if chosen_month not in counts:
        raise click.BadParameter(f"{chosen_month!r} is not counted; {' and '.join(counts)} are")
    allowed = {str(tier.name): tier.per_month for tier in tiers.values()}
    rows_by_id = {row.key_id: row for row in _read(_store())}
    used = {key_id: usage.used(key_id, chosen_month) for key_id in rows_by_id}
    if as_json:
        shown = {"prefix", "key_id", "tier", "label"}
        print_json(
            [
                row.model_dump(include=shown)
                | {"month": chosen_month, "charged": used[key_id], "allowed": allowed[row.tier]}
                for key_id, row in rows_by_id.items()
            ]
        )
        return
    print_table(
        rows_by_id.values(),
        Column("prefix", lambda row: row.prefix, whole=True),
        Column("tier", lambda row: row.tier, whole=True),
        Column("charged", lambda row: number(used[row.key_id]), right=True),
        Column("of", lambda row: number(allowed[row.tier]), right=True),
        Column(f"label   ({chosen_month})", lambda row: row.label),
    )


def _store() -> KeyStore:
    return KeyStore(read_settings().control)


def _read(store: KeyStore) -> list[ApiKey]:
    path = store.database.path
    if path is not None and not path.exists():
        click.echo("there are no keys yet: `sankofa keys create` makes the first", err=True)
        return []
    return key_store.list_keys(store)


def _show(key: str, as_json: bool) -> None:
    if as_json:
        print_json({"key": key})
    else:
        click.echo(key)


def _state(row: "ApiKey") -> str:
    last = row.last_moment()
    if last is None:
        return "in use"
    return f"{'ends' if row.is_active() else 'ended'} {last:%Y-%m-%d %H:%M} UTC"


@click.command()
@click.option("--kind", metavar="COMMAND", help="Only actions of one command, such as withhold.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Only actions from this day on, UTC.",
)
@json_option
def actions(kind: str | None, since: datetime | None, as_json: bool) -> None:
    """List what operators did: who, when, what and why, oldest first.

    Keys created, rotated and revoked, withhold, release, erase, publications with a confirmed
    loss, rollback and dropped builds.
    """
    known = next((name for name in ACTION_KINDS if name == kind), None)
    if kind is not None and known is None:
        raise click.BadParameter(f"{kind!r} is none of {', '.join(ACTION_KINDS)}")
    first_day = None if since is None else since.replace(tzinfo=UTC)
    rows = list_actions(read_settings().control, known, first_day)
    print_rows(
        rows,
        as_json,
        "no such action was recorded",
        Column("when, UTC", lambda row: moment(row.began_at), whole=True),
        Column("who", lambda row: row.who),
        Column("command", lambda row: row.kind, whole=True),
        Column("what", lambda row: row.what),
        Column("outcome", _outcome),
        Column("why", lambda row: row.why),
    )


def _outcome(row: Action) -> Styled:
    if row.ended_at is None:
        return Styled("not finished", "yellow")
    if row.failure is not None:
        return Styled(f"failed: {row.failure}", "red")
    return Styled("done", "green")
