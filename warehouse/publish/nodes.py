"""The nodes of a publication, from the record to the tables of a snapshot.

Each node runs one step for every partition of its subject and hands over the list of its files,
``work/<data_version>/<node>.json``. A node that has its list is done. Nothing here can be read by
anyone else: only the switch at the end of a publication makes a build of it.

``record ▶ registers ▶ same_as ▶ figures, tenders, macro ▶ awards ▶ the derivations in their order``
"""

import hashlib
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path

import duckdb
import msgspec
import pyarrow.parquet as pq
from deltalake import DeltaTable

from warehouse.publish.awards import STATED_AWARDS, add_stated_awards, add_tender_facts
from warehouse.publish.builds import replace_file
from warehouse.publish.implausible import (
    LARGEST_AMOUNTS,
    STATED_AMOUNTS,
    UNMARKED_RELEASES,
    largest_amounts,
    marked_releases,
)
from warehouse.publish.left_out import LISTED, read_listed, write_listed
from warehouse.publish.manifest import BuildFile
from warehouse.publish.partitions import (
    COUNTRIES,
    ISSUERS,
    MACRO,
    REGISTERS,
    TENDERS,
    WHOLE,
    Partitions,
    Split,
    country_of,
    split_of,
)
from warehouse.publish.snapshot import (
    GROUP,
    ORDERS,
    REWRITTEN,
    SAME_AS,
    Derivation,
    DerivedTables,
    RowCheck,
    Snapshot,
    all_vintages,
    cast_to_schema,
    show_canonical_registers,
    use_canonical_ids,
)
from warehouse.publish.steps import Compute, Input, Step, StepStore, Task, run_step
from warehouse.publish.withheld import NOTHING, Withheld, apply_withheld, find_withheld
from warehouse.record.relations import parquet_relation, sql_text
from warehouse.record.rules import rules_version
from warehouse.record.store import DataFile, Record
from warehouse.record.tables import (
    ENTITIES,
    IDENTIFIERS,
    RECORD_TABLES,
    SUBJECTS,
    TENDER_RELEASES,
    RecordTable,
    arrow_schema,
    record_schema,
)
from warehouse.record.withheld import withheld_now
from warehouse.shared.code_version import code_version
from warehouse.shared.data_files import sql_file
from warehouse.shared.errors import BadTable, SankofaError
from warehouse.shared.texts import version_key
from warehouse.tables.column import identity_of
from warehouse.tables.derived import DERIVED

# The steps that make a snapshot: the stored rows of one partition become its tables.
#
# The same code runs on a partition as on a whole record (``Snapshot``): rows that are withheld or
# fail a rule are left out, vintages and statements are computed, ids become canonical.

# Inputs with stored rows of the record are named after their table.
STORED = "stored "
# Later than any load: an input has the rows of the data_version and no others.
_EVERY_LOAD = {table.name: 2**62 for table in RECORD_TABLES}


@dataclass(frozen=True)
class _Stored(Record):
    """The stored rows of one partition in place of a record."""

    files_by_table: Mapping[str, Iterable[str]] = field(default_factory=dict)

    def relation(
        self, name: str, delta: DeltaTable | None = None, files: Iterable[DataFile] | None = None
    ) -> str:
        paths = list(self.files_by_table.get(name, ()))
        schema = next(record_schema(table) for table in RECORD_TABLES if table.name == name)
        return parquet_relation(schema, paths, uniform=True)


def copy_rows(
    task: Task,
    sql: duckdb.DuckDBPyConnection,
    *,
    tables: tuple[RecordTable, ...],
    checks: tuple[RowCheck, ...],
    withheld: Withheld,
    secret: bytes,
) -> None:
    """Make the tables of a partition from its stored rows, and list what is left out."""
    stored = {
        name.removeprefix(STORED): paths
        for name, paths in task.inputs.items()
        if name.startswith(STORED)
    }
    record = _Stored("", files_by_table=stored)
    with Snapshot(Path(task.folder), record, _EVERY_LOAD, "", sql, False) as snapshot:
        apply_withheld(snapshot, withheld, secret, tables)
        snapshot.apply_rules(tables)
        # Figures and filings are checked and copied once their ids are known.
        rewritten = [table for table in tables if table in REWRITTEN]
        snapshot.copy_record([table for table in tables if table not in REWRITTEN])
        if rewritten and task.inputs.get("same_as"):
            snapshot.show("same_as", task.inputs["same_as"])
            use_canonical_ids(snapshot)
        checks = tuple(check for check in checks if {*check.tables} & {*tables})
        if checks and not rewritten:
            _create_empty(snapshot, [table for table in RECORD_TABLES if table not in tables])
        for check in checks:
            check.leave_out(snapshot)
        snapshot.copy_record(rewritten)
        write_listed(sql, snapshot.folder)
        if TENDER_RELEASES in tables:
            snapshot.path(TENDER_RELEASES.name).rename(snapshot.path(UNMARKED_RELEASES))


