"""The day before, of and after a restatement, on every path that takes ``as_of``.

What must come back is computed from the sightings of the record by ``tests.models.vintages``,
never by the code under test.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.helpers.contract_client import Contract
from tests.helpers.installation import copy_of, sample_home, settings_of
from tests.models.metric_model import PLANS, Issuer, figures_of
from tests.models.vintages import FigureHistory, boundary_days, histories_of
from warehouse.exports.published import PublishedExports
from warehouse.methodology.signals import PANELS
from warehouse.read.fundamentals import facts_known
from warehouse.read.macro import series_known
from warehouse.read.mart import Mart
from warehouse.read.metrics import metrics
from warehouse.read.rows import RowPage
from warehouse.read.shared_facts import shared_facts
from warehouse.read.signals import panel
from warehouse.record.store import Record
from warehouse.record.tables import FUNDAMENTALS, MACRO_SERIES, TENDER_RELEASES, RecordTable
from warehouse.tables import OPEN_CLASSES

Row = dict[str, Any]
# (issuer, line item, unit, basis, period, vintage, available_at, value)
Key = tuple[Any, ...]
FACT_COLUMNS = (*FUNDAMENTALS.identity, "vintage", "available_at", "value_reported")
SERIES_COLUMNS = (*MACRO_SERIES.identity[1:], "vintage", "available_at", "value")


@dataclass(frozen=True)
class PublishedSample:
    """The published sample world, and the histories of the record it was made from."""

    home: Path
    mart: Mart

    @cached_property
    def record(self) -> Record:
        return Record(settings_of(self.home).record)

    @cached_property
    def facts(self) -> dict[str, list[FigureHistory]]:
        """Figures by organisation: those of every id that stands for it."""
        pairs = self.mart.build().query("SELECT service_id, same_as FROM same_as")
        organisation = {str(service_id): str(same_as) for service_id, same_as in pairs}
        by_organisation: dict[str, list[FigureHistory]] = {}
        for history in self.histories(FUNDAMENTALS):
            service_id = str(history.vintages[0]["service_id"])
            owner = organisation.get(service_id, service_id)
            by_organisation.setdefault(owner, []).append(history)
        return by_organisation

    def histories(self, table: RecordTable) -> list[FigureHistory]:
        return histories_of(self.record, table)

    def restated_issuers(self) -> Iterator[tuple[str, list[FigureHistory], list[date]]]:
        for issuer, histories in sorted(self.facts.items()):
            if days := boundary_days(histories):
                yield issuer, histories, days

    def exported(self, artifact_key: str, day: date) -> list[Row]:
        """Return the rows of an exported file by its own as_of statement."""
        exports = PublishedExports(settings_of(self.home).exports)
        manifest = exports.manifest()
        (artifact,) = [entry for entry in manifest.artifacts if entry.key == artifact_key]
        assert artifact.sql_as_of is not None
        path = (
            Path(settings_of(self.home).exports) / manifest.data_version / f"{artifact_key}.parquet"
        )
        statement = artifact.sql_as_of.replace("{url}", str(path)).replace("{as_of}", str(day))
        with duckdb.connect() as sql:
            sql.execute("SET TimeZone = 'UTC'")
            return list(sql.sql(statement).to_arrow_table().to_pylist())

    def every_row(self, artifact_key: str) -> list[Row]:
        exports = PublishedExports(settings_of(self.home).exports)
        version = exports.manifest().data_version
        path = Path(settings_of(self.home).exports) / version / f"{artifact_key}.parquet"
        with duckdb.connect() as sql:
            return list(sql.sql(f"FROM '{path}'").to_arrow_table().to_pylist())


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublishedSample]:
    home = copy_of(sample_home(tmp_path_factory), "restatements", tmp_path_factory)
    mart = Mart(settings_of(home).marts)
    yield PublishedSample(home, mart)
    mart.close()


def expected_on(
    histories: list[FigureHistory],
    day: date,
    columns: tuple[str, ...],
    where: Callable[[Row], bool] = lambda row: True,
) -> set[Key]:
    latest = (history.latest_on(day) for history in histories)
    return {
        _key({**row, "vintage": number}, columns)
        for number, row in (vintage for vintage in latest if vintage is not None)
        if where(row)
    }


def of(column: str, *values: str) -> Callable[[Row], bool]:
    return lambda row: row[column] in values


def served(page: RowPage | list[Row] | None, columns: tuple[str, ...]) -> set[Key]:
    if page is None:
        return set()
    rows = page if isinstance(page, list) else _decode(page)
    keys = [_key(row, columns) for row in rows]
    assert len(keys) == len(set(keys)), "a figure was served twice"
    return set(keys)


def _decode(page: RowPage) -> list[Row]:
    return [json.loads(row, parse_float=Decimal, parse_int=Decimal) for row in page.rows]


def _key(row: Row, columns: tuple[str, ...]) -> Key:
    return tuple(_plain(row[name]) for name in columns)


def _plain(value: Any) -> str | None:
    """Return a value as text, so that equal numbers and days are equal whatever their type."""
    if value is None:
        return None
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return format(Decimal(str(value)).normalize(), "f")
    return str(value)


def test_figures_change_on_the_day_of_their_restatement_and_not_before(
    sample: PublishedSample,
) -> None:
    restated = 0
    for issuer, histories, days in sample.restated_issuers():
        line_items = sorted({history.vintages[0]["line_item"] for history in histories})[:2]
        for day in days:
            page = facts_known(sample.mart, issuer, day)
            assert served(page, FACT_COLUMNS) == expected_on(histories, day, FACT_COLUMNS)
            for period_type in ("FY", "INSTANT"):
                page = facts_known(sample.mart, issuer, day, period_type)
                assert served(page, FACT_COLUMNS) == expected_on(
                    histories, day, FACT_COLUMNS, of("period_type", period_type)
                )
            page = facts_known(sample.mart, issuer, day, line_items=line_items)
            assert served(page, FACT_COLUMNS) == expected_on(
                histories, day, FACT_COLUMNS, of("line_item", *line_items)
            )
            restated += 1
    # Two days on which figures were restated, and their neighbours.
    assert restated == 6


def test_shared_facts_change_on_the_day_of_their_restatement_and_not_before(
    sample: PublishedSample,
) -> None:
    def keys(rows: set[Key]) -> set[Key]:
        # A shared fact has neither basis nor the first day of its period.
        return {(*key[1:3], *key[5:]) for key in rows}

    columns = ("measure", "unit", "period_end", "vintage", "available_at", "value")
    compared = 0
    for issuer, histories, days in sample.restated_issuers():
        for day in days:
            rows = _decode(shared_facts(sample.mart, issuer, as_of=day))
            facts = {_key(row, columns) for row in rows}
            assert facts == keys(expected_on(histories, day, FACT_COLUMNS))
            compared += len(facts)
    assert compared > 500


def test_series_change_on_the_day_of_their_revision_and_not_before(
    sample: PublishedSample,
) -> None:
    histories = sample.histories(MACRO_SERIES)
    days = boundary_days(histories)
    for day in days:
        page = series_known(sample.mart, as_of=day)
        assert served(page, SERIES_COLUMNS) == expected_on(histories, day, SERIES_COLUMNS)
    assert len(days) >= 3


def test_exported_files_change_on_the_day_of_a_restatement_and_not_before(
    sample: PublishedSample,
) -> None:
    for artifact_key, table, columns in (
        ("af-fund-facts", FUNDAMENTALS, FACT_COLUMNS),
        ("af-macro-series", MACRO_SERIES, SERIES_COLUMNS),
    ):
        histories = sample.histories(table)
        days = boundary_days(histories)
        for day in days:
            rows = sample.exported(artifact_key, day)
            assert served(rows, columns) == expected_on(histories, day, columns), (table.name, day)
        assert len(days) >= 3


def test_tender_values_change_on_the_day_a_release_is_edited_and_not_before(
    sample: PublishedSample,
) -> None:
    histories = sample.histories(TENDER_RELEASES)
    days = boundary_days(histories)
    columns = ("ocid", "release_id", "vintage", "available_at")
    for day in days:
        rows = sample.exported("af-tender-releases", day)
        assert served(rows, columns) == expected_on(histories, day, columns), day
        valued = {row["record_id"] for row in rows if row["tender_value"] is not None}
        facts = [
            fact
            for country in ("ZAF", "KEN", "COL")
            for fact in _decode(shared_facts(sample.mart, None, country, "AF-TENDER", day))
        ]
        assert {fact["fact_id"] for fact in facts} == valued, day
    assert days


def test_metrics_change_on_the_day_an_input_is_restated_and_not_before(
    sample: PublishedSample,
) -> None:
    sightings = sample.record.query(f"FROM {sample.record.relation('fundamentals')}").to_pylist()
    by_id: dict[str, list[Row]] = {}
    for sighting in sightings:
        by_id.setdefault(sighting["service_id"], []).append(sighting)
    changed = 0
    for issuer, histories, days in sample.restated_issuers():
        ids = {history.vintages[0]["service_id"] for history in histories}
        models = {service_id: Issuer(figures_of(by_id[service_id])) for service_id in ids}
        previous: dict[tuple[str, str], Decimal] = {}
        for day in days:
            values = {
                (row["service_id"], row["metric"]): Decimal(str(row["value"]))
                for row in _decode(metrics(sample.mart, issuer, as_of=day))
            }
            answers = {
                (service_id, metric): model.answer(metric, day)
                for service_id, model in models.items()
                for metric in PLANS
            }
            expected = {
                key: answer[2]
                for key, answer in answers.items()
                if answer is not None and answer[0] == "value"
            }
            assert values == expected, (issuer, day)
            changed += values != previous
            previous = values
    assert changed >= 4


def _opened_by(row: Row, day: date) -> bool:
    return bool(row["available_at"] <= day and row["closed_at"] <= day)


@pytest.mark.parametrize("signal_key", [panel.key for panel in PANELS])
def test_signals_change_on_the_day_a_month_is_revised_and_not_before(
    sample: PublishedSample, signal_key: str
) -> None:
    rows = sample.every_row(signal_key)
    starts = sorted({row["available_at"] for row in rows if row["vintage"] == 2})
    if not starts:
        pytest.skip("no value of this panel was revised in the sample world")
    columns = ("country", "month", "dimension", "dimension_value", "measure", "currency")
    by_key: dict[Key, list[Row]] = {}
    for row in rows:
        by_key.setdefault(_key(row, columns), []).append(row)
    for day in boundary_days(
        FigureHistory(sorted(vintages, key=lambda row: int(row["vintage"])))
        for vintages in by_key.values()
    ):
        expected = {
            (*key, _plain(max(published, key=lambda row: int(row["vintage"]))["vintage"]))
            for key, vintages in by_key.items()
            if (published := [row for row in vintages if _opened_by(row, day)])
        }
        page = panel(sample.mart, signal_key, as_of=day)
        assert page is not None
        open_rows = [row for row in _decode(page) if row["license_class"] in OPEN_CLASSES]
        assert served(open_rows, (*columns, "vintage")) == expected, day


def test_rest_changes_on_the_day_of_a_restatement_and_not_before(
    api: Contract, sample: PublishedSample
) -> None:
    """The sample world behind the server is the one that the record is read from."""
    compared = 0
    for issuer, histories, days in sample.restated_issuers():
        for day in days:
            for query, where in (
                ("", lambda row: True),
                ("&period_type=FY", of("period_type", "FY")),
                ("&period_type=INSTANT", of("period_type", "INSTANT")),
            ):
                answer = api.get(f"/v1/fundamentals/{issuer}?as_of={day}{query}")
                expected = expected_on(histories, day, FACT_COLUMNS, where)
                assert served(answer.rows, FACT_COLUMNS) == expected, (issuer, day, query)
                compared += 1
    assert compared == 18
    series = sample.histories(MACRO_SERIES)
    for day in boundary_days(series)[:9]:
        answer = api.get(f"/v1/macro?as_of={day}")
        expected = expected_on(series, day, SERIES_COLUMNS)
        assert served(answer.rows, SERIES_COLUMNS) == expected, day
