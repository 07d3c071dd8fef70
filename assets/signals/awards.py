"""Read the awards of releases as typed rows, with every digit of an amount and the day in UTC.

This is done in Python and not in SQL, since DuckDB's JSON functions read a number as a float.
"""

from collections.abc import Iterator
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from assets.tenders.portals import PORTALS, Portal
from assets.tenders.values import parse_day
from warehouse.methodology.signals import MONEY_BELOW, PARTS

_BATCH = 20_000
_SCHEMA = pa.schema(
    [
        ("release_vintage_id", pa.int64()),
        ("awards_in_release", pa.int32()),
        ("award_id", pa.string()),
        ("awarded_on", pa.date32()),
        ("status", pa.string()),
        ("units", pa.decimal128(38, 0)),
        ("currency", pa.string()),
        ("supplier_names", pa.list_(pa.string())),
    ]
)


class _Money(msgspec.Struct, gc=False):
    amount: Any = None
    currency: Any = None


class _Supplier(msgspec.Struct, gc=False):
    name: str | None = None


class _Award(msgspec.Struct, gc=False):
    id: Any = None
    date: str | None = None
    status: str | None = None
    suppliers: list[_Supplier] = []
    value: _Money | None = None


class _ReleaseAwards(msgspec.Struct, gc=False):
    awards: list[_Award] = []


_DECODER = msgspec.json.Decoder(_ReleaseAwards, float_hook=Decimal)


def read_awards(sql: duckdb.DuckDBPyConnection, releases: str) -> pa.Table:
    """Return the awards of releases.

    ``releases`` selects release_vintage_id, source, observed_on and the JSON of the release.
    """
    batches = sql.sql(releases).to_arrow_reader(_BATCH)
    return pa.Table.from_batches([_award_rows(batch) for batch in batches], _SCHEMA)


def _award_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    rows = [
        row
        for release in zip(*batch.to_pydict().values(), strict=True)
        for row in _awards_of(release)
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _awards_of(release: tuple[int, str, date, str]) -> Iterator[tuple[Any, ...]]:
    """Yield the awards of a release; if two have the same id, only the first."""
    release_vintage_id, source, observed_on, body = release
    awards: dict[str, _Award] = {}
    for position, award in enumerate(_DECODER.decode(body).awards):
        awards.setdefault(f"#{position}" if award.id is None else str(award.id), award)
    for award_id, award in awards.items():
        money = award.value or _Money()
        yield (
            release_vintage_id,
            len(awards),
            award_id,
            award.date and _day(award.date, source, observed_on),
            award.status and award.status.lower(),
            units(money.amount),
            money.currency,
            [supplier.name or "" for supplier in award.suppliers],
        )


def units(amount: Any) -> Decimal | None:
    """Return a positive amount in ten-thousandths of its currency; None for anything else."""
    if isinstance(amount, bool) or not isinstance(amount, int | Decimal):
        return None
    if not 0 < amount < MONEY_BELOW:
        return None
    return (Decimal(amount) * PARTS).to_integral_value(ROUND_HALF_EVEN) or None


@lru_cache(maxsize=1 << 14)
def _day(text: str, source: str, observed_on: date) -> date | None:
    return parse_day(text, PORTALS.get(source, _PLAIN), observed_on)


_PLAIN = Portal("", "", "", None)
