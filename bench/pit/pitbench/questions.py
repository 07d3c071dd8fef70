"""Questions, drawn from the files by a seed: figures of each stratum, and days of each figure.

The strata are what point-in-time data goes wrong on. They decide which figures are drawn and how
results are broken down, never what is right.
"""

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from pitbench.files import counterparts
from pitbench.model import CLOSE, Figure, Kind, Moment, Question, same
from pitbench.reader_python import Histories, Statement

PUBLIC_SEED = "pitbench-2026"
# Figures of each stratum, and questions about one figure, at most.
_FIGURES, _QUESTIONS = 60, 5
# A service that read a file without days knows its values from the day of reading on.
_UNDATED_UNTIL = "2022"
_WHOLE_SCALES = tuple(Decimal(10) ** power for power in (3, 6, 9))


def draw(stated: Histories, seed: str, last_day: str) -> list[Question]:
    """Return the questions of a seed, in an order that depends on nothing else."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    strata = _strata(stated)
    members = {name: set(figures) for name, figures in strata.items()}
    chosen: dict[Figure, set[str]] = {}
    for figures in strata.values():
        for figure in chance.sample(figures, min(_FIGURES, len(figures))):
            chosen[figure] = {name for name in strata if figure in members[name]}
    questions: dict[tuple[Figure, str, str, str], Question] = {}
    for figure in sorted(chosen):
        possible = sorted(set(_days(figure, stated[figure], last_day)))
        for as_of, moment, kind, stratum in chance.sample(possible, min(_QUESTIONS, len(possible))):
            names = tuple(sorted(chosen[figure] | ({stratum} if stratum else set())))
            key = (figure, as_of, moment, kind)
            digest = hashlib.sha256(repr((figure, as_of, moment, kind)).encode()).hexdigest()[:12]
            questions[key] = Question(digest, figure, as_of, moment, kind, names)
    return list(questions.values())


def fingerprint(questions: list[Question]) -> str:
    """Return the SHA-256 of questions, which names them in a result."""
    text = json.dumps([asdict(question) for question in questions], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _days(
    figure: Figure, statements: list[Statement], last_day: str
) -> Iterator[tuple[str, Moment, Kind, str]]:
    """Yield the questions that a figure allows: as_of, moment, kind, and a stratum of the day."""
    if not statements[0].filed:
        # Some time after the period, and before anyone here read the file.
        yield f"{int(figure.end[:4]) + 1}-12-31", "end", "known", "undated"
        return
    days = sorted({one.filed for one in statements})
    changes = [days[0], *(later.filed for earlier, later in _changes(statements))]
    for day in changes:
        yield _day_before(day), "end", "known", ""
        yield day, "end", "known", ""
    yield last_day, "end", "known", ""
    yield last_day, "end", "first", ""
    for day in days:
        filed = [one for one in statements if one.filed == day]
        # Whether a filing was known at the close is a question only where its moment is on record.
        if all(one.accepted[:10] == day for one in filed):
            late = any(one.accepted >= f"{day} {CLOSE}" for one in filed)
            yield day, "close", "known", "after_hours" if late else "during_the_day"


def _day_before(day: str) -> str:
    return (date.fromisoformat(day) - timedelta(days=1)).isoformat()


def _strata(stated: Histories) -> Mapping[str, list[Figure]]:
    """Return the figures of each stratum, in order."""
    strata: dict[str, list[Figure]] = {name: [] for name in ("plain", *_OF_HISTORIES)}
    others: dict[str, list[Figure]] = defaultdict(list)
    keys = {
        (figure.subject, figure.measure, figure.currency, figure.start, figure.end): figure
        for figure in stated
    }
    currencies: dict[tuple[str, ...], set[str]] = defaultdict(set)
    starts: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for subject, measure, currency, start, end in keys:
        currencies[subject, measure, start, end].add(currency)
        starts[subject, measure, currency, end].add(start)
    pairs = counterparts()
    for key, figure in keys.items():
        subject, measure, currency, start, end = key
        if figure.track != "filings":
            if stated[figure][0].filed or figure.end < _UNDATED_UNTIL:
                others[figure.track].append(figure)
            continue
        strata["plain"].append(figure)
        if len(currencies[subject, measure, start, end]) > 1:
            others["two_currencies"].append(figure)
        if len(starts[subject, measure, currency, end]) > 1:
            others["quarter_and_year"].append(figure)
        twin = keys.get((subject, pairs.get(measure, ""), currency, start, end))
        if twin is not None and _last(stated[twin]) != _last(stated[figure]):
            others["minority_interests"].append(figure)
        for name, belongs in _OF_HISTORIES.items():
            if belongs(figure, stated[figure]):
                strata[name].append(figure)
    return {**strata, **others}


def _last(statements: list[Statement]) -> Decimal | None:
    return statements[-1].value


def _changes(statements: list[Statement]) -> list[tuple[Statement, Statement]]:
    """Return consecutive statements whose values differ by more than a rounding."""
    return [
        (earlier, later)
        for earlier, later in pairwise(statements)
        if earlier.value is None or later.value is None or not same(earlier.value, later.value)
    ]


def _is_scaled(earlier: Statement, later: Statement) -> bool:
    """Return whether one value is the other in thousands, millions or billions."""
    if not earlier.value or not later.value:
        return False
    small, large = sorted((abs(earlier.value), abs(later.value)))
    return any(abs(large / small / scale - 1) < Decimal("0.01") for scale in _WHOLE_SCALES)


def _is_split(figure: Figure, earlier: Statement, later: Statement) -> bool:
    """Return whether an amount per share was divided or multiplied by a whole number."""
    if figure.measure != "eps_diluted" or not earlier.value or not later.value:
        return False
    small, large = sorted((abs(earlier.value), abs(later.value)))
    ratio = large / small
    return ratio >= Decimal("1.9") and abs(ratio / round(ratio) - 1) < Decimal("0.02")


def _of_one_day(statements: list[Statement]) -> bool:
    """Return whether two publications of one day state a figure."""
    publications: dict[str, set[str]] = defaultdict(set)
    for one in statements:
        publications[one.filed].add(one.publication)
    return any(len(of_day) > 1 for of_day in publications.values())


_OF_HISTORIES: Mapping[str, Callable[[Figure, list[Statement]], bool]] = {
    "restated": lambda _, statements: bool(_changes(statements)),
    "amended": lambda _, statements: any(
        later.form.endswith("/A") for _, later in _changes(statements)
    ),
    "wrong_scale": lambda _, statements: any(
        _is_scaled(earlier, later) for earlier, later in _changes(statements)
    ),
    "split": lambda figure, statements: any(
        _is_split(figure, earlier, later) for earlier, later in _changes(statements)
    ),
    "same_day": lambda _, statements: _of_one_day(statements),
    "timed": lambda _, statements: any(one.accepted[:10] == one.filed for one in statements),
}
