"""Texts: API keys out of them, and the nearest words of a vocabulary."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 5
# Of two words, this share of their letters must agree.
_ALIKE = 0.6
# Comparing takes a while: of a larger vocabulary only words that begin alike are compared.
_MOST_COMPARED = 2_000


def nearest(word: str, vocabulary: Iterable[str]) -> list[str]:
    """Return the nearest words, best first: spelt alike, or one a part of the other."""
    wanted = word.casefold()[:64]
    by_folded = {known.casefold(): known for known in vocabulary}
    compared = list(by_folded)
    if len(compared) > _MOST_COMPARED:
        compared = [known for known in compared if known[:2] == wanted[:2]][:_MOST_COMPARED]
    alike = get_close_matches(wanted, compared, _MOST, _ALIKE)
    if len(wanted) > 1:
        alike += sorted(known for known in compared if wanted in known or known in wanted)
    return [by_folded[known] for known in dict.fromkeys(alike)][:_MOST]


# What every API key begins with.
KEY_START = "sk_live_"
_KEY_PATTERN = re.compile(rf"({KEY_START}[A-Za-z0-9_-]{{4}})[A-Za-z0-9_-]+")


def redact_keys(text: str) -> str:
    """Replace every API key in a text with its public prefix."""
    return _KEY_PATTERN.sub(r"\1…", text) if KEY_START in text else text
