"""The Parquet files of a build beside a bare pyarrow write of the same Arrow tables."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assets.exports.export import export
from tests.bench.measure import measured
from tests.bench.world import facts, with_every_column
from warehouse.publish.snapshot import ORDERS, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import arrow_schema
from warehouse.shared.signing import SigningKey
from warehouse.tables.derived import DERIVED

FACTS, RELEASES, MACRO = 1_000_000, 1_000_000, 500_000
SIZES = (0.1, 0.3, 1.0)
FIRST, SECOND = "20261114.1", "20261114.2"
Work = Callable[[], object]

_VINTAGE = """1 AS vintage, NULL::DATE AS superseded_at, true AS latest,
    md5(n::VARCHAR) AS row_id, md5((n // 3)::VARCHAR) AS provenance_id"""
_SIGHTING = """DATE '2015-01-01' + (n % 4000)::INTEGER AS available_at, 'p' || n AS publication,
    TIMESTAMPTZ '2046-06-01 00:00:00Z' AS observed_at, 'bench' AS source,
    'https://bench.example/' || (n // 50) || '.json#/releases/' || n % 50 AS source_ref,
    md5((n // 50)::VARCHAR) AS document, 'cc-by' AS license_class, 'api' AS method,
    NULL::DECIMAL(38, 18) AS extraction_confidence, false AS withdrawn"""
_WORDS = """supply delivery installation maintenance of road school clinic water pipes pumps
vehicles laptops software services for the municipality district province department ministry
period thirty six months as and when required including spare parts training fencing"""
_AWARDS = """CASE WHEN n % 3 = 0 THEN '"awards":[{"date":"2026-02-03","id":"1","status":"active",'
    || '"suppliers":[{"id":"S-' || n % 20000 || '","name":"Supplier ' || n % 20000 || ' Ltd"}],'
    || '"value":{"amount":' || n * 37 % 100000000 || '.25,"currency":"ZAR"}}],' ELSE '' END"""
_RELEASE = f"""'{{' || {_AWARDS} || '"buyer":{{"id":"B-' || n % 5000 || '","name":"Municipality '
    || n % 5000 || '"}},"tender":{{"description":"' || array_to_string(
        [words[1 + (hash(n * 131 + k) % {len(_WORDS.split())})::INTEGER] for k in range(130)], ' ')
    || '","id":"' || md5(n::VARCHAR) || '","value":{{"amount":' || n * 11 % 100000000
    || '.50,"currency":"ZAR"}}}}}}'"""


def fill(snapshot: Snapshot, share: float, in_order: bool = True) -> None:
    """Stage that share of the rows, in the order of a build or as they were made."""

    def write(name: str, rows: str) -> None:
        order = ORDERS[name] if in_order else ()
        snapshot.write(name, with_every_column(snapshot.sql, name, rows), order)

    shuffled = np.random.default_rng(7).permutation(int(FACTS * share))
    snapshot.sql.register("made", facts(shuffled).append_column("n", pa.array(shuffled)))
    write("fundamentals", f"SELECT * EXCLUDE (n), {_VINTAGE} FROM made")
    snapshot.sql.unregister("made")
    words = "[" + ", ".join(f"'{word}'" for word in _WORDS.split()) + "]"
    numbers = f"SELECT (i * 7919) % {{0}} AS n, {words} AS words FROM range({{0}}) AS made(i)"
    many = numbers.format(int(RELEASES * share))
    write(
        "tender_releases",
        f"""SELECT {_SIGHTING}, {_VINTAGE}, 'ocds-bench-' || n AS ocid, 'r' || n AS release_id,
        ['ZA', 'KE', 'NG', 'CO'][1 + n % 4] AS country,
        DATE '2015-01-01' + (n % 4000)::INTEGER AS released_on, 'tender' AS tag,
        'works' AS category, 'active' AS tender_status, 'open' AS procurement_method,
        (n * 11 % 100000000)::DECIMAL(38, 18) AS tender_value, 'ZAR' AS tender_currency,
        DATE '2015-01-01' AS tender_start, DATE '2015-02-01' AS tender_end,
        n % 9 AS number_of_tenderers, {_RELEASE} AS release, n % 2 AS parties_withheld,
        'https://bench.example/releases/' || n AS source_url FROM ({many})""",
    )
    write(
        "tender_parties",
        f"""SELECT {_SIGHTING}, {_VINTAGE}, 'ocds-bench-' || n AS ocid, 'r' || n AS release_id,
        ['ZA', 'KE', 'NG', 'CO'][1 + n % 4] AS country, 'S-' || n % 20000 AS party_key,
        'supplier' AS role, 'Supplier ' || n % 20000 || ' Ltd' AS name,
        NULL::VARCHAR AS identifier_scheme, NULL::VARCHAR AS identifier_id,
        'legal_form:ltd' AS org_evidence, DATE '2015-01-01' + (n % 4000)::INTEGER AS released_on
        FROM ({many}) WHERE n % 3 = 0""",
    )
    macro = numbers.format(int(MACRO * share))
    write(
        "macro_series",
        f"""SELECT {_SIGHTING}, {_VINTAGE}, 'ZA' AS country, 'ZAF' AS country_iso3,
        DATE '1990-01-01' + (n % 12000)::INTEGER AS period_start,
        DATE '1990-01-01' + (n % 12000)::INTEGER AS period_end,
        (n * 7)::DECIMAL(38, 18) / 1000 AS value, 'ZAR' AS unit, NULL::VARCHAR AS base_period,
        'A' AS obs_status, 'FX.' || n // 12000 AS series, 'fx' AS series_type,
        'daily' AS frequency FROM ({macro})""",
    )
    matches = arrow_schema(DERIVED["party_matches"])
    matched = snapshot.read(
        """SELECT DISTINCT source, country, party_key, name, identifier_scheme, identifier_id,
        'DC' || md5(name) AS service_id, 'exact_name' AS match_method, NULL::VARCHAR AS reason
        FROM tender_parties"""
    )
    snapshot.add({"party_matches": matched.cast(matches)})


def opened(folder: str, version: str) -> Snapshot:
    """Open what is staged under a version."""
    home = Path(folder)
    snapshot = Snapshot(home / "stage", Record(str(home / "record")), {}, version)
    for file in (home / "stage").glob("*.parquet"):
        snapshot.sql.execute(f"CREATE VIEW {file.stem} AS FROM read_parquet('{file}')")
    return snapshot


@dataclass(frozen=True)
class Cost:
    """What one way cost, the best of its runs: a machine that others use only adds to it."""

    seconds: float
    worked: float
    peak_mb: int
    rows: int


def best(way: str, *arguments: str, runs: int) -> Cost:
    """Run a way of writing in fresh processes and take the least of each figure."""
    costs = [measured("tests.bench.exports", way, *arguments, runs=1) for _ in range(runs)]
    outputs = [cost.output.split() for cost in costs]
    return Cost(
        min(cost.seconds for cost in costs),
        min(float(worked) for _, worked in outputs),
        max(cost.peak_mb for cost in costs),
        int(outputs[0][0]),
    )


def sankofa(folder: str, version: str, previous: str = "") -> Work:
    """Write every file of a build, with digests, manifest and signature."""
    snapshot, out = opened(folder, version), Path(folder) / "out"
    shutil.rmtree(out / version, ignore_errors=True)
    key = SigningKey.at(Path(folder) / "key.pem")

    def work() -> str:
        begun = time.process_time()
        manifest = export(
            snapshot,
            str(out),
            signing_key=key,
            previous=previous or None,
            notice="bench",
        )
        rows = sum(artifact.rows for artifact in manifest.artifacts)
        return f"{rows} {time.process_time() - begun:.2f}"

    return work


def bare(folder: str) -> Work:
    """Write the same Arrow tables, which are in memory and in order, with pyarrow alone."""
    files = sorted((Path(folder) / "out" / FIRST).glob("*.parquet"))
    tables = {file.name: pq.read_table(file) for file in files}

    def work() -> str:
        begun = time.process_time()
        for name, table in tables.items():
            path = Path(folder) / "bare" / name
            path.parent.mkdir(exist_ok=True)
            pq.write_table(
                table,
                path,
                compression="zstd",
                row_group_size=100_000,
                write_page_index=True,
            )
        return f"{sum(map(len, tables.values()))} {time.process_time() - begun:.2f}"

    return work


def report(sizes: Sequence[float] = SIZES, runs: int = 3) -> None:
    """Print the ratios of the issue's goal, and how the cost grows with the rows.

    Rows are sorted where they are staged, which is no part of the export: what that adds to
    staging is printed beside it.
    """
    for share in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            home = Path(temporary)
            shuffled = staging(home / "shuffled", share, in_order=False)
            shutil.rmtree(home / "shuffled")
            sorting = staging(home, share, in_order=True) - shuffled
            ours = best("sankofa", temporary, FIRST, runs=runs)
            plain = best("bare", temporary, runs=runs)
            delta = best("sankofa", temporary, SECOND, FIRST, runs=1)
            size = sum(file.stat().st_size for file in (home / "out" / FIRST).glob("*.parquet"))
        print(f"  {ours.rows:9,} rows, {size / 1e6:.0f} MB of files", flush=True)
        for name, cost in (("ours", ours), ("bare pyarrow", plain), ("with delta", delta)):
            print(
                f"    {name:13} {cost.seconds:7.2f} s {cost.worked:7.2f} CPU s {cost.peak_mb:6} MB"
                f" {ours.rows / cost.seconds:10,.0f} rows/s {cost.worked / ours.rows * 1e6:6.2f}"
                " CPU µs/row"
            )
        wall, worked = ours.seconds / plain.seconds, ours.worked / plain.worked
        print(f"    ours / bare   {wall:7.2f}   {worked:7.2f} CPU  (goal: at most 1.5)")
        print(f"    sorted where staged: {sorting:.2f} CPU s more", flush=True)


def staging(home: Path, share: float, in_order: bool) -> float:
    """Stage, and give the seconds that the processors worked for it."""
    begun = time.process_time()
    with Snapshot(home / "stage", Record(str(home / "record")), {}, FIRST) as snapshot:
        fill(snapshot, share, in_order)
    return time.process_time() - begun


if __name__ == "__main__":
    report(tuple(map(float, sys.argv[1:])) or SIZES)
