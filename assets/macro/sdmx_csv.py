"""SDMX-CSV 1.0 and 2.0 of any source, and the ECB's csvdata: every line an observation.

What an observation speaks of is said in ``sdmx_flows``.
"""

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date
from io import StringIO
from typing import Any

from assets.macro.calendars import Span, moment_of, period_of
from assets.macro.sdmx_flows import Line, known_on_its_day, subject
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import number_in, read_text
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES

FREQUENCIES = {"D": "daily", "B": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}

_MARKS = (",", ";", "\t")
_NO_DIMENSIONS = frozenset(
    {"DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "KEY", "LAST UPDATE"}
)
_UNKNOWN = frozenset({"", "NaN", "nan", "NA", "N/A", "-", ":", ".", ".."})
_DELETE = frozenset({"D", "DELETE"})
_GIVE = frozenset({"", "I", "A", "M", "R", "INFORMATION", "APPEND", "MERGE", "REPLACE"})
# ``FREQ``, ``freq``, and never ``Frequency``, the name that may stand beside its id.
_ID = re.compile(r"[A-Z0-9_@$-]+|[a-z0-9_@$-]+")

Place = tuple[str, dict[str, Any]]


def parse(document: Document, body: bytes) -> Parsed:
    """Read every observation; each line is a row or a rejection with its number."""
    parsed = Parsed()
    try:
        header, lines = _lines(body)
    except (ValueError, csv.Error) as error:
        parsed.reject(MACRO_SERIES, document, "", str(error))
        return parsed
    found: list[Place] = []
    for number, cells in lines:
        place = f"line {number}"
        try:
            if len(cells) != len(header):
                raise ValueError("the line has more or fewer cells than the header")
            found.append((place, _row(document, dict(zip(header, cells, strict=True)))))
        except ValueError as error:
            parsed.reject(MACRO_SERIES, document, place, str(error))
    acted = "ACTION" in header
    for place, row in _standing(parsed, document, found, acted):
        parsed.add(MACRO_SERIES, [provenance(document, place, "api") | row])
    return parsed


def _lines(body: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Read the lines under their columns; ``ID: name`` is read as its id."""
    text, header = read_text(body), [""]
    for mark in _MARKS:
        rows = csv.reader(StringIO(text, newline=""), delimiter=mark, strict=True)
        with suppress(csv.Error):  # a quote that another mark than this one follows
            header = _header(next(rows))
        if "TIME_PERIOD" in header and "OBS_VALUE" in header:
            break
    else:
        raise ValueError("the document is not SDMX-CSV: no TIME_PERIOD and OBS_VALUE")
    if len(set(header)) != len(header):
        raise ValueError("the document is not SDMX-CSV: a column stands twice in its header")
    cells = ((rows.line_num, [cell.partition(": ")[0].strip() for cell in row]) for row in rows)
    return header, [(number, row) for number, row in cells if row]


def _header(cells: list[str]) -> list[str]:
    """Give the ids of the columns in capitals; a name beside its id stays as it is written."""
    names = [cell.partition(":")[0].strip() for cell in cells]
    return [name.upper() if _ID.fullmatch(name) else name for name in names]


def _row(document: Document, line: Line) -> dict[str, Any]:
    span, frequency = _period(line)
    action = line.get("ACTION", "").upper()
    if action not in _DELETE | _GIVE:
        raise ValueError(f"{action!r:.20} is no action of SDMX")
    deleted = action in _DELETE
    if not deleted and line["OBS_VALUE"] in _UNKNOWN:
        raise ValueError("no value given")
    return {
        **subject(document, line, _key(line), span),
        **_published(document, line, span, frequency, deleted),
        "frequency": frequency,
        "period_start": span[0],
        "period_end": span[1],
        "value": None if deleted else number_in(line["OBS_VALUE"]),
        "obs_status": line.get("OBS_STATUS") or line.get("OBS_FLAG") or None,
        "withdrawn": deleted,
    }


def _period(line: Line) -> tuple[Span, str]:
    code = line.get("FREQ") or line.get("FREQUENCY", "")
    frequency = FREQUENCIES.get(code)
    if frequency is None:
        raise ValueError(f"series of frequency {code!r:.20} are not held")
    span, cadence = period_of(line["TIME_PERIOD"])
    if cadence != frequency:
        raise ValueError(f"{line['TIME_PERIOD']} is no {frequency} period")
    return span, frequency


def _key(line: Line) -> str:
    """Write the dimensions of a series, which stand before the time."""
    columns = list(line)[: list(line).index("TIME_PERIOD")]
    ids = (name for name in columns if name not in _NO_DIMENSIONS and _ID.fullmatch(name))
    return ".".join(line[name] for name in ids)


def _published(
    document: Document, line: Line, span: Span, frequency: str, deleted: bool
) -> dict[str, Any]:
    """Give the day a value could be read: its validity, its own day, or the day we read it."""
    stamp = line.get("VALID_FROM") or (line.get("VALID_TO") if deleted else None)
    if stamp:
        moment = moment_of(stamp)
        # What is taken back at a moment was taken back before what is given at that moment.
        action = "delete" if deleted else "replace"
        return {
            "available_at": moment.date(),
            "publication": f"{moment.isoformat()} {action}",
        }
    observed = document.observed_at.astimezone(UTC).date()
    own = frequency == "daily" and not deleted and known_on_its_day(document, line)
    day = _unstamped(observed, span, own)
    return {"available_at": day, "publication": day.isoformat()}


def _unstamped(observed: date, span: Span, own: bool) -> date:
    if span[0] > observed:
        raise ValueError(f"the period begins after it was read, on {observed}")
    return span[1] if own else observed


def _standing(
    parsed: Parsed, document: Document, found: list[Place], acted: bool
) -> Iterator[Place]:
    """Give what stands of each observation at each moment; the rest is rejected with words.

    The last of several actions stands. Where there are none, two values of one observation
    mean that its key does not tell two series apart.
    """
    moments: dict[tuple[Any, ...], list[Place]] = {}
    for each in found:
        row = each[1]
        identity = [row[name] for name in MACRO_SERIES.identity if name != "source"]
        moments.setdefault((*identity, row["publication"].split(" ")[0]), []).append(each)
    for group in moments.values():
        last = _content(max(enumerate(group), key=_order)[1])
        agreed = all(_content(each) == last for each in group)
        for each in group:
            if agreed or (acted and _content(each) == last):
                yield each
            else:
                reason = (
                    "another action at the same moment stands in its place"
                    if acted
                    else "the file gives two values of one observation: neither is believed"
                )
                parsed.reject(MACRO_SERIES, document, each[0], reason)


def _order(numbered: tuple[int, Place]) -> tuple[str, int]:
    """Order actions of one moment: what was taken back, then what was given, as they stand."""
    position, (_, row) = numbered
    return row["publication"], position


def _content(place: Place) -> tuple[Any, ...]:
    row = place[1]
    return row["withdrawn"], row["value"], row["obs_status"]
