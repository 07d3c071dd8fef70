"""Which organisation an id is of: ids found to be one are asked for as one."""

from warehouse.read.mart import Build
from warehouse.read.rows import storable


def pointed_to(build: Build, service_id: str) -> str | None:
    """Give the id that another points to."""
    held = build.rows("SELECT same_as FROM same_as WHERE service_id = ?", storable(service_id))
    return str(held[0][0]) if held else None


def organisation(build: Build, service_id: str) -> str:
    """Give the id under which everything of an organisation is found."""
    return pointed_to(build, service_id) or service_id


def is_known(build: Build, service_id: str) -> bool:
    """Say whether a register describes who has an id, or it points to another."""
    asked = (
        "SELECT 1 FROM entities WHERE service_id = ? "
        "UNION ALL SELECT 1 FROM same_as WHERE service_id = ? "
        "UNION ALL SELECT 1 FROM same_as WHERE same_as = ? LIMIT 1"
    )
    return bool(build.rows(asked, *[storable(service_id)] * 3))
