"""What is exported, what is read and what was knowable: the same rows.

The sample world is published with the real metrics and signals: all of it, and from another record
as much as was public on a day.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from pipelines.stages import checks, derivations
from tests.helpers.installation import loaded_record, sample_home, settings_of
from tests.helpers.publishing import publish
from tests.helpers.reads import (
    facts_known,
    found,
    issuers,
    metrics,
    panel,
    parties,
    releases,
    screen,
    series_known,
    shared_facts,
)
from tests.helpers.whole_tables import query
from warehouse.contract import lists
from warehouse.methodology.metrics import METRIC_SET, TRAILING_SET
from warehouse.methodology.signals import PANELS
from warehouse.record.append import Load, append
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, IDENTIFIERS, RECORD_TABLES, incoming_schema
from warehouse.serve.build import Mart
from warehouse.serve.catalogue import export_manifest
from warehouse.serve.exports import MANIFEST_FILE, Artifact, Manifest, PublishedExports
from warehouse.serve.rows import RowPage, fetch_page
from warehouse.tables.sighting import OPEN_CLASSES

UNTIL = date(2024, 3, 31)
FIRST, LAST = date(2018, 1, 1), date(2026, 7, 31)
Row = dict[str, Any]
Question = Callable[[Mart, date | None], RowPage | None]


@dataclass(frozen=True)
class ParityWorld:
    """The sample world with its files, and as much of it as was public on a day."""

    mart: Mart
    before: Mart
    folder: str
    manifest: Manifest

    def artifact(self, key: str) -> Artifact:
        (matching,) = [artifact for artifact in self.manifest.artifacts if artifact.key == key]
        return matching

    def rows_on(self, key: str, day: date, where: str = "TRUE") -> list[Row]:
        """Return the rows of a file selected by its own as_of filter."""
        filter_ = self.artifact(key).sql_as_of
        assert filter_ is not None
        stated = filter_.replace("{url}", self.file(key)).replace("{as_of}", str(day))
        return run_sql(f"SELECT * FROM ({stated}) WHERE {where}")

    def file(self, key: str) -> str:
        """Return the path of a file of the whole world."""
        return str(Path(self.folder, self.manifest.data_version, f"{key}.parquet"))


def run_sql(statement: str) -> list[Row]:
    with duckdb.connect() as sql:
        sql.execute("SET TimeZone = 'UTC'")
        return list(sql.sql(statement).to_arrow_table().to_pylist())


def move(whole: Record, into: Record, which: str) -> None:
    """Append the rows of one record that meet a condition to another, by the one writer.

    Who an organisation is follows no day: all of that is there from the beginning.
    """
    for table in RECORD_TABLES:
        schema = incoming_schema(table)
        condition = "TRUE" if table in (ENTITIES, IDENTIFIERS) else which
        rows = whole.query(
            f"SELECT {', '.join(schema.names)} FROM {whole.relation(table.name)} "
            f"WHERE {condition} ORDER BY load_seq, available_at, publication"
        ).cast(schema)
        for source in sorted(set(rows["source"].to_pylist())):
            own = rows.filter([row == source for row in rows["source"].to_pylist()])
            assert append(into, table, own, Load(source, (f"of {source}",))).quarantined == 0


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ParityWorld]:
    home = settings_of(tmp_path_factory.mktemp("earlier") / "home")
    early = f"available_at IS NULL OR available_at <= '{UNTIL}'"
    move(loaded_record(tmp_path_factory), Record(home.record), early)
    # Its rows are read, and no file of it: the audit and the exports are those of the whole world.
    joins, *derived = derivations()
    publish(Record(home.record), home.marts, checks=checks(), joins=joins, derivations=derived)
    whole = settings_of(sample_home(tmp_path_factory))
    before, mart = Mart(home.marts), Mart(whole.marts)
    yield ParityWorld(mart, before, whole.exports, PublishedExports(whole.exports).manifest())
    before.close()
    mart.close()


def days(number: int, last: date = LAST) -> list[date]:
    random = Random(5)
    return [FIRST + timedelta(random.randrange((last - FIRST).days + 1)) for _ in range(number)]


def parsed_rows(rows: RowPage | None) -> list[Row]:
    return [] if rows is None else [json.loads(row, parse_float=Decimal) for row in rows.rows]


def plain(value: Any) -> Any:
    """Normalise a value of either side so that equal values compare equal, digit for digit."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | Decimal):
        return format(Decimal(value).normalize(), "f")
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(value)


