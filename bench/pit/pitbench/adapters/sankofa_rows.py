"""What all ways to ask Sankofa have in common: which row answers a question."""

from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from pitbench.model import Answer, Question, Track

Rows = list[dict[str, Any]]


class Sankofa:
    """Asks for the rows of a measure as of a day, and picks the one of the figure.

    Measures of the bench have the names of Sankofa's line items. ``as_of`` is the end of a day: at
    a close, a row of that day counts if it was accepted before, and else the day before decides,
    as the guide to backtests says.
    """

    tracks: frozenset[Track] = frozenset({"filings", "series", "indicators"})

    def __init__(self) -> None:
        # An id never changes; figures are requested anew for each question.
        self._id_of = lru_cache(maxsize=None)(self.service_id)

    def service_id(self, cik: str) -> str:
        """Return the id of the issuer with a CIK."""
        raise NotImplementedError

    def reported(self, service_id: str, **filters: str) -> Rows:
        """Return figures of an issuer."""
        raise NotImplementedError

    def observations(self, **filters: str) -> Rows:
        """Return observations of a series or of an indicator."""
        raise NotImplementedError

    def answer(self, question: Question) -> Answer | None:
        """Return the value of the figure, as the service says that it was known."""
        if question.figure.track == "filings":
            return self._of_filings(question)
        if question.kind == "first":
            # Series are answered as of a day; first releases are in the bulk files.
            return None
        figure = question.figure
        if figure.track == "series":
            # The publisher names a period by its first day.
            rows = self.observations(
                series=f"FRED.{figure.subject}", as_of=question.as_of, **{"from": figure.end}
            )
            rows = [row for row in rows if row["period_start"] == figure.end]
            return _one(rows, "value")
        country, indicator = figure.subject.split("/")
        year = figure.end[:4]
        return _one(
            self.observations(
                country=country,
                indicator=indicator,
                as_of=question.as_of,
                **{"from": year, "to": year},
            ),
            "value",
        )

    def _of_filings(self, question: Question) -> Answer | None:
        rows = self._figure(question, question.as_of)
        if question.moment == "close" and any(_is_of_the_evening(row, question) for row in rows):
            before = date.fromisoformat(question.as_of) - timedelta(days=1)
            rows = self._figure(question, before.isoformat())
        # Under US GAAP and under IFRS are two figures there: the newer one, or the first.
        rows.sort(key=lambda row: row["available_at"], reverse=question.kind == "known")
        return _one(rows, "value_reported")

    def _figure(self, question: Question, as_of: str) -> Rows:
        figure = question.figure
        rows = self.reported(
            self._id_of(figure.subject),
            line_items=figure.measure,
            as_of=as_of,
            vintages="latest" if question.kind == "known" else "as_reported",
        )
        return [
            row
            for row in rows
            if (row["period_start"] or "") == figure.start
            and row["period_end"] == figure.end
            and row["currency_reported"] == figure.currency
        ]


def _is_of_the_evening(row: dict[str, Any], question: Question) -> bool:
    """Return whether a row is not known to have been public at the close of its day."""
    if row["available_at"] != question.as_of:
        return False
    accepted = row["accepted_at"]
    return accepted is None or not accepted[:16] < f"{question.as_of}T16:00"


def _one(rows: Rows, member: str) -> Answer:
    """Return the value of the first row, or that there is none."""
    return Answer(Decimal(rows[0][member]) if rows else None)
