"""The list of filings: CVM's index with every version, and the lists of submissions of the SEC."""

import json
from datetime import UTC, date, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from assets.filings import cvm, submissions
from assets.filings.issuers import service_id_of
from assets.filings.submissions import OWNERS_REPORTS
from assets.parsing.parsed import Parsed, to_table
from tests.helpers.filings import document, filer, locations, reasons
from tests.helpers.parsed_rows import has_columns
from tests.helpers.paths import REAL
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.landing import Document
from warehouse.record.store import Record
from warehouse.record.tables import FILINGS

HEADER = "CNPJ_CIA;DT_REFER;VERSAO;DENOM_CIA;CD_CVM;CATEG_DOC;ID_DOC;DT_RECEB;LINK_DOC"
CVM_URL = "https://dados.cvm.gov.br/dados/CIA_ABERTA/DOC/ITR/DADOS/itr_cia_aberta_2011.csv"
SEC_URL = "https://data.sec.gov/submissions/CIK0001172724.json"
OLDER_URL = "https://data.sec.gov/submissions/CIK0001172724-submissions-001.json"
# The second and the third were received on one day.
RECEIVED = ("04-29", "05-02", "05-02", "05-03", "05-23", "05-26", "05-30", "07-12")


def index_line(number: int, day: str, **others: str) -> str:
    cells = {
        "cnpj": "11.222.333/0001-81",
        "reference": "2011-03-31",
        "version": str(number),
        "name": "FICTÍCIA ENERGIA S.A.",
        "code": "012345",
        "form": "ITR",
        "document_id": str(6000 + number),
        "received": f"2011-{day}",
        "link": f"http://www.example.org/documento.aspx?numero={6000 + number}",
    } | others
    return ";".join(cells.values())


LINES = [index_line(number, day) for number, day in enumerate(RECEIVED, 1)]


def index(*lines: str) -> bytes:
    return "\r\n".join([HEADER, *lines, ""]).encode("latin-1")


def read_index(body: bytes, day: date) -> Parsed:
    moment = datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
    digest = f"{hash((body, day)):064x}"[-64:]
    return cvm.parse(Document(digest, "cvm", CVM_URL, "open-share-alike", moment, 200, {}, 1), body)


def listed(parsed: Parsed) -> list[dict[str, Any]]:
    rows = parsed.rows.get("filings", [])
    assert all(has_columns(row, FILINGS) for row in rows)
    return rows


def vintages(record: Record) -> list[dict[str, Any]]:
    stored = record.relation("filings", record.table("filings"))
    rows = record.query(vintages_query(FILINGS, stored, vintages="all")).to_pylist()
    return sorted(rows, key=lambda row: (row["version"] or 0, row["document_id"], row["vintage"]))


def test_every_version_of_the_index_is_a_filing_with_both_its_days() -> None:
    rows = listed(read_index(index(*LINES), date(2011, 8, 1)))
    assert [row["version"] for row in rows] == list(range(1, 9))
    assert [f"{row['received_on']:%m-%d}" for row in rows] == list(RECEIVED)
    assert {row["available_at"] for row in rows} == {date(2011, 8, 1)}
    assert {(row["form"], row["period_end"]) for row in rows} == {("ITR", date(2011, 3, 31))}
    assert rows[0]["document_id"] == "6001" and rows[0]["link"].endswith("numero=6001")
    assert rows[0]["source_ref"] == f"{CVM_URL}#line 2"


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_a_version_is_known_since_the_first_download_that_shows_it_and_never_goes(
    record: Record, order: tuple[int, ...]
) -> None:
    downloads = [
        (date(2011, 5, 4), LINES[:4]),
        # the second version is not listed any more
        (date(2011, 6, 1), [LINES[0], *LINES[2:7]]),
        (date(2011, 8, 1), LINES[2:]),
    ]
    for number in order:
        day, lines = downloads[number]
        rows, rejected = to_table(FILINGS, [read_index(index(*lines), day)])
        entry = append(record, FILINGS, rows, Load("cvm", (str(number),)), rejected=rejected)
        assert entry.quarantined == 0
    found = vintages(record)
    assert [(row["version"], row["vintage"]) for row in found] == [(n, 1) for n in range(1, 9)]
    first_seen = [downloads[0][0]] * 4 + [downloads[1][0]] * 3 + [downloads[2][0]]
    assert [row["available_at"] for row in found] == first_seen
    assert [f"{row['received_on']:%m-%d}" for row in found] == list(RECEIVED)


