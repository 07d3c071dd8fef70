"""The awards of releases as typed rows, with every digit of an amount and the day in UTC."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from assets.tenders.portals import Portal
from assets.tenders.values import parse_day
from warehouse.mart.awards import NO_VALUE, AwardStatement, parse_awards
from warehouse.methodology.signals import MONEY_BELOW, PARTS

# Reads the day of a text, given its source and the day it was read.
DayOf = Callable[[str, str, date], date | None]

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


def read_awards(
    sql: duckdb.DuckDBPyConnection, releases: str, portals: Mapping[str, Portal]
) -> pa.Table:
    """Return the awards of releases; ``portals`` say how each source writes dates.

    ``releases`` selects release_vintage_id, source, observed_on and the JSON of the release.
    """

    # The same few days recur in all awards of a portal.
    @lru_cache(maxsize=1 << 14)
    def day_of(text: str, source: str, observed_on: date) -> date | None:
        return parse_day(text, portals.get(source, _PLAIN), observed_on)

    batches = sql.sql(releases).to_arrow_reader(_BATCH)
    return pa.Table.from_batches([_award_rows(batch, day_of) for batch in batches], _SCHEMA)


def _award_rows(batch: pa.RecordBatch, day_of: DayOf) -> pa.RecordBatch:
    rows = [
        row
        for release in zip(*batch.to_pydict().values(), strict=True)
        for row in _awards_of(release, day_of)
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _awards_of(release: tuple[int, str, date, str], day_of: DayOf) -> Iterator[tuple[Any, ...]]:
    """Yield the awards of a release; if two have the same id, only the first."""
    release_vintage_id, source, observed_on, body = release
    awards: dict[str, AwardStatement] = {}
    for position, award in enumerate(parse_awards(body)):
        # OCDS unites awards by their id; one without an id is identified by its position.
        awards.setdefault(f"#{position}" if award.id is None else str(award.id), award)
    for award_id, award in awards.items():
        money = award.value or NO_VALUE
        yield (
            release_vintage_id,
            len(awards),
            award_id,
            award.date and day_of(award.date, source, observed_on),
            # Portals write codes of OCDS in any case.
            award.status and award.status.lower(),
            units(bytes(money.amount)),
            money.currency,
            [supplier.name or "" for supplier in award.suppliers or ()],
        )


def units(amount: bytes) -> Decimal | None:
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


# For a source without rules of its own.
_PLAIN = Portal("", "", "", None)
