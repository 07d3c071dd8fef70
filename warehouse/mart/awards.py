"""Awards in release JSON: the one reader that mart, exports and signals share, and their table.

Awards are parsed here and not in SQL: DuckDB's JSON functions read a number as a double, which
would lose digits of large amounts.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.dates import stated_and_utc_day
from warehouse.mart.award_facts import AWARD_VINTAGES, STATEMENTS, VINTAGES
from warehouse.mart.snapshot import Snapshot
from warehouse.mart.tender_facts import TENDER_VINTAGES, TENDER_VINTAGES_TABLE
from warehouse.record.rules import CURRENCY
from warehouse.record.tables import DECIMAL

# Amounts that fit DECIMAL(38, 18) as they are written; nearly all do.
_FITS_DECIMAL = re.compile(rb"-?[0-9]{1,20}(\.[0-9]{1,18})?")
_CURRENCY = re.compile(CURRENCY)
# Inexact is trapped, so that quantize fails instead of rounding.
_STEP, _EXACT = Decimal(1).scaleb(-18), Context(prec=38, traps=[Inexact, InvalidOperation])
# Sources write years such as 1900 for "no date"; no award in the data is older than this.
_FIRST_YEAR = 1980


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

    def supplier_names(self) -> list[str]:
        """Return the names of its suppliers; withheld suppliers have none."""
        return [supplier.name for supplier in self.suppliers or () if supplier.name is not None]


class _Release(msgspec.Struct, gc=False):
    awards: list[AwardStatement] | None = None


NO_VALUE = AwardValue()
_DECODE = msgspec.json.Decoder(_Release).decode


def parse_awards(release: str | bytes | memoryview) -> list[AwardStatement]:
    """Return the awards of a release in their order."""
    return _DECODE(release).awards or []


def exact_amount(number: bytes) -> str | None:
    """Return an amount as decimal text; None if DECIMAL(38, 18) cannot hold it exactly."""
    if _FITS_DECIMAL.fullmatch(number):
        return number.decode()
    try:
        return format(Decimal(number.decode()).quantize(_STEP, context=_EXACT), "f")
    except ArithmeticError:
        return None


def award_day(text: str) -> date | None:
    """Return the UTC day of an award date; None if it is not a plausible date."""
    days = stated_and_utc_day(text)
    return days[1] if days and days[0].year >= _FIRST_YEAR else None


_BATCH = 10_000
_SCHEMA = pa.schema(
    [
        ("row_id", pa.string()),
        ("award_id", pa.string()),
        ("awarded_on", pa.date32()),
        ("status", pa.string()),
        ("value", DECIMAL),
        ("unit", pa.string()),
        ("names", pa.list_(pa.string())),
    ]
)
# Only processes in which a resolved organisation ever was a supplier have award facts; of those
# every release counts, since a later release may change an award.
_RELEASES_WITH_AWARDS = """
WITH resolved AS (
    SELECT DISTINCT source, country, party_key FROM party_matches WHERE service_id IS NOT NULL
),
supplied AS (
    SELECT DISTINCT source, ocid FROM tender_parties
    SEMI JOIN resolved USING (source, country, party_key)
    WHERE role = 'supplier'
)
SELECT row_id, release FROM tender_releases SEMI JOIN supplied USING (source, ocid)
-- A cheap test of the text: releases without awards need not be parsed.
WHERE NOT withdrawn AND contains(release, '"awards"')
"""


def add_tender_facts(snapshot: Snapshot) -> None:
    """Add the vintages of tender values and of awards to a snapshot, unless they are there."""
    if snapshot.paths(TENDER_VINTAGES_TABLE):
        for name in (STATEMENTS, VINTAGES, TENDER_VINTAGES_TABLE):
            snapshot.create_view(name)
        return
    path = snapshot.path(STATEMENTS)
    with closing(snapshot.sql.cursor()) as sql, pq.ParquetWriter(path, _SCHEMA) as writer:
        for batch in sql.sql(_RELEASES_WITH_AWARDS).to_arrow_reader(_BATCH):
            writer.write_table(_statements(batch))
    snapshot.create_view(STATEMENTS)
    snapshot.write(VINTAGES, AWARD_VINTAGES, ("fact_id", "vintage"))
    # Last: this file says that all are complete.
    snapshot.write(TENDER_VINTAGES_TABLE, TENDER_VINTAGES, ("fact_id", "vintage"))


def _statements(releases: pa.RecordBatch) -> pa.Table:
    rows = [
        row
        for row_id, release in zip(*releases.to_pydict().values(), strict=True)
        for row in _statements_of(row_id, release)
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
    arrays = [
        pa.array(values, pa.string()).cast(DECIMAL)
        if field.type == DECIMAL
        else pa.array(values, field.type)
        for values, field in zip(columns, _SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def _statements_of(row_id: str, release: str) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each award of a release; if an id repeats, the first award counts."""
    awards: dict[str, AwardStatement] = {}
    for position, award in enumerate(parse_awards(release)):
        awards.setdefault(f"#{position}" if award.id is None else str(award.id), award)
    for award_id, award in awards.items():
        value = award.value or NO_VALUE
        amount = exact_amount(bytes(value.amount))
        # An amount without a currency says nothing, nor does a currency without an amount. One in
        # a currency that is no code keeps its unit, so that it can be counted.
        is_money = value.currency is not None and _CURRENCY.fullmatch(value.currency)
        yield (
            row_id,
            award_id,
            award.date and award_day(award.date),
            award.status and award.status.lower(),
            amount if is_money else None,
            None if amount is None else value.currency,
            award.supplier_names(),
        )
