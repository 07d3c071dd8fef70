"""All thirteen panels from the tenders of one large country: ten years, 3,000 buyers."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from assets.derive.signals import signals
from tests.bench.measure import measured
from warehouse.publish.snapshot import Snapshot
from warehouse.record.store import Record

SIZES = (100_000, 400_000)
Work = Callable[[], object]

_PROCESSES = """
SELECT i, concat('ocds-bench-', i) AS ocid,
    DATE '2016-01-01' + CAST(i * 3600 // {processes} AS INTEGER) AS opened,
    CAST(hash(i, 'a') >> 1 AS BIGINT) AS x, CAST(hash(i, 'b') >> 1 AS BIGINT) AS y,
    CAST(hash(i, 'c') >> 1 AS BIGINT) AS z
FROM range({processes}) AS t(i)
"""
_RELEASES = """
SELECT *, CASE WHEN stage = 0 THEN opened
    ELSE opened + 30 + CAST(y % (CASE WHEN y % 10 = 0 THEN 500 ELSE 40 END) AS INTEGER)
    END AS on_day
FROM processes, (SELECT unnest([0, 1]) AS stage)
"""
_SHARED = """
on_day AS available_at, release_id AS publication,
TIMESTAMPTZ '2026-01-10 06:00:00+00' AS observed_at,
'co-secop' AS source, 'd#/1' AS source_ref, 'd' AS document, 'public-domain' AS license_class,
FALSE AS withdrawn, ocid, release_id, 'CO' AS country, on_day AS released_on,
'api' AS method, CAST(NULL AS DECIMAL(38, 18)) AS extraction_confidence,
"""
_TENDER_RELEASES = f"""
SELECT {_SHARED}
    ['goods', 'works', 'services'][1 + x % 3] AS category,
    CASE WHEN stage = 0 THEN 'active' WHEN y % 9 = 0 THEN 'cancelled' ELSE 'complete' END
        AS tender_status,
    ['open', 'selective', 'direct'][1 + y % 3] AS procurement_method,
    concat('buyer-', CAST(sqrt(z % 9000000) AS INTEGER)) AS buyer_key,
    CAST(1000 + x % 100000000 AS DECIMAL(38, 18)) AS tender_value, 'COP' AS tender_currency,
    opened AS tender_start, opened + CAST(5 + y % 60 AS INTEGER) AS tender_end,
    CASE WHEN stage = 1 THEN 1 + y % 7 END AS number_of_tenderers,
    CAST(NULL AS BIGINT) AS joint_bids, CAST(NULL AS VARCHAR[]) AS implausible,
    concat(CASE WHEN stage = 1 THEN concat('{{"awards":[{{"date":"', on_day, '","id":"', i,
        '","status":"active","suppliers":[{{"id":"1","name":"Firm ', supplier, ' Ltd"}}],"title":"',
        repeat('Road works ', 20), '","value":{{"amount":', 900 + x % 99999999,
        '.25,"currency":"COP"}}}}],') ELSE '{{' END,
        '"tender":{{"description":"', repeat('Road works ', 60), '"}}}}') AS release,
    1 AS vintage, CAST(NULL AS DATE) AS superseded_at, TRUE AS latest, md5(release_id) AS row_id
FROM numbered
"""
_TENDER_PARTIES = f"""
SELECT {_SHARED}
    CASE WHEN role = 'buyer' THEN concat('buyer-', CAST(sqrt(z % 9000000) AS INTEGER))
        WHEN role = 'supplier' THEN concat('firm-', supplier)
        ELSE concat('firm-', (y // 7 + party_position * 17) % 20000) END AS party_key,
    role, CASE WHEN role = 'supplier' AND supplier % 11 = 0 THEN NULL ELSE party_key END AS name,
    CASE WHEN name IS NULL THEN NULL ELSE 'legal_form:ltd' END AS org_evidence,
    1 AS vintage, CAST(NULL AS DATE) AS superseded_at, TRUE AS latest
FROM numbered, (
    SELECT unnest(['buyer', 'supplier', 'tenderer', 'tenderer']) AS role,
        unnest([0, 1, 2, 3]) AS party_position)
WHERE stage = 1 OR role = 'buyer'
"""
_EMPTY = {
    "party_matches": "SELECT '' AS source, '' AS party_key, '' AS service_id LIMIT 0",
    "same_as": "SELECT '' AS service_id, '' AS same_as LIMIT 0",
    "identifiers": "SELECT '' AS service_id, '' AS id_type, TRUE AS latest LIMIT 0",
    "fundamentals": """
SELECT '' AS service_id, '' AS line_item, '' AS unit, '' AS currency_reported, '' AS basis,
    DATE '2020-01-01' AS period_start, DATE '2020-12-31' AS period_end,
    DATE '2021-01-01' AS available_at, CAST(NULL AS DATE) AS superseded_at, FALSE AS withdrawn,
    1 AS vintage, '' AS publication, CAST(1 AS DECIMAL(38, 18)) AS value_reported LIMIT 0""",
}


def write(folder: Path, releases: int) -> None:
    """Stage the tables of so many releases, two of each process."""
    with Snapshot(folder, Record(str(folder / "none")), {}, "bench") as snapshot:
        processes = f"processes AS ({_PROCESSES.format(processes=releases // 2)})"
        numbered = f"""
WITH {processes}, staged AS ({_RELEASES}),
numbered AS (
    SELECT *, concat(ocid, '-', stage) AS release_id,
        CAST(sqrt(x % 400000000) AS INTEGER) AS supplier FROM staged)"""
        for name, rows in (
            ("tender_releases", _TENDER_RELEASES),
            ("tender_parties", _TENDER_PARTIES),
        ):
            snapshot.write(name, f"{numbered} {rows}")
        for name, rows in _EMPTY.items():
            snapshot.write(name, rows)


def panels(folder: str) -> Work:
    """Derive every panel from what is staged."""
    snapshot = Snapshot(Path(folder), Record(f"{folder}/none"), {}, "bench")
    for name in ("tender_releases", "tender_parties", *_EMPTY):
        snapshot.create_view(name)
    return lambda: signals(snapshot)["signals"].num_rows


def report() -> None:
    """Print seconds and memory at both sizes."""
    seconds = []
    for releases in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), releases)
            cost = measured("tests.bench.signals", "panels", folder, runs=1)
        seconds.append(cost.seconds)
        print(
            f"  {releases:9,} releases {cost.seconds:7.2f} s  {cost.peak_mb:5} MB  "
            f"{int(cost.output):9,} rows"
        )
    grown = seconds[1] / seconds[0]
    print(f"  {SIZES[1] // SIZES[0]} times the releases take {grown:.2f} times as long")


if __name__ == "__main__":
    report()
