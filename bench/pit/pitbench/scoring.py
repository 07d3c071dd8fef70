"""How an answer is judged, and results are counted."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from pitbench.model import Answer, Question, Truth, same

Outcome = Literal["right", "wrong", "look-ahead", "stale", "unanswered"]
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "look-ahead", "stale", "unanswered")


@dataclass(frozen=True)
class Judged:
    """A question with its answer and what that is worth."""

    question: Question
    answer: Answer | None
    truth: Truth
    outcome: Outcome


def judge(question: Question, answer: Answer | None, truth: Truth) -> Outcome:
    """Return what an answer is worth."""
    if answer is None:
        return "unanswered"
    if answer.value is None:
        # "Nothing was known" is an answer only where that is so.
        return "unanswered" if truth.accepted else "right"
    if _in(answer.value, truth.accepted):
        return "right"
    if _in(answer.value, truth.known):
        return "stale" if question.kind == "known" else "wrong"
    if _in(answer.value, truth.public):
        # Another element had stated it: the wrong figure, and no knowledge of the future.
        return "wrong"
    return "look-ahead" if _in(answer.value, truth.later) else "wrong"


def counted(judged: Iterable[Judged]) -> dict[str, Any]:
    """Return the counts of a result: by track, by stratum, and of what is contested."""
    tracks: dict[str, Counter[str]] = {}
    strata: dict[str, Counter[str]] = {}
    contested: dict[str, Counter[str]] = {}
    for one in judged:
        track = one.question.figure.track
        if one.truth.is_contested:
            contested.setdefault(track, Counter())[one.outcome] += 1
            continue
        tracks.setdefault(track, Counter())[one.outcome] += 1
        for stratum in one.question.strata:
            strata.setdefault(stratum, Counter())[one.outcome] += 1
    return {
        "tracks": {name: _row(counts) for name, counts in sorted(tracks.items())},
        "contested": {name: _row(counts) for name, counts in sorted(contested.items())},
        "strata": {name: _row(counts) for name, counts in sorted(strata.items())},
    }


def _row(counts: Mapping[str, int]) -> dict[str, int | float]:
    total = sum(counts.values())
    per_1000 = round(1000 * counts.get("look-ahead", 0) / total, 1)
    row = {outcome.replace("-", "_"): counts.get(outcome, 0) for outcome in OUTCOMES}
    return {"questions": total, "look_ahead_per_1000": per_1000, **row}


def _in(value: Decimal, values: Iterable[Decimal]) -> bool:
    return any(same(value, other) for other in values)
