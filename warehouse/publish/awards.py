"""Awards in release JSON: the one reader that mart, exports and signals share, and their table.

Awards are parsed here and not in SQL: DuckDB's JSON functions read a number as a double, which
would lose digits of large amounts.
"""

import re
from collections.abc import Iterator
from datetime import date
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.methodology.signals import MONEY_BELOW, PARTS
from warehouse.publish import served_rows
from warehouse.publish.implausible import award_amount
from warehouse.publish.snapshot import Snapshot
from warehouse.record.rules import CURRENCY
from warehouse.record.tables import DECIMAL
from warehouse.shared.data_files import sql_file
from warehouse.shared.texts import stated_day_and_moment

# Amounts that fit DECIMAL(38, 18) as they are written; nearly all do.
_FITS_DECIMAL = re.compile(rb"-?[0-9]{1,20}(\.[0-9]{1,18})?")
# Inexact is trapped, so that quantize fails instead of rounding.
_STEP, _EXACT = Decimal(1).scaleb(-18), Context(prec=38, traps=[Inexact, InvalidOperation])


# gc=False: these structs cannot form cycles, and a build makes millions of them.
class AwardValue(msgspec.Struct, gc=False):
    """An amount, as the bytes in the JSON, and its currency."""

    amount: msgspec.Raw = msgspec.Raw(b"null")
    currency: str | None = None


class SupplierName(msgspec.Struct, gc=False):
    """A supplier of an award, of which only the name is read."""

    name: str | None = None


class AwardStatement(msgspec.Struct, gc=False):
    """One award as one release states it."""

    id: str | int | None = None
    date: str | None = None
    status: str | None = None
    value: AwardValue | None = None
    suppliers: list[SupplierName] | None = None


class _Release(msgspec.Struct, gc=False):
    awards: list[AwardStatement] | None = None


_NO_VALUE = AwardValue()
_DECODE = msgspec.json.Decoder(_Release).decode


def exact_amount(number: bytes) -> str | None:
    """Return an amount as decimal text; None if DECIMAL(38, 18) cannot hold it exactly."""
    if _FITS_DECIMAL.fullmatch(number):
        return number.decode()
    try:
        return format(Decimal(number.decode()).quantize(_STEP, context=_EXACT), "f")
    except ArithmeticError:
        return None


_BATCH = 10_000
# Table of a snapshot: every award as every release states it. ``award_id`` is the id, or the
# position of an award without one; ``is_first`` is false if an award before it in the release has
# the same. ``units`` is the amount in ten-thousandths, as signals sum it. An amount that cannot be
# counts as not stated; files show it as it is, with a mark.
STATED_AWARDS = "stated_awards"
_SCHEMA = pa.schema(
    [
        ("row_id", pa.string()),
        ("award_index", pa.int64()),
        ("stated_id", pa.string()),
        ("award_id", pa.string()),
        ("is_first", pa.bool_()),
        ("awarded_on", pa.date32()),
        ("status", pa.string()),
        ("amount", DECIMAL),
        ("units", pa.decimal128(38, 0)),
        ("currency", pa.string()),
        ("stated_amount", DECIMAL),
        ("stated_currency", pa.string()),
        ("is_implausible", pa.bool_()),
        ("supplier_names", pa.list_(pa.string())),
    ]
)
_SQL = sql_file(__name__, "awards", fragments={"currency_code": f"'{CURRENCY}'"})


def add_stated_awards(snapshot: Snapshot) -> None:
    """Add the awards of all releases to a snapshot, unless they are there.

    The JSON is read here, once for all that is derived from it.
    """
    if snapshot.paths(STATED_AWARDS):
        return
    path = snapshot.path(STATED_AWARDS)
    with snapshot.cursor() as sql, pq.ParquetWriter(path, _SCHEMA) as writer:
        for batch in _SQL.query(sql, "releases_with_awards").to_arrow_reader(_BATCH):
            writer.write_table(_stated(batch))
    snapshot.create_view(STATED_AWARDS)


def add_tender_facts(snapshot: Snapshot) -> None:
    """Add the vintages of tender values and of awards to a snapshot, unless they are there."""
    if snapshot.paths(served_rows.TENDER_VINTAGES_TABLE):
        for name in (
            served_rows.STATEMENTS,
            served_rows.VINTAGES,
            served_rows.TENDER_VINTAGES_TABLE,
        ):
            snapshot.create_view(name)
        return
    add_stated_awards(snapshot)
    snapshot.write(served_rows.STATEMENTS, _SQL[served_rows.STATEMENTS], ("row_id", "award_id"))
    snapshot.write(served_rows.VINTAGES, served_rows.AWARD_VINTAGES, ("fact_id", "vintage"))
    # Last: this file says that all are complete.
    snapshot.write(
        served_rows.TENDER_VINTAGES_TABLE, served_rows.TENDER_VINTAGES, ("fact_id", "vintage")
    )


def _stated(releases: pa.RecordBatch) -> pa.Table:
    rows = [
        row
        for stated in zip(*releases.to_pydict().values(), strict=True)
        for row in _stated_of(*stated)
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
    arrays = [
        pa.array(values, pa.string()).cast(DECIMAL)
        if field.type == DECIMAL
        else pa.array(values, field.type)
        for values, field in zip(columns, _SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def _stated_of(row_id: str, release: str, implausible: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each award of a release."""
    seen: set[str] = set()
    for position, award in enumerate(_DECODE(release).awards or []):
        stated_id = None if award.id is None else str(award.id)
        # OCDS unites awards by their id; one without an id is identified by its position.
        award_id = f"#{position}" if stated_id is None else stated_id
        stated = award.value or _NO_VALUE
        is_implausible = award_amount(position) in implausible
        value = _NO_VALUE if is_implausible else stated
        amount = bytes(value.amount)
        yield (
            row_id,
            position,
            stated_id,
            award_id,
            award_id not in seen,
            _awarded_on(award.date),
            award.status,
            exact_amount(amount),
            ten_thousandths(amount),
            value.currency,
            exact_amount(bytes(stated.amount)),
            stated.currency,
            is_implausible,
            [supplier.name for supplier in award.suppliers or ()],
        )
        seen.add(award_id)


def ten_thousandths(amount: bytes) -> Decimal | None:
    """Return a positive JSON number in ten-thousandths of its currency; None for anything else."""
    try:
        number = Decimal(amount.decode())
    except InvalidOperation:
        # null, a boolean or a text: no amount is stated.
        return None
    # Portals write 0 for "not stated"; an amount as large as MONEY_BELOW is no amount either.
    if not 0 < number < MONEY_BELOW:
        return None
    return (number * PARTS).to_integral_value(ROUND_HALF_EVEN) or None


def _awarded_on(stated: str | None) -> date | None:
    """Return the day as the release writes it; dates that cannot be were left out of the JSON."""
    dates = stated_day_and_moment(stated) if stated else None
    return None if dates is None else dates[0]
