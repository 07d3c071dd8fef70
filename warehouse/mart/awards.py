"""The awards that known organisations won, staged once for whoever asks."""

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
from warehouse.record.tables import DECIMAL

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
# Of a process in which an organisation that is known ever supplied, every release counts.
_ASKED = """
WITH known AS (
    SELECT DISTINCT source, country, party_key FROM party_matches WHERE service_id IS NOT NULL
),
supplied AS (
    SELECT DISTINCT source, ocid FROM tender_parties
    SEMI JOIN known USING (source, country, party_key)
    WHERE role = 'supplier'
)
SELECT row_id, release FROM tender_releases SEMI JOIN supplied USING (source, ocid)
WHERE NOT withdrawn AND contains(release, '"awards"')
"""


def add_awards(snapshot: Snapshot) -> None:
    """Stage what releases state of awards, a batch at a time, and the facts of it; only once."""
    if snapshot.path(VINTAGES).exists():
        return
    place = snapshot.path(STATEMENTS)
    with closing(snapshot.sql.cursor()) as sql, pq.ParquetWriter(place, _SCHEMA) as writer:
        for batch in sql.sql(_ASKED).to_arrow_reader(_BATCH):
            writer.write_table(_read(batch))
    quoted = str(place).replace("'", "''")
    snapshot.sql.execute(f"CREATE OR REPLACE VIEW {STATEMENTS} AS FROM read_parquet('{quoted}')")
    snapshot.write(VINTAGES, AWARD_VINTAGES)


def _read(batch: pa.RecordBatch) -> pa.Table:
    rows = [
        row
        for row_id, release in zip(*batch.to_pydict().values(), strict=True)
        for row in _of(row_id, release)
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
    arrays = [
        pa.array(each, pa.string()).cast(DECIMAL)
        if field.type == DECIMAL
        else pa.array(each, field.type)
        for each, field in zip(columns, _SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def _of(row_id: str, release: str) -> Iterator[tuple[Any, ...]]:
    """Give the awards of a release; of two with one id the first."""
    awards: dict[str, AwardStatement] = {}
    for place, award in enumerate(parse_awards(release)):
        awards.setdefault(f"#{place}" if award.id is None else str(award.id), award)
    for name, award in awards.items():
        money = award.value or NO_VALUE
        amount = exact_amount(bytes(money.amount))
        yield (
            row_id,
            name,
            award.date and award_day(award.date),
            award.status and award.status.lower(),
            None if money.currency is None else amount,
            None if amount is None else money.currency,
            [each.name for each in award.suppliers or () if each.name is not None],
        )


_PLAIN = re.compile(rb"-?[0-9]{1,20}(\.[0-9]{1,18})?")
_STEP, _EXACT = Decimal(1).scaleb(-18), Context(prec=38, traps=[Inexact, InvalidOperation])
# Nothing was awarded before; a year that a source writes for "none" lies before it.
_FIRST_YEAR = 1980


class AwardValue(msgspec.Struct, gc=False):
    """An amount as it is written, and its currency."""

    amount: msgspec.Raw = msgspec.Raw(b"null")
    currency: str | None = None


class SupplierName(msgspec.Struct, gc=False):
    """A supplier by its name."""

    name: str | None = None


class AwardStatement(msgspec.Struct, gc=False):
    """One award of a release."""

    id: str | int | None = None
    date: str | None = None
    status: str | None = None
    value: AwardValue | None = None
    suppliers: list[SupplierName] | None = None


class _Release(msgspec.Struct, gc=False):
    awards: list[AwardStatement] | None = None


NO_VALUE = AwardValue()
_DECODE = msgspec.json.Decoder(_Release).decode


def parse_awards(release: str | bytes | memoryview) -> list[AwardStatement]:
    """Give the awards of a release, in its order."""
    return _DECODE(release).awards or []


def exact_amount(number: bytes) -> str | None:
    """Give an amount that has an exact place in the column; any other is in the release."""
    if _PLAIN.fullmatch(number):
        return number.decode()
    try:
        return format(Decimal(number.decode()).quantize(_STEP, context=_EXACT), "f")
    except ArithmeticError:
        return None


def award_day(text: str) -> date | None:
    """Give the day of a date in UTC; None for one that is impossible."""
    found = stated_and_utc_day(text)
    return found[1] if found and found[0].year >= _FIRST_YEAR else None
