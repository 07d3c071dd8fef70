"""The rule book: every rule with its table, its words, its condition and where it is enforced.

Rules are stated where they are used: of rows in ``warehouse.record.rules``, of names and contacts
in ``personal_data_audit``, of what a build adds in ``suites`` and ``mart_suites``, and floors in
``floors``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from quality.floors import FLOORS, MEANINGS
from quality.personal_data_audit import PERSONAL_DATA_RULES
from quality.suites import SUITES
from warehouse.record.rules import Stage, rules_of
from warehouse.record.tables import RECORD_TABLES

# What each stage does with a row that fails.
EFFECTS: dict[Stage, str] = {
    "append": "quarantines",
    "snapshot": "leaves out",
    "audit": "blocks",
}


@dataclass(frozen=True)
class Entry:
    """A rule of the book; ``enforced`` says at which stages, and what happens there."""

    table: str
    words: str
    condition: str
    enforced: str


def entries() -> Iterator[Entry]:
    """Yield every rule, each once: by table, then floors."""
    of_record = {
        (table.name, rule.words): rule for table in RECORD_TABLES for rule in rules_of(table)
    }
    for (table, words), rule in of_record.items():
        yield Entry(table, words, rule.condition, _stages(*rule.stages))
    for personal in PERSONAL_DATA_RULES:
        yield Entry(
            personal.table.name,
            personal.words,
            "the organisation check",
            _stages("snapshot", "audit"),
        )
    known = {*of_record, *((rule.table.name, rule.words) for rule in PERSONAL_DATA_RULES)}
    for suite in SUITES:
        for audited in suite.rules:
            if suite.name.startswith("served.") or (suite.table, audited.words) not in known:
                yield Entry(suite.name, audited.words, audited.condition, _stages("audit"))
    for floor in FLOORS:
        bound = f"{'at most' if floor.is_maximum else 'at least'} {floor.floor} {floor.unit}"
        effect = "blocks" if floor.blocks else "turns red"
        condition = f"{bound}: {MEANINGS[floor.metric]}"
        yield Entry(f"{floor.sku} {floor.scope}", floor.metric, condition, f"floor: {effect}")


def _stages(*stages: Stage) -> str:
    return ", ".join(f"{stage}: {EFFECTS[stage]}" for stage in stages)
