"""Days of tenders: a calendar day is the one that is written, a moment counts by UTC."""

import gzip
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.tenders.portal_files import Portal
from assets.tenders.values import calendar_day, day_of_moment
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import REAL
from tests.helpers.tenders import PORTALS, read

PLAIN = Portal("xx-test", "KE", "Test", "cc-by")
LATEST = date(2026, 8, 15)


@pytest.mark.parametrize(
    ("written", "stated", "in_utc"),
    [
        ("2025-12-24T00:00:00+03:00", (2025, 12, 24), (2025, 12, 23)),
        ("2025-12-24T23:30:00-05:00", (2025, 12, 24), (2025, 12, 25)),
        ("2025-12-31T23:59:59-00:30", (2025, 12, 31), (2026, 1, 1)),
        ("2026-01-01T00:30:00+0100", (2026, 1, 1), (2025, 12, 31)),
        ("2024-02-29T12:00:00Z", (2024, 2, 29), (2024, 2, 29)),
        ("2019-11-25T17:20:38.1197059Z", (2019, 11, 25), (2019, 11, 25)),
        ("2015-06-01T00:00:00.-06:00", (2015, 6, 1), (2015, 6, 1)),
        ("2019-11-25T17:20:38,5", (2019, 11, 25), (2019, 11, 25)),
        ("2026-05-19", (2026, 5, 19), (2026, 5, 19)),
        (" 2026-05-19 08:15 ", (2026, 5, 19), (2026, 5, 19)),
    ],
)
def test_a_zone_moves_a_moment_and_no_calendar_day(
    written: str, stated: tuple[int, int, int], in_utc: tuple[int, int, int]
) -> None:
    assert calendar_day(written, PLAIN, LATEST) == date(*stated)
    assert day_of_moment(written, PLAIN, LATEST) == date(*in_utc)
    # Of a portal that labels its local time with a wrong zone the label says nothing.
    assert day_of_moment(written, PORTALS["za-etenders"], LATEST) == date(*stated)


@pytest.mark.parametrize(
    "written",
    [
        *("2026-02-30", "2025-02-29T00:00:00Z", "2026-13-01", "2026-08-14T24:30:00Z"),
        *("1979-12-31", "0001-01-01T00:00:00Z", "2077-01-01", "9999-12-31T23:59:59-14:00"),
        *("24/12/2025", "2025", "20251224", "soon", "", "2026-05-19T", "2026-05-19TZ"),
        *(20260519, None, True, ["2026-05-19"]),
    ],
)
def test_what_is_no_date_or_cannot_be_one_is_absent(written: object) -> None:
    assert calendar_day(written, PLAIN, LATEST) is None
    assert day_of_moment(written, PLAIN, LATEST) is None


_ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(
    moment=st.datetimes(datetime(1981, 1, 1), datetime(2026, 1, 1)),
    zone=_ZONES | st.none(),
    precision=st.sampled_from(("minutes", "seconds", "milliseconds", "microseconds")),
    separator=st.sampled_from("T "),
)
def test_the_day_of_any_date_is_the_one_that_it_begins_with(
    moment: datetime, zone: timezone | None, precision: str, separator: str
) -> None:
    stated = moment.replace(tzinfo=zone)
    written = stated.isoformat(separator, precision)
    assert calendar_day(written, PLAIN, LATEST) == date.fromisoformat(written[:10])
    utc = stated.astimezone(UTC) if zone else stated
    assert day_of_moment(written, PLAIN, LATEST) == utc.date()
    assert calendar_day(written[:10], PLAIN, LATEST) == calendar_day(written, PLAIN, LATEST)


# The real files: every date of every row, read once more from the bytes.

_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d.*)?")


def _files() -> list[Path]:
    """Return the files with releases: one of each folder, at night all."""
    folders = [REAL / "ocds" / "portals", REAL / "ocds" / "official_examples", REAL / "more/ocds"]
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    named = [path for path in paths if re.search(r"\.jsonl?(\.gz)?$", path.name)]
    if is_nightly():
        return named
    return list({path.parent: path for path in named if path.stat().st_size < 500_000}.values())


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _objects(inner)


def _releases(content: bytes) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the releases of a file by process and id, by the simplest reading there is."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    values: list[Any] = []
    for part in (text, *text.splitlines()):
        try:
            values.append(json.loads(part))
        except ValueError:
            continue
        if part is text:
            break
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in _objects(values):
        if "ocid" in each and "id" in each:
            key = str(each["ocid"]).strip(), str(each["id"]).strip()
            found.setdefault(key, []).append(each)
    return found


def _stated(value: Any, *path: str) -> date | None:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    match = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    try:
        day = date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None
    return day if day and 1980 <= day.year <= 2076 else None


def _in_utc(written: str) -> date:
    # Fractions of a second, which are written in many ways, move no day.
    moment = datetime.fromisoformat(re.sub(r"\.\d*", "", written.strip()))
    return (moment.astimezone(UTC) if moment.tzinfo else moment).date()


@pytest.mark.shared
def test_every_date_of_every_real_release_is_the_day_that_its_document_writes() -> None:
    compared = dict.fromkeys(("released_on", "tender_start", "tender_end", "json"), 0)
    for path in _files():
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        raw = _releases(content)
        for row in read(content, portal=PLAIN).rows.get("tender_releases", []):
            written = raw.get((row["ocid"], row["release_id"]))
            # A versioned release has no member that is a date: its states are made of it.
            if not written or "versionedRelease" in row["source_ref"]:
                continue
            where = (path.name, row["source_ref"])
            for column, member in (("tender_start", "startDate"), ("tender_end", "endDate")):
                stated = [_stated(each, "tender", "tenderPeriod", member) for each in written]
                assert row[column] in stated, where
                compared[column] += row[column] is not None
            if row["released_on"] is not None:
                dates = {_in_utc(each["date"]) for each in written if _stated(each, "date")}
                assert row["released_on"] in dates, where
                compared["released_on"] += 1
            # A date is served as the text that was written.
            texts = {text for each in written for text in _texts(each)}
            for text in _dates(json.loads(row["release"])):
                assert text in texts, where
                compared["json"] += 1
    assert min(compared.values()) > 10, compared


def _texts(value: Any) -> Iterator[str]:
    for each in _objects([value]):
        yield from (text.strip() for text in each.values() if isinstance(text, str))


def _dates(release: dict[str, Any]) -> Iterator[str]:
    """Yield what is published as a date."""
    for each in _objects(release):
        for name in ("date", "dateSigned", "startDate", "endDate", "maxExtentDate"):
            if isinstance(each.get(name), str):
                yield each[name]
