"""What publishers overwrite is served by the days on which we read it: Brazil of the sample."""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.installation import sample_home, settings_of
from tests.helpers.reads import entity, facts_known, lookup, series_known
from tests.sample_world.brazil import brazilian
from warehouse.serve.build import Mart
from warehouse.serve.rows import between, equal, fetch_page

Row = dict[str, Any]
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_home(tmp_path_factory)


@pytest.fixture(scope="module")
def mart(home: Path) -> Iterator[Mart]:
    mart = Mart(settings_of(home).marts)
    yield mart
    mart.close()


@pytest.fixture(scope="module")
def traps(home: Path) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = json.loads(
        (settings_of(home).sample / "traps.json").read_text("utf-8")
    )
    return found


def decoded(page: Any) -> list[Row]:
    assert page is not None
    return [json.loads(row) for row in page.rows]


def service_id(mart: Mart, number: str) -> str:
    (row,) = decoded(lookup(mart, "registry", number).rows)
    return str(row["service_id"])


def test_a_version_that_the_publisher_dropped_stays_a_vintage(
    mart: Mart, traps: dict[str, list[Row]]
) -> None:
    for trap in traps["version_dropped"]:
        issuer = service_id(mart, trap["cnpj"])
        days = [date.fromisoformat(trap[name]) for name in ("before", "day")]

        def revenue(of: str = issuer, year: int = trap["year"], **sent: Any) -> list[Row]:
            rows = decoded(facts_known(mart, of, line_items=["revenue"], **sent))
            return [row for row in rows if row["period_end"] == f"{year}-12-31"]

        vintages = sorted(revenue(vintages="all"), key=lambda row: int(row["vintage"]))
        assert [row["available_at"] for row in vintages] == [day.isoformat() for day in days]
        assert {row["available_at_evidence"] for row in vintages} == {"first_read"}
        assert {row["license_class"] for row in vintages} == {"open-share-alike"}
        assert vintages[0]["value_reported"] != vintages[1]["value_reported"]
        # The day on which CVM received it is no evidence: it could not be read yet.
        assert revenue(as_of=days[0] - DAY) == []
        assert revenue(as_of=days[1] - DAY)[0]["value_reported"] == vintages[0]["value_reported"]
        assert revenue(as_of=days[1])[0]["value_reported"] == vintages[1]["value_reported"]


def test_a_company_is_joined_with_its_lei_record_by_its_register_number(mart: Mart) -> None:
    for serial in range(2):
        company = brazilian(serial)
        (record,) = decoded(entity(mart, service_id(mart, company.register_number)))
        assert (record["lei"], record["legal_name"]) == (company.lei, company.name)
        assert {join["match_method"] for join in record["joins"]} == {"registry_id"}


def test_a_month_that_was_overwritten_has_a_vintage_for_each_reading(
    mart: Mart, traps: dict[str, list[Row]]
) -> None:
    (trap,) = traps["month_overwritten"]
    days = [date.fromisoformat(trap[name]) for name in ("before", "day")]
    month = date.fromisoformat(f"{trap['period']}-01")
    where = [*equal(series="BR.SGS.24363"), *between("period_end", month, month + 30 * DAY)]
    rows = decoded(fetch_page(mart.build(), "macro_series", where, None))
    assert [row["available_at"] for row in sorted(rows, key=lambda row: int(row["vintage"]))] == [
        day.isoformat() for day in days
    ]
    assert {row["available_at_evidence"] for row in rows} == {"first_read"}
    before = decoded(series_known(mart, series="BR.SGS.24363", as_of=days[1] - DAY))
    assert next(row for row in before if row["period_start"] == str(month))["vintage"] == 1
    assert decoded(series_known(mart, series="BR.SGS.24363", as_of=days[0] - DAY)) == []


def test_every_dated_row_says_how_its_day_is_known(mart: Mart) -> None:
    (own,) = decoded(series_known(mart, series="FX.EUR.ZAR", frequency="daily", limit=1))
    (average,) = decoded(series_known(mart, series="FX.EUR.ZAR", frequency="monthly", limit=1))
    evidence = [row["available_at_evidence"] for row in (own, average)]
    assert evidence == ["published", "first_read"]


def test_no_officer_of_a_register_is_published(home: Path, traps: dict[str, list[Row]]) -> None:
    settings = settings_of(home)
    assert traps["officer_in_register"]
    names = set()
    for trap in traps["officer_in_register"]:
        register = settings.sample / trap["source"] / trap["day"] / trap["path"]
        header, *lines = register.read_text("latin-1").splitlines()
        cells = dict(zip(header.split(";"), lines[trap["line"] - 2].split(";"), strict=True))
        names |= {cells[trap["column"]].casefold(), cells["EMAIL_RESP"].casefold()}
    folders = [Path(settings.exports), Path(settings.record)]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 50
    with duckdb.connect() as sql:
        for file in files:
            text = _text(sql, file).casefold()
            assert not any(name in text for name in names), file


def _text(sql: duckdb.DuckDBPyConnection, file: Path) -> str:
    if file.suffix != ".parquet":
        return file.read_bytes().decode("utf-8", "replace")
    rows = sql.execute(f"SELECT CAST(to_json(row) AS VARCHAR) FROM '{file}' AS row").fetchall()
    return "\n".join(text for (text,) in rows)
