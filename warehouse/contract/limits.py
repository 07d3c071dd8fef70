"""Admission of a request: API key, rate limits, words of a search.

For rows see ``tier_cap.py``.
"""

from datetime import UTC, datetime
from functools import lru_cache

from warehouse.contract.problems import Problem, invalid_parameter
from warehouse.control.keys import Key, KeyStore
from warehouse.mart.words import terms
from warehouse.read.full_text import MAX_SEARCH_WORDS
from warehouse.usage.store import QuotaStatus


def key_from_headers(api_key: str | None, authorization: str | None) -> str | None:
    """Return the key in X-API-Key, else the bearer token: some agents can send only that."""
    scheme, _, token = (authorization or "").partition(" ")
    return api_key or (token.strip() if scheme.lower() == "bearer" else None)


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
