"""Every rule that only the audit enforces can fail, and a good row meets it."""

import duckdb
import pytest

from quality.reuse import AuditPlan, tables_read
from quality.rules import Rule, Suite
from quality.suites import SUITES
from warehouse.publish.manifest import BuildFile
from warehouse.record.rules import rules_of
from warehouse.record.tables import RECORD_TABLES

pytestmark = pytest.mark.slow

_INTERVAL = "DATE '2020-01-01' AS {}, DATE '{}' AS {}"
# Rows that fail and rows that do not, by the words of the rule: SELECTs of the columns it names.
ROWS: dict[str, tuple[str, str]] = {
    "every row has a provenance_id": ("'' AS provenance_id", "'p' AS provenance_id"),
    "every row has a row_id": ("NULL::VARCHAR AS row_id", "'r' AS row_id"),
    "every row has an observed_at": (
        "NULL::DATE AS observed_at",
        "DATE '2020-01-01' AS observed_at",
    ),
    "every row has a source_ref": ("'' AS source_ref", "'d#/0' AS source_ref"),
    "every row has a value": ("NULL::DOUBLE AS value", "0.0 AS value"),
    "every row has a licence that permits serving it": (
        "'restricted' AS license_class",
        "'cc-by' AS license_class",
    ),
    "no vintage is superseded before it is available": (
        _INTERVAL.format("available_at", "2019-12-31", "superseded_at"),
        _INTERVAL.format("available_at", "2020-01-01", "superseded_at"),
    ),
    "no statement is superseded before it is the newest": (
        _INTERVAL.format("available_at", "2020-01-01", "superseded_at"),
        _INTERVAL.format("available_at", "2020-01-02", "superseded_at"),
    ),
    "the latest vintage is not superseded": (
        "TRUE AS latest, DATE '2020-01-01' AS superseded_at",
        "FALSE AS latest, DATE '2020-01-01' AS superseded_at",
    ),
    "organisation ids start with DC": ("'X1' AS service_id", "'DC1' AS service_id"),
    "countries are two-letter codes": ("'za' AS country", "'ZA' AS country"),
    "countries are three-letter codes": ("'ZA' AS country_iso3", "'ZAF' AS country_iso3"),
    "currencies are three-letter codes": (
        "'Rand' AS unit, 'Rand' AS currency",
        "'ZAR' AS unit, 'ZAR' AS currency",
    ),
    "every served party has a name": ("NULL::VARCHAR AS name", "'A Ltd' AS name"),
    "every tender fact names its process": ("'' AS ocid", "'ocds-1' AS ocid"),
    "every served organisation has a name": ("'' AS legal_name", "'A Ltd' AS legal_name"),
    "no id points to itself": (
        "'DC1' AS service_id, 'DC1' AS same_as",
        "'DC1' AS service_id, 'DC2' AS same_as",
    ),
    "no id points to one that points elsewhere": ("'DC9' AS same_as", "'DC2' AS same_as"),
    "match_method is one of its allowed values": (
        "'guess' AS match_method",
        "'lei' AS match_method",
    ),
    "a resolved party has a match_method, any other a reason": (
        "'DC1' AS service_id, NULL AS match_method, NULL AS reason",
        "NULL AS service_id, NULL AS match_method, 'no_match' AS reason",
    ),
    "every value names its formula": (
        "'metrics-v1/other' AS methodology_ref, 'roe' AS metric",
        "'metrics-v1/roe' AS methodology_ref, 'roe' AS metric",
    ),
    "every value names its formula in its set": (
        "'metrics-v1/roe' AS methodology_ref, 'roe' AS metric",
        "'metrics-ttm/roe' AS methodology_ref, 'roe' AS metric",
    ),
    "every value names its inputs": ("'[]' AS inputs", "'[1]' AS inputs"),
    "no value answers before it was available": (
        "DATE '2020-01-01' AS answers_from, DATE '2020-01-02' AS available_at, "
        "DATE '2020-01-01' AS published_at",
        "DATE '2020-01-02' AS answers_from, DATE '2020-01-02' AS available_at, "
        "DATE '2020-01-01' AS published_at",
    ),
    "no interval ends before it starts": (
        f"{_INTERVAL.format('answers_from', '2019-01-01', 'answers_until')}, "
        f"{_INTERVAL.format('holds_from', '2019-01-01', 'holds_until')}",
        f"{_INTERVAL.format('answers_from', '2020-01-01', 'answers_until')}, "
        f"{_INTERVAL.format('holds_from', '2020-01-01', 'holds_until')}",
    ),
    "a row has a value or a reason": (
        "1.0 AS value, 'restated_between' AS reason",
        "1.0 AS value, NULL AS reason",
    ),
    "every value is the sum of its inputs": (
        """3.0 AS value, '[{"sign":1,"value":4.5},{"sign":-1,"value":2.5}]' AS inputs""",
        """2.0 AS value, '[{"sign":1,"value":4.5},{"sign":-1,"value":2.5}]' AS inputs""",
    ),
    "no value answers before its inputs were available": (
        "1.0 AS value, DATE '2020-01-01' AS available_at, "
        """'[{"available_at":"2020-01-02"}]' AS inputs""",
        "1.0 AS value, DATE '2020-01-02' AS available_at, "
        """'[{"available_at":"2020-01-02"}]' AS inputs""",
    ),
    "no row is superseded before it is available": (
        _INTERVAL.format("available_at", "2020-01-01", "superseded_at"),
        _INTERVAL.format("available_at", "2020-01-02", "superseded_at"),
    ),
    "an issuer has one answer per metric and day": (
        "'DC1' AS service_id, 'roe' AS metric, DATE '2019-12-31' AS period_end, "
        f"{_INTERVAL.format('answers_from', '2020-03-01', 'answers_until')}",
        "'DC1' AS service_id, 'roe' AS metric, DATE '2019-12-31' AS period_end, "
        f"{_INTERVAL.format('answers_from', '2020-02-01', 'answers_until')}",
    ),
    "reason is one of its allowed values": ("'tired' AS reason", "NULL::VARCHAR AS reason"),
    "n_eligible is not negative": ("-1 AS n_eligible", "0 AS n_eligible"),
    "n_withheld is not negative": ("-1 AS n_withheld", "0 AS n_withheld"),
    "n_observed is not greater than n_eligible": (
        "2 AS n_observed, 1 AS n_eligible",
        "1 AS n_observed, 1 AS n_eligible",
    ),
    "coverage is n_observed / n_eligible, null if nothing is in scope": (
        "0.4 AS coverage, 1 AS n_observed, 2 AS n_eligible",
        "0.5 AS coverage, 1 AS n_observed, 2 AS n_eligible",
    ),
    "a row that observed nothing has no value": (
        "0 AS n_observed, 1.0 AS value",
        "0 AS n_observed, NULL AS value",
    ),
    "a value is its numerator / its denominator": (
        "0.26 AS value, 1 AS numerator, 4 AS denominator",
        "0.25 AS value, 1 AS numerator, 4 AS denominator",
    ),
    "a month is given by its first day": (
        "DATE '2020-01-02' AS month",
        "DATE '2020-01-01' AS month",
    ),
    "a month closes after its end": (
        "DATE '2020-01-01' AS month, DATE '2020-01-31' AS closed_at",
        "DATE '2020-01-01' AS month, DATE '2020-02-01' AS closed_at",
    ),
    "no row is available before its month closes": (
        "DATE '2020-01-01' AS available_at, DATE '2020-01-31' AS closed_at",
        "DATE '2020-02-01' AS available_at, DATE '2020-01-31' AS closed_at",
    ),
    "every row names its methodology": (
        "'signals-v1/other' AS methodology_ref, 'prices' AS signal_key",
        "'signals-v1/prices' AS methodology_ref, 'prices' AS signal_key",
    ),
    "status is one of its allowed values": ("'GOOD' AS status", "'PASS' AS status"),
    "a row without a measurement is UNMEASURED": (
        "NULL AS measured, 'PASS' AS status",
        "NULL AS measured, 'UNMEASURED' AS status",
    ),
    "n_passed is not greater than n_checked": (
        "2 AS n_passed, 1 AS n_checked",
        "1 AS n_passed, 1 AS n_checked",
    ),
    "kind is one of its allowed values": ("'forgotten' AS kind", "'edited' AS kind"),
    "what is there differs from what was there": (
        "'1' AS before, '1' AS after",
        "'1' AS before, NULL AS after",
    ),
    "the new content is seen after the old": (
        "DATE '2020-01-01' AS after_first_seen_at, DATE '2020-01-01' AS before_last_seen_at",
        "DATE '2020-01-02' AS after_first_seen_at, DATE '2020-01-01' AS before_last_seen_at",
    ),
    "no listing is known before a list showed it": (
        "DATE '2020-01-02' AS first_shown, DATE '2020-01-01' AS available_at",
        "DATE '2020-01-01' AS first_shown, DATE '2020-01-01' AS available_at",
    ),
    "a delisting is in the past": (
        "'delisted' AS state, DATE '2020-01-01' AS listed_to, DATE '2020-01-01' AS available_at",
        "'delisted' AS state, DATE '2020-01-01' AS listed_to, DATE '2020-01-02' AS available_at",
    ),
    "no more rows are left out than are stored": (
        "2 AS rows_left_out, 1 AS rows_stored",
        "1 AS rows_left_out, 1 AS rows_stored",
    ),
}
_OF_RECORD = {
    (f"record.{table.name}", rule.words) for table in RECORD_TABLES for rule in rules_of(table)
}
OWN_RULES = [
    (suite, rule)
    for suite in SUITES
    for rule in suite.rules
    if (suite.name, rule.words) not in _OF_RECORD
]


