"""Find a withheld name in a text, however it is written there.

A name is its distinctive words: legal forms, titles, particles and numbers do not count, nor do
case, accents, order and what joins the words. "Dr Z. Quillfeather", "QUILLFEATHER, Zukiswa",
"zukiswa-quillfeather-1" and "zquillfeather@example.org" are all Zukiswa Quillfeather. A single
word is no name inside a text: it may be any word of the language.

``NameFinder`` looks for many names at once; ``redaction`` decides what replaces a match.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from warehouse.names import word_lists
from warehouse.names.legal_forms import LEADING_FORMS, LONG_FORMS, SHORT_FORMS
from warehouse.names.public_bodies import (
    BODY_BEFORE_OF,
    BODY_FIRST,
    BODY_LAST,
    DEPARTMENTS,
    QUALIFIERS,
    SUBJECTS,
)

Words = tuple[str, ...]

# Letters in a row, or digits in a row: "284182juan" is two tokens, "juan_perez" too.
_TOKEN = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f])+|\d+")
_LETTERS = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f])+")
_NOT_LETTERS = re.compile(r"[^\w\u0300-\u036f]+|_+")
# Accents, and letters beyond Latin, Greek and Cyrillic, whose marks are others and many.
_ACCENTS = re.compile("[\u0300-\u036f]+")
_OTHER_SCRIPT = re.compile("[^\0-\u0482\u1e00-\u20cf]")
# What may come between two words of a name when others of its words are missing.
_NAME_GAP = re.compile(r"[\s.,'’_/+&-]*")
# Other words may not come between the words of a name; skipped ones may, up to this many.
_MOST_SKIPPED = 4
_LONGEST_GAP = 6
_MOST_INITIALS = 4
_MOST_PERSONAL_WORDS = 5
# Letters that a word needs to identify a person together with initials, glued to one, or as one
# of two that are glued in a longer word.
_WITH_INITIAL, _GLUED, _GLUED_PAIR = 3, 5, 10


def fold(text: str) -> str:
    """Return a text without accents and capitals."""
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    if _OTHER_SCRIPT.search(plain):
        plain = "".join(char for char in plain if not unicodedata.combining(char))
    return plain.casefold()


# Words repeat, texts do not.
fold_word = lru_cache(maxsize=1 << 15)(fold)


def _words(*lists: Iterable[str]) -> frozenset[str]:
    return frozenset(fold_word(word) for words in lists for word in words)


def _phrase_words(*lists: Iterable[Sequence[str]]) -> frozenset[str]:
    return _words(*(phrase for phrases in lists for phrase in phrases))


_TITLES = _words(word_lists.TITLES, word_lists.FIRST_TITLES, word_lists.LOOSE_TITLES)
_PARTICLES = _words(
    word_lists.PARTICLES, word_lists.CONJUNCTIONS, ("the", "of", "i", "і", "й", "та", "и", "з")
)
_FORMS = _phrase_words(LONG_FORMS, LEADING_FORMS, (short.form for short in SHORT_FORMS)) | _words(
    ("co", "company", "cia", "cie", "ta", "dba", "фоп", "чп", "ип", "пп", "тов")
)
# Words of forms that name things as well, and are then no form.
_ORDINARY = word_lists.word_set(
    "a e o por com en mit by"
    " acciones actions association close community cooperative credit empresa estado foundation"
    " interest joint national operative private profit public publica share social sociedad"
    " sociedade societe society stock trust union unlimited"
)
_SKIPPED = _TITLES | _PARTICLES | (_FORMS - _ORDINARY)
# Words that many firms share: two of them together do not identify anyone.
_COMMON = (
    _words(
        word_lists.TRADE_WORDS,
        word_lists.IMPERSONAL_WORDS,
        word_lists.OFFICE_HOLDERS,
        word_lists.FAMILY_WORDS,
    )
    | _words(DEPARTMENTS, QUALIFIERS, SUBJECTS)
    | _FORMS
    | _phrase_words(BODY_FIRST, BODY_LAST, BODY_BEFORE_OF)
    | _phrase_words(phrase.split() for phrase in word_lists.SOLE_TRADER_PHRASES)
)
_GIVEN = _words(word_lists.GIVEN_NAMES)


# What separates two names in one field.
_BETWEEN_NAMES = re.compile(
    r"[;|\n]|(?<!\w)(?:{})(?!\w)".format(
        "|".join(
            re.escape(phrase).replace(r"\ ", r"\s+")
            for phrase in sorted(
                (*word_lists.TRADING_AS_PHRASES, *word_lists.REPRESENTATIVE_PHRASES), key=len
            )[::-1]
        )
    ),
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A folded word of a text and its place; ``spelled`` if its letters are apart."""

    word: str
    start: int
    end: int
    spelled: bool = False
    capitals: bool = False


