"""Admission of a request: API key, rate limits, words of a search.

For rows see ``tier_cap.py``.
"""

from warehouse.contract.problems import Problem, invalid_parameter
from warehouse.keys.store import Key, KeyStore, find_key
from warehouse.read.word_index import MAX_SEARCH_WORDS, distinct_words
from warehouse.usage.store import QuotaStatus


def key_from_headers(api_key: str | None, authorization: str | None) -> str | None:
    """Give the key of X-API-Key, or else the bearer's; some agents can send no other header."""
    scheme, _, token = (authorization or "").partition(" ")
    return api_key or (token.strip() if scheme.lower() == "bearer" else None)


def authenticate(store: KeyStore, sent: str | None) -> Key:
    """Give the key that was sent, if it is one of ours."""
    if not sent:
        raise Problem("key_missing", "Send your API key in the header X-API-Key.")
    key = find_key(store, sent)
    if key is None:
        raise Problem("key_invalid", "This API key is not known.")
    return key


def check_search_words(name: str, text: str | None) -> None:
    """Refuse a search that has no word, which would find all, or too many of them."""
    if text is None:
        return
    asked = len(distinct_words(text))
    if asked == 0:
        raise invalid_parameter(name, text, "a text that holds at least one letter or digit")
    if asked > MAX_SEARCH_WORDS:
        raise invalid_parameter(name, text, f"a text of at most {MAX_SEARCH_WORDS} different words")


def check_rate_limit(standing: QuotaStatus) -> None:
    """Refuse a request that is above a limit of its tier."""
    if violated := standing.violated:
        raise Problem(
            "rate_limited",
            f"The limits of the {standing.tier.name} tier are reached: {_told(standing)}.",
            violated_policies=violated,
            retry_after=standing.retry_after,
            retryable=True,
            tier=standing.tier.name,
        )


def rate_limit_headers(standing: QuotaStatus) -> dict[str, str]:
    """Give both windows and what is left of them, as the IETF draft writes them."""
    tier, month = standing.tier, standing.month.seconds
    left = (f'"{name}";r={each};t={seconds}' for name, each, seconds in standing.remaining())
    return {
        "RateLimit-Policy": f'"burst";q={tier.per_minute};w=60, '
        f'"monthly";q={tier.per_month};w={month}',
        "RateLimit": ", ".join(left),
    }


def _told(standing: QuotaStatus) -> str:
    numbers = {
        "burst": f"{standing.tier.per_minute} requests a minute",
        "monthly": f"{standing.tier.per_month} requests a calendar month",
    }
    return ", ".join(numbers[name] for name in standing.violated)
