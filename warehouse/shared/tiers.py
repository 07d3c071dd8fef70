"""The tiers of keys and their limits, as one table that configuration can change."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from warehouse.shared.errors import SankofaError

TierName = Literal["sample", "starter", "professional"]
# What a key can be limited to.
Dataset = Literal["AF-FUND", "AF-TENDER", "AF-MACRO"]


@dataclass(frozen=True)
class Tier:
    """One tier. ``rows`` applies to a request without ``limit``, ``ceiling`` to any.

    ``datasets`` are those that a key of it is limited to; None for all. ``price`` and ``allows``,
    what its licence allows, are words of the operator for the page of prices.
    """

    name: TierName
    rows: int
    ceiling: int
    per_minute: int
    per_month: int
    paid: bool
    datasets: frozenset[str] | None = None
    price: str = ""
    allows: str = ""

    @cached_property
    def rows_allowed(self) -> str:
        """All that decides which rows a key gets, as text."""
        datasets = None if self.datasets is None else sorted(self.datasets)
        return f"{self.name} {self.rows} {self.ceiling} {self.paid} {datasets}"


# From the lowest tier to the highest: ``tier_includes`` relies on the order.
TIERS: dict[TierName, Tier] = {
    tier.name: tier
    for tier in (
        Tier("sample", 25, 25, 30, 3_000, paid=False),
        Tier("starter", 100, 1_000, 120, 50_000, paid=True),
        Tier("professional", 100, 1_000, 600, 1_000_000, paid=True),
    )
}


def tier_includes(name: TierName, required: TierName) -> bool:
    """Return whether a tier is the required one or above it."""
    order = list(TIERS)
    return order.index(name) >= order.index(required)


# Unknown fields are refused: a misspelt limit would silently leave the default in force.
class _TierChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The limits, and the words on the page of prices, that a file may change."""

    rows: int | None = None
    ceiling: int | None = None
    per_minute: int | None = None
    per_month: int | None = None
    price: str = ""
    allows: str = ""


def configured_tiers(file: Path | None) -> dict[TierName, Tier]:
    """Return the tiers with the changes of a JSON file, that of ``SANKOFA_TIERS``."""
    if file is None:
        return TIERS
    try:
        changes = msgspec.json.decode(file.read_bytes(), type=dict[TierName, _TierChange])
    except (OSError, msgspec.DecodeError) as error:
        raise SankofaError(f"the file of SANKOFA_TIERS cannot be used: {error}") from error
    return {name: _changed(tier, changes.get(name)) for name, tier in TIERS.items()}


def _changed(tier: Tier, change: _TierChange | None) -> Tier:
    changed: dict[str, int | str] = {} if change is None else msgspec.to_builtins(change)
    for name, number in changed.items():
        if isinstance(number, int) and number < 1:
            raise SankofaError(f"SANKOFA_TIERS: {name} of {tier.name} is {number}; at least 1")
    configured = replace(tier, **changed)  # type: ignore[arg-type]
    if configured.rows > configured.ceiling:
        raise SankofaError(f"SANKOFA_TIERS: rows of {tier.name} lie above its ceiling")
    return configured
