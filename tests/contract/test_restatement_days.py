"""The day before, of and after a restatement, on every path that takes ``as_of``.

What must come back is computed from the sightings of the record by ``tests.models``, never by the
code under test. The sample world has few restatements; the random world that agents are served
has one on most of its days.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from hashlib import md5
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from tests.helpers.contract_client import Contract
from tests.helpers.installation import sample_home, settings_of
from tests.helpers.made_once import copy_of
from tests.helpers.mcp_service import call
from tests.helpers.mcp_world import Agents
from tests.helpers.nightly import is_nightly
from tests.helpers.random_world import derived_of
from tests.helpers.reads import facts_known, metrics, panel, read, series_known, shared_facts
from tests.helpers.seed import seed_of_this_run
from tests.helpers.whole_tables import query
from tests.models import signals_model
from tests.models.metric_model import PLANS, Issuer, figures_of
from tests.models.vintages import FigureHistory, boundary_days, histories_of, with_ends
from warehouse.contract import lists
from warehouse.control.keys import KeyStore, create_key
from warehouse.methodology.metrics import FORMULA_BY_SLUG
from warehouse.methodology.signals import PANELS
from warehouse.record.store import Record
from warehouse.record.tables import (
    ELEMENTS,
    FUNDAMENTALS,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
    RecordTable,
)
from warehouse.serve.build import Mart
from warehouse.serve.exports import PublishedExports
from warehouse.serve.rows import RowPage
from warehouse.tables.sighting import OPEN_CLASSES

Row = dict[str, Any]
# (issuer, line item, unit, basis, period, vintage, available_at, value)
Key = tuple[Any, ...]
FACT_COLUMNS = (*FUNDAMENTALS.identity, "vintage", "available_at", "value_reported")
# Metrics by which issuers are ranked here: all of them would take the model ten seconds.
RANKED = ("net_margin", "return_on_average_equity", "current_ratio", "revenue_growth")
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
    def aliases(self) -> dict[str, str]:
        """The canonical id of every other id that the record has."""
        pairs = query(self.mart.build(), "SELECT service_id, same_as FROM same_as")
        return {str(alias): str(canonical) for alias, canonical in pairs}

    @cached_property
    def facts(self) -> dict[str, list[FigureHistory]]:
        """Figures by organisation, under its canonical id."""
        by_organisation: dict[str, list[FigureHistory]] = {}
        for history in self.histories(FUNDAMENTALS):
            by_organisation.setdefault(str(history.vintages[0]["service_id"]), []).append(history)
        return by_organisation

    @cached_property
    def metric_models(self) -> dict[str, Issuer]:
        """Issuers by canonical id, each with the figures of the record."""
        sightings = self.record.query(f"FROM {self.record.relation('fundamentals')}").to_pylist()
        by_id: dict[str, list[Row]] = {}
        for sighting in sightings:
            service_id = sighting["service_id"]
            sighting["service_id"] = self.aliases.get(service_id, service_id)
            by_id.setdefault(sighting["service_id"], []).append(sighting)
        return {service_id: Issuer(figures_of(rows)) for service_id, rows in by_id.items()}

    def histories(self, table: RecordTable) -> list[FigureHistory]:
        histories = histories_of(self.record, table)
        for vintage in (vintage for history in histories for vintage in history.vintages):
            if "service_id" in vintage:
                # the record has ids as they were minted
                vintage["service_id"] = self.aliases.get(
                    vintage["service_id"], vintage["service_id"]
                )
        return histories

    def restated_issuers(
        self, number: int = 4
    ) -> Iterator[tuple[str, list[FigureHistory], list[date]]]:
        restated = 0
        for issuer, histories in sorted(self.facts.items()):
            if days := boundary_days(histories):
                yield issuer, histories, days
                restated += 1
            # Most issuers restate; each of their days is a dozen requests.
            if restated == number:
                return

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


def on_current_base(histories: list[FigureHistory], day: date) -> Callable[[Row], bool]:
    """Match observations on the base that the newest publication of their series has."""
    newest: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for history in histories:
        for row in history.vintages:
            series = (row["source"], row["series"], row["country_iso3"], row["frequency"])
            base = (row["available_at"], row["publication"], row["unit"], row["base_period"] or "")
            if row["available_at"] <= day:
                newest[series] = max(newest.get(series, base), base)
    bases = {(*series, base[2], base[3]) for series, base in newest.items()}
    names = ("source", "series", "country_iso3", "frequency", "unit")
    return lambda row: (*(row[name] for name in names), row["base_period"] or "") in bases


def of_years(histories: list[FigureHistory], day: date) -> Callable[[Row], bool]:
    """Match figures of full years, and balances at the ends of years of which any was known."""
    ends = {
        vintage["period_end"]
        for history in histories
        for vintage in history.vintages
        if vintage["period_type"] == "FY" and vintage["available_at"] <= day
    }
    return lambda row: (
        row["period_type"] == "FY"
        or (row["period_type"] == "INSTANT" and row["period_end"] in ends)
    )


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


def tried(days: list[date], number: int = 12) -> list[date]:
    """Return some days that follow each other; at night all of them."""
    first = Random(seed_of_this_run()).randrange(max(1, len(days) - number + 1))
    return days if is_nightly() else days[first : first + number]


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
            for period_type, where in (
                ("FY", of_years(histories, day)),
                ("INSTANT", of("period_type", "INSTANT")),
            ):
                page = facts_known(sample.mart, issuer, day, period_type)
                assert served(page, FACT_COLUMNS) == expected_on(
                    histories, day, FACT_COLUMNS, where
                )
            page = facts_known(sample.mart, issuer, day, line_items=line_items)
            assert served(page, FACT_COLUMNS) == expected_on(
                histories, day, FACT_COLUMNS, of("line_item", *line_items)
            )
            restated += 1
    # At least three days on which figures were restated, and their neighbours.
    assert restated >= 9


def test_elements_change_on_the_day_of_their_restatement_in_lists_and_files(
    sample: PublishedSample,
) -> None:
    columns = (*ELEMENTS.identity, "vintage", "available_at", "value_reported")
    by_issuer: dict[str, list[FigureHistory]] = {}
    for history in sample.histories(ELEMENTS):
        by_issuer.setdefault(str(history.vintages[0]["service_id"]), []).append(history)
    compared = 0
    for issuer, histories in sorted(by_issuer.items()):
        bucket = md5(issuer.encode(), usedforsecurity=False).hexdigest()[0]
        for day in boundary_days(histories)[:9]:
            expected = expected_on(histories, day, columns)
            stated = sample.exported(f"af-fund-elements-{bucket}", day)
            rows = [row for row in stated if row["service_id"] == issuer]
            assert served(rows, columns) == expected
            listed = _decode(read(lists.ELEMENTS, sample.mart, service_id=issuer, as_of=day).rows)
            counts = Counter(key[1] for key in expected)
            assert {row["element"]: row["figures"] for row in listed} == counts
            element = min(counts)
            page = read(lists.ELEMENTS, sample.mart, service_id=issuer, element=element, as_of=day)
            assert served(page.rows, columns) == {key for key in expected if key[1] == element}
            compared += 1
        if compared >= 27:
            break
    assert compared >= 27


def test_the_universe_of_a_day_is_the_same_in_the_list_and_in_the_file(
    sample: PublishedSample,
) -> None:
    columns = ("exchange", "ticker", "service_id", "legal_name", "state", "vintage")
    days = {row["available_at"] for row in sample.every_row("af-universe")}
    sizes = []
    for day in sorted({each + timedelta(shift) for each in days for shift in (-1, 0)}):
        page = read(lists.UNIVERSE, sample.mart, as_of=day)
        assert served(page.rows, columns) == served(sample.exported("af-universe", day), columns)
        sizes.append(len(page.rows.rows))
    # No one who was listed is missing on a later day.
    assert sizes == sorted(sizes) and sizes[0] == 0 and sizes[-1] > 20


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
    days = tried(boundary_days(histories))
    for day in days:
        page = series_known(sample.mart, as_of=day)
        on_base = on_current_base(histories, day)
        assert served(page, SERIES_COLUMNS) == expected_on(histories, day, SERIES_COLUMNS, on_base)
    assert len(days) >= 3


@pytest.mark.nightly
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
            on_base = on_current_base(histories, day) if table is MACRO_SERIES else bool
            expected = expected_on(histories, day, columns, on_base)
            assert served(rows, columns) == expected, (table.name, day)
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
        facts = [
            fact
            for country in ("ZAF", "KEN", "COL")
            for fact in _decode(shared_facts(sample.mart, None, country, "AF-TENDER", day))
        ]
        assert {fact["ocid"]: fact["value"] for fact in facts} == newest_values(rows), day
        assert len({fact["ocid"] for fact in facts}) == len(facts)
    assert days


def newest_values(releases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the value of each process: that of its newest release that states one."""
    ordered = sorted(
        releases, key=lambda row: (row["date"] or row["available_at"], row["release_id"])
    )
    return {
        row["ocid"]: _number(row["tender_value"])
        for row in ordered
        if row["tender_value"] is not None
    }