def rows_of(rule: Rule) -> tuple[str, str]:
    """Return a SELECT of rows that fail a rule, and one of rows that do not."""
    if rule.condition.startswith("unique: "):
        columns = ", ".join(
            f"NULL AS {name}"
            for name in rule.condition.removeprefix("unique: ").split(", ")
            if not name.startswith("CASE")
        )
        if "CASE" in rule.condition:
            columns += ", NULL AS issuer"
        return f"SELECT {columns} UNION ALL SELECT {columns}", f"SELECT {columns}"
    if "vintages" in rule.words:
        key = rule.query.partition("GROUP BY ")[2].partition("\n")[0].split(", ")
        columns = ", ".join(f"NULL AS {name}" for name in key)
        return f"SELECT 2 AS vintage, {columns}", f"SELECT 1 AS vintage, {columns}"
    if rule.reads:
        return "SELECT 'found' AS row_id", "SELECT 'other' AS row_id"
    bad, good = ROWS[rule.words]
    return f"SELECT {bad}", f"SELECT {good}"


@pytest.mark.parametrize(
    ("suite", "rule"), OWN_RULES, ids=[f"{suite.name}: {rule.words}" for suite, rule in OWN_RULES]
)
def test_a_broken_row_is_found_and_a_good_one_is_not(suite: Suite, rule: Rule) -> None:
    bad, good = rows_of(rule)
    with duckdb.connect() as sql:
        sql.execute("CREATE TABLE same_as AS SELECT 'DC9' AS service_id, 'DC2' AS same_as")
        for name in ("metrics_absent", "metrics_ttm_absent"):
            sql.execute(
                f"CREATE TABLE {name} AS SELECT 'DC1' AS service_id, 'roe' AS metric, DATE "
                "'2019-12-31' AS period_end, DATE '2020-02-01' AS holds_from, "
                "NULL::DATE AS holds_until"
            )
        for name in tables_read(suite):
            if name.startswith("failing_") or name == "releases_with_contact":
                sql.execute(f"CREATE TABLE {name} AS SELECT 'found' AS row_id")
        assert sql.execute(rule.failing(f"({bad})", "'here'")).fetchall() == [("here",)] or (
            "one answer" in rule.words
            and sql.execute(rule.failing(f"({bad})", "'here'")).fetchall()
        )
        assert sql.execute(rule.failing(f"({good})", "'here'")).fetchall() == []


