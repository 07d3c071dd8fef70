"""`sankofa why` names the reason for which a value is or is not served; one case for each."""

import json
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from pipelines.commands.main import sankofa
from pipelines.why import Explanation, explain
from tests.helpers.damage import copy_home
from tests.helpers.facts import fact, facts
from tests.helpers.installation import settings_of
from tests.helpers.publishing import publish
from tests.helpers.record_rows import (
    FIRST,
    SECOND,
    element_of,
    entity_row,
    load,
    observation,
    party_row,
    release_row,
    series_row,
)
from tests.helpers.unchecked import append_unchecked
from warehouse.publish.snapshot import Derivation
from warehouse.record.append import Load, append
from warehouse.record.erase import enter_erasure
from warehouse.record.incoming import RejectedRow, to_arrow
from warehouse.record.landing import FetchedResponse, Landing
from warehouse.record.merge import CompleteScope
from warehouse.record.store import Record, commit_entries
from warehouse.record.tables import (
    ELEMENTS,
    ENTITIES,
    FUNDAMENTALS,
    MACRO_ANNUAL,
    MACRO_SERIES,
    TENDER_PARTIES,
    TENDER_RELEASES,
)
from warehouse.record.withheld import Subject, name_subject, withhold
from warehouse.shared.errors import NothingPublished, SankofaError
from warehouse.shared.settings import Settings
from warehouse.tables.operations import FailureEntry

ISSUER, MOMENT = "DCTEST1", datetime(2026, 1, 1, 6, tzinfo=UTC)
URL = "https://example.org/releases.json"
RELEASE = json.dumps({"buyer": {"name": "City of Nowhere"}, "tender": {"title": "Road works"}})


