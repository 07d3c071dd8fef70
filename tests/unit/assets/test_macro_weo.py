"""The IMF's World Economic Outlook: editions are vintages, and estimates are marked."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.ingest.sources import SOURCES
from assets.macro import weo
from assets.macro.periods import decimal_mark_of
from assets.parsing.parsed import Parsed, to_table
from assets.source import refuse_restricted
from tests.helpers.macro import document, fits, locations, reasons, rows
from warehouse.record.append import Load, append
from warehouse.record.as_of import vintages_query
from warehouse.record.store import Record
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.errors import LicenceError

HEADER = "Country\tSubject Descriptor\tUnits\tScale\t2021\t2022\t2023\tEstimates Start After"
GDP = "Gross domestic product, current prices\tU.S. dollars\tBillions"
KENYA = f"Kenya\t{GDP}\t109.704\t1,113.701\t-0.500\t2022"
LAST = "International Monetary Fund, World Economic Outlook Database, April 2023"


def selection(*lines: str, header: str = HEADER, last: str = LAST) -> str:
    return "\r\n".join([header, *lines, "", last])


def read(text: str, day: str = "2023-09-01", encoding: str = "utf-8") -> Parsed:
    body = text.encode(encoding)
    return weo.parse(document(body, read=day), body)


def by_year(parsed: Parsed, column: str) -> dict[int, Any]:
    return {row["period_end"].year: row[column] for row in rows(parsed)}


def test_a_value_is_a_year_of_a_subject_as_the_edition_states_it() -> None:
    parsed = read(selection(KENYA))
    assert fits(MACRO_SERIES, parsed) and reasons(parsed) == []
    assert by_year(parsed, "value") == {
        2021: Decimal("109.704"),
        2022: Decimal("1113.701"),
        2023: Decimal("-0.500"),
    }
    row = rows(parsed)[0]
    assert (row["series"], row["series_type"], row["country"]) == ("WEO.KEN.NGDPD.A", "gdp", "KE")
    assert (row["unit"], row["frequency"]) == ("U.S. dollars, Billions", "annual")
    assert (row["publication"], row["source_ref"]) == (
        "2023-04",
        "https://example.org/d#line 2, 2021",
    )


def test_estimates_are_never_taken_for_actuals() -> None:
    assert by_year(read(selection(KENYA)), "obs_status") == {2021: "A", 2022: "A", 2023: "E"}
    without = selection(KENYA.rpartition("\t")[0], header=HEADER.rpartition("\t")[0])
    assert by_year(read(without), "obs_status") == {2021: None, 2022: None, 2023: "E"}
    unsaid = selection(f"{KENYA.rpartition(chr(9))[0]}\t")
    assert by_year(read(unsaid), "obs_status") == {2021: None, 2022: None, 2023: "E"}


@pytest.mark.parametrize(
    ("day", "available_at"),
    [
        ("2023-04-11", date(2023, 4, 11)),
        ("2023-04-30", date(2023, 4, 30)),
        ("2026-05-04", date(2023, 4, 30)),
    ],
)
def test_an_edition_is_public_at_the_end_of_its_month_or_when_it_was_read(
    day: str, available_at: date
) -> None:
    assert {row["available_at"] for row in rows(read(selection(KENYA), day))} == {available_at}


@given(day=st.dates(date(2023, 1, 1), date(2030, 1, 1)))
def test_no_figure_is_dated_before_its_edition_or_after_its_reading(day: date) -> None:
    parsed = read(selection(KENYA), day.isoformat())
    assert all(date(2023, 4, 1) <= row["available_at"] <= day for row in rows(parsed))
    assert bool(rows(parsed)) == (day >= date(2023, 4, 1))
    assert bool(rows(parsed)) != any("was not out" in reason for reason in reasons(parsed))


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
)
def test_every_encoding_that_selections_come_in_gives_the_same_rows(encoding: str) -> None:
    text = selection(KENYA.replace("Kenya", "Côte d'Ivoire"))
    assert [row["country"] for row in rows(read(text, encoding=encoding))] == ["CI"] * 3


def test_what_has_no_value_is_absent_and_counted() -> None:
    parsed = read(selection(f"Kenya\t{GDP}\tn/a\t--\t1.000\t2022", f"Togo\t{GDP}\t\tn/a\tn/a\t"))
    assert len(rows(parsed)) == 1
    assert reasons(parsed) == ["5 cells have no value: 1 empty, 1 --, 3 n/a"]


def test_a_file_that_was_saved_with_decimal_commas_is_read_if_it_is_certain() -> None:
    values = by_year(read(selection(f"Kenya\t{GDP}\t1101,445\t-6,24\t12\t2022")), "value")
    assert values == {2021: Decimal("1101.445"), 2022: Decimal("-6.24"), 2023: Decimal(12)}
    unclear = read(selection(f"Kenya\t{GDP}\t1,445\t12\t-2,001\t2022"))
    assert rows(unclear) == [] and "could be decimal marks" in reasons(unclear)[0]
    mixed = read(selection(f"Kenya\t{GDP}\t1.5\t1,5\t2\t2022"))
    assert rows(mixed) == [] and "others a decimal comma" in reasons(mixed)[0]


@given(
    values=st.lists(st.decimals(places=3, min_value=-(10**7), max_value=10**7), min_size=1),
)
def test_the_publishers_own_form_is_always_read_by_its_points(values: list[Decimal]) -> None:
    assert decimal_mark_of([f"{value:,}" for value in values]) == "."


def test_codes_of_the_whole_database_are_preferred_to_words() -> None:
    header = (
        "WEO Country Code\tISO\tWEO Subject Code\tCountry\tSubject Descriptor\tSubject Notes\t"
        "Units\tScale\tCountry/Series-specific Notes\t2021\tEstimates Start After\t"
    )
    parsed = read(
        selection(
            '636\tCOD\tNEWCODE\tDR Congo\tA new subject\t"Notes"\tIndex\t\tNone\t"1,000.5"\t2021\t',
            "967\tUVK\tPCPIPCH\tKosovo\tInflation\t\tPercent change\tUnits\t\t3.4\t2020\t",
            header=header,
        )
    )
    assert [(row["series"], row["unit"], row["obs_status"]) for row in rows(parsed)] == [
        ("WEO.COD.NEWCODE.A", "Index", "A"),
        ("WEO.XKX.PCPIPCH.A", "Percent change", "E"),
    ]


def test_what_cannot_be_read_is_rejected_with_its_location() -> None:
    parsed = read(
        selection(
            f"Sub-Saharan Africa\t{GDP}\t1.0\t1.0\t1.0\t2022",
            "Kenya\tHappiness\tPoints\t\t1.0\t1.0\t1.0\t2022",
            f"Kenya\t{GDP}\t1.0\t1.0",
            f"Kenya\t{GDP}\tmany\t1.0\t1.0\t2022",
            f"Kenya\t{GDP}\t1.0\t1.0\t1.0\tsoon",
            f"Togo\t{GDP}\t1.0\t1.0\t1.0\t2022",
            f"Togo\t{GDP}\t2.0\t1.0\t1.0\t2022",
        )
    )
    assert len(rows(parsed)) == 2
    assert dict(zip(locations(parsed), reasons(parsed), strict=True)) == {
        "line 2": "'Sub-Saharan Africa' is no country that we know",
        "line 3": "'Happiness, Points' is no subject that we know, and the file has no code",
        "line 4": "the line has more or fewer cells than the header",
        "line 5, 2021": "WEO.KEN.NGDPD.A: 'many' is not a number",
        "line 6": "'soon' is no year after which estimates start",
        "line 7": "WEO.TGO.NGDPD.A appears twice in the file: neither is believed",
        "line 8": "WEO.TGO.NGDPD.A appears twice in the file: neither is believed",
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("<html><body>Error</body></html>", "no columns"),
        (selection(KENYA, last="Source: somewhere"), "names no edition"),
        (selection(KENYA, last=LAST.replace("April", "Spring")), "no month"),
        (selection(KENYA, header=HEADER.replace("2022", "2021")), "twice"),
        (selection(KENYA, header=HEADER.replace("Units", "Unit")), "no columns Units"),
    ],
)
def test_a_document_that_is_something_else_is_refused(text: str, problem: str) -> None:
    parsed = read(text)
    assert rows(parsed) == [] and problem in reasons(parsed)[0]


@pytest.mark.parametrize("size", range(0, 400, 7))
def test_a_truncated_document_never_gives_figures_without_an_edition(size: int) -> None:
    body = selection(KENYA).encode("utf-16-le")[:size]
    assert rows(weo.parse(document(body, read="2023-09-01"), body)) == []


def test_it_is_refused_until_its_licence_is_cleared() -> None:
    (source,) = (each for each in SOURCES if each.key == "imf-weo")
    with pytest.raises(LicenceError):
        refuse_restricted(source)


def test_a_figure_has_a_vintage_for_each_edition_that_changed_its_value_or_status(
    record: Record,
) -> None:
    editions = {"April 2023": ("1.0\t2.0\t3.0", 2021), "October 2023": ("1.0\t2.0\t3.5", 2022)}
    for name, (values, last_actual) in editions.items():
        text = selection(
            f"Kenya\t{GDP}\t{values}\t{last_actual}", last=LAST.replace("April 2023", name)
        )
        loaded, rejected = to_table(MACRO_SERIES, [read(text, "2024-02-01")])
        append(record, MACRO_SERIES, loaded, Load("imf-weo", (name,)), rejected=rejected)
    stored = record.relation("macro_series", record.table("macro_series"))
    known: dict[date, dict[int, tuple[str, str]]] = {}
    for day in (date(2023, 4, 29), date(2023, 4, 30), date(2023, 10, 31)):
        found = record.query(vintages_query(MACRO_SERIES, stored, as_of=day)).to_pylist()
        known[day] = {
            row["period_end"].year: (f"{row['value']:.1f}", row["obs_status"]) for row in found
        }
    assert list(known.values()) == [
        {},
        {2021: ("1.0", "A"), 2022: ("2.0", "E"), 2023: ("3.0", "E")},
        {2021: ("1.0", "A"), 2022: ("2.0", "A"), 2023: ("3.5", "E")},
    ]
    every = record.query(vintages_query(MACRO_SERIES, stored, vintages="all"))
    assert every.num_rows == 5