def test_no_rule_is_stated_twice_for_a_table() -> None:
    for suite in SUITES:
        said = {rule.words for rule in suite.rules}
        queries = {rule.failing("rows", "row") for rule in suite.rules}
        assert len(said) == len(queries) == len(suite.rules), suite.name


def file(table: str, partition: str, content: str, **audit: str) -> BuildFile:
    return BuildFile("snapshot", table, partition, "", "", content, 1, 1, audit)


def by_country(changed: str = "") -> list[BuildFile]:
    return [
        file(table, country, f"{table}{country}{changed if country == 'ZA' else ''}")
        for table in ("tender_releases", "tender_parties")
        for country in ("KE", "ZA")
    ]


def stamped(plan: AuditPlan, version: str) -> list[BuildFile]:
    results = plan.results(version)
    return [
        file(each.table, each.partition, each.sha256, **results[each.table, each.partition])
        for each in plan.files
        if (each.table, each.partition) in results
    ]


TENDERS = [suite for suite in SUITES if suite.table in ("tender_releases", "tender_parties")]


def test_what_did_not_change_keeps_its_result_with_the_version_it_was_made_in() -> None:
    first = AuditPlan(TENDERS, by_country(), (), "1")
    assert not first.reused and first.to_run == TENDERS

    same = AuditPlan(TENDERS, by_country(), stamped(first, "20261115.1"), "1")

    assert not same.to_run
    assert {same.made_in(suite.name) for suite in TENDERS} == {"20261115.1"}
    third = AuditPlan(TENDERS, by_country("x"), stamped(same, "20261115.2"), "1")
    assert {partition for _, partition in third.reused} == {"KE"}
    assert set(third.reused.values()) == {"20261115.1"}
    assert third.to_run == TENDERS


def test_another_version_of_the_audit_audits_everything_again() -> None:
    first = AuditPlan(TENDERS, by_country(), (), "1")
    assert not AuditPlan(TENDERS, by_country(), stamped(first, "20261115.1"), "2").reused


def test_another_rule_of_a_table_audits_it_again() -> None:
    first = AuditPlan(TENDERS, by_country(), (), "1")
    stricter = Suite(
        TENDERS[0].name,
        TENDERS[0].table,
        TENDERS[0].row_reference,
        (*TENDERS[0].rules, Rule("no row is older", "released_on", "released_on > '2020'")),
    )
    again = AuditPlan([stricter, *TENDERS[1:]], by_country(), stamped(first, "20261115.1"), "1")
    assert again.to_run == [stricter]
