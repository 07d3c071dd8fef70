"""SDMX-CSV 1.0 and 2.0 of any source, the ECB's csvdata, and files of the BIS and the IMF.

Every line is an observation; in the wide files of the BIS and the IMF it is a series, with a column
for each period. It is about an exchange rate, a consumer price index, a flow that is declared here,
or a series of the IMF's portal, whose lines say what they are. A rate is stored as the source
quotes it: the ECB gives units of ``CURRENCY`` for one ``CURRENCY_DENOM``, which is
``FX.<denominator>.<currency>``. No cross rates are computed here. Anything else is refused: a wrong
unit or country is worse than a line in the quarantine.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO, StringIO
from typing import Any, NamedTuple

from assets.macro.iso_codes import area_of_currency, require_currency
from assets.macro.periods import Span, first_read, period_of, series_columns, utc_time
from assets.parsing.csv_lines import cells_by_column
from assets.parsing.parsed import Parsed, provenance
from assets.parsing.strict import FIRST_YEAR, number_from_text, printable_text, read_text
from assets.parsing.unpacking import UNREADABLE, open_zip, read_member, zip_members
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.countries import Area, area_named, area_of
from warehouse.shared.data_files import csv_rows
from warehouse.tables.sighting import PUBLISHED

FREQUENCIES = {"D": "daily", "B": "daily", "M": "monthly", "Q": "quarterly", "A": "annual"}
# The IMF's portal names them.
_FREQUENCY_WORDS = {word.capitalize(): word for word in FREQUENCIES.values()}

_DELIMITERS = (",", ";", "\t")
_NOT_DIMENSIONS = frozenset(
    {"DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "KEY", "LAST UPDATE"}
)
_UNKNOWN = frozenset({"", "NaN", "nan", "NA", "N/A", "-", ":", ".", ".."})
_DELETE_ACTIONS = frozenset({"D", "DELETE"})
_OTHER_ACTIONS = frozenset({"", "I", "A", "M", "R", "INFORMATION", "APPEND", "MERGE", "REPLACE"})
# ``FREQ``, ``freq``, and never ``Frequency``, the name that may be next to its id.
_ID = re.compile(r"[A-Z0-9_@$-]+|[a-z0-9_@$-]+")

# The cells of a line by column.
Line = dict[str, str]
# Numbered lines: all of a file, or the observations of one series.
Lines = list[tuple[int, list[str]]]
# Area, key, type, unit and base of a series.
_Subject = tuple[Area | None, str, str, str | None, str | None]
# A row and its location in the document.
LocatedRow = tuple[str, dict[str, Any]]


class RateColumns(NamedTuple):
    """The columns with the quoted and the base currency, and what a spot rate has in others."""

    quote: str
    base: str
    kind: dict[str, str]
    fixed_base: str | None = None


# The ECB and whoever took over its structure; Norges Bank and its like.
RATES_BY_COLUMNS = (
    RateColumns("CURRENCY", "CURRENCY_DENOM", {"EXR_TYPE": "SP00", "EXR_SUFFIX": "A"}),
    RateColumns("QUOTE_CUR", "BASE_CUR", {"TENOR": "SP"}),
)
# The BIS quotes everything for one US dollar; A is the average of a period.
RATES_BY_FLOW = {"WS_XRU": RateColumns("CURRENCY", "", {"COLLECTION": "A"}, fixed_base="USD")}

# Flows of consumer prices of the ECB, Eurostat, the IMF, the OECD and the BIS; and others, where
# each states its area, and its unit if no column does.
_FLOWS = {row["flow"]: row for row in csv_rows(__name__, "sdmx_flows")}
_FLOW = re.compile(r"(?:.*[:,/])?([A-Za-z0-9_@$-]+)(?:\(.*\))?")
_FLOW_COLUMNS = ("DATAFLOW", "STRUCTURE_ID", "DATASET")
_AREAS = ("REF_AREA", "COUNTRY", "GEO", "LOCATION")
_UNITS = ("UNIT_MEASURE", "UNIT")
_BASES = ("UNIT_INDEX_BASE", "BASE_PER", "BASE_PERIOD")
_POWERS = ("UNIT_MULT", "UNIT_MULTIPLIER", "SCALE")
_PERIOD = re.compile(r"[0-9]{4}(-(Q[1-4]|M?[0-9]{2}(-[0-9]{2})?))?")
_POWER = re.compile(r"-?[0-9]{1,2}")


def parse(document: Document, body: bytes) -> Parsed:
    """Parse every observation; each line is a row or a rejection with its number."""
    parsed = Parsed()
    with parsed.rejecting(MACRO_SERIES, document):
        text = read_text(_unzipped(body))
        if wide := _wide(text):
            header, parts = _long(parsed, document, *wide)
        else:
            header, parts = _lines(text)
        for lines in parts:
            _add_lines(parsed, document, header, lines)
    return parsed


def _add_lines(parsed: Parsed, document: Document, header: list[str], lines: Lines) -> None:
    located_rows: list[LocatedRow] = []
    for line_number, cells in lines:
        location = f"line {line_number}"
        with parsed.rejecting(MACRO_SERIES, document, location):
            located_rows.append((location, _row(document, cells_by_column(header, cells))))
    for location, row in _final_rows(parsed, document, located_rows, "ACTION" in header):
        parsed.add(MACRO_SERIES, [provenance(document, location, "api") | row])
    # A wide file of a megabyte has a hundred thousand observations.
    parsed.compact(MACRO_SERIES)


def _subject(document: Document, line: Line, span: Span) -> _Subject:
    """Return what a line is about."""
    # Columns before flows: central banks name their flows as they like, but reuse structures.
    for columns in RATES_BY_COLUMNS:
        if columns.quote in line and columns.base in line:
            return _rate(line, columns, span)
    flow = _flow_of(document, line)
    if line.keys() >= _PORTAL_COLUMNS:
        return _portal_subject(line, flow)
    if flow in RATES_BY_FLOW:
        return _rate(line, RATES_BY_FLOW[flow], span)
    key = line.get("KEY") or f"{flow}.{_key(line)}"
    if flow not in _FLOWS:
        raise ValueError(f"flow {flow!r:.40} is neither exchange rates nor consumer prices")
    known, unit = _FLOWS[flow], _first(line, _UNITS)
    if known["series_type"] == "cpi":
        area, power = _first(line, _AREAS) or "", _power(line)
        unit = f"10^{power} {unit or ''}".strip() if power else unit
    else:
        area, unit = line.get(known["area_column"], ""), unit or known["unit"] or None
    return area_of(area), printable_text(key), known["series_type"], unit, _first(line, _BASES)


def _flow_of(document: Document, line: Line) -> str:
    """Return the dataflow: from the line, the start of its key, or the URL."""
    flow = _first(line, _FLOW_COLUMNS) or line.get("KEY", "").split(".")[0]
    if not flow:
        in_url = re.search(r"/data/([^/?]+)|/(WS_[A-Z_]+)_csv_", document.url)
        flow = in_url[1] or in_url[2] if in_url else ""
    # Without agency and version.
    match = _FLOW.fullmatch(flow)
    return match[1] if match else flow


def _rate(line: Line, columns: RateColumns, span: Span) -> _Subject:
    quote, base = line.get(columns.quote, ""), columns.fixed_base or line[columns.base]
    require_currency(quote, span[0])
    require_currency(base, span[0])
    kind = {name: line.get(name, "") for name in columns.kind}
    # The same columns also carry effective rates, forwards and end-of-period values.
    if kind != columns.kind:
        kind_text = ".".join(kind.values())
        raise ValueError(f"{kind_text} is no spot rate or its average: not FX.{base}.{quote}")
    # Rates for 100 units would differ from those for one in nothing but their digits.
    if quote == base or _power(line):
        raise ValueError(f"10^{_power(line)} is the unit: not a rate of {quote} for one {base}")
    return area_of_currency(quote), f"FX.{base}.{quote}", "fx", f"{quote} per {base}", None


def _power(line: Line) -> int:
    """Return the power of ten of the unit; raise for a word, which could mean any."""
    power = _first(line, _POWERS)
    if power is None:
        return 0
    if not _POWER.fullmatch(power):
        raise ValueError(f"{power!r:.20} is not a power of ten: the unit is not known")
    return int(power)


def _first(line: Line, names: tuple[str, ...]) -> str | None:
    return next((line[name] for name in names if line.get(name)), None)


# Lines of the CSV files of the IMF's data portal, wide or long, in words or in codes.
#
# ``DATASET`` has the flow with the version of its structure, ``SERIES_CODE`` the codes of all
# dimensions, the country first. The other columns name the same things in words, which the IMF
# rewrites: so the key of a series is made of codes, and a new version of the structure is no new
# series.

_PORTAL_COLUMNS = frozenset({"DATASET", "SERIES_CODE"})
_PORTAL_TYPES = {"CPI": "cpi", "ER": "fx", "ANEA": "gdp", "QNEA": "gdp"}
_PORTAL_UNITS = ("UNIT_MEASURE", "UNIT", "TYPE_OF_TRANSFORMATION")
# Flows in which no column states the unit, which all their series share.
_UNITS_OF_FLOWS = {"MFS_IR": "Percent per annum"}
_SCALES = frozenset({"Hundreds", "Thousands", "Millions", "Billions", "Trillions"})
_NO_SCALE = frozenset({"", "Units", "0"})


def _portal_subject(line: Line, flow: str) -> _Subject:
    """Return what a line is about; raise where it does not say it clearly."""
    measure, code = line.get("OBS_MEASURE", ""), line["SERIES_CODE"]
    if measure not in ("", "OBS_VALUE"):
        raise ValueError(f"{measure!r:.40} is no measure of values")
    if not code:
        raise ValueError("no code of a series given")
    # There the latest actual year differs from country to country, and these files leave it out.
    if flow.startswith("WEO"):
        raise ValueError(f"flow {flow}: the file does not tell estimates from actuals")
    area, name = area_of(code.partition(".")[0]), line.get("COUNTRY", "")
    named = area_named(name) or area_of(name)
    if area and named and named != area:
        raise ValueError(f"{code!r:.60} is a series of another country than {name}")
    key = printable_text(f"{flow}.{code}")
    unit = _first(line, _PORTAL_UNITS) or _UNITS_OF_FLOWS.get(flow)
    scale, base = line.get("SCALE", ""), _first(line, ("BASE_PERIOD", "REFERENCE_PERIOD"))
    if _POWER.fullmatch(scale) and scale not in _NO_SCALE:
        unit = f"10^{int(scale)} {unit or ''}".strip()
    elif scale in _SCALES:
        unit = f"{unit}, {scale}" if unit else scale
    elif scale not in _NO_SCALE:
        raise ValueError(f"{scale!r:.20} is no scale that we know: the unit is not known")
    # The IMF's code of Kosovo is its own.
    return area or named, key, _PORTAL_TYPES.get(flow, "macro"), unit, base


def _lines(text: str) -> tuple[list[str], Iterable[Lines]]:
    """Return the header and all numbered lines; ``ID: name`` is reduced to its id."""
    header = [""]
    # Servers differ in their delimiter: the right one yields the columns that every SDMX-CSV has.
    for delimiter in _DELIMITERS:
        rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
        with suppress(csv.Error):  # a quote that is followed by another delimiter
            header = _header(next(rows))
        if "TIME_PERIOD" in header and "OBS_VALUE" in header:
            break
    else:
        raise ValueError("the document is not SDMX-CSV: no TIME_PERIOD and OBS_VALUE")
    if len(set(header)) != len(header):
        raise ValueError("the document is not SDMX-CSV: a column appears twice in its header")
    cells = ((rows.line_num, [cell.partition(": ")[0].strip() for cell in row]) for row in rows)
    return header, [[(number, row) for number, row in cells if row]]


def _unzipped(body: bytes) -> bytes:
    """Return the only file of a zip; any other body as it is."""
    if not body.startswith(b"PK\x03\x04"):
        return body
    try:
        with open_zip(BytesIO(body)) as archive:
            members = zip_members(archive)
            if len(members) != 1:
                raise ValueError(f"the zip has {len(members)} files; one is expected")
            with archive.open(members[0]) as member:
                return read_member(member)
    except UNREADABLE as error:
        raise ValueError(f"not a zip that can be read: {type(error).__name__}") from None


def _wide(text: str) -> tuple[list[str], list[int], Any] | None:
    """Return header, columns of periods and lines of a file with a line for each series."""
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    written: list[str] = []
    with suppress(csv.Error):  # a quote that is followed by another delimiter
        written = next(rows, [])
    periods = [column for column, name in enumerate(written) if _PERIOD.fullmatch(name)]
    if not periods or "TIME_PERIOD" in written or not {"FREQ", "FREQUENCY"} & set(written):
        return None
    return written, periods, rows


def _long(
    parsed: Parsed, document: Document, written: list[str], periods: list[int], rows: Any
) -> tuple[list[str], Iterable[Lines]]:
    """Return the observations of a wide file, one for each value; the series has the key."""
    names = _header(written[: periods[0]])
    by_key: dict[str, list[tuple[int, list[str], list[tuple[str, str]]]]] = defaultdict(list)
    for cells in filter(None, rows):
        if len(cells) != len(written):
            reason = "the line has more or fewer cells than the header"
            parsed.reject(MACRO_SERIES, document, f"line {rows.line_num}", reason)
            continue
        series = dict(zip(names, map(str.strip, cells), strict=False))
        code = series.get("Series", "").replace(":", ".")
        if series.keys() >= _PORTAL_COLUMNS:
            code = series["SERIES_CODE"]
        key = f"{_flow_of(document, series)}.{code}"
        stated = [(written[column], cells[column].strip()) for column in periods]
        stated = [(period, value) for period, value in stated if value not in _UNKNOWN]
        values = [each for each in stated if int(each[0][:4]) >= FIRST_YEAR]
        by_key[key].append((rows.line_num, [key, *(series[name] for name in names)], values))
        if early := len(stated) - len(values):
            reason = f"{key}: {early} observations before {FIRST_YEAR} are not stored"
            parsed.reject(MACRO_SERIES, document, f"line {rows.line_num}", reason, partial=True)
    # One series at a time: with all its columns an observation takes much more than in the file.
    parts = (
        [(number, [*start, *value]) for number, start, values in lines for value in values]
        for lines in by_key.values()
    )
    return ["KEY", *names, "TIME_PERIOD", "OBS_VALUE"], parts


def _header(cells: list[str]) -> list[str]:
    """Return the column ids in capitals; a name next to its id stays as it is written."""
    names = [cell.partition(":")[0].strip() for cell in cells]
    return [name.upper() if _ID.fullmatch(name) else name for name in names]


def _row(document: Document, line: Line) -> dict[str, Any]:
    span, frequency = _period(line)
    action = line.get("ACTION", "").upper()
    if action not in _DELETE_ACTIONS | _OTHER_ACTIONS:
        raise ValueError(f"{action!r:.20} is no action of SDMX")
    deleted = action in _DELETE_ACTIONS
    # An observation without a value is no withdrawal: only an action deletes.
    if not deleted and line["OBS_VALUE"] in _UNKNOWN:
        raise ValueError("no value given")
    return {
        **series_columns(*_subject(document, line, span), span, frequency),
        **_published(document, line, span, frequency, deleted),
        "value": None if deleted else number_from_text(line["OBS_VALUE"]),
        "obs_status": line.get("OBS_STATUS") or line.get("OBS_FLAG") or None,
        "withdrawn": deleted,
    }


def _period(line: Line) -> tuple[Span, str]:
    code = line.get("FREQ") or line.get("FREQUENCY", "")
    frequency = FREQUENCIES.get(code) or _FREQUENCY_WORDS.get(code)
    if frequency is None:
        raise ValueError(f"series of frequency {code!r:.20} are not stored")
    span, cadence = period_of(line["TIME_PERIOD"])
    # FREQ decides what a series is; a period of another length is an error of the line.
    if cadence != frequency:
        raise ValueError(f"{line['TIME_PERIOD']} is no {frequency} period")
    return span, frequency


def _key(line: Line) -> str:
    """Return the dimensions of a series: the columns before the time."""
    columns = list(line)[: list(line).index("TIME_PERIOD")]
    ids = (name for name in columns if name not in _NOT_DIMENSIONS and _ID.fullmatch(name))
    return ".".join(line[name] for name in ids)


def _published(
    document: Document, line: Line, span: Span, frequency: str, deleted: bool
) -> dict[str, Any]:
    """Return when a value could be read: its validity, its own day, or the day we read it."""
    # A deletion has no value that could become valid: it counts from the end of the validity.
    stamp = line.get("VALID_FROM") or (line.get("VALID_TO") if deleted else None)
    if stamp:
        valid_from = utc_time(stamp)
        # The names sort so that at one time a deletion comes before a replacement.
        action = "delete" if deleted else "replace"
        return {
            "available_at": valid_from.date(),
            "available_at_evidence": PUBLISHED,
            "publication": f"{valid_from.isoformat()} {action}",
        }
    # Without a time of publication, the day we read it is the first on which it was surely public.
    published = first_read(document, span)
    # The ECB publishes a rate on its own day; others do not say.
    is_ecb_rate = "CURRENCY_DENOM" in line and _flow_of(document, line) == "EXR"
    if frequency == "daily" and not deleted and is_ecb_rate:
        return published | {"available_at": span[1], "available_at_evidence": PUBLISHED}
    return published


def _final_rows(
    parsed: Parsed, document: Document, located_rows: list[LocatedRow], has_actions: bool
) -> Iterator[LocatedRow]:
    """Iterate over the rows that are valid at each time; reject the others.

    Of several actions the last one counts. Without actions, two values of one observation mean
    that its key does not tell two series apart.
    """
    groups: dict[tuple[Any, ...], list[LocatedRow]] = {}
    for located in located_rows:
        row = located[1]
        identity = [row[name] for name in MACRO_SERIES.identity if name != "source"]
        # Without the action: a deletion and a replacement of one time are one group.
        groups.setdefault((*identity, row["publication"].split(" ")[0]), []).append(located)
    for group in groups.values():
        # At one time deletions come first, then replacements, each in file order.
        last = _content(sorted(group, key=lambda located: located[1]["publication"])[-1])
        all_agree = all(_content(located) == last for located in group)
        for located in group:
            if all_agree or (has_actions and _content(located) == last):
                yield located
            else:
                reason = (
                    "another action at the same moment takes its place"
                    if has_actions
                    else "the file gives two values of one observation: neither is believed"
                )
                parsed.reject(MACRO_SERIES, document, located[0], reason)


def _content(located: LocatedRow) -> tuple[Any, ...]:
    row = located[1]
    return row["withdrawn"], row["value"], row["obs_status"]
