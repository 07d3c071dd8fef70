"""The world of what is published: that of the landing, and of every row in the record.

A landing can be deleted, or another be set, while the record stays. So the rows are looked at, too.
"""

from warehouse.errors import MixedWorlds, NoWithheldKey
from warehouse.public_urls import FICTIONAL_URL
from warehouse.record.landing import Landing, World
from warehouse.record.store import Record, sql_text
from warehouse.record.tables import RECORD_TABLES
from warehouse.settings import DEVELOPMENT_WITHHELD_KEY

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
    """Return of which world a home is; raise MixedWorlds if its record has rows of the other."""
    landed = landing.world()
    world = landed or ("fictional" if _row_of(record, "fictional") else "real")
    other: World = "real" if world == "fictional" else "fictional"
    row = _row_of(record, other)
    if row is not None:
        raise MixedWorlds(
            f"this home is {world}, but its record has {other} rows, for example of {row}; nothing "
            "was published. Check SANKOFA_HOME, SANKOFA_LANDING_URL and SANKOFA_RECORD_URL: each "
            "world needs a landing and a record of its own"
        )
    return world


def require_withheld_key(key: str, world: World | None) -> None:
    """Raise NoWithheldKey if withheld people of real sources would be hashed under a weak key."""
    reason = why_weak(key) if world == "real" else None
    if reason is not None:
        raise NoWithheldKey(
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
