"""All stores in the order in which they are checked; and a quick look at what is published."""

from collections.abc import Callable, Iterator

from pipelines.verify.builds import damaged_builds
from pipelines.verify.damage import Damage
from pipelines.verify.published_files import damaged_exports
from pipelines.verify.stores import (
    damaged_keys,
    damaged_landing,
    damaged_record,
    damaged_steps,
)
from warehouse.errors import in_one_line
from warehouse.mart.builds import builds_at
from warehouse.settings import Settings


def _exports(settings: Settings) -> Iterator[Damage]:
    current = builds_at(settings.marts).current()
    return damaged_exports(settings.exports, current, settings.signing_key)


STORES: dict[str, Callable[[Settings], Iterator[Damage]]] = {
    "landing": damaged_landing,
    "record": damaged_record,
    "builds": lambda settings: damaged_builds(settings.marts),
    "exports": _exports,
    "keys and usage": damaged_keys,
    "stage": damaged_steps,
}


def examine(settings: Settings) -> Iterator[tuple[str, list[Damage]]]:
    """Yield each store with what is damaged in it."""
    for name, check in STORES.items():
        damaged: list[Damage] = []
        try:
            damaged += check(settings)
        # Libraries raise exceptions of any kind; the other stores are checked all the same.
        except Exception as error:
            do = "run `sankofa doctor` to find the cause, then check again"
            damaged.append(Damage(name, f"cannot be checked: {in_one_line(error)[:300]}", do))
        yield name, damaged


def missing_files(marts: str, exports: str) -> Iterator[Damage]:
    """Yield what is published and is missing or has another size, of the current build alone."""
    current = builds_at(marts).current()
    quick = (
        damaged_builds(marts, thorough=False),
        damaged_exports(exports, current, None, thorough=False),
    )
    for damaged in quick:
        yield from (damage for damage in damaged if damage.remake)