def test_a_corrected_day_of_receipt_is_a_vintage_and_another_link_is_none(record: Record) -> None:
    corrected = index_line(1, "04-30", link="https://www.example.org/1")
    for day, line in ((1, LINES[0]), (2, index_line(1, "04-29", link="")), (3, corrected)):
        rows, rejected = to_table(FILINGS, [read_index(index(line), date(2011, 6, day))])
        append(record, FILINGS, rows, Load("cvm", (str(day),)), rejected=rejected)
    assert [(row["available_at"].day, row["received_on"].day) for row in vintages(record)] == [
        (1, 29),
        (3, 30),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"document_id": "x"},
        {"received": "2011-13-01"},
        {"version": "x"},
        {"form": ""},
        {"link": "a;b"},
    ],
)
def test_a_line_of_the_index_that_cannot_be_read_is_rejected_among_the_filings(
    change: dict[str, str],
) -> None:
    parsed = read_index(index(LINES[0], index_line(2, "05-02", **change)), date(2011, 8, 1))
    assert [row["version"] for row in listed(parsed)] == [1]
    assert list(parsed.rejected) == ["filings"] and locations(parsed) == ["line 3"]


def test_what_was_received_after_it_was_read_is_quarantined(record: Record) -> None:
    rows, rejected = to_table(FILINGS, [read_index(index(*LINES), date(2011, 5, 4))])
    entry = append(record, FILINGS, rows, Load("cvm", ("d",)), rejected=rejected)
    assert (entry.appended, entry.quarantined) == (4, 4)


def submitted(*filings: dict[str, Any]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for filing in filings for name in filing)
    return {name: [filing[name] for filing in filings] for name in names}


def filing(number: int, form: str, **others: Any) -> dict[str, Any]:
    return {
        "accessionNumber": f"0001172724-26-{number:06}",
        "filingDate": "2026-02-02",
        "reportDate": "2025-12-31",
        "acceptanceDateTime": "2026-02-02T16:31:22.000Z",
        "form": form,
    } | others


def read_list(*filings: dict[str, Any], url: str = SEC_URL) -> Parsed:
    body = filer(filings={"recent": submitted(*filings), "files": []}, lei=None)
    return submissions.parse(document(body, url), body)


def read_older_page(*filings: dict[str, Any]) -> Parsed:
    body = json.dumps(submitted(*filings)).encode()
    return submissions.parse(document(body, OLDER_URL), body)


def test_a_list_of_submissions_has_the_filings_of_an_issuer() -> None:
    (annual, amended) = listed(read_list(filing(1, "20-F"), filing(2, "20-F/A", reportDate="")))
    assert (annual["form"], annual["period_end"]) == ("20-F", date(2025, 12, 31))
    assert (amended["form"], amended["period_end"], amended["version"]) == ("20-F/A", None, None)
    assert annual["document_id"] == annual["publication"] == "0001172724-26-000001"
    assert annual["received_at"] == "2026-02-02T16:31:22.000Z"
    assert annual["link"] == (
        "https://www.sec.gov/Archives/edgar/data/1172724/000117272426000001/"
        "0001172724-26-000001-index.htm"
    )
    assert annual["source_ref"] == f"{SEC_URL}#/filings/recent/accessionNumber/0"


