"""The world of what is published: that of the landing, and of every row in the record.

A landing can be deleted, or another be set, while the record stays. So the rows are looked at, too.
"""

from warehouse.errors import MixedWorlds, NoWithheldKey
from warehouse.public_urls import FICTIONAL_URL
from warehouse.record.landing import Landing, World
from warehouse.record.store import Record, sql_text
from warehouse.record.tables import RECORD_TABLES
from warehouse.settings import DEVELOPMENT_WITHHELD_KEY

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


def require_withheld_key(is_set: bool, world: World | None) -> None:
    """Raise NoWithheldKey if withheld people of real sources would be hashed under a public word.

    ``is_set``: the environment sets SANKOFA_WITHHELD_KEY.
    """
    if world == "real" and not is_set:
        raise NoWithheldKey(
            "SANKOFA_WITHHELD_KEY is not set, and withheld people of real sources would be hashed "
            "under a word that is public. Make a secret with `openssl rand -hex 32`, set "
            "SANKOFA_WITHHELD_KEY to it, keep a copy with your other keys and never change it. If "
            "this home was already loaded without one, go on with "
            f"SANKOFA_WITHHELD_KEY='{DEVELOPMENT_WITHHELD_KEY}' until you load a new home: see "
            "docs/operating.md"
        )


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