def expected_metrics(
    sample: PublishedSample,
    service_ids: set[str],
    day: date,
    metric_names: Iterable[str] = tuple(PLANS),
) -> dict[tuple[str, str], Decimal]:
    """Return the values that were computable on a day, by service id and metric."""
    answers = {
        (service_id, metric): sample.metric_models[service_id].answer(metric, day)
        for service_id in service_ids
        for metric in metric_names
    }
    return {
        key: answer[2]
        for key, answer in answers.items()
        if answer is not None and answer[0] == "value" and answer[2] is not None
    }


def test_metrics_change_on_the_day_an_input_is_restated_and_not_before(
    sample: PublishedSample,
) -> None:
    changed = 0
    for issuer, histories, days in sample.restated_issuers():
        ids = {history.vintages[0]["service_id"] for history in histories}
        previous: dict[tuple[str, str], Decimal] = {}
        for day in days:
            values = {
                (row["service_id"], row["metric"]): Decimal(str(row["value"]))
                for row in _decode(metrics(sample.mart, issuer, as_of=day))
            }
            expected = expected_metrics(sample, ids, day)
            assert values == expected, (issuer, day)
            changed += values != previous
            previous = values
    assert changed >= 4


def _opened_by(row: Row, day: date) -> bool:
    return bool(row["available_at"] <= day and row["closed_at"] <= day)


