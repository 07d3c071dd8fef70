"""The tier cap: how many rows, which datasets and which files a key of a tier may get.

This is the only place that decides it, and both surfaces send nothing that has not passed it:

- Rows pass ``cap_rows``. REST calls it where rows become a body (``capped`` and ``row_body`` in
  ``api/endpoints/response.py``), MCP where a result is written (``bounded`` in
  ``mcp_server/results.py``). An endpoint or tool that forgets to ask for a limit is capped there
  all the same.
- Lists pass ``check_datasets``, where ``answer`` in ``listing.py`` begins.
- Export files pass ``check_file_tier``, called by the only function that sends a file
  (``_send_file`` in ``api/resources/exports.py``).
- ``TierCapMiddleware`` in ``api/middleware.py`` answers 500 instead of any response to a key that
  went past both.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec.structs import replace

from warehouse.contract.problems import Problem, shortened
from warehouse.read.rows import RowPage
from warehouse.tiers import Tier, TierName, tier_includes

# How an endpoint or tool is capped. ``tier``: rows and ceiling of the tier; what is not declared
# otherwise. ``paid_unlimited``: all rows with a paid key. ``uncapped``: rows that no licence
# restricts (quality measurements) or that the read itself bounds and filters by tier (crosswalk).
# A ``limit`` above the ceiling is refused everywhere.
RowRule = Literal["tier", "paid_unlimited", "uncapped"]


def row_limit(tier: Tier, requested: int | None) -> int:
    """Return how many rows to read; refuse a ``limit`` above the ceiling of the tier."""
    if requested is None:
        return tier.rows
    if requested <= tier.ceiling:
        return requested
    received = shortened(str(requested))
    raise Problem(
        "limit_above_ceiling" if tier.paid else "row_cap_exceeded",
        f"limit is {received}; a key of the {tier.name} tier gets at most {tier.ceiling} rows.",
        parameter="limit",
        received=received,
        maximum=tier.ceiling,
        tier=tier.name,
    )


def cap_rows(
    rows: RowPage, tier: Tier, limit: int | None, rule: RowRule = "tier"
) -> tuple[RowPage, int | None]:
    """Return the rows that the tier may get, and the limit that applied to them.

    ``limit`` is the limit that the rows were read with; None if there was none.
    """
    cap = _cap(tier, limit, rule)
    if cap is None:
        return rows, limit
    limit = cap if limit is None else min(limit, cap)
    if len(rows.rows) <= cap:
        return rows, limit
    first_rows = [rows.rows[number] for number in range(cap)]
    return replace(rows, rows=first_rows, truncated=True), limit


def check_datasets(tier: Tier, datasets: Iterable[str]) -> None:
    """Refuse rows of datasets that a key is not for."""
    if tier.datasets is None:
        return
    for name in datasets:
        if name not in tier.datasets:
            allowed = sorted(tier.datasets)
            raise Problem(
                "dataset_not_allowed",
                f"This is of {name}; your API key is only for {', '.join(allowed)}.",
                received=name,
                allowed=allowed,
            )


def check_file_tier(
    tier: Tier | None, required: TierName | None, dataset: str | None = None
) -> None:
    """Refuse a licensed file to a key below its tier or of other datasets, and without a key."""
    if required is None:
        return
    if tier is None:
        raise Problem("key_missing", "Send your API key in the header X-API-Key.")
    if not tier_includes(tier.name, required):
        raise Problem(
            "licensed_export",
            f"This file needs a key of the {required} tier; your key is {tier.name}.",
            tier=tier.name,
            required_tier=required,
        )
    check_datasets(tier, () if dataset is None else (dataset,))


def _cap(tier: Tier, limit: int | None, rule: RowRule) -> int | None:
    if rule == "uncapped" or (rule == "paid_unlimited" and tier.paid):
        return None
    # Without a limit a key gets the preview of its tier, with one at most the ceiling.
    return tier.rows if limit is None else tier.ceiling