@pytest.mark.parametrize(
    ("filed", "accepted", "available"),
    [
        ("2026-02-02", "2026-02-02T16:31:22.000Z", date(2026, 2, 2)),
        # after hours: dated by the next day
        ("2026-02-03", "2026-02-02T18:02:11.000Z", date(2026, 2, 3)),
        # on paper: accepted after its date
        ("2026-02-02", "2026-02-20T10:32:07.000Z", date(2026, 2, 20)),
        ("2026-02-02", "", date(2026, 2, 2)),
    ],
)
def test_a_filing_is_public_once_it_is_accepted_and_dated(
    filed: str, accepted: str, available: date
) -> None:
    (row,) = listed(read_list(filing(1, "20-F", filingDate=filed, acceptanceDateTime=accepted)))
    assert (row["available_at"], str(row["received_on"])) == (available, filed)


def accepted(*filings: tuple[str, str], form: str = "6-K") -> list[str | None]:
    """Return when filings of a day, at a time that a list writes, were accepted."""
    made = [
        filing(number, form, filingDate=filed, acceptanceDateTime=time)
        for number, (filed, time) in enumerate(filings, 2)
    ]
    first = filing(1, "20-F", acceptanceDateTime="")
    return [row["accepted_at"] for row in listed(read_list(first, *made))[1:]]


@pytest.mark.parametrize(
    ("other", "of_winter", "of_summer"),
    [
        # at 3:30 in New York nothing is accepted, at 7:30 it is: the label is wrong
        ("2025-04-30T07:30:32.000Z", "2026-02-02T16:31:22-05:00", "2025-07-01T16:31:22-04:00"),
        # at 1:10 in New York nothing is accepted, at 20:10 it is: the label is right
        ("2025-04-30T01:10:32.000Z", "2026-02-02T11:31:22-05:00", "2025-07-01T12:31:22-04:00"),
    ],
)
def test_the_hours_of_a_list_tell_in_which_zone_its_times_are(
    other: str, of_winter: str, of_summer: str
) -> None:
    winter = ("2026-02-02", "2026-02-02T16:31:22.000Z")
    summer = ("2025-07-01", "2025-07-01T16:31:22.000Z")
    assert accepted(winter, summer, ("2025-04-30", other))[:2] == [of_winter, of_summer]


def test_the_days_of_a_list_tell_in_which_zone_its_times_are() -> None:
    # Dated by the next day, though in UTC it had been accepted at noon.
    after_hours = ("2026-02-03", "2026-02-02T17:45:00.000Z")
    assert accepted(after_hours) == ["2026-02-02T17:45:00-05:00"]
    # Of that day, though in New York it had been accepted after 17:30.
    in_time = ("2026-02-02", "2026-02-02T21:45:00.000Z")
    assert accepted(in_time) == ["2026-02-02T16:45:00-05:00"]


def test_a_list_that_leaves_the_zone_open_or_has_no_time_has_no_time_of_acceptance() -> None:
    noon, night = ("2026-02-02", "2026-02-02T15:00:00.000Z"), "2026-02-02T00:00:00.000Z"
    assert accepted(noon) == [None]
    assert accepted(noon, ("2026-02-02", night)) == [None, None]
    # Neither zone explains both.
    assert accepted(
        ("2026-02-02", "2026-02-02T07:30:00Z"), ("2026-02-02", "2026-02-02T01:00:00Z")
    ) == [
        None,
        None,
    ]
    assert accepted(("2026-02-02", night), ("2026-02-02", "2026-02-02T08:00:00Z")) == [
        None,
        "2026-02-02T08:00:00-05:00",
    ]
    # What the SEC files at night tells nothing.
    assert accepted(("2026-02-02", "2026-02-03T00:15:13.000Z"), form="EFFECT") == [None]