# One query reads every panel: the others are compared at night.
@pytest.mark.parametrize(
    "signal_key",
    [
        "time-to-award",
        *(
            pytest.param(panel.key, marks=pytest.mark.nightly)
            for panel in PANELS
            if panel.key != "time-to-award"
        ),
    ],
)
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
    days = boundary_days(
        FigureHistory(sorted(vintages, key=lambda row: int(row["vintage"])))
        for vintages in by_key.values()
    )
    for day in tried(days):
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
    for issuer, histories, days in sample.restated_issuers(2):
        for day in days:
            for filters, where in (
                ("", lambda row: True),
                ("&period_type=FY", of_years(histories, day)),
                ("&period_type=INSTANT", of("period_type", "INSTANT")),
            ):
                answer = api.get(f"/v1/fundamentals/{issuer}?as_of={day}{filters}")
                expected = expected_on(histories, day, FACT_COLUMNS, where)
                assert served(answer.rows, FACT_COLUMNS) == expected, (issuer, day, filters)
                compared += 1
    assert compared >= 18
    series = sample.histories(MACRO_SERIES)
    for day in boundary_days(series)[:6]:
        answer = api.get(f"/v1/macro?as_of={day}")
        expected = expected_on(series, day, SERIES_COLUMNS, on_current_base(series, day))
        assert served(answer.rows, SERIES_COLUMNS) == expected, day


def _number(value: Any) -> Decimal:
    return Decimal(str(value))


def _of_inputs(row: dict[str, Any]) -> Decimal | None:
    """Return the value of a metric of flows from the figures that it cites."""
    formula = FORMULA_BY_SLUG[row["metric"]]
    lines = [
        sum(
            int(each["sign"] * _number(each["value"]))
            for each in row["inputs"]
            if each["line_item"] == needed.line_item
        )
        for needed in formula.inputs
    ]
    return formula.value(lines, 0)


