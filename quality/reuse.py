"""Which results of earlier audits still hold: nothing that decided about them has changed.

The result of a suite for a partition is kept with the file of its table (``BuildFile.audit``): a
key made from the rules and from every file that they read, and the data_version in which it was
made. Tables of one subject are partitioned alike, and their rules never look at another partition;
of all other tables that a rule reads, every file counts.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import duckdb
import msgspec

from quality.rules import Suite
from warehouse.json_encoding import encode
from warehouse.steps.files import BuildFile

# The result of a suite for a partition: (suite, partition), and its key and data_version.
Unit = tuple[str, str]


@dataclass(frozen=True)
class AuditedFiles:
    """The files of a candidate build, and those of the build before with their results.

    ``path`` returns where a file is. ``version`` is that of the code that audits: another one
    audits everything again.
    """

    files: Sequence[BuildFile] = ()
    path: Callable[[BuildFile], Path] = lambda file: Path(file.path)
    before: Sequence[BuildFile] = ()
    version: str = ""
    partitioned: Mapping[str, Collection[str]] = field(default_factory=dict)

    @cached_property
    def _by_table(self) -> Mapping[str, Mapping[str, BuildFile]]:
        by_table: dict[str, dict[str, BuildFile]] = {}
        for file in self.files:
            by_table.setdefault(file.table, {})[file.partition] = file
        return by_table

    @cached_property
    def _results(self) -> Mapping[Unit, tuple[str, str]]:
        """The key and the data_version of each result of the build before."""
        return {
            (suite, file.partition): (result.split(" ")[0], result.split(" ")[1])
            for file in self.before
            for suite, result in file.audit.items()
        }

    def plan(self, suites: Iterable[Suite]) -> "AuditPlan":
        """Return what must be audited, and what is reused."""
        plan = AuditPlan(self)
        for suite in suites:
            if suite.kept_with not in self._by_table:
                continue
            reads = tables_read(suite)
            plan.kept_with[suite.name] = suite.kept_with
            for partition in self._by_table[suite.kept_with]:
                key = self._key(suite, partition, reads)
                made, version = self._results.get((suite.name, partition), ("", ""))
                plan.keys[suite.name, partition] = key
                if made == key:
                    plan.reused[suite.name, partition] = version
        return plan

    def _key(self, suite: Suite, partition: str, reads: Collection[str]) -> str:
        alike = self._alike(suite.kept_with)
        contents = {
            table: sorted(
                (file.partition, file.sha256)
                for file in self._by_table.get(table, {}).values()
                if table not in alike or file.partition == partition
            )
            for table in sorted({suite.kept_with, *reads})
        }
        parts = [self.version, suite.name, repr(suite.rules), suite.relation, contents]
        return hashlib.sha256(encode(parts)).hexdigest()[:32]

    def _alike(self, table: str) -> Collection[str]:
        """Return the tables whose partitions are those of a table, itself among them."""
        for tables in self.partitioned.values():
            if table in tables:
                return tables
        return (table,)

    def changed(self, plan: "AuditPlan", suites: Iterable[Suite]) -> Mapping[str, Sequence[str]]:
        """Return the files of each table with a partition that must be audited and one that not.

        A partition is audited again by every suite of its subject if one of them has to.
        """
        again: dict[str, set[str]] = {}
        kept: dict[str, set[str]] = {}
        for suite in suites:
            for partition in self._by_table.get(suite.kept_with, {}):
                is_reused = (suite.name, partition) in plan.reused
                for table in self._alike(suite.kept_with):
                    (kept if is_reused else again).setdefault(table, set()).add(partition)
        return {
            table: [
                str(self.path(file))
                for partition, file in sorted(self._by_table[table].items())
                if partition in again.get(table, ())
            ]
            for table in self._by_table
            if table in again and kept.get(table, set()) - again[table]
        }


@dataclass
class AuditPlan:
    """The key of every result, and the data_version in which each reused one was made."""

    audited: AuditedFiles
    keys: dict[Unit, str] = field(default_factory=dict)
    reused: dict[Unit, str] = field(default_factory=dict)
    kept_with: dict[str, str] = field(default_factory=dict)

    def is_reused(self, suite: Suite) -> bool:
        """Return whether no partition of a table must be audited by a suite."""
        units = [unit for unit in self.keys if unit[0] == suite.name]
        return bool(units) and all(unit in self.reused for unit in units)

    def made_in(self, suite: Suite) -> str:
        """Return the newest data_version in which a reused result of a suite was made."""
        return max(version for unit, version in self.reused.items() if unit[0] == suite.name)

    def stamped(self, data_version: str) -> list[BuildFile]:
        """Return the files with the results that hold for them, once the audit has passed."""
        results: dict[tuple[str, str], dict[str, str]] = {}
        for (suite, partition), key in self.keys.items():
            version = self.reused.get((suite, partition), data_version)
            results.setdefault((self.kept_with[suite], partition), {})[suite] = f"{key} {version}"
        return [
            msgspec.structs.replace(file, audit=results.get((file.table, file.partition), {}))
            for file in self.audited.files
        ]


# Nothing is known of the files: everything is audited.
NO_FILES = AuditedFiles()


def tables_read(suite: Suite) -> set[str]:
    """Return the names of all tables that decide whether a suite is met."""
    statements = [rule.failing(suite.table, suite.row_reference) for rule in suite.rules]
    statements += [suite.relation] if suite.relation else []
    with duckdb.connect() as sql:
        sql.execute("CREATE MACRO this_version() AS ''")
        named = {name for text in statements for name in sql.get_table_names(text)}
    return named | {name for rule in suite.rules for name in rule.reads}