def test_a_filing_accepted_late_in_new_york_is_public_on_the_next_day_in_utc() -> None:
    early = filing(2, "6-K", acceptanceDateTime="2026-02-02T07:30:00.000Z")
    late = filing(3, "S-8 POS", acceptanceDateTime="2026-02-02T20:31:00.000Z")
    rows = listed(read_list(filing(1, "20-F"), early, late))
    assert [row["available_at"].day for row in rows] == [2, 2, 3]
    assert rows[2]["received_at"] == "2026-02-02T20:31:00.000Z"
    assert rows[2]["accepted_at"] == "2026-02-02T20:31:00-05:00"


@pytest.mark.shared
def test_real_lists_of_submissions_have_the_times_of_new_york() -> None:
    folders = (REAL / "filings_macro" / "filings" / "submissions", REAL / "more/sec/submissions")
    rows = []
    for path in sorted(path for folder in folders for path in folder.glob("CIK*.json")):
        body = path.read_bytes()
        url = f"https://data.sec.gov/submissions/{path.name}"
        rows += listed(submissions.parse(document(body, url), body))
    timed = [row for row in rows if row["accepted_at"] is not None]
    assert len(timed) > 300
    for row in timed:
        moment = datetime.fromisoformat(row["accepted_at"])
        # As SEC writes it, and in the offset of that day.
        assert row["received_at"].startswith(f"{moment:%Y-%m-%dT%H:%M:%S}")
        assert moment.utcoffset() in (timedelta(hours=-5), timedelta(hours=-4))
        assert row["available_at"] >= moment.astimezone(UTC).date()
    assert all("T00:00:00" in row["received_at"] for row in rows if row["accepted_at"] is None)


def test_an_older_page_with_an_annual_report_has_filings_and_one_without_is_rejected() -> None:
    rows = listed(read_older_page(filing(1, "6-K"), filing(2, "10-K405")))
    assert [row["form"] for row in rows] == ["6-K", "10-K405"]
    assert {row["service_id"] for row in rows} == {service_id_of(1172724)}
    assert rows[1]["source_ref"] == f"{OLDER_URL}#/accessionNumber/1"
    parsed = read_older_page(filing(1, "6-K"))
    assert not parsed.rows
    assert reasons(parsed) == ["no annual report: not established to be an issuer"]


def test_what_owners_report_is_counted_and_not_listed() -> None:
    others = [filing(number, form) for number, form in enumerate(sorted(OWNERS_REPORTS), 2)]
    parsed = read_list(filing(1, "10-K"), *others, filing(99, "4"))
    assert [row["form"] for row in listed(parsed)] == ["10-K"]
    (reason,) = reasons(parsed)
    assert "holdings is not listed: 144 (1), 144/A (1), 3 (1), 3/A (1), 4 (2)," in reason
    assert parsed.rejected["filings"][0].partial


@pytest.mark.parametrize(
    "change",
    [
        {"accessionNumber": "1172724-26-1"},
        {"filingDate": "2026-02-30"},
        {"reportDate": "0025-12-31"},
        {"acceptanceDateTime": "at noon"},
        {"form": " "},
    ],
)
def test_a_filing_that_cannot_be_read_is_rejected_and_the_others_stay(
    change: dict[str, str],
) -> None:
    parsed = read_older_page(filing(1, "20-F"), filing(2, "6-K") | change)
    assert [row["form"] for row in listed(parsed)] == ["20-F"]
    assert locations(parsed) == ["/accessionNumber/1"]


def test_a_column_that_does_not_fit_rejects_the_filings_and_not_the_issuer() -> None:
    recent = submitted(filing(1, "20-F"), filing(2, "6-K")) | {"reportDate": ["2025-12-31"]}
    body = filer(filings={"recent": recent, "files": []}, lei=None)
    parsed = submissions.parse(document(body, SEC_URL), body)
    assert parsed.rows["entities"] and not listed(parsed)
    assert locations(parsed) == ["/filings/recent/reportDate"]


def test_a_list_that_is_not_at_the_sec_has_no_links() -> None:
    for url in ("https://fictional.example/CIK0001172724.json", "https://notsec.gov/a.json"):
        (row,) = listed(read_list(filing(1, "20-F"), url=url))
        assert row["link"] is None