def test_rest_serves_the_metrics_and_the_ranking_of_the_day(
    api: Contract, sample: PublishedSample
) -> None:
    changed = 0
    for issuer, histories, days in sample.restated_issuers(2):
        ids = {history.vintages[0]["service_id"] for history in histories}
        previous: dict[tuple[str, str], Decimal] = {}
        for day in days:
            rows = api.get(f"/v1/metrics/{issuer}?as_of={day}&limit=1000").rows
            values = {(row["service_id"], row["metric"]): _number(row["value"]) for row in rows}
            assert {row["as_of"] for row in rows} <= {str(day)}
            assert values == expected_metrics(sample, ids, day), (issuer, day)
            changed += values != previous
            previous = values
            of_day = api.get(f"/v1/fundamentals/{issuer}?as_of={day}&limit=1000").rows
            known = {row["fact_id"] for row in of_day}
            of_set = f"as_of={day}&metric_set=metrics-ttm"
            for row in api.get(f"/v1/metrics/{issuer}?{of_set}&limit=1000").rows:
                cited = {each["fact_id"] for each in row["inputs"]}
                assert cited <= known and _of_inputs(row) == _number(row["value"]), (day, row)
                ranked = api.get(f"/v1/screen?metric={row['metric']}&{of_set}&limit=1000").rows
                assert row in [row | {"rank": each["rank"]} == each and row for each in ranked]
            ranked_by = expected_metrics(sample, set(sample.metric_models), day, RANKED)
            for metric in RANKED:
                ranked = api.get(f"/v1/screen?metric={metric}&as_of={day}&limit=1000").rows
                ranking = {row["service_id"]: _number(row["value"]) for row in ranked}
                assert ranking == {
                    service_id: value
                    for (service_id, name), value in ranked_by.items()
                    if name == metric
                }, (metric, day)
                assert list(ranking.values()) == sorted(ranking.values(), reverse=True)
    assert changed >= 2


# Panels that the model computes for a whole country; the others are grouped further.
NATIONAL = {
    *("single-bid-rate", "cancellation-rate", "submission-window", "value-revision"),
    *("procurement-method-mix", "bidder-participation", "procurement-demand"),
    *("time-to-award", "award-to-estimate"),
}
REVISED_MONTHS = 37


@dataclass(frozen=True)
class CountrySignals:
    """The signals of a country as the model computes them from the sightings of the record."""

    releases: list[Row]
    parties: list[Row]

    def at(self, closing: date) -> dict[Key, signals_model.Answer]:
        """Return the values of the months that a closing revises, by month and signal."""
        first = signals_model.month_of(min(row["available_at"] for row in self.releases))
        processes = signals_model.processes(self.releases, self.parties, closing)
        last = signals_model.month_of(closing - timedelta(days=5))
        answers: dict[Key, signals_model.Answer] = {}
        for back in range(REVISED_MONTHS):
            month = signals_model.shifted(last, -back)
            if month < first:
                break
            of_month = signals_model.by_tender(processes, month)
            of_month |= signals_model.by_first_award(processes, month, first)
            momentum = signals_model.momentum(processes, month, first)
            if momentum is not None:
                of_month["procurement-demand", "momentum_3m_yoy", "all", None] = momentum
            answers |= {(month, *key): answer for key, answer in of_month.items()}
        return answers


def last_closing(day: date) -> date:
    """Return the latest day by ``day`` on which panels were computed: the fifth of a month."""
    if day.day >= 5:
        return day.replace(day=5)
    return signals_model.shifted(signals_model.month_of(day), -1).replace(day=5)


def signals_served(rows: list[Row], months: set[date]) -> dict[Key, signals_model.Answer]:
    """Return the national values of some months that have one, by month and signal."""
    return {
        (
            date.fromisoformat(row["month"]),
            *(row[name] for name in ("signal_key", "measure", "dimension_value", "currency")),
        ): (_number(row["value"]), row["n_eligible"], row["n_observed"], row["n_withheld"])
        for row in rows
        if date.fromisoformat(row["month"]) in months
        # A share of nothing is served as zero, and is not in the model.
        and row["value"]
        # Of measures by category the model computes the shares only.
        and (row["dimension"] != "category" or row["measure"].startswith("category_share"))
        and row["measure"] != "named_buyer_share"
    }