def same(read: list[Row], exported: list[Row], **renamed: str) -> int:
    """Compare the columns that both have, row by row; return the number of rows."""
    if not read and not exported:
        return 0
    names = sorted({renamed.get(name, name) for name in exported[0]} & set(read[0]))
    read_rows = Counter(tuple(plain(row[name]) for name in names) for row in read)
    exported_names = {new: old for old, new in renamed.items()}
    exported_rows = Counter(
        tuple(plain(row[exported_names.get(name, name)]) for name in names) for row in exported
    )
    assert read_rows == exported_rows
    return len(read)


def test_figures_are_those_of_the_file_on_any_day(world: ParityWorld) -> None:
    """The figures of an organisation include those of every id that resolves to it."""
    compared, dated = 0, 0
    pointed: dict[Any, Any] = dict(
        query(world.mart.build(), "SELECT service_id, same_as FROM same_as")
    )
    known_as = {
        issuer: {
            *(who for who, other in pointed.items() if other == pointed.get(issuer, issuer)),
            *(issuer, pointed.get(issuer, issuer)),
        }
        for issuer in Random(3).sample(issuers(world.mart, 100), 6)
    }
    whose = ", ".join(f"'{who}'" for who in set.union(*known_as.values()))
    for day in days(8):
        exported = world.rows_on("af-fund-facts", day, f"service_id IN ({whose})")
        for issuer, ids in known_as.items():
            read = parsed_rows(facts_known(world.mart, issuer, day))
            compared += same(read, [row for row in exported if row["service_id"] in ids])
        dated += sum(row["tradable_from"] is not None for row in exported)
    assert compared > 1000 and dated > 100


def test_filings_are_those_of_the_file_on_any_day(world: ParityWorld) -> None:
    compared, timed = 0, 0
    for day in days(8):
        exported = world.rows_on("af-fund-filings", day)
        for issuer in {row["service_id"] for row in exported}:
            rows = found(lists.FILINGS, world.mart, service_id=issuer, as_of=day)
            own = [row for row in exported if row["service_id"] == issuer]
            compared += same(parsed_rows(rows), own)
        timed += sum(None not in (row["accepted_at"], row["tradable_from"]) for row in exported)
    assert compared > 50 and timed > 10


def test_derived_figures_are_those_of_the_file_on_any_day(world: ParityWorld) -> None:
    compared = 0
    for day in days(8):
        exported = world.rows_on("af-fund-derived", day)
        for issuer in with_derived(world.mart):
            read = parsed_rows(facts_known(world.mart, issuer, day, derived=True))
            own = [row for row in exported if row["service_id"] == issuer]
            # Inputs are a text in the file, and a list in a row.
            compared += same(
                [row | {"inputs": ""} for row in read], [row | {"inputs": ""} for row in own]
            )
    assert compared > 50


def test_metrics_are_those_of_the_file_on_any_day(world: ParityWorld) -> None:
    compared, some = 0, Random(7).sample(issuers(world.mart, 100), 12)
    of_files = product(days(6), (("af-metrics", METRIC_SET), ("af-metrics-ttm", TRAILING_SET)))
    for day, (file, metric_set) in of_files:
        exported = world.rows_on(file, day)
        for issuer in some:
            read = parsed_rows(metrics(world.mart, issuer, as_of=day, metric_set=metric_set))
            own = [row for row in exported if row["service_id"] == issuer]
            compared += same(
                [row | {"inputs": ""} for row in read], [row | {"inputs": ""} for row in own]
            )
    assert compared > 100


