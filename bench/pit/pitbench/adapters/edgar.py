"""edgartools on the same files, as its careful user would call it: ``query().as_of(day)``."""

import json
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from edgar.entity.parser import EntityFactsParser

from pitbench.files import BenchFile, elements
from pitbench.model import Answer, Question, Track


class EdgarTools:
    """The newest fact of the first element that has one, with period and unit compared exactly."""

    tracks: frozenset[Track] = frozenset({"filings"})

    def __init__(self, files: list[BenchFile]) -> None:
        self._files = {}
        for file in files:
            if file.kind == "companyfacts":
                document = json.loads(file.body())
                self._files[str(int(document["cik"]))] = file
        self._facts = lru_cache(maxsize=16)(self._read)

    def answer(self, question: Question) -> Answer | None:
        """Return the value that the library gives for the figure."""
        figure = question.figure
        as_of = date.fromisoformat(question.as_of)
        if question.moment == "close":
            # It knows days of filing and no moments: what was filed that day may be later.
            as_of -= timedelta(days=1)
        facts = self._facts(figure.subject)
        for element, measure in elements().items():
            if measure != figure.measure:
                continue
            query = facts.query().by_concept(element, exact=True).as_of(as_of)
            found = [fact for fact in query.execute() if _is_of(fact, question)]
            if found:
                found.sort(key=lambda fact: (fact.filing_date, fact.accession))
                chosen = found[-1 if question.kind == "known" else 0]
                return Answer(Decimal(str(chosen.value)))
        return Answer(None)

    def _read(self, cik: str) -> Any:
        return EntityFactsParser.parse_company_facts(json.loads(self._files[cik].body()))


def _is_of(fact: Any, question: Question) -> bool:
    figure = question.figure
    start = fact.period_start.isoformat() if fact.period_start else ""
    unit = fact.unit.upper().replace(" PER SHARE", "").partition("/")[0]
    return bool(
        start == figure.start
        and fact.period_end.isoformat() == figure.end
        and unit == figure.currency
    )
