"""Limits on requests and on words of a search; for rows see ``tier_cap.py``."""

from warehouse.contract.problems import Problem
from warehouse.contract.refusals import invalid
from warehouse.read.word_index import MAX_SEARCH_WORDS, distinct_words
from warehouse.usage import Standing


def words_allowed(name: str, text: str | None) -> None:
    """Refuse a search that has no word, which would find all, or too many of them."""
    if text is None:
        return
    asked = len(distinct_words(text))
    if asked == 0:
        raise invalid(name, text, "a text that holds at least one letter or digit")
    if asked > MAX_SEARCH_WORDS:
        raise invalid(name, text, f"a text of at most {MAX_SEARCH_WORDS} different words")


def refuse_above(standing: Standing) -> None:
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


def headers_of(standing: Standing) -> dict[str, str]:
    """Give both windows and what is left of them, as the IETF draft writes them."""
    tier, month = standing.tier, standing.month.seconds
    left = (f'"{name}";r={each};t={seconds}' for name, each, seconds in standing.remaining())
    return {
        "RateLimit-Policy": f'"burst";q={tier.per_minute};w=60, '
        f'"monthly";q={tier.per_month};w={month}',
        "RateLimit": ", ".join(left),
    }


def _told(standing: Standing) -> str:
    numbers = {
        "burst": f"{standing.tier.per_minute} requests a minute",
        "monthly": f"{standing.tier.per_month} requests a calendar month",
    }
    return ", ".join(numbers[name] for name in standing.violated)
