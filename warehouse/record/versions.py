"""Published versions: a name for how much of each table had been loaded."""

from collections.abc import Collection
from datetime import UTC, date, datetime

from warehouse.record.landing import Landing, World
from warehouse.record.relations import sql_text
from warehouse.record.store import COMMIT_ATTEMPTS, Record, last_transaction, try_commit_entries
from warehouse.record.tables import RECORD_TABLES
from warehouse.shared.errors import SankofaError, UnknownVersion, WriteConflict
from warehouse.shared.settings import DEVELOPMENT_WITHHELD_KEY
from warehouse.shared.urls import FICTIONAL_URL
from warehouse.tables.operations import VersionEntry

# The world of what is published: that of the landing, and of every row in the record.
#
# A landing can be deleted, or another be set, while the record stays. So the rows are looked at,
# too.

MAKE_WITHHELD_KEY = 'Make a secret with `python -c "import secrets; print(secrets.token_hex(32))"`'
_LEAST_LENGTH, _LEAST_DIFFERENT = 32, 8
# Words that people leave standing in place of a secret.
_EXAMPLES = ("change-me", "changeme", "change me", "only-to-try", "example", "placeholder")
_CONDITIONS: dict[World, str] = {
    "fictional": f"starts_with(source_ref, {sql_text(FICTIONAL_URL + '/')})",
    "real": f"starts_with(source_ref, 'http') "
    f"AND NOT starts_with(source_ref, {sql_text(FICTIONAL_URL + '/')})",
}


def world_of(record: Record, landing: Landing) -> World:
    """Return of which world a home is; raise SankofaError if its record has rows of the other."""
    landed = landing.world()
    world = landed or ("fictional" if _row_of(record, "fictional") else "real")
    other: World = "real" if world == "fictional" else "fictional"
    row = _row_of(record, other)
    if row is not None:
        raise SankofaError(
            f"this home is {world}, but its record has {other} rows, for example of {row}; nothing "
            "was published. Check SANKOFA_HOME, SANKOFA_LANDING_URL and SANKOFA_RECORD_URL: each "
            "world needs a landing and a record of its own"
        )
    return world


def require_withheld_key(key: str, world: World | None) -> None:
    """Raise SankofaError if withheld people of real sources would be hashed under a weak key."""
    reason = why_weak(key) if world == "real" else None
    if reason is not None:
        raise SankofaError(
            f"SANKOFA_WITHHELD_KEY {reason}: whoever gets a copy of the record could test which "
            f"people of real sources are withheld. {MAKE_WITHHELD_KEY}, set it as "
            "SANKOFA_WITHHELD_KEY, keep a copy with your other keys and never change it. A home "
            "that was loaded under another key has to be loaded anew: see docs/operating.md"
        )


def why_weak(key: str) -> str | None:
    """Return why a key of withheld people can be guessed; None if it can not."""
    if key == DEVELOPMENT_WITHHELD_KEY:
        return "is not set or is the word of development, which is public"
    if len(key) < _LEAST_LENGTH:
        return f"has {len(key)} characters, fewer than {_LEAST_LENGTH}"
    if any(example in key.casefold() for example in _EXAMPLES):
        return "contains a word of an example"
    if len(set(key)) < _LEAST_DIFFERENT:
        return f"has {len(set(key))} different characters, fewer than {_LEAST_DIFFERENT}"
    return None


def last_read(record: Record) -> date:
    """Return the day on which the newest document of the record was read; it must have rows."""
    days: list[date | None] = [
        record.query(
            f"SELECT max(observed_at)::TIMESTAMP::DATE AS day FROM {record.relation(table.name)}"
        ).to_pylist()[0]["day"]
        for table in RECORD_TABLES
    ]
    return max(day for day in days if day is not None)


def _row_of(record: Record, world: World) -> str | None:
    """Return the table and the reference of a row of a world; None if there is none."""
    for table in RECORD_TABLES:
        found = record.query(
            f"SELECT source_ref FROM {record.relation(table.name)} "
            f"WHERE {_CONDITIONS[world]} LIMIT 1"
        ).to_pylist()
        if found:
            return f"{table.name}: {found[0]['source_ref']}"
    return None


def name_version(record: Record, taken: Collection[str] = ()) -> str:
    """Name what is loaded now with the next data_version, which pins its loads; return it.

    ``taken`` are names of builds: those of a record that was replaced are not in this one.
    """
    published_at = datetime.now(UTC)
    for _ in range(COMMIT_ATTEMPTS):
        delta = record.table("versions")
        names = delta.to_pyarrow_table(columns=["data_version"])["data_version"].to_pylist()
        name = _next_name([*names, *taken], f"{published_at:%Y%m%d}")
        # A load committed from here on belongs to the next version.
        entries = [
            VersionEntry(
                data_version=name,
                table_name=table.name,
                load_seq=record.load_seq(table),
                published_at=published_at,
            )
            for table in RECORD_TABLES
        ]
        number = last_transaction(delta, "versions") + 1
        if try_commit_entries(record, "versions", delta, entries, {"versions": number}):
            return name
    raise WriteConflict("versions: other writers kept committing first; publish again")


def load_seqs_of(record: Record, data_version: str) -> dict[str, int]:
    """Return the number of the last load of each table that a version includes.

    It includes nothing of a table that there was not yet when it was published.
    """
    rows = record.query(
        f"SELECT table_name, load_seq FROM {record.relation('versions')} "
        f"WHERE data_version = {sql_text(data_version)}"
    ).to_pylist()
    if not rows:
        raise UnknownVersion(f"{data_version!r} was never published; see `sankofa builds`")
    none = dict.fromkeys((table.name for table in RECORD_TABLES), 0)
    return none | {row["table_name"]: row["load_seq"] for row in rows}


def _next_name(names: list[str], day: str) -> str:
    numbers = [tuple(map(int, name.split("."))) for name in names]
    last = max(numbers, default=(0, 0))
    # A clock that went back must not make a version that sorts before the last one.
    if last[0] >= int(day):
        return f"{last[0]}.{last[1] + 1}"
    return f"{day}.1"
