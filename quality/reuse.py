"""Which results of earlier audits still hold: nothing that decided about them has changed.

The result of a suite for a partition is kept with the file of its table (``BuildFile.audit``): a
key made from the rules and from every file that they read, and the data_version in which it was
made. Tables of one subject are partitioned alike, and their rules never look at another partition;
of all other tables that a rule reads, every file counts.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import duckdb

from quality.rules import Suite
from warehouse.publish.manifest import BuildFile
from warehouse.publish.partitions import WHOLE, have_common_rows
from warehouse.publish.served_rows import STATEMENTS as AWARD_STATEMENTS
from warehouse.publish.served_rows import TENDER_VINTAGES_TABLE, VINTAGES
from warehouse.publish.snapshot import NEWEST_STATEMENTS, SAME_AS, STATEMENTS, Snapshot
from warehouse.shared.json_encoding import encode

# Tables that are partitioned alike: by organisation, by country, by source. Those of tenders have
# the partitions of a country, or one for all of them.
_ALIKE: tuple[frozenset[str], ...] = (
    frozenset(
        {
            *("fundamentals", "filings", "elements", STATEMENTS, NEWEST_STATEMENTS),
            *("metrics", "metrics_absent", "derived_figures"),
            *("metrics_ttm", "metrics_ttm_absent"),
        }
    ),
    frozenset(
        {
            *("tender_releases", "tender_parties", "party_matches", "signals"),
            *(AWARD_STATEMENTS, VINTAGES, TENDER_VINTAGES_TABLE),
        }
    ),
    frozenset({"macro_annual", "macro_series"}),
)
# Tables whose rows are shown under the ids of ``same_as``.
_REGISTERS = frozenset({"entities", "identifiers"})

# A suite and a partition.
Unit = tuple[str, str]
# Results by table and partition: by suite, the key and the data_version in which it was made.
Results = Mapping[tuple[str, str], Mapping[str, str]]


def alike(table: str) -> Collection[str]:
    """Return the tables whose partitions are those of a table, itself among them."""
    return next((tables for tables in _ALIKE if table in tables), (table,))


@dataclass
class AuditPlan:
    """What must be audited of a snapshot, and which results of the build before still hold.

    ``before`` are the files of the build before, with their results. Another ``version``, that of
    the code that audits, audits everything again. Without files everything is audited.
    """

    suites: Sequence[Suite] = ()
    files: Sequence[BuildFile] = ()
    before: Sequence[BuildFile] = ()
    version: str = ""
    keys: dict[Unit, str] = field(init=False, default_factory=dict)
    reused: dict[Unit, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        earlier = {
            (suite, file.partition): result.partition(" ")
            for file in self.before
            for suite, result in file.audit.items()
        }
        for suite in self.suites:
            partitions = self._partitions(suite)
            reads = tables_read(suite) if partitions else ()
            for partition in partitions:
                unit = suite.name, partition
                self.keys[unit] = self._key(suite, partition, reads)
                key, _, version = earlier.get(unit, ("", "", ""))
                if key == self.keys[unit]:
                    self.reused[unit] = version

    @property
    def to_run(self) -> list[Suite]:
        """The suites of which a partition at least must be audited."""
        return [suite for suite in self.suites if not self.made_in(suite.name)]

    def has_rows(self, suite: Suite) -> bool:
        """Return whether the files that a result is kept with have rows."""
        return any(file.rows for file in self._by_table.get(suite.kept_with, {}).values())

    def made_in(self, suite: str) -> str:
        """Return the newest data_version in which the reused result of a suite was made.

        Empty if the suite is run, for all partitions or for some.
        """
        units = [unit for unit in self.keys if unit[0] == suite]
        if not units or any(unit not in self.reused for unit in units):
            return ""
        return max(self.reused[unit] for unit in units)

    def changed(self, snapshot: Snapshot) -> Mapping[str, Sequence[str]]:
        """Return the files that are audited of each table of which others are not.

        If one suite has to, every suite of a subject audits a partition again.
        """
        again: dict[str, set[str]] = {}
        for suite in self.suites:
            for partition in self._partitions(suite):
                if (suite.name, partition) not in self.reused:
                    for table in alike(suite.kept_with):
                        again.setdefault(table, set()).update(
                            name
                            for name in self._by_table.get(table, {})
                            if have_common_rows(name, partition)
                        )
        return {
            table: [
                path
                # A snapshot shows the files of a table in the order of their partitions.
                for (partition, _), path in zip(
                    sorted(files.items()), snapshot.paths(table), strict=True
                )
                if partition in again.get(table, ())
            ]
            for table, files in self._by_table.items()
            if files.keys() - again.get(table, set())
        }

    def results(self, data_version: str) -> Results:
        """Return the results that hold for the files, once the audit has passed."""
        kept_with = {suite.name: suite.kept_with for suite in self.suites}
        results: dict[tuple[str, str], dict[str, str]] = {}
        for (suite, partition), key in self.keys.items():
            version = self.reused.get((suite, partition), data_version)
            results.setdefault((kept_with[suite], partition), {})[suite] = f"{key} {version}"
        return results

    @cached_property
    def _by_table(self) -> Mapping[str, Mapping[str, BuildFile]]:
        by_table: dict[str, dict[str, BuildFile]] = {}
        for file in self.files:
            by_table.setdefault(file.table, {})[file.partition] = file
        return by_table

    def _partitions(self, suite: Suite) -> Collection[str]:
        return self._by_table.get(suite.kept_with, {})

    def _key(self, suite: Suite, partition: str, reads: Collection[str]) -> str:
        together = alike(suite.kept_with)
        contents = {
            table: sorted(
                f"{file.partition} {file.sha256}"
                for file in self._by_table.get(table, {}).values()
                if table not in together
                or file.partition == WHOLE
                or have_common_rows(file.partition, partition)
            )
            for table in sorted({suite.kept_with, *reads})
        }
        parts = [self.version, suite.name, str(suite), contents]
        return hashlib.sha256(encode(parts)).hexdigest()[:32]


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    sql = duckdb.connect()
    sql.execute("CREATE MACRO this_version() AS ''")
    return sql


@cache
def _tables_named(statement: str) -> frozenset[str]:
    return frozenset(_parser().get_table_names(statement))


def tables_read(suite: Suite) -> Collection[str]:
    """Return the names of all tables that decide whether a suite is met."""
    statements = [rule.failing(suite.table, suite.row_reference) for rule in suite.rules]
    statements += [suite.relation] if suite.relation else []
    named = {name for statement in statements for name in _tables_named(statement)}
    named |= {name for rule in suite.rules for name in rule.reads}
    return named | {SAME_AS} if named & _REGISTERS else named