def test_organisations_and_their_identifiers_are_those_of_the_files(world: ParityWorld) -> None:
    build = world.mart.build()
    for table, file, as_json in (
        ("entities", "af-entities", ("other_names", "former_names", "trading_names", "listings")),
        ("identifiers", "af-identifiers", ()),
    ):
        read = [json.loads(row) for row in fetch_page(build, table, (), None).rows]
        exported = run_sql(f"FROM '{world.file(file)}'")
        parsed = [
            row | {name: row[name] and json.loads(row[name]) for name in as_json}
            for row in exported
        ]
        assert same(read, parsed) == len(exported) > 20


def with_derived(mart: Mart) -> list[str]:
    statement = "SELECT DISTINCT service_id FROM derived_figures ORDER BY 1"
    return [str(issuer) for (issuer,) in query(mart.build(), statement)]


def test_series_are_those_of_the_file_on_any_day(world: ParityWorld) -> None:
    compared = 0
    for day in days(5):
        exported = world.rows_on("af-macro-series", day)
        compared += same(parsed_rows(series_known(world.mart, as_of=day)), exported)
        for series in {row["series"] for row in exported[::50]}:
            read = parsed_rows(series_known(world.mart, series=series, as_of=day))
            compared += same(read, [row for row in exported if row["series"] == series])
    assert compared > 1000


@pytest.mark.parametrize("key", [panel.key for panel in PANELS])
def test_panels_are_those_of_the_file_on_any_day(world: ParityWorld, key: str) -> None:
    compared = 0
    for day in days(4):
        read = parsed_rows(panel(world.mart, key, as_of=day))
        compared += same(
            [row for row in read if row["license_class"] in OPEN_CLASSES], world.rows_on(key, day)
        )
    assert compared


def test_demand_is_that_of_the_file_on_any_day(world: ParityWorld) -> None:
    compared = 0
    for country in ("ZA", "KE", "CO"):
        for day in days(6):
            read = parsed_rows(panel(world.mart, "procurement-demand", country, as_of=day))
            own = world.rows_on("procurement-demand", day, f"country = '{country}'")
            compared += same([row for row in read if row["license_class"] in OPEN_CLASSES], own)
    assert compared > 500


def test_facts_of_tenders_are_those_of_the_file_on_any_day(world: ParityWorld) -> None:
    compared = 0
    for country, iso3 in (("ZA", "ZAF"), ("KE", "KEN"), ("CO", "COL")):
        for day in days(5):
            read = parsed_rows(shared_facts(world.mart, None, iso3, "AF-TENDER", day))
            where = f"country = '{country}' AND measure = 'tender_value'"
            compared += same(read, world.rows_on("af-tender-facts", day, where))
            assert len({row["ocid"] for row in read}) == len(read)
    assert compared > 50


def test_releases_known_now_are_those_of_the_file(world: ParityWorld) -> None:
    for country in ("ZA", "KE", "CO"):
        read = [
            {**row, "tag": ",".join(row["tag"] or ())}
            for row in parsed_rows(releases(world.mart, country))
        ]
        file = world.file("af-tender-releases")
        exported = run_sql(f"FROM '{file}' WHERE latest AND country = '{country}'")
        assert same(read, exported) == len(exported) > 0
        by_id = {(row["ocid"], row["release_id"]): row for row in read}
        for row in exported:
            served = by_id[row["ocid"], row["release_id"]]
            for name, part in json.loads(row["release"], parse_float=Decimal).items():
                assert served[name] == part


def test_the_build_serves_the_manifest_that_was_signed(world: ParityWorld) -> None:
    signed = Path(world.folder, world.manifest.data_version, MANIFEST_FILE)
    assert export_manifest(world.mart) == signed.read_bytes()


