"""What a request may have: API key, rate limits, words of a search, and the rows of its tier."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from msgspec.structs import replace

from warehouse.contract.problems import Problem, invalid_parameter, shortened
from warehouse.control.keys import Key, KeyStore
from warehouse.names.search_words import terms
from warehouse.serve.rows import RowPage
from warehouse.serve.search import MAX_SEARCH_WORDS
from warehouse.serve.usage import QuotaStatus
from warehouse.shared.tiers import Tier, TierName, tier_includes

# The tier cap: how many rows, which datasets and which files a key of a tier may get.
#
# This is the only place that decides it, and both surfaces send nothing that has not passed it:
#
# - Rows pass ``cap_rows``. REST calls it where rows become a body (``capped`` in
# ``api/endpoints/response.py``), MCP where a result is written (``bounded`` in
# ``mcp_server/results.py``). An endpoint or tool that forgets to ask for a limit is capped there
# all the same. - Lists pass ``check_datasets``, where ``answer`` in ``listing.py`` begins. -
# Export files pass ``check_file_tier``, called by the only function that sends a file
# (``_send_file`` in ``api/resources/exports.py``). - ``Middleware`` in
# ``api/middleware.py`` answers 500 instead of any response to a key that went past both.

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
    return replace(rows, rows=first_rows, truncated=True, resume=None), limit


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


def key_from_headers(api_key: str | None, authorization: str | None) -> str | None:
    """Return the key in X-API-Key, else the bearer token: some agents can send only that."""
    if api_key or not authorization:
        return api_key
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def authenticate(store: KeyStore, sent: str | None, address: str | None) -> Key:
    """Return the key that was sent; refuse a missing, unknown or ended one, or another network."""
    if not sent:
        detail = "Send your API key in the header X-API-Key, or as Authorization: Bearer KEY."
        raise Problem("key_missing", detail)
    key = store.look_up(sent)
    if key is None:
        detail = "This API key is unknown. Check what you send in X-API-Key or Authorization."
        raise Problem("key_invalid", detail)
    if not key.is_active():
        how = "expired" if key.expires else "was revoked or replaced"
        ended = datetime.fromtimestamp(key.ends, UTC).isoformat(timespec="seconds")
        raise Problem("key_invalid", f"This API key {how} at {ended}. Request a new one.")
    if key.networks and not key.may_be_sent_from(address):
        detail = f"This API key may not be sent from {address or 'an unknown address'}."
        raise Problem("network_not_allowed", detail)
    return key


def check_search_words(name: str, text: str | None) -> None:
    """Refuse a search without a word, which would match everything, or with too many."""
    if text is None:
        return
    count = len(terms(text))
    if count == 0:
        raise invalid_parameter(name, text, "a text with at least one letter or digit")
    if count > MAX_SEARCH_WORDS:
        raise invalid_parameter(name, text, f"a text of at most {MAX_SEARCH_WORDS} different words")


def check_rate_limit(status: QuotaStatus) -> None:
    """Refuse a request above a limit of its tier."""
    if violated := status.violated:
        raise Problem(
            "rate_limited",
            f"The limits of the {status.tier.name} tier are reached: {_describe(status)}. "
            f"Try again in {status.retry_after} seconds.",
            violated_policies=violated,
            retry_after=status.retry_after,
            retryable=True,
            tier=status.tier.name,
        )


def rate_limit_headers(status: QuotaStatus) -> dict[str, str]:
    """Return both windows and their remaining quota, in the form of the IETF draft."""
    # q: quota, w: seconds of the window; r: remaining, t: seconds until the window resets.
    remaining = ", ".join(
        [f'"{name}";r={quota};t={seconds}' for name, quota, seconds in status.remaining()]
    )
    policy = _policy(status.tier.per_minute, status.tier.per_month, status.month.seconds)
    return {"RateLimit-Policy": policy, "RateLimit": remaining}


@lru_cache(16)
def _policy(per_minute: int, per_month: int, month_seconds: int) -> str:
    return f'"burst";q={per_minute};w=60, "monthly";q={per_month};w={month_seconds}'


def _describe(status: QuotaStatus) -> str:
    limits = {
        "burst": f"{status.tier.per_minute} requests a minute",
        "monthly": f"{status.tier.per_month} requests a calendar month",
    }
    return ", ".join(limits[name] for name in status.violated)
