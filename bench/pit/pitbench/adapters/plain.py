"""What anyone can do with the files and pandas, with days of filing and without."""

import json
from decimal import Decimal
from typing import Any

import pandas as pd

from pitbench.files import BenchFile, elements
from pitbench.model import Answer, Question, Track

_COLUMNS = ["subject", "measure", "rank", "currency", "start", "end", "filed", "value"]


class Plain:
    """Rows that were filed by the day, and of these the last.

    Of several elements the first in ``measures.csv`` counts. It knows no moments, and so takes a
    filing for known at the close of its day.
    """

    tracks: frozenset[Track] = frozenset({"filings", "series", "indicators"})

    def __init__(self, files: list[BenchFile]) -> None:
        rows = [row for file in files for row in _rows(file)]
        frame = pd.DataFrame(rows, columns=_COLUMNS).sort_values("filed", kind="stable")
        self._frames = dict(iter(frame.groupby(["subject", "measure", "currency", "end"])))

    def answer(self, question: Question) -> Answer | None:
        """Return the last value that was filed by the day."""
        figure = question.figure
        key = (figure.subject, figure.measure, figure.currency, figure.end)
        rows = self._frames.get(key)
        if rows is None:
            return Answer(None)
        rows = self._by_day(rows[rows["start"] == figure.start], question.as_of)
        if rows.empty:
            return Answer(None)
        rows = rows[rows["rank"] == rows["rank"].min()]
        return Answer(rows["value"].iloc[-1 if question.kind == "known" else 0])

    def _by_day(self, rows: pd.DataFrame, as_of: str) -> pd.DataFrame:
        return rows[(rows["filed"] != "") & (rows["filed"] <= as_of)]


class NoDays(Plain):
    """The last value of the file, whatever the day: how such files are usually read."""

    def _by_day(self, rows: pd.DataFrame, as_of: str) -> pd.DataFrame:
        return rows


def _rows(file: BenchFile) -> list[tuple[Any, ...]]:
    if file.kind == "acceptances":
        return []
    document = json.loads(file.body(), parse_float=Decimal)
    if file.kind == "alfred":
        series = file.series()
        return [
            (series, "value", 0, "", "", row["date"], row["realtime_start"], _number(row["value"]))
            for row in document["observations"]
        ]
    if file.kind == "worldbank":
        return [
            (
                f"{row['country']['id']}/{row['indicator']['id']}",
                *("value", 0, "", "", f"{row['date']}-12-31", "", Decimal(row["value"])),
            )
            for row in document[1]
            if row["value"] is not None
        ]
    return [
        (
            *(str(int(document["cik"])), measure, rank, unit.partition("/")[0]),
            *(row.get("start") or "", row["end"], row.get("filed") or "", Decimal(row["val"])),
        )
        for rank, (element, measure) in enumerate(elements().items())
        for unit, rows in _stated(document, element).items()
        for row in rows
    ]


def _stated(document: Any, element: str) -> dict[str, list[Any]]:
    taxonomy, _, name = element.partition(":")
    units: dict[str, list[Any]] = document["facts"].get(taxonomy, {}).get(name, {}).get("units", {})
    return units


def _number(text: str) -> Decimal | None:
    return None if text == "." else Decimal(text)