class Passage(NamedTuple):
    """A part of a text that is a name; whole if it has every word, at least as an initial."""

    start: int
    end: int
    name: Words
    is_whole: bool = True


@lru_cache(maxsize=1 << 16)
def names_in(text: str) -> tuple[Words, ...]:
    """Return the names that a party's name consists of: "N. Dlamini t/a Best Taxis" has two."""
    parts = [part for part in _BETWEEN_NAMES.split(text) if part.strip()]
    names = (distinctive_words(part) for part in (parts if len(parts) > 1 else (text,)))
    return tuple(dict.fromkeys(name for name in names if name))


def may_be_somebody(name: Words) -> bool:
    """Return whether words can be anybody's name: those that every firm uses cannot."""
    return not all(word in _COMMON or len(word) == 1 for word in name)


@lru_cache(maxsize=1 << 16)
def distinctive_words(name: str) -> Words:
    """Return the words that make up a name, in order."""
    tokens = [token.word for token in tokens_of(name) if not token.word.isdigit()]
    words = tuple(word for word in tokens if word not in _SKIPPED)
    if len(words) < 2:
        # "João de Sá": what looks like a form is the surname.
        words = tuple(word for word in tokens if word not in _TITLES | _PARTICLES)
    return words


def is_identifying(word: str) -> bool:
    """Return whether a text must have this word of a name to be about the name at all."""
    return word not in _COMMON and word not in _SKIPPED and len(word) >= _WITH_INITIAL


@lru_cache(maxsize=1 << 14)
def search_words(name: Words) -> Words:
    """Return the words of which every text that has the name has one."""
    return tuple(word for word in name if is_identifying(word)) or name


