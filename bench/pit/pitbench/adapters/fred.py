"""fredapi on the same file: its own requests, answered from the file instead of the network.

``get_series_as_of_date`` returns every vintage up to the day; its user takes the last of a period.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from io import BytesIO
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import fredapi
import pandas as pd

from pitbench.files import BenchFile
from pitbench.model import Answer, Question, Track


class Fred:
    """``get_series_as_of_date`` and ``get_series_first_release``."""

    tracks: frozenset[Track] = frozenset({"series"})

    def __init__(self, files: list[BenchFile]) -> None:
        bodies = {file.series(): _xml(file) for file in files if file.kind == "alfred"}
        # The library opens addresses by this name; nothing else of it is changed.
        fredapi.fred.urlopen = lambda address: BytesIO(bodies[_series(address)])
        self._fred = fredapi.Fred(api_key="offline")
        # It downloads and reads the whole series for each question.
        self._fred.get_series_all_releases = cache(self._fred.get_series_all_releases)

    def answer(self, question: Question) -> Answer | None:
        """Return the last value of the period that was released by the day."""
        series, day = question.figure.subject, pd.Timestamp(question.figure.end)
        if question.kind == "first":
            first = self._fred.get_series_first_release(series)
            return _answer(first[first.index == day].tolist())
        released = self._fred.get_series_as_of_date(series, question.as_of)
        return _answer(released[released["date"] == day]["value"].tolist()[-1:])


def _answer(values: list[float]) -> Answer:
    known = [Decimal(str(value)) for value in values if not pd.isna(value)]
    return Answer(known[0] if known else None)


def _series(address: str) -> str:
    return parse_qs(urlsplit(address).query)["series_id"][0]


def _xml(file: BenchFile) -> bytes:
    """Return the file as the XML that the same address sends without ``file_type=json``."""
    root = ElementTree.Element("observations")
    rows: list[Mapping[str, str]] = json.loads(file.body())["observations"]
    for row in rows:
        ElementTree.SubElement(root, "observation", dict(row))
    return ElementTree.tostring(root)
