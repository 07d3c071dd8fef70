"""What each tier of key may ask for, as one table."""

from dataclasses import dataclass
from typing import Literal

TierName = Literal["sample", "starter", "professional"]


@dataclass(frozen=True)
class Tier:
    """One tier: rows, requests, and what it opens. ``rows`` is served without a limit."""

    name: TierName
    rows: int
    ceiling: int
    per_minute: int
    per_month: int
    paid: bool


TIERS: dict[TierName, Tier] = {
    tier.name: tier
    for tier in (
        Tier("sample", 25, 25, 30, 3_000, paid=False),
        Tier("starter", 100, 1_000, 120, 50_000, paid=True),
        Tier("professional", 100, 1_000, 600, 1_000_000, paid=True),
    )
}
