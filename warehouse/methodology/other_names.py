"""Names that are in use elsewhere, and the names that the same things have here.

Spelling does not lead from ``net_income`` to ``profit``; what is spelt alike is another line. Nor
does it lead from "inflation" to series of consumer prices, which are found by parts of their keys.
"""

from collections.abc import Mapping, Sequence

from warehouse.shared.data_files import csv_rows

OTHER_NAMES: Mapping[str, str] = {
    row["word"]: row["name"] for row in csv_rows(__name__, "other_names")
}


def named_here(word: str) -> str | None:
    """Return the name that is meant by a word, in any case and with spaces or hyphens."""
    return OTHER_NAMES.get(word.strip().casefold().replace(" ", "_").replace("-", "_"))


# Subjects of macro series and indicators, and the parts of keys and codes, or the types of series,
# that match them.
SUBJECTS: Mapping[str, Sequence[str]] = {
    row["phrase"]: row["parts"].split() for row in csv_rows(__name__, "subjects")
}
# Words around a subject that no key has.
_FILLERS = frozenset(("external", "for", "foreign", "in", "index", "of", "rate", "rates", "the"))


def named_subject(words: Sequence[str]) -> list[Sequence[str]]:
    """Return the words that match the subject of a query, and its other words; none without one."""
    text = f" {' '.join(words)} "
    for phrase, parts in SUBJECTS.items():
        before, found, after = text.partition(f" {phrase} ")
        if found:
            others = f"{before} {after}".split()
            return [parts, *([word] for word in others if word not in _FILLERS)]
    return []
