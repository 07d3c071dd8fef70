"""The first reader of the files: plain Python over the JSON, statement by statement."""

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd

from pitbench.files import BenchFile, elements
from pitbench.model import CLOSE, Figure, Question, Truth


@dataclass(frozen=True)
class Statement:
    """One value of a figure in one publication; ``value`` is None where it was withdrawn."""

    value: Decimal | None
    element: str
    filed: str
    publication: str
    form: str
    accepted: str

    def is_known(self, as_of: str, moment: str) -> bool:
        """Return whether it was public by the end of a day, or by the close of its session."""
        if not self.filed or self.filed > as_of:
            return False
        return moment == "end" or self.filed < as_of or self.accepted < f"{as_of} {CLOSE}"


Histories = Mapping[Figure, list[Statement]]


def histories(files: list[BenchFile]) -> Histories:
    """Return everything that was ever stated of each figure, in order of the days of filing."""
    accepted = _acceptances(files)
    stated: dict[Figure, list[Statement]] = defaultdict(list)
    for file in files:
        if file.kind != "acceptances":
            for figure, statement in _READERS[file.kind](file, accepted):
                stated[figure].append(statement)
    return {
        figure: sorted(stated[figure], key=lambda one: (one.filed, one.publication, one.element))
        for figure in sorted(stated)
    }


def truths(
    questions: list[Question], stated: Histories, files: list[BenchFile]
) -> dict[str, Truth]:
    """Return the truth of each question."""
    others = _of_any_element(questions, files)
    return {
        question.id: _truth(
            question, stated[question.figure], others.get(_period(question.figure), [])
        )
        for question in questions
    }


def _truth(question: Question, statements: list[Statement], others: list[Statement]) -> Truth:
    known = [one for one in statements if one.is_known(question.as_of, question.moment)]
    later = [one for one in statements if one not in known]
    if question.kind == "first":
        first_day = min((one.filed for one in known), default="")
        decisive = [one for one in known if one.filed == first_day]
    else:
        newest: dict[str, str] = {}
        for one in known:
            newest[one.element] = max(newest.get(one.element, ""), one.filed)
        decisive = [one for one in known if one.filed == newest[one.element]]
    public = [one for one in others if one.is_known(question.as_of, question.moment)]
    return Truth(_values(decisive), _values(known), _values([*known, *public]), _values(later))


def _values(statements: list[Statement]) -> frozenset[Decimal]:
    return frozenset(one.value for one in statements if one.value is not None)


def _acceptances(files: list[BenchFile]) -> dict[str, str]:
    """Return the moment of acceptance of filings, by the clock of New York."""
    accepted: dict[str, str] = {}
    for file in files:
        if file.kind == "acceptances":
            if file.path.suffix == ".csv":
                with file.path.open(encoding="utf-8", newline="") as lines:
                    rows = list(csv.DictReader(lines))
            else:
                rows = pd.read_parquet(file.path, columns=["adsh", "accepted"]).to_dict("records")
            accepted |= {row["adsh"]: str(row["accepted"])[:16] for row in rows}
    return accepted


def _period(figure: Figure) -> tuple[str, ...]:
    return figure.subject, figure.currency, figure.start, figure.end


def _of_any_element(
    questions: list[Question], files: list[BenchFile]
) -> Mapping[tuple[str, ...], list[Statement]]:
    """Return what any element stated for the subjects, currencies and periods of questions."""
    wanted = {_period(question.figure) for question in questions}
    accepted = _acceptances(files)
    found: dict[tuple[str, ...], list[Statement]] = defaultdict(list)
    for file in files:
        if file.kind == "companyfacts":
            for figure, statement in _companyfacts(file, accepted, every_element=True):
                if _period(figure) in wanted:
                    found[_period(figure)].append(statement)
    return found


def _companyfacts(
    file: BenchFile, accepted: Mapping[str, str], *, every_element: bool = False
) -> Iterator[tuple[Figure, Statement]]:
    document = _json(file)
    measures = elements()
    for taxonomy, stated in document["facts"].items():
        for name, element in stated.items():
            measure = measures.get(f"{taxonomy}:{name}")
            if measure is None:
                if not every_element:
                    continue
                measure = ""
            for unit, rows in element["units"].items():
                # Older files have an amount per share as EUR, newer ones as EUR/shares.
                currency = unit.partition("/")[0]
                if len(currency) != 3 or not currency.isupper():
                    continue
                for row in rows:
                    figure = Figure(
                        *("filings", str(int(document["cik"])), measure, currency),
                        *(row.get("start") or "", row["end"]),
                    )
                    yield (
                        figure,
                        Statement(
                            Decimal(row["val"]),
                            f"{taxonomy}:{name}",
                            row.get("filed") or "",
                            row["accn"],
                            row["form"],
                            # Without a moment a filing is known at the end of its day only.
                            accepted.get(row["accn"], "9999"),
                        ),
                    )


def _alfred(file: BenchFile, _: Mapping[str, str]) -> Iterator[tuple[Figure, Statement]]:
    series = file.series()
    for row in _json(file)["observations"]:
        value = None if row["value"] == "." else Decimal(row["value"])
        since = row["realtime_start"]
        figure = Figure("series", series, "value", "", "", row["date"])
        yield figure, Statement(value, series, since, since, "", "9999")


def _worldbank(file: BenchFile, _: Mapping[str, str]) -> Iterator[tuple[Figure, Statement]]:
    for row in _json(file)[1]:
        if row["value"] is not None:
            subject = f"{row['country']['id']}/{row['indicator']['id']}"
            figure = Figure("indicators", subject, "value", "", "", f"{row['date']}-12-31")
            yield figure, Statement(Decimal(row["value"]), subject, "", "", "", "9999")


def _json(file: BenchFile) -> Any:
    # Exact digits: nothing passes through a float.
    return json.loads(file.body(), parse_float=str)


_Reader = Callable[[BenchFile, Mapping[str, str]], Iterator[tuple[Figure, Statement]]]
_READERS: Mapping[str, _Reader] = {
    "companyfacts": _companyfacts,
    "alfred": _alfred,
    "worldbank": _worldbank,
}