def questions(mart: Mart) -> dict[str, Question]:
    """Return every query that takes as_of, with its variants."""
    some = Random(11).sample(issuers(mart, 100), 3)

    def joined(ask: Callable[[Mart, date | None, str], RowPage | None], *of: str) -> Question:
        def both(mart: Mart, day: date | None) -> RowPage:
            answers = [ask(mart, day, item) for item in of]
            rows = [row for answer in answers if answer for row in answer.rows]
            return RowPage(rows, False, "", "")

        return both

    return {
        "facts": joined(lambda mart, day, who: facts_known(mart, who, day), *some),
        "as reported": joined(
            lambda mart, day, who: facts_known(mart, who, day, None, "as_reported"), *some
        ),
        "every vintage": joined(
            lambda mart, day, who: facts_known(mart, who, day, None, "all"), *some
        ),
        "derived figures": joined(
            lambda mart, day, who: facts_known(mart, who, day, derived=True), *with_derived(mart)
        ),
        "every derived vintage": joined(
            lambda mart, day, who: facts_known(mart, who, day, None, "all", derived=True),
            *with_derived(mart),
        ),
        "series": lambda mart, day: series_known(mart, as_of=day),
        "shared figures": joined(lambda mart, day, who: shared_facts(mart, who, as_of=day), *some),
        "shared awards": joined(
            lambda mart, day, who: shared_facts(mart, who, None, "AF-TENDER", day),
            *sorted({row["service_id"] for row in parsed_rows(parties(mart)) if row["service_id"]}),
        ),
        "shared tenders": joined(
            lambda mart, day, where: shared_facts(mart, None, where, "AF-TENDER", day),
            *("ZAF", "KEN", "COL"),
        ),
        "shared macro": joined(
            lambda mart, day, where: shared_facts(mart, where, None, "AF-MACRO", day),
            *("ZAF", "NGA"),
        ),
        "panels": joined(
            lambda mart, day, key: panel(mart, key, as_of=day), *(panel.key for panel in PANELS)
        ),
        "demand": lambda mart, day: panel(mart, "procurement-demand", "ZA", as_of=day),
        "metrics": joined(lambda mart, day, who: metrics(mart, who, as_of=day), *some),
        "screen": joined(
            lambda mart, day, metric: screen(mart, metric, as_of=day).rows,
            *("net_margin", "revenue_growth", "current_ratio"),
        ),
    }


NAMES = (
    *("facts", "as reported", "every vintage", "derived figures", "every derived vintage"),
    *("series", "shared figures", "shared awards", "shared tenders", "shared macro"),
    *("panels", "demand", "metrics", "screen"),
)
MAY_LOSE = ("metrics", "screen")


@pytest.mark.parametrize("name", NAMES)
def test_no_row_became_available_after_as_of(name: str, world: ParityWorld) -> None:
    ask, seen = questions(world.mart)[name], 0
    for day in days(6):
        for row in parsed_rows(ask(world.mart, day)):
            assert row["available_at"] <= day.isoformat()
            seen += 1
    assert seen


@pytest.mark.parametrize("name", NAMES)
def test_later_loads_change_no_earlier_answer(name: str, world: ParityWorld) -> None:
    ask, seen = questions(world.mart)[name], 0
    then = world.before
    for day in (UNTIL, *days(6, UNTIL)):
        earlier, later = ask(then, day), ask(world.mart, day)
        assert earlier is not None and later is not None
        if name in MAY_LOSE:
            assert ranks_apart(parsed_rows(later)) <= ranks_apart(parsed_rows(earlier))
        else:
            assert later.rows == earlier.rows
        seen += len(earlier.rows)
    assert seen
    last = ask(then, LAST), ask(world.mart, LAST)
    assert last[0] is not None and last[1] is not None
    assert last[0].rows != last[1].rows, "nothing that was loaded later is in this answer"


def ranks_apart(rows: list[Row]) -> set[str]:
    """Return the rows as JSON without their ranks, which later rows change."""
    return {
        json.dumps({name: plain(value) for name, value in row.items() if name != "rank"})
        for row in rows
    }