@pytest.mark.parametrize("country", ["ZA", "KE", "CO"])
def test_signals_are_those_of_the_releases_known_at_the_last_closing(
    api: Contract, sample: PublishedSample, country: str
) -> None:
    """Computed from the releases alone; not from rows that the build exported."""
    model = CountrySignals(
        *(
            [row for row in with_ends(sample.histories(table)) if row["country"] == country]
            for table in (TENDER_RELEASES, TENDER_PARTIES)
        )
    )
    revised = 0
    # The releases of the sample world were edited on 2 March 2026.
    for closing in (date(2023, 12, 5), date(2024, 7, 5), date(2026, 3, 5)):
        answers_at = {day: model.at(day) for day in (last_closing(closing - timedelta(1)), closing)}
        for day in (closing - timedelta(1), closing, closing + timedelta(1)):
            answers = answers_at[last_closing(day)]
            months = {key[0] for key in answers}
            expected = {key: answer for key, answer in answers.items() if answer[0]}
            pages = [
                page
                for signal_key in NATIONAL
                if (page := panel(sample.mart, signal_key, country, as_of=day)) is not None
            ]
            rows = [row for page in pages for row in _decode(page)]
            assert signals_served(rows, months) == expected, (country, day)
            query = f"country={country}&as_of={day}&from={min(months)}&limit=1000"
            answer = api.get(f"/v1/signals/procurement-demand?{query}")
            assert not answer.body["truncated"]
            assert signals_served(answer.rows, months) == {
                key: value for key, value in expected.items() if key[1] == "procurement-demand"
            }, (country, day)
        before, after = answers_at.values()
        revised += sum(after[key] != before[key] for key in before.keys() & after.keys())
    assert revised


@pytest.fixture(scope="module")
def agents_key(agents: Agents) -> str:
    return create_key(KeyStore(agents.world.keys), "professional")


def rest_rows(agents: Agents, key: str, path: str, **parameters: Any) -> list[Row]:
    body = json.loads(agents.get(path, key, **parameters))
    assert not body["truncated"]
    return list(body["observations" if "observations" in body else "data"])


def mcp_rows(agents: Agents, key: str, tool: str, **arguments: Any) -> list[Row]:
    verbose = {**arguments, "verbose": True}
    body = call(agents.server, key, tool, verbose).result["structuredContent"]
    assert not body["truncated"]
    return list(body["data"])


def test_agents_and_rest_get_the_figures_of_the_day_in_a_random_world(
    agents: Agents, agents_key: str
) -> None:
    record = Record(str(agents.world.root / "record"))
    by_issuer: dict[str, list[FigureHistory]] = {}
    for history in histories_of(record, FUNDAMENTALS):
        by_issuer.setdefault(history.vintages[0]["service_id"], []).append(history)
    compared = 0
    for issuer, histories in by_issuer.items():
        for day in boundary_days(histories):
            expected = expected_on(histories, day, FACT_COLUMNS)
            path = f"/v1/fundamentals/{issuer}"
            rows = rest_rows(agents, agents_key, path, as_of=str(day))
            assert served(rows, FACT_COLUMNS) == expected, (issuer, day)
            query = {"service_id": issuer, "as_of": str(day), "limit": 1000}
            rows = mcp_rows(agents, agents_key, "get_fundamentals", **query)
            assert served(rows, FACT_COLUMNS) == expected, (issuer, day)
            compared += 1
    assert compared > 30
    series = histories_of(record, MACRO_SERIES)
    days = boundary_days(series)
    for day in days:
        expected = expected_on(series, day, SERIES_COLUMNS)
        query = {"as_of": str(day), "limit": 1000}
        rows = rest_rows(agents, agents_key, "/v1/macro", **query)
        assert served(rows, SERIES_COLUMNS) == expected, day
        rows = mcp_rows(agents, agents_key, "get_macro", **query)
        assert served(rows, SERIES_COLUMNS) == expected, day
    assert len(days) > 6


def test_rest_serves_the_tender_values_of_the_day_in_a_random_world(
    agents: Agents, agents_key: str
) -> None:
    record = Record(str(agents.world.root / "record"))
    histories = [
        history
        for history in histories_of(record, TENDER_RELEASES)
        if history.vintages[0]["country"] == "ZA"
    ]
    # A process has one release in this world, which never changes its value.
    columns, fact_columns = ("tender_value", "tender_currency"), ("value", "unit")
    query = {"country": "ZAF", "dataset": "AF-TENDER", "limit": 1000}
    days = boundary_days(history for history in histories if history.vintages[0]["tender_value"])
    for day in days:
        rows = rest_rows(agents, agents_key, "/v1/shared/facts", **query, as_of=str(day))
        expected = expected_on(histories, day, columns, lambda row: row["tender_value"] is not None)
        assert served(rows, fact_columns) == expected, day
    assert len(days) > 15