def limit_amounts(task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Find the largest amounts that can be in a country, from those of its partitions."""
    with _shown(task, sql) as snapshot:
        pq.write_table(largest_amounts(sql), snapshot.path(LARGEST_AMOUNTS))


def mark_releases(task: Task, sql: duckdb.DuckDBPyConnection) -> None:
    """Write the releases of a partition, with the paths of numbers that cannot be."""
    with _shown(task, sql) as snapshot:
        marked = marked_releases(sql, f"FROM {UNMARKED_RELEASES}")
        snapshot.write(TENDER_RELEASES.name, marked, ORDERS[TENDER_RELEASES.name])


def _create_empty(snapshot: Snapshot, tables: Iterable[RecordTable]) -> None:
    """Create the tables of other subjects, without rows: a check may name any table."""
    for table in tables:
        columns = ", ".join(f"{name} {kind}" for name, kind in _columns_of_copy(table))
        snapshot.sql.execute(f"CREATE TABLE {table.name} ({columns})")


@cache
def _columns_of_copy(table: RecordTable) -> list[tuple[str, str]]:
    """Return the columns of a copied table with their types, as DuckDB derives them."""
    # Planning the query takes as long as copying a small partition.
    columns = "*"
    if table in (ENTITIES, IDENTIFIERS):
        columns = "*, NULL::VARCHAR AS alias, NULL::VARCHAR AS match_method"
    vintages = all_vintages(table, _Stored("").relation(table.name), 0)
    with duckdb.connect() as sql:
        described = sql.execute(f"DESCRIBE SELECT {columns} FROM ({vintages})").fetchall()
    return [(name, kind) for name, kind, *_ in described]


def derive_tables(
    task: Task,
    sql: duckdb.DuckDBPyConnection,
    *,
    derive: Callable[[Snapshot], DerivedTables],
    makes: tuple[str, ...],
) -> None:
    """Make derived tables of a partition from the tables that are its inputs."""
    with _shown(task, sql) as snapshot:
        if not _is_without_rows(task):
            tables = derive(snapshot)
        else:
            # Only to plan the queries of a derivation takes half a second.
            tables = {name: arrow_schema(DERIVED[name]).empty_table() for name in makes}
        if set(tables) != set(makes):
            raise BadTable(
                f"a derivation of {', '.join(makes)} gave {', '.join(tables)}; "
                "declare what it makes"
            )
        for name in makes:
            rows = cast_to_schema(name, DERIVED[name], tables[name])
            # The same rows must be the same bytes, however they were made.
            order = [(column, "ascending") for column in _order(name)]
            pq.write_table(rows.sort_by(order), snapshot.path(name), row_group_size=GROUP)


def _is_without_rows(task: Task) -> bool:
    """Return whether all that a task reads is empty; False if it reads nothing."""
    paths = [path for given in task.inputs.values() for path in given]
    return bool(paths) and not any(pq.read_metadata(path).num_rows for path in paths)


def _order(name: str) -> list[str]:
    columns = list(DERIVED[name].model_fields)
    identity = identity_of(DERIVED[name])
    return [*identity, *(column for column in columns if column not in identity)]


def add_tables(
    task: Task, sql: duckdb.DuckDBPyConnection, *, add: Callable[[Snapshot], None]
) -> None:
    """Add tables of awards to a partition, from the tables that are its inputs."""
    with _shown(task, sql) as snapshot:
        add(snapshot)


def _shown(task: Task, sql: duckdb.DuckDBPyConnection) -> Snapshot:
    """Return a snapshot that shows the inputs of a task; registers have canonical ids."""
    snapshot = Snapshot(Path(task.folder), _Stored(""), _EVERY_LOAD, "", sql)
    for name, paths in task.inputs.items():
        snapshot.show(name, paths)
    if "same_as" in task.inputs:
        show_canonical_registers(snapshot)
    return snapshot


PARTY_MATCHES, TENDER_FACTS = "party_matches", "tender_facts"
LEFT_OUT = "left_out"
_SQL = sql_file(__name__, "extracts")
STEPS, PLAN = "steps", "plan.json"
_STORED, _WITHHELD, _EXTRACTS = _COPIES_OF_ROWS = ("stored", "withheld", "extracts")
_decode = msgspec.json.Decoder(list[BuildFile]).decode
# Nodes that copy the record, with the subject of each.
FIGURES = "figures"
COPIES = {REGISTERS: REGISTERS, FIGURES: ISSUERS, TENDERS: TENDERS, MACRO: MACRO}


class Plan(msgspec.Struct, frozen=True):
    """What a publication was begun with: the loads that belong to it, and what decides the rest."""

    data_version: str
    loads: dict[str, int]
    before: str | None
    buckets: int
    made_from: str
    notice: str


@dataclass
class Nodes:
    """The nodes of one publication; each can be run by itself once those before it are done."""

    record: Record
    work: Path
    checks: Sequence[RowCheck]
    joins: Derivation
    derivations: Sequence[Derivation]
    withheld_key: str
    compute: Compute
    _lists: dict[str, list[BuildFile]] = field(init=False, default_factory=dict)

    @cached_property
    def plan(self) -> Plan:
        """The publication that was begun last; raise if there is none."""
        plan = self.begun()
        if plan is None:
            raise SankofaError(
                f"no publication has been begun in {self.work}: materialise `snapshot`, or run "
                "`sankofa publish`"
            )
        return plan

    def begun(self) -> Plan | None:
        """Return what the publication begun last was begun with; None if there is none."""
        files = self.work.glob(f"*/{PLAN}")
        plans = [msgspec.json.decode(file.read_bytes(), type=Plan) for file in files]
        return max(plans, key=lambda plan: version_key(plan.data_version), default=None)

    @property
    def folder(self) -> Path:
        """What the stages of this publication hand over."""
        return self.work / self.plan.data_version

    @property
    def _secret(self) -> bytes:
        return self.withheld_key.encode()

    @cached_property
    def store(self) -> StepStore:
        """The files of all steps."""
        return StepStore(self.work / STEPS)

    @property
    def partitioned(self) -> list[Derivation]:
        """The derivations that are computed for each partition by itself."""
        return [each for each in self.derivations if each.subject is not None]

    def names(self) -> list[str]:
        """Return the names of all nodes, in an order in which they can be run."""
        names = [REGISTERS, SAME_AS, FIGURES, TENDERS, MACRO, STATED_AWARDS]
        for derivation in self.partitioned:
            names.append(derivation.makes[0])
            if PARTY_MATCHES in derivation.makes:
                names.append(TENDER_FACTS)
        return names

    def run(self, name: str) -> list[BuildFile]:
        """Run a node, unless it is done; return its files."""
        if name not in self._lists:
            path = self.folder / f"{name}.json"
            if not path.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                replace_file(path, msgspec.json.encode(self._make(name)))
            self._lists[name] = _decode(path.read_bytes())
        return self._lists[name]

    def run_again(self, name: str) -> bool:
        """Run a node, finding files whose inputs stayed; return whether its list differs."""
        path = self.folder / f"{name}.json"
        before = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        self._lists.pop(name, None)
        try:
            self.run(name)
        finally:
            self.delete_copies()
        return path.read_bytes() != before

    def delete_copies(self) -> None:
        """Delete the copies of stored rows, which nothing reads once a node is done."""
        for folder in _COPIES_OF_ROWS:
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        vars(self).pop("_withheld", None)

    def _make(self, name: str) -> list[BuildFile]:
        if name in COPIES:
            return self._copy(name, COPIES[name])
        if name == SAME_AS:
            return self._derive(name, self.joins)
        if name == STATED_AWARDS:
            step = Step(name, _code("awards"), partial(add_tables, add=add_stated_awards))
            return self._run(step, TENDERS, ("tender_releases",))
        if name == TENDER_FACTS:
            inputs = ("tender_releases", "tender_parties", STATED_AWARDS)
            step = Step(name, _code("tender facts"), partial(add_tables, add=add_tender_facts))
            return self._run(step, TENDERS, inputs, {PARTY_MATCHES: _SQL["matches"]})
        derivation = next(each for each in self.partitioned if each.makes[0] == name)
        return self._derive(name, derivation)

    # -- the record ------------------------------------------------------------------------------

    def _copy(self, name: str, subject: str) -> list[BuildFile]:
        """Copy the stored rows of a subject, by partition."""
        tables = SUBJECTS[subject]
        checks = tuple(each for each in self.checks if {*each.tables} & {*tables})
        version = " ".join(
            [_code("snapshot"), rules_version(), *(check.version for check in checks)]
        )
        withheld, secret = self._withheld, self._secret
        function = partial(
            copy_rows, tables=tables, checks=checks, withheld=withheld, secret=secret
        )
        plan, same_as = self.plan, self.paths(SAME_AS) if self._is_done(SAME_AS) else [""]
        with closing(self.record.connection.cursor()) as sql:
            sql.execute(f"SET GLOBAL memory_limit = '{self.compute.memory}MB'")
            partitions = Partitions(
                sql, self.record, plan.loads, self.folder / _STORED, Path(same_as[0]), plan.buckets
            )
            splits = {f"{STORED}{table.name}": partitions.stored(table) for table in tables}
            if subject == ISSUERS:
                splits[SAME_AS] = partitions.joined_ids()
            stored = [split for key, split in splits.items() if key.startswith(STORED)]
            found = {partition for split in stored for partition in split.contents}
            inputs = {
                partition: {
                    **{key: split.input(partition) for key, split in splits.items()},
                    "withheld": Input((), withheld.content),
                }
                for partition in sorted(found) or [WHOLE]
            }
            step, writing = Step(name, version, function), self._writing(splits.values())
            copied = run_step(step, inputs, self.store, self.compute, writing)
        return copied if subject != TENDERS else [*copied, *self._mark(copied)]

    def _mark(self, copied: Sequence[BuildFile]) -> list[BuildFile]:
        """Mark numbers of releases that cannot be: an amount is compared with all of its portal."""
        amounts, releases = (
            [file for file in copied if file.table == table]
            for table in (STATED_AMOUNTS, UNMARKED_RELEASES)
        )
        partitions = [file.partition for file in releases]
        of_countries = self._inputs(amounts, sorted(set(map(country_of, partitions))))
        step = Step(LARGEST_AMOUNTS, _code("implausible"), limit_amounts)
        given = {country: {STATED_AMOUNTS: files} for country, files in of_countries.items()}
        limits = run_step(step, given, self.store, self.compute)
        unmarked, largest = (self._inputs(files, partitions) for files in (releases, limits))
        step = Step("marked_releases", _code("implausible"), mark_releases)
        given = {
            name: {UNMARKED_RELEASES: unmarked[name], LARGEST_AMOUNTS: largest[name]}
            for name in partitions
        }
        return limits + run_step(step, given, self.store, self.compute)

    @cached_property
    def _withheld(self) -> Withheld:
        """Everything that is withheld in the whole record."""
        if not withheld_now(self.record):
            # To open a snapshot takes longer than the rows of most partitions.
            return NOTHING
        with Snapshot(self.folder / _WITHHELD, self.record, self.plan.loads, "") as snapshot:
            return find_withheld(snapshot, self._secret)

    # -- what is derived -------------------------------------------------------------------------

    def _derive(self, name: str, derivation: Derivation) -> list[BuildFile]:
        function = partial(derive_tables, derive=derivation.derive, makes=derivation.makes)
        step = Step(name, f"{_code('derived')} {derivation.version}", function)
        assert derivation.subject is not None
        return self._run(step, derivation.subject, derivation.reads, derivation.extracts)

    def _run(
        self,
        step: Step,
        subject: str,
        reads: Sequence[str],
        extracts: Mapping[str, str] | None = None,
    ) -> list[BuildFile]:
        """Run a step for every partition of a subject; ``extracts`` as those of a derivation."""
        with ExitStack() as stack:
            splits: dict[str, Split] = {}
            if extracts:
                snapshot = stack.enter_context(self.open(self.folder / _EXTRACTS))
                self._show_tender_partitions(snapshot)
                self._show_loads(snapshot)
                for table, statement in extracts.items():
                    folder = snapshot.folder / step.name / table
                    splits[table] = split_of(snapshot.sql, f"({statement})", folder)
            partitions = self._partition_names(subject)
            files = {table: self._read(table, subject, partitions) for table in reads}
            inputs = {
                partition: {
                    **{table: given[partition] for table, given in files.items()},
                    **{table: split.input(partition) for table, split in splits.items()},
                }
                for partition in partitions
            }
            return run_step(step, inputs, self.store, self.compute, self._writing(splits.values()))

    def _writing(self, splits: Collection[Split]) -> Callable[[Collection[str]], None]:
        def write(partitions: Collection[str]) -> None:
            for split in splits:
                split.write(partitions)

        return write

    def _show_tender_partitions(self, snapshot: Snapshot) -> None:
        """Show extracts the partition of each party, and the country of each source, of tenders."""
        files = {str(self.store.path(file)): file.partition for file in self._of("tender_parties")}
        pairs = ", ".join(f"({sql_text(path)}, {sql_text(name)})" for path, name in files.items())
        fill = {"files": ", ".join(map(sql_text, files)), "pairs": pairs}
        _SQL.run(snapshot.sql, "parties_by_partition", fill=fill)
        _SQL.run(snapshot.sql, "tender_partitions")

    def _show_loads(self, snapshot: Snapshot) -> None:
        """Show extracts the ledger of the loads that belong to the publication."""
        loaded = " OR ".join(
            f"(table_name = {sql_text(table)} AND load_seq <= {load_seq})"
            for table, load_seq in self.plan.loads.items()
        )
        ledger = self.record.relation("loads")
        snapshot.sql.execute(f"CREATE VIEW loads AS SELECT * FROM {ledger} WHERE {loaded}")

    # -- files -----------------------------------------------------------------------------------

    def _is_done(self, name: str) -> bool:
        return name in self._lists or (self.folder / f"{name}.json").exists()

    def files(self) -> list[BuildFile]:
        """Return the files of all nodes that are done."""
        return [file for name in self.names() if self._is_done(name) for file in self.run(name)]

    def paths(self, table: str) -> list[str]:
        """Return the files of a table, in the order of its partitions."""
        return [str(self.store.path(file)) for file in self._of(table)]

    def _of(self, table: str) -> list[BuildFile]:
        files = [file for file in self.files() if file.table == table]
        return sorted(files, key=lambda file: file.partition)

    def _partition_names(self, subject: str) -> list[str]:
        tables = SUBJECTS[TENDERS if subject == COUNTRIES else subject]
        node = next(node for node, copied in COPIES.items() if SUBJECTS[copied] == tables)
        names = {file.partition for file in self.run(node) if file.table == tables[0].name}
        return sorted(set(map(country_of, names)) if subject == COUNTRIES else names)

    def _read(self, table: str, subject: str, partitions: Collection[str]) -> dict[str, Input]:
        """Return the files of a table that each partition of a subject reads."""
        files = self._of(table)
        if subject == REGISTERS or table in (ENTITIES.name, IDENTIFIERS.name, SAME_AS):
            return dict.fromkeys(partitions, self._input(files))
        return self._inputs(files, partitions)

    def _inputs(self, files: Iterable[BuildFile], partitions: Iterable[str]) -> dict[str, Input]:
        """Return those of some files that each partition reads: of itself, or of its country."""
        groups: dict[str, list[BuildFile]] = {}
        for file in files:
            for name in {file.partition, country_of(file.partition)}:
                groups.setdefault(name, []).append(file)
        return {
            name: self._input(groups.get(name, groups.get(country_of(name), [])))
            for name in partitions
        }

    def _input(self, files: Iterable[BuildFile]) -> Input:
        contents = " ".join(file.sha256 for file in files)
        paths = tuple(str(self.store.path(file)) for file in files)
        return Input(paths, hashlib.sha256(contents.encode()).hexdigest())

    def shown_files(self) -> list[BuildFile]:
        """Return the files of the tables of the snapshot, as far as it is made."""
        return [file for file in self.files() if file.table not in LISTED]

    def open(self, folder: Path) -> Snapshot:
        """Open the snapshot as far as it is made; what is added to it goes to a folder."""
        files = self.shown_files()
        snapshot = Snapshot(
            *(folder, self.record, self.plan.loads, self.plan.data_version),
            files=tuple(files),
            memory_mb=self.compute.memory,
        )
        tables = dict.fromkeys(file.table for file in files)
        for table in tables:
            snapshot.show(table, self.paths(table))
        if SAME_AS in tables:
            show_canonical_registers(snapshot)
        for table in LISTED:
            read_listed(snapshot.sql, table, self.paths(table))
        return snapshot

    def snapshot(self) -> Snapshot:
        """Open the snapshot: every table over all partitions; those not derived are empty."""
        snapshot = self.open(self.folder)
        for name, row in DERIVED.items():
            if snapshot.path(name).exists():
                # Added to the snapshot when it was opened before.
                snapshot.create_view(name)
            elif name == LEFT_OUT:
                snapshot.add({name: snapshot.left_out()})
            elif not snapshot.paths(name):
                snapshot.add({name: arrow_schema(row).empty_table()})
        return snapshot


def _code(name: str) -> str:
    return code_version(name, "warehouse.publish.nodes")