def tokens_of(text: str) -> list[Token]:
    """Split a text into folded words; single letters in a row are one token: "S.A.S." is "sas"."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        raw = match[0]
        word = fold_word(raw)
        if len(word) == 1 and word.isalpha() and tokens:
            last = tokens[-1]
            gap = text[last.end : start]
            if (last.spelled or (len(last.word) == 1 and last.word.isalpha())) and gap in _JOINTS:
                tokens[-1] = Token(last.word + word, last.start, end, True, True)
                continue
        tokens.append(Token(word, start, end, False, raw.isupper()))
    return tokens


_JOINTS = frozenset((".", ". ", " ", "-", ".-", "/", "./"))


class NameFinder:
    """Finds any of a set of names in texts."""

    def __init__(self, names: Iterable[Words]) -> None:
        self._names = sorted({name for name in names if name})
        # Where a match may begin: at a word of a name, or at what may be its initials.
        self._by_word: dict[str, list[Words]] = {}
        self._by_initial: dict[str, list[Words]] = {}
        self._alone = {name[0] for name in self._names if len(name) == 1}
        for name in self._names:
            if len(name) == 1:
                continue
            for word in dict.fromkeys(name):
                self._by_word.setdefault(word, []).append(name)
            for letter in dict.fromkeys(word[0] for word in name):
                self._by_initial.setdefault(letter, []).append(name)
        self._needed = sorted({word for name in self._names for word in search_words(name)})
        self._may_begin = lru_cache(maxsize=1 << 12)(self._begins)

    def may_have(self, text: str) -> bool:
        """Return quickly whether a text can contain a name; one that cannot is never searched."""
        folded = fold(text)
        if any(map(folded.__contains__, self._needed)):
            return True
        letters = _NOT_LETTERS.sub("", folded)
        return any(map(letters.__contains__, self._needed))

    def has(self, text: str) -> bool:
        """Return whether a text contains a name."""
        return self.may_have(text) and next(self.passages(text), None) is not None

    def passages(self, text: str) -> Iterator[Passage]:
        """Yield the parts of a text that are names, from left to right."""
        # Of most texts no word begins a name, and words repeat.
        if not any(map(self._may_begin, _LETTERS.findall(text))):
            return
        tokens = tokens_of(text)
        alone = [token for token in tokens if token.word not in _SKIPPED]
        if len(alone) == 1 and _singular(alone[0].word, self._alone) in self._alone:
            # A single word is a name only where it is all there is.
            yield Passage(tokens[0].start, tokens[-1].end, (alone[0].word,))
            return
        position = 0
        while position < len(tokens):
            found = self._longest(text, tokens, position)
            if found is None:
                position += 1
                continue
            last, name, is_whole = found
            first = position
            # A title before the name and the form behind it belong to it.
            while first and tokens[first - 1].word in _TITLES and _is_near(text, tokens, first):
                first -= 1
            while last + 1 < len(tokens) and _ends_name(text, tokens, last + 1):
                last += 1
            yield Passage(tokens[first].start, tokens[last].end, name, is_whole)
            position = last + 1

    def _begins(self, written: str) -> bool:
        """Return whether a name may begin with a word as it is written."""
        word = fold_word(written)
        # A letter may be the first of several that are written one by one.
        return (
            len(word) == 1
            or _singular(word, self._alone) in self._alone
            or any(self._candidates(Token(word, 0, 0, capitals=written.isupper())))
        )

    def _longest(
        self, text: str, tokens: Sequence[Token], position: int
    ) -> tuple[int, Words, bool] | None:
        best: tuple[int, Words, bool] | None = None
        for name in self._candidates(tokens[position]):
            match = _match(text, tokens, position, name)
            if match is not None and (best is None or match > (best[0], best[2])):
                best = match[0], name, match[1]
        return best

    def _candidates(self, token: Token) -> Iterable[Words]:
        word = token.word
        if names := self._by_word.get(_singular(word, self._by_word)):
            yield from names
        if (len(word) == 1 or token.spelled or token.capitals) and len(word) <= _MOST_INITIALS:
            yield from self._by_initial.get(word[0], ())
        elif len(word) > _GLUED and word not in self._by_word:
            # Glued: the word may begin with any name.
            yield from (name for name in self._names if len(name) > 1 and _is_glued(word, name))


def _match(
    text: str, tokens: Sequence[Token], position: int, name: Words
) -> tuple[int, bool] | None:
    """Return the last token of the name that begins at a position, and whether it is all there."""
    if _is_glued(tokens[position].word, name):
        return position, True
    left = list(name)
    whole: list[str] = []
    matching: tuple[int, bool] | None = None
    is_close = True
    skipped, end = 0, tokens[position].start
    for index in range(position, len(tokens)):
        token = tokens[index]
        gap = text[end : token.start]
        if len(gap) > _LONGEST_GAP or "\n\n" in gap:
            break
        word = _singular(token.word, left)
        if word in left:
            left.remove(word)
            whole.append(word)
        elif initials := _initials(token, left, bool(whole)):
            for initial_of in initials:
                left.remove(initial_of)
        elif index > position and skipped < _MOST_SKIPPED and _is_skipped(token):
            skipped += 1
            end = token.end
            continue
        else:
            break
        is_close = is_close and (index == position or bool(_NAME_GAP.fullmatch(gap)))
        skipped, end = 0, token.end
        if _is_enough(name, whole, left, is_close):
            matching = index, not left
        if not left:
            break
    return matching


def _is_enough(name: Words, whole: Sequence[str], left: Sequence[str], is_close: bool) -> bool:
    """Return whether the words found so far, ``left`` missing, are the name."""
    if len(whole) == len(name):
        return True
    identifying = [word for word in whole if is_identifying(word)]
    if not left:
        # The others are initials.
        return bool(identifying)
    if len(name) > _MOST_PERSONAL_WORDS or any(map(_COMMON.__contains__, name)):
        # Of an organisation's name, some words are any words.
        return False
    # "Zukiswa Quillfeather" or "Z. Quillfeather" for one with three names; "Maria Fernanda" is
    # anybody.
    has_initial = len(whole) + len(left) < len(name)
    is_named = any(len(word) >= _GLUED for word in identifying if word not in _GIVEN)
    return is_close and is_named and (len(identifying) > 1 or has_initial)


def _is_skipped(token: Token) -> bool:
    return token.word in _SKIPPED or (token.word.isdigit() and len(token.word) <= 2)


def _initials(token: Token, left: Sequence[str], is_behind: bool) -> list[str]:
    """Return the words of which a token has the initials, each one once; none if it has others.

    Behind a word of the name, "S.A." is a legal form.
    """
    is_form = len(token.word) > 1 and token.word in _FORMS and is_behind
    is_written_so = len(token.word) == 1 or token.spelled or token.capitals
    if is_form or len(token.word) > _MOST_INITIALS or not is_written_so:
        return []
    words, found = list(left), []
    for letter in token.word:
        word = next((word for word in words if len(word) > 1 and word[0] == letter), None)
        if word is None:
            return []
        words.remove(word)
        found.append(word)
    return found


def _singular(word: str, known: Iterable[str]) -> str:
    """Return a word of ``known`` of which this is the plural, or the word itself."""
    if word not in known and word.endswith("s") and len(word) > _WITH_INITIAL:
        stem = word[:-2] if word.endswith("es") and word[:-2] in known else word[:-1]
        return stem if stem in known else word
    return word


@lru_cache(maxsize=1 << 16)
def _is_glued(word: str, name: Words) -> bool:
    """Return whether a word is made of words of a name: "zquillfeather", "quillfeatherzukiswa"."""
    if len(word) <= _GLUED or not any(part in word for part in name if is_identifying(part)):
        return False
    long_parts = [part for part in name if is_identifying(part)]
    for first in long_parts:
        for second in long_parts:
            pair = first + second
            if first != second and len(pair) >= _GLUED_PAIR and pair in word:
                return True
    return _is_made_of(word, name, (), 0)


def _is_made_of(rest: str, left: Words, whole: Words, initials: int) -> bool:
    """Return whether ``rest`` is made of words that are left, after some whole ones and initials.

    All words of a name are enough however short they are; of some, one must be a long one.
    """
    if not rest or rest in _FORMS:
        is_long = any(len(word) >= _GLUED for word in whole)
        is_enough = is_long or not left
        return (len(whole) > 1 and is_enough) or (is_long and initials > 0)
    for position, part in enumerate(left):
        others = left[:position] + left[position + 1 :]
        is_whole = len(part) > 1 and rest.startswith(part)
        if is_whole and _is_made_of(rest[len(part) :], others, (*whole, part), initials):
            return True
        is_initial = initials < 2 and rest[0] == part[0]
        if is_initial and _is_made_of(rest[1:], others, whole, initials + 1):
            return True
    return False


def _is_near(text: str, tokens: Sequence[Token], index: int) -> bool:
    return len(text[tokens[index - 1].end : tokens[index].start]) <= 2


def _ends_name(text: str, tokens: Sequence[Token], index: int) -> bool:
    """Return whether a token behind a name is its legal form."""
    word = tokens[index].word
    is_form = word in _FORMS and word not in _ORDINARY and word not in _PARTICLES
    return is_form and _is_near(text, tokens, index)