def test_rest_serves_the_metrics_and_signals_of_the_day_in_a_random_world(
    agents: Agents, agents_key: str
) -> None:
    derived = {name: table.to_pylist() for name, table in derived_of(Random(1)).items()}
    metrics_of_build, signals_of_build = derived["metrics"], derived["signals"]
    changes = {row["answers_until"] for row in metrics_of_build if row["answers_until"]}
    for day in sorted(day + timedelta(shift) for day in changes for shift in (-1, 0, 1)):
        current = {
            row["service_id"]: (_number(row["value"]), str(row["period_end"]))
            for row in metrics_of_build
            if row["answers_from"] <= day
            and (not row["answers_until"] or day < row["answers_until"])
        }
        rows = rest_rows(agents, agents_key, "/v1/screen", metric="net_margin", as_of=str(day))
        for service_id in current:
            rows += rest_rows(agents, agents_key, f"/v1/metrics/{service_id}", as_of=str(day))
        assert len(rows) == 2 * len(current)
        values = {row["service_id"]: (_number(row["value"]), row["period_end"]) for row in rows}
        assert values == current, day
    changes = {row["superseded_at"] for row in signals_of_build if row["superseded_at"]}
    for day in sorted(day + timedelta(shift) for day in changes for shift in (-1, 0, 1)):
        path, query = "/v1/signals/procurement-demand", {"as_of": str(day)}
        rows = rest_rows(agents, agents_key, path, **query)
        assert {(row["month"], row["vintage"]): _number(row["value"]) for row in rows} == {
            (str(row["month"]), row["vintage"]): _number(row["value"])
            for row in signals_of_build
            if row["available_at"] <= day
            and (row["superseded_at"] is None or day < row["superseded_at"])
        }, day


def test_withheld_parties_are_counted_as_they_were_known_on_a_day(
    api: Contract, sample: PublishedSample
) -> None:
    withheld = [row for row in with_ends(sample.histories(TENDER_PARTIES)) if row["name"] is None]
    counts = set[int]()
    for country, day, since in (
        ("KE", date(2024, 1, 22), date.min),
        ("KE", date(2026, 3, 3), date(2025, 1, 1)),
        ("CO", date(2024, 1, 22), date(2024, 1, 1)),
    ):
        roles = Counter(
            row["role"]
            for row in withheld
            if row["country"] == country
            and not row["withdrawn"]
            and row["available_at"] <= day < (row["superseded_at"] or date.max)
            and (since == date.min or (row["released_on"] and row["released_on"] >= since))
        )
        sent = f"country={country}&as_of={day}&limit=1"
        sent += "" if since == date.min else f"&from={since}"
        for role, expected in roles.items():
            answer = api.get(f"/v1/tender-parties?{sent}&role={role}")
            assert answer.body["parties_withheld"] == expected, (sent, role)
        suppliers, every = api.get(f"/v1/awards?{sent}"), api.get(f"/v1/tender-parties?{sent}")
        assert suppliers.body["parties_withheld"] == roles["supplier"]
        assert every.body["parties_withheld"] == roles.total()
        counts.add(roles.total())
    assert len(counts) > 1 and all(counts)
    # Of a country without releases none are withheld; of no country, nothing is counted.
    for sent, withheld_parties in (("country=FR", 0), ("role=buyer", None)):
        answer = api.get(f"/v1/tender-parties?{sent}&limit=1")
        assert answer.body["parties_withheld"] == withheld_parties, sent
    # A search by a name that finds nothing says that names are withheld.
    sought = api.get("/v1/tenders?country=KE&supplier=nobody+is+called+so")
    assert "suppliers are withheld" in sought.body["empty"]["detail"]
    # What one organisation won lacks nothing.
    won = api.get("/v1/awards?service_id=XNAI:SAF2&limit=1")
    assert won.rows and won.body["parties_withheld"] is None
