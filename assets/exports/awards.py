"""Awards as releases state them: one row an award, with who got it where that is known.

They are read from the JSON of the releases here and not in SQL, whose engines take a number
in JSON for a double.
"""

import re
from datetime import date
from decimal import Context, Decimal, Inexact, InvalidOperation

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from sqlmodel import SQLModel

from assets.exports.parties import PARTIES
from warehouse.mart.stage import Stage
from warehouse.record.schema import DECIMAL
from warehouse.tables.column import column

READ = "awards_read"
_BATCH = 10 * 2_048
_STATING = """SELECT row_id, release FROM tender_releases WHERE contains(release, '"awards"')"""
_SCHEMA = pa.schema(
    [
        ("row_id", pa.string()),
        ("place", pa.int64()),
        ("award_id", pa.string()),
        ("award_date", pa.string()),
        ("award_status", pa.string()),
        ("amount", DECIMAL),
        ("currency", pa.string()),
        ("suppliers", pa.list_(pa.string())),
    ]
)
_PLAIN = re.compile(rb"-?[0-9]{1,20}(\.[0-9]{1,18})?")
_STEP, _EXACT = Decimal(1).scaleb(-18), Context(prec=38, traps=[Inexact, InvalidOperation])


class Award(SQLModel):
    """One award as one vintage of one release states it.

    Releases of a process repeat its awards: of an ocid and award_id take the newest release.
    """

    award_id: str | None = column("Id of the award within its process.", "1")
    award_date: date | None = column("Day of the award as stated.", "2026-05-04")
    award_status: str | None = column("OCDS status of the award.", "active")
    amount: Decimal | None = column(
        "Amount as stated, digit for digit; null where none is.", Decimal("1450000.00")
    )
    currency: str | None = column("ISO 4217 code of the amount.", "ZAR")
    service_id: str | None = column(
        "Organisation identifier of the supplier, where one is named and resolved.", "DC7Q2M4XK9"
    )
    supplier_name: str | None = column(
        "Name of the supplier, where exactly one is named.", "Mzansi Fictional Roads (Pty) Ltd"
    )
    suppliers: list[str] = column(
        "Names of the suppliers that are established to be organisations.",
        ["Mzansi Fictional Roads (Pty) Ltd"],
    )
    supplier_service_ids: list[str] = column(
        "Their organisation identifiers in the same order, null where not resolved.",
        ["DC7Q2M4XK9"],
    )


class _Money(msgspec.Struct, gc=False):
    amount: msgspec.Raw = msgspec.Raw(b"null")
    currency: str | None = None


class _Named(msgspec.Struct, gc=False):
    name: str | None = None


class _Stated(msgspec.Struct, gc=False):
    id: str | int | None = None
    date: str | None = None
    status: str | None = None
    value: _Money | None = None
    suppliers: list[_Named] | None = None


class _Release(msgspec.Struct, gc=False):
    awards: list[_Stated] | None = None


_NO_MONEY = _Money()
_DECODE = msgspec.json.Decoder(_Release).decode

# A supplier is resolved as the party of that name in the same release is; where parties of one
# name are two organisations, it is neither.
AWARDS = f"""
WITH award AS (
    SELECT released.* EXCLUDE (release), stated.* EXCLUDE (row_id)
    FROM {READ} AS stated JOIN tender_releases AS released USING (row_id)
),
named AS (
    SELECT row_id, place, source, ocid, release_id,
        unnest(suppliers) AS name, unnest(range(len(suppliers))) AS number
    FROM award
),
who AS (
    SELECT source, ocid, release_id, name, any_value(service_id) AS service_id
    FROM ({PARTIES}) WHERE service_id IS NOT NULL
    GROUP BY ALL HAVING count(DISTINCT service_id) = 1
),
resolved AS (
    SELECT row_id, place, list(service_id ORDER BY number) AS supplier_service_ids
    FROM named LEFT JOIN who USING (source, ocid, release_id, name)
    GROUP BY row_id, place
)
SELECT award.* REPLACE (TRY_CAST(left(award_date, 10) AS DATE) AS award_date),
    concat_ws('-', award.row_id, place) AS award_row_id,
    CASE WHEN len(suppliers) = 1 THEN supplier_service_ids[1] END AS service_id,
    CASE WHEN len(suppliers) = 1 THEN suppliers[1] END AS supplier_name,
    coalesce(supplier_service_ids, []) AS supplier_service_ids
FROM award LEFT JOIN resolved USING (row_id, place)
""".strip()


def read_awards(stage: Stage) -> None:
    """Stage what releases state of awards, as a table beside the others."""
    place = stage.path(READ)
    cursor = stage.sql.cursor()
    try:
        with pq.ParquetWriter(place, _SCHEMA) as writer:
            for batch in cursor.sql(_STATING).to_arrow_reader(_BATCH):
                writer.write_table(_awards(batch))
        quoted = str(place).replace("'", "''")
        cursor.execute(f"CREATE OR REPLACE VIEW {READ} AS FROM read_parquet('{quoted}')")
    finally:
        cursor.close()


def _awards(batch: pa.RecordBatch) -> pa.Table:
    """Read the awards of releases, column by column: rows of Python take three times as long."""
    row_ids, places, ids, days, states = [], [], [], [], []
    amounts, currencies, names, ends = [], [], [], [0]
    for row_id, text in zip(*(each.to_pylist() for each in batch.columns), strict=True):
        for place, award in enumerate(_DECODE(text).awards or ()):
            money = award.value or _NO_MONEY
            row_ids.append(row_id)
            places.append(place)
            ids.append(None if award.id is None else str(award.id))
            days.append(award.date)
            states.append(award.status)
            amounts.append(exact(bytes(money.amount)))
            currencies.append(money.currency)
            names += [each.name for each in award.suppliers or () if each.name is not None]
            ends.append(len(names))
    named = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(names, pa.string()))
    plain = (row_ids, places, ids, days, states)
    columns = [pa.array(each, field.type) for each, field in zip(plain, _SCHEMA, strict=False)]
    columns += [pa.array(amounts, pa.string()).cast(DECIMAL), pa.array(currencies, pa.string())]
    return pa.Table.from_arrays([*columns, named], schema=_SCHEMA)


def exact(number: bytes) -> str | None:
    """Give an amount that has an exact place in the column; any other is in the release."""
    if _PLAIN.fullmatch(number):
        return number.decode()
    try:
        return format(Decimal(number.decode()).quantize(_STEP, context=_EXACT), "f")
    except ArithmeticError:
        return None
