"""Split a cell that lists several firms into their names.

"A (Pty) Ltd / B CC", "A Ltd; B Ltd" and "A Ltd and B Ltd JV" are two firms each. Semicolons, line
breaks and numbers of a list separate names wherever they stand. A slash, a comma, "and" and the
like are parts of names too: they separate only behind a legal form, and words such as "and" only
if a form follows as well. Nothing is established here: every part is judged by itself.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from warehouse.names.legal_forms import LONG_FORM_WORDS, SHORT_FORM_WORDS, legal_form
from warehouse.names.reading import fold, read_words
from warehouse.names.word_lists import FAMILY_WORDS

_SURE = re.compile(r"\s*[;|\n\r•]+\s*")
# "1. A Ltd 2. B Ltd": the number stands first or behind a space, a bracket or a letter.
_NUMBER = re.compile(r"(?:^|(?<=[\s)\].a-z]))\(?(\d{1,2})[.)]\s*(?=[^\W\d_])")
_JOINT = r"(?:joint\s+venture|j\.?\s?v\.?|j/v|consortium)"
# Words and signs between two firms; the first group needs a form on both sides.
_DOUBTFUL = re.compile(
    r"(?P<both>\s*,\s*(?:and\s+)?|\s+(?:and|y|et|e|und|ve)\s+|\s*&\s*)"
    rf"|(?<!\s\w)\s*/\s*(?!\w\b)|\s+\+\s+|\s+(?:y/o|and/or|et/ou|e/ou)\s+"
    rf"|\s+(?:in\s+(?:a\s+)?)?{_JOINT}\s+(?:with\s+)?(?=\w)",
    re.IGNORECASE,
)
_LEADING_JOINT = re.compile(rf"^{_JOINT}\s*(?:of|between|:|-)\s*", re.IGNORECASE)
_TRAILING_JOINT = re.compile(rf"[\s,–-]*[(\[]?\b(?:in\s+)?{_JOINT}[)\]]?[.\s]*$", re.IGNORECASE)
_FORM_WORDS = LONG_FORM_WORDS | SHORT_FORM_WORDS
# Longer cells are documents.
_MAX_LENGTH = 4000


@lru_cache(maxsize=1 << 14)
def listed_names(name: str, country: str | None) -> tuple[str, ...]:
    """Return the names that a cell lists; only the cell itself if it is one name."""
    if len(name) > _MAX_LENGTH:
        return (name,)
    pieces = [piece for part in _SURE.split(name) for piece in _numbered(part)]
    names = [part for piece in pieces for part in _firms(piece, country)]
    names = [stripped for part in names if (stripped := part.strip(" ,;·-–"))]
    if len(names) < 2:
        return (name,)
    first, *others, last = names
    named = (_LEADING_JOINT.sub("", first), *others, _TRAILING_JOINT.sub("", last))
    return tuple(dict.fromkeys(part for part in named if part)) or (name,)


def _numbered(text: str) -> list[str]:
    """Split at the numbers of a list, if they count from 1."""
    numbers = list(_NUMBER.finditer(text))
    if [int(number[1]) for number in numbers] != list(range(1, len(numbers) + 1)):
        return [text]
    if len(numbers) < 2 or text[: numbers[0].start()].strip():
        return [text]
    ends = [number.start() for number in numbers[1:]] + [len(text)]
    return [text[number.end() : end] for number, end in zip(numbers, ends, strict=True)]


def _firms(text: str, country: str | None) -> Iterator[str]:
    """Yield the firms of a text without sure separators."""
    start = 0
    for mark in _DOUBTFUL.finditer(text):
        before, after = text[start : mark.start()], text[mark.end() :]
        if _is_bracketed(before) or not _ends_with_form(before, country):
            continue
        if mark["both"] is not None and not _begins_with_firm(after, country):
            continue
        if read_words(fold(after)):
            yield before
            start = mark.end()
    yield text[start:]


def _is_bracketed(text: str) -> bool:
    return text.count("(") > text.count(")") or text.count("[") > text.count("]")


def _ends_with_form(text: str, country: str | None) -> bool:
    words = [word for word in read_words(fold(text)) if not word.raw.isdigit()]
    # "Ltd JV": the form of the firm stands before the word for the venture.
    if words and words[-1].upper == "JV":
        words.pop()
    return bool(words) and words[-1].upper in _FORM_WORDS and bool(legal_form(words, country))


def _begins_with_firm(text: str, country: str | None) -> bool:
    """Return whether a firm with a name of its own and a form stands at the beginning."""
    mark = _DOUBTFUL.search(text)
    ends = [mark.start()] if mark else []
    # "B, S.A." is one name: without a form before the first mark, the whole text counts.
    for end in (*ends, len(text)):
        words = read_words(fold(text[:end]))
        own_name = words and words[0].upper not in FAMILY_WORDS | _FORM_WORDS
        if own_name and legal_form(words, country):
            return True
    return False
