"""``sankofa quality``: the quality board in the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import get_args

import click
from pydantic import TypeAdapter

from pipelines.builds import LEFT_OUT, MEASURED
from pipelines.output import (
    Column,
    Styled,
    json_option,
    number,
    print_json,
    print_rows,
    print_table,
)
from quality.floors import MAXIMUMS
from warehouse.publish.builds import builds_at
from warehouse.shared.errors import NothingPublished
from warehouse.shared.settings import Settings, read_settings
from warehouse.shared.tiers import Dataset
from warehouse.tables.derived import LeftOut
from warehouse.tables.operations import QualityMetric

_ROWS = TypeAdapter(list[QualityMetric])
_LEFT_OUT = TypeAdapter(list[LeftOut])


def current_quality(settings: Settings) -> list[QualityMetric]:
    """Return the quality metrics of the build being served."""
    return _ROWS.validate_json(_current_metadata(settings).get(MEASURED, "[]"))


def current_left_out(settings: Settings) -> list[LeftOut]:
    """Return what the build being served leaves out, by table, rule and source."""
    return _LEFT_OUT.validate_json(_current_metadata(settings).get(LEFT_OUT, "[]"))


def _current_metadata(settings: Settings) -> Mapping[str, str]:
    builds = builds_at(settings.marts)
    current = builds.current()
    if current is None:
        raise NothingPublished("nothing has been published yet; run `sankofa publish`")
    return builds.metadata(current)


_FOUR_DECIMALS = Decimal("0.0001")
_COLOURS = {"PASS": "green", "FAIL": "bold red", "UNMEASURED": "yellow"}


@click.command()
@click.option(
    "--sku", type=click.Choice(get_args(Dataset), case_sensitive=False), help="Of one dataset only."
)
@click.option("--status", type=click.Choice(tuple(_COLOURS), case_sensitive=False))
@click.option("--left-out", is_flag=True, help="Rows that fail a rule and are not in the build.")
@json_option
def quality(sku: str | None, status: str | None, left_out: bool, as_json: bool) -> None:
    """Show the quality metrics of the build being served, against their thresholds."""
    settings = read_settings()
    if left_out:
        print_left_out(current_left_out(settings), as_json)
        return
    measured = [row for row in current_quality(settings) if sku is None or row.sku == sku]
    rows = [row for row in measured if status is None or row.status == status]
    if as_json:
        print_json(rows)
    else:
        _print_board(rows)
        _print_counts(measured)
        if number := sum(row.rows_left_out for row in current_left_out(settings)):
            click.echo(f"{number:,} rows left out; see `sankofa quality --left-out`")


def _print_board(rows: Sequence[QualityMetric]) -> None:
    print_table(
        rows,
        Column("dataset", lambda row: row.sku, whole=True),
        Column("what is measured", lambda row: row.metric, whole=True),
        Column("of", lambda row: row.scope),
        Column("value", lambda row: _number(row.value), right=True, whole=True),
        Column("limit", _limit, right=True, whole=True),
        Column("unit", lambda row: row.unit, whole=True),
        Column("passed", _share, right=True, wide=True),
        Column("status", lambda row: Styled(row.status, _COLOURS[row.status]), whole=True),
    )


def _print_counts(measured: Sequence[QualityMetric]) -> None:
    """Print how all measurements went, whichever are shown."""
    counts = Counter(str(row.status) for row in measured)
    summary = ", ".join(f"{counts[status]} {status}" for status in _COLOURS)
    versions = sorted({row.data_version for row in measured})
    click.echo(f"\n{summary}; data_version {', '.join(versions) or 'without measurements'}")


def print_left_out(rows: Sequence[LeftOut], as_json: bool = False) -> None:
    """Print what a build leaves out, with the first row of each rule and source."""
    print_rows(
        rows,
        as_json,
        "no row is left out",
        Column("rows left out", lambda row: number(row.rows_left_out), right=True),
        Column("table", lambda row: row.table_name, whole=True),
        Column("source", lambda row: row.source),
        Column("rule", lambda row: row.rule),
        Column("first at", lambda row: row.example, wide=True),
    )


def _number(value: Decimal | None) -> str:
    """Write a number with four decimals, cut and never rounded up to what it does not reach."""
    if value is None:
        return "–"
    cut = value.quantize(_FOUR_DECIMALS, ROUND_FLOOR).normalize()
    return f"{cut:,f}" if cut else "0"


def _limit(row: "QualityMetric") -> str:
    if row.floor is None:
        return _number(None)
    return f"{'≤' if (row.sku, row.metric) in MAXIMUMS else '≥'} {_number(row.floor)}"


def _share(row: "QualityMetric") -> str:
    # An age is no share: of its rows none passed or failed.
    counted = row.n_checked is not None and row.n_passed is not None
    return f"{row.n_passed:,} of {row.n_checked:,}" if counted else ""