def absent_metric(_: object) -> dict[str, pa.Table]:
    row = {
        "service_id": ISSUER,
        "metric": "net_margin",
        "period_end": date(2018, 12, 31),
        "reason": "input_not_reported",
        "holds_from": FIRST,
        "holds_until": None,
    }
    return {"metrics_absent": pa.Table.from_pylist([row])}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A small record with a row for every reason, published; the last load came afterwards.

    Each story has an issuer, a series or a process of its own, and mostly a source of its own.
    """
    home = settings_of(tmp_path_factory.mktemp("why") / "home")
    record, landing = Record(home.record), Landing(home.landing)
    landed, _ = landing.land(
        FetchedResponse("test", URL, b'{"ocid": "ocds-0404"}', "cc-by", MOMENT)
    )
    landing.land(FetchedResponse("test", f"{URL}?page=2", b"{}", "cc-by", MOMENT))
    stated = (
        fact("10", service_id=ISSUER, available_at=FIRST, publication="a-1"),
        fact("12.50", service_id=ISSUER, available_at=SECOND, publication="a-2"),
    )
    append(record, FUNDAMENTALS, facts(*stated), Load("test", (landed.key,)))
    load(record, ELEMENTS, *(element_of(row) for row in stated))
    profit: dict[str, Any] = {"item": "profit", "issuer": ISSUER, "element": "ifrs-full:ProfitLoss"}
    load(record, FUNDAMENTALS, fact("-31941000", available_at=FIRST, document="d8", **profit))
    sentence: dict[str, Any] = {"available_at": SECOND, "publication": "a-2", "document": "d9"}
    load(record, FUNDAMENTALS, fact("31900000", **sentence, **profit))
    load(record, ENTITIES, entity_row(service_id=ISSUER))
    load(
        record,
        MACRO_ANNUAL,
        observation("7", FIRST, indicator="NY.GDP", available_at=None, publication="u"),
    )
    load(record, MACRO_SERIES, series_row("1", FIRST), series_row("2", SECOND))
    index: dict[str, Any] = {"series": "CPI", "series_type": "cpi", "source": "index"}
    old, new = ({**index, "base_period": f"{year}=100"} for year in (2010, 2015))
    load(record, MACRO_SERIES, series_row("110", FIRST, **old))
    rebased = {"available_at": SECOND, "publication": str(SECOND)}
    load(record, MACRO_SERIES, series_row("50", SECOND, **new, **rebased))
    later = datetime(2026, 2, 1, tzinfo=UTC)
    shown, _ = to_arrow(MACRO_SERIES, [series_row("2", SECOND, observed_at=later)])
    complete = CompleteScope({"source": "test"}, later, "d5", "d5")
    append(record, MACRO_SERIES, shown, Load("test", ("d5",)), complete=complete)
    place = {"document": landed.sha256, "source_ref": f"{URL}#/releases/0"}
    load(record, TENDER_RELEASES, release_row(1, release=RELEASE, **place), release_row(2))
    rejected = [RejectedRow(landed.sha256, f"{URL}#/releases/0/awards/1", "no amount given")]
    parties, _ = to_arrow(TENDER_PARTIES, [party_row(name="City of Nowhere", **place)])
    append(record, TENDER_PARTIES, parties, Load("test", ("d",)), rejected=rejected)
    append_unchecked(record, TENDER_RELEASES, release_row(3, tender_currency="kes"))
    secret = home.withheld_key.encode()
    withhold(record, [Subject("process", "test|ocds-0002")], "a mistake", "op", secret)
    # A document at which the parser raised.
    failing = f"{URL}/failing"
    document, _ = landing.land(FetchedResponse("failing", failing, b"ocds-0405", "cc-by", MOMENT))
    load(record, MACRO_SERIES, series_row("1", FIRST, series="FAILING", source="failing"))
    failure = FailureEntry(
        document=document.key,
        source="failing",
        url=failing,
        parser_version="1",
        error="KeyError",
        message=None,
        location="assets/x.py:1 in parse",
        code_version="1.0.0",
        failed_at=MOMENT,
        appended=0,
    )
    commit_entries(record, "failures", [failure])
    # A document of which two lines were quarantined.
    body = b"day,rate\n2019-03-30,1\n2019-03-31,n/a\n2019-04-01,n/a\n"
    rates = f"{URL}/rates.csv"
    landed, _ = landing.land(FetchedResponse("test", rates, body, "cc-by", MOMENT))
    place = {"document": landed.sha256, "source_ref": f"{rates}#line 2"}
    rows, _ = to_arrow(MACRO_SERIES, [series_row("1", FIRST, series="RATES", **place)])
    rejected = [
        RejectedRow(landed.sha256, f"{rates}#line {line}", "'n/a' is not a number")
        for line in (3, 4)
    ]
    append(record, MACRO_SERIES, rows, Load("test", (landed.key,)), rejected=rejected)
    # An erased document, and more rows than a tier gets.
    load(record, MACRO_SERIES, series_row("1", FIRST, series="ERASED", source="erased"))
    enter_erasure(record, "d7", "erased", MOMENT, "a request", "op")
    long = {"series": "LONG", "source": "long"}
    days = [date(2025, 1, day) for day in range(1, 31)]
    load(record, MACRO_SERIES, *(series_row(str(day.day), day, **long) for day in days))
    years = range(1900, 2001)
    load(record, FUNDAMENTALS, *(fact(year=year, issuer="DCMANY", source="many") for year in years))
    publish(record, home.marts, "notice", derivations=[Derivation("made up", absent_metric)])
    load(record, MACRO_SERIES, series_row("9", date(2027, 1, 1), series="LATE"))
    return home


def explained(
    settings: Settings, text: str, field: str | None = None, as_of: date | None = None
) -> Explanation:
    """Explain something once, whichever tests look at it: they change nothing."""
    return explained_once(settings.home, text, field, as_of)


@cache
def explained_once(home: Path, text: str, field: str | None, as_of: date | None) -> Explanation:
    return explain(settings_of(home), text, field, as_of)


def states(explanation: Explanation) -> list[str]:
    return [reading.state for reading in explanation.readings]


def test_a_restated_figure_has_its_vintages_with_their_days(here: Settings) -> None:
    now = explained(here, ISSUER, "revenue")
    assert states(now) == [f"superseded on {SECOND}", "served"]
    assert [reading.value for reading in now.readings] == ["10", "12.5"]
    assert now.answer == "served: 1 of 2 rows"


def test_an_element_is_explained_like_a_line(here: Settings) -> None:
    now = explained(here, ISSUER, "test:revenue")
    assert [(reading.table, reading.value) for reading in now.readings] == [
        ("elements", "10"),
        ("elements", "12.5"),
    ]
    assert states(now) == [f"superseded on {SECOND}", "served"]
    then = explained(here, ISSUER, "test:revenue", date(2019, 6, 1))
    assert states(then) == ["served", f"not known on 2019-06-01: it was published on {SECOND}"]
    assert explained(here, ISSUER, "us-gaap:Goodwill").answer == "not served: no row states it"


def test_a_statement_that_only_looks_like_a_restatement_is_shown_with_its_kind(
    here: Settings,
) -> None:
    found = explained(here, ISSUER, "profit")
    apparent = "no vintage: only looks like a restatement (sign)"
    assert sorted(states(found)) == [apparent, "served"]
    assert found.answer == "served: 1 of 2 rows"


def test_on_a_past_day_the_first_vintage_is_served_and_the_second_is_not_known(
    here: Settings,
) -> None:
    then = explained(here, ISSUER, "revenue", date(2019, 6, 1))
    assert states(then) == ["served", f"not known on 2019-06-01: it was published on {SECOND}"]
    before = explained(here, ISSUER, "revenue", date(2018, 1, 1))
    assert before.answer.startswith("not served on 2018-01-01: not known on 2018-01-01")


def test_a_line_that_was_never_stated_has_no_row(here: Settings) -> None:
    assert explained(here, ISSUER, "cash").answer == "not served: no row states it"


def test_a_figure_without_an_evidenced_day_is_in_no_answer_with_as_of(here: Settings) -> None:
    assert states(explained(here, "NY.GDP")) == ["served"]
    (state,) = states(explained(here, "NY.GDP", as_of=date(2026, 1, 1)))
    assert state.startswith("in no answer with as_of")


def test_a_period_that_was_not_carried_over_to_a_new_base_says_so(here: Settings) -> None:
    superseded, withdrawn = states(explained(here, "CPI", str(FIRST)))
    assert superseded == f"superseded on {SECOND}"
    assert withdrawn.startswith("withdrawn: the publisher stated another base in ")
    assert states(explained(here, "CPI", str(SECOND))) == ["served"]


def test_a_withdrawn_figure_says_when_it_was_no_longer_shown(here: Settings) -> None:
    found = explained(here, "FX.EUR.ZAR", str(FIRST))
    assert states(found) == [
        "superseded on 2026-02-01",
        "withdrawn: the publisher no longer showed it on 2026-02-01",
    ]
    assert states(explained(here, "FX.EUR.ZAR", "2020")) == ["served"]
    assert len(explained(here, "FX.EUR.ZAR", "ZA").readings) == 3


def test_what_an_operator_withheld_is_named_and_not_shown(here: Settings) -> None:
    found = explained(here, "ocds-0002")
    (reading,) = found.readings
    assert reading.state == "left out: withheld by the operator: its contracting process"
    assert reading.value is None
    assert "not served: left out" in found.answer


def test_a_row_that_fails_a_rule_names_the_rule(here: Settings) -> None:
    (state,) = states(explained(here, "ocds-0003"))
    assert state.startswith("left out: ")
    assert "currenc" in state


def test_what_was_loaded_after_the_build_waits_for_the_next(here: Settings) -> None:
    (state,) = states(explained(here, "LATE"))
    assert state == "loaded after the current build was published; run `sankofa publish`"


def test_a_tombstone_entered_after_the_build_is_noted(here: Settings, tmp_path: Path) -> None:
    notes = "what is withheld has changed since the build; run `sankofa publish`"
    assert notes not in explained(here, "ocds-0001").notes
    later = settings_of(copy_home(here.home, tmp_path / "home"))
    secret = later.withheld_key.encode()
    withhold(Record(later.record), [name_subject(secret, "Nobody Here")], "why", "op", secret)
    assert notes in explain(later, "ocds-0001").notes


def test_the_documents_that_mention_it_are_listed_with_those_not_read(here: Settings) -> None:
    found = explained(here, "ocds-0001")
    read, *others = found.documents
    assert (read.url, read.state, read.rows) == (URL, "read", 2)
    unread = [mention for mention in others if mention.url == f"{URL}?page=2"]
    assert [mention.state.split(";")[0] for mention in unread] == ["landed and not read yet"]


def test_a_document_at_which_the_parser_raised_says_so(here: Settings) -> None:
    for subject in ("FAILING", "ocds-0405"):
        states_of_documents = {mention.state for mention in explained(here, subject).documents}
        assert "the parser failed: KeyError (assets/x.py:1 in parse)" in states_of_documents


def test_what_was_quarantined_at_its_place_is_listed(here: Settings) -> None:
    (group,) = explained(here, "ocds-0001").quarantined
    assert (group.table, group.reason, group.rows) == ("tender_parties", "no amount given", 1)


def test_a_text_that_no_row_has_is_looked_for_in_the_documents(here: Settings) -> None:
    found = explained(here, "ocds-0404")
    assert found.answer.startswith("not served: its documents mention it")
    assert [mention.url for mention in found.documents] == [URL]
    assert [group.reason for group in found.quarantined] == ["no amount given"]


def test_a_text_that_is_nowhere_is_an_error_with_what_is_spelled_alike(here: Settings) -> None:
    with pytest.raises(SankofaError, match="none of 4 landed documents mentions it; did you mean"):
        explain(here, "ocds-0004")
    with pytest.raises(SankofaError, match="give a part of the name to find ids"):
        explain(here, "no such thing")
    with pytest.raises(SankofaError, match="is no field of DCTEST1; for example revenue"):
        explain(here, ISSUER, "revenues")
    with pytest.raises(SankofaError, match="give a country, or a period"):
        explain(here, "NY.GDP", "20x6")


def test_the_name_of_one_organisation_is_as_good_as_its_id(here: Settings) -> None:
    assert explained(here, "ubuntu") == explained(here, ISSUER)


def test_a_period_whose_rows_were_quarantined_says_so(here: Settings) -> None:
    found = explained(here, "RATES", "2019-03-31")
    assert found.answer == (
        "not served: quarantined when it was read (1 rows): 'n/a' is not a number"
    )
    assert [(group.table, group.rows) for group in found.quarantined] == [("macro_series", 1)]
    assert explained(here, "RATES", "2018").answer == "not served: no row states it"


def test_an_absent_metric_has_its_reason_and_its_inputs(here: Settings) -> None:
    found = explained(here, ISSUER, "net_margin")
    assert found.answer == (
        "no value: input_not_reported, an input was never published, or has been withdrawn"
    )
    assert {reading.table for reading in found.readings} == {"fundamentals"}
    assert "profit" in found.meaning


def test_a_member_of_releases_is_shown_or_said_to_be_missing(here: Settings) -> None:
    found = explained(here, "ocds-0001", "tender.title")
    assert [reading.value for reading in found.readings if reading.table == "tender_releases"] == [
        "Road works"
    ]
    states_of_value = states(explained(here, "ocds-0001", "tender.value"))
    assert any(state.startswith("not in the release") for state in states_of_value)
    assert any("1 of its parties are withheld" in state for state in states_of_value)


def test_a_member_that_the_register_leaves_empty_is_null(here: Settings) -> None:
    assert states(explained(here, ISSUER, "lei")) == ["null: the source does not state it"]


def test_a_list_longer_than_a_tier_allows_is_noted(here: Settings) -> None:
    (note,) = explained(here, "LONG").notes
    assert "the sample tier gets 25 rows" in note
    assert "30 rows" in note


def test_a_paid_key_gets_all_figures_of_an_issuer_and_nothing_else_is_noted(
    here: Settings,
) -> None:
    (note,) = explained(here, "DCMANY").notes
    assert "the sample tier gets" in note and "101 rows" in note


def test_an_erased_document_of_the_source_is_mentioned(here: Settings) -> None:
    assert any(
        mention.state.endswith("a request") and mention.document == "d7"
        for mention in explained(here, "ERASED").documents
    )


def test_before_the_first_build_the_command_exits_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(tmp_path))
    assert CliRunner().invoke(sankofa, ["why", ISSUER]).exit_code == 3
    with pytest.raises(NothingPublished):
        explain(settings_of(tmp_path), ISSUER)


def test_the_command_prints_what_it_found(here: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(here.home))
    result = CliRunner().invoke(sankofa, ["why", ISSUER, "revenue"])
    assert result.exit_code == 0
    for words in ("superseded on 2020-03-30", "served: 1 of 2 rows", "sankofa ingest"):
        assert words in result.output


def test_json_has_every_part(here: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANKOFA_HOME", str(here.home))
    result = CliRunner().invoke(sankofa, ["why", "ocds-0001", "--as-of", "2026-01-01", "--json"])
    body: dict[str, Any] = json.loads(result.output)
    assert body["as_of"] == "2026-01-01"
    assert {"answer", "readings", "documents", "quarantined", "notes"} <= body.keys()
