"""Series in tables of central banks and statistics offices, declared and read."""

import io
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.declared_files import DeclaredFileError, own_entries
from assets.ingest.sources import source_of
from assets.macro import published_tables
from assets.macro.table_files import ENTRIES, TableEntry
from assets.parsing.parsed import Parsed
from assets.source import refuse_restricted
from tests.helpers.parsed_rows import has_columns
from warehouse.record.landing import Document
from warehouse.record.tables import MACRO_SERIES
from warehouse.shared.errors import LicenceError
from warehouse.shared.settings import read_settings

LONG = """
[na-bank]
title = "Bank"
country = "NA"
base_url = "https://bank.example"
licence.class = "open-attribution"
licence.name = "Open"
decimal = "{decimal}"

[na-bank.period]
columns = ["Year", "Month"]
formats = ["%Y %B", "%Y %m"]
frequency = "monthly"

[[na-bank.series]]
key = "NA.CPI"
type = "cpi"
unit = "percent"
column = ["Rate", "Taux"]
"""
WIDE = """
[na-office]
title = "Office"
country = "NA"
base_url = "https://office.example"
licence.class = "open-attribution"
licence.name = "Open"

[[na-office.series]]
key = "NA.GDP.REAL"
type = "gdp"
unit = "NAD million"
base = "{base}"
title = '^GDP at (?P<base>[0-9]{4}) prices'
row = '^Total$'
"""


ACROSS = """
[world-office]
title = "Office"
area = ["Reference area", "Country"]
base_url = "https://office.example"
licence.class = "open-attribution"
licence.name = "Open"

[world-office.period]
columns = []
formats = ["%Y", "%b %Y"]
frequency = "annual"

[[world-office.series]]
key = "OFFICE.{area}.RATE"
type = "macro"
unit = "percent a year"
where = { Measure = ["Rate", "Taux"] }
note = 'Unit: Percent a year'
"""
MONTHS = """
[na-survey]
title = "Survey"
country = "NA"
base_url = "https://survey.example"
licence.class = "open-attribution"
licence.name = "Open"
marks = { "*" = "provisional", "+" = "revised" }

[[na-survey.series]]
key = "NA.CPI.INDEX"
type = "cpi"
unit = "index"
base = "{base}"
title = '^Table [0-9]+: Prices'
note = '(?P<base>[0-9]{4}=100)'
row = '^(?P<month>[A-Z][a-z]+)$'
"""
NAMED = """
[xx-rates]
title = "Rates"
base_url = "https://rates.example"
licence.class = "open-attribution"
licence.name = "Open"
other_names = { Currency = ["العملة"] }

[xx-rates.period]
columns = [["Date", "التاريخ"]]
formats = ["%Y-%m-%d"]
frequency = "daily"

[[xx-rates.series]]
key = "EG.USD"
type = "fx"
unit = "EGP per USD"
country = "EG"
column = ["Buy", "شراء"]
where = { Currency = ["US Dollar", "دولار أمريكى"] }
"""


def declared(text: str, folder: Path) -> TableEntry:
    file = folder / "tables.toml"
    file.write_text(text, "utf-8")
    (entry,) = own_entries([file], TableEntry, ())
    return entry


def read(entry: TableEntry, body: bytes, day: date = date(2026, 8, 20)) -> Parsed:
    moment = datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
    url = f"{entry.base_url}/file"
    document = Document("0" * 64, entry.key, url, "open-attribution", moment, 200, {}, len(body))
    return published_tables.parse(document, body, entry=entry)


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    found = parsed.rows.get("macro_series", [])
    assert all(has_columns(row, MACRO_SERIES) for row in found)
    return found


def reasons(parsed: Parsed) -> list[str]:
    return [each.reason for each in parsed.rejected.get("macro_series", [])]


def workbook(*lines: list[object]) -> bytes:
    """Write the smallest workbook that has the lines."""

    def cell(value: object) -> str:
        if isinstance(value, int | float):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'

    data = "".join(f"<row>{''.join(map(cell, line))}</row>" for line in lines)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    files = {
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="GDP" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="rId1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{data}</sheetData>'
        "</worksheet>",
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "[Content_Types].xml": "<Types/>",
    }
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return body.getvalue()


def test_a_row_is_a_period_and_a_figure_is_known_since_it_was_read(tmp_path: Path) -> None:
    entry = declared(LONG.format(decimal="."), tmp_path)
    parsed = read(
        entry, b"Title\nYear,Month,Rate\n2026,July,4.10\n2026,6,3.9 r\n2026,May,..\nNote,,\n"
    )
    july, june = rows(parsed)
    assert (july["period_start"], july["period_end"]) == (date(2026, 7, 1), date(2026, 7, 31))
    assert (july["available_at"], july["publication"]) == (date(2026, 8, 20), "as shown")
    assert (july["value"], june["value"]) == (Decimal("4.10"), Decimal("3.9"))
    assert (july["series"], july["country_iso3"], july["unit"]) == ("NA.CPI", "NAM", "percent")
    assert reasons(parsed) == []


@given(value=st.decimals(places=3, min_value=-(10**9), max_value=10**9), comma=st.booleans())
def test_every_digit_of_a_value_is_kept_with_or_without_marks_of_thousands(
    value: Decimal, comma: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entry = declared(LONG.format(decimal="," if comma else "."), tmp_path_factory.mktemp("tables"))
    for text in (f"{value}", f"{value:,}", f"{value:,} %"):
        swapped = text.translate(str.maketrans(",.", ".,")) if comma else text
        parsed = read(entry, f'Year;Month;Taux\n2026;07;"{swapped}"\n'.encode())
        assert [row["value"] for row in rows(parsed)] == [value], text


def test_what_cannot_be_read_is_rejected_with_a_reason_and_nothing_is_guessed(
    tmp_path: Path,
) -> None:
    entry = declared(LONG.format(decimal="."), tmp_path)
    parsed = read(entry, b"Year,Month,Rate\n2026,Julember,4.1\n2026,July,four\n2027,July,1\n")
    assert rows(parsed) == []
    assert [reason.split(":")[-1].strip() for reason in reasons(parsed)] == [
        "'2026 Julember' is no period in any form that is declared",
        "'four' is not a number",
        "the period begins after it was read, on 2026-08-20",
    ]
    assert "no table with the columns" in reasons(read(entry, b"a,b\n1,2\n"))[0]
    assert "no column" in reasons(read(entry, b"Year,Month,Other\n2026,July,1\n"))[0]


def test_a_column_is_a_year_or_a_quarter_below_the_title_that_names_the_base(
    tmp_path: Path,
) -> None:
    entry = declared(WIDE, tmp_path)
    parsed = read(
        entry,
        workbook(
            ["GDP at current prices", "", "", ""],
            ["", 2024, "", ""],
            ["Total", 1, 2, 3],
            ["GDP at 2019 prices (million)", "", "", "", "", ""],
            ["", "2024*", "", "", "", ""],
            ["", "Q1", "Q2", "Q3", "Q4", "Total"],
            ["Farming", 1, 1, 1, 1, 4],
            ["Total", 10.25, 11, 12, "-", 45.5],
        ),
    )
    stated = [
        (row["frequency"], row["period_start"], row["value"], row["base_period"])
        for row in rows(parsed)
    ]
    assert stated == [
        ("quarterly", date(2024, 1, 1), Decimal("10.25"), "2019"),
        ("quarterly", date(2024, 4, 1), Decimal(11), "2019"),
        ("quarterly", date(2024, 7, 1), Decimal(12), "2019"),
        ("annual", date(2024, 1, 1), Decimal("45.5"), "2019"),
    ]
    assert rows(parsed)[0]["source_ref"].endswith("#GDP, row 8, column 2")
    assert "no row" in reasons(read(entry, workbook(["Other", 2024], ["Total", 1])))[0]


def test_a_header_of_periods_has_rows_that_say_their_country_and_measure(tmp_path: Path) -> None:
    entry = declared(ACROSS, tmp_path)
    table: list[list[object]] = [
        ["", "Unit: Percent a year", "", ""],
        ["Measure", "Reference area", 2023, 2024],
        ["Rate", "South Africa", 7.25, ".."],
        ["Taux", "Korea", "", 3.1],
        ["Other", "Korea", 1, 1],
        ["Rate", "Euro area", 1, 2],
        ["© the office", "", "", ""],
    ]
    parsed = read(entry, workbook(*table))
    assert [(row["series"], row["country"], row["value"]) for row in rows(parsed)] == [
        ("OFFICE.ZAF.RATE", "ZA", Decimal("7.25")),
        ("OFFICE.KOR.RATE", "KR", Decimal("3.1")),
    ]
    assert rows(parsed)[0]["source_ref"].endswith("#GDP, row 3, column 3")
    assert reasons(parsed) == [
        "OFFICE.{area}.RATE: 'Euro area' is no country that we know: 2 values"
    ]
    # In another unit it is another series: nothing is read.
    other = read(entry, workbook(["", "Unit: Index", "", ""], *table[1:]))
    assert rows(other) == [] and "and a note" in reasons(other)[0]


def test_a_period_with_two_values_has_none_that_is_believed(tmp_path: Path) -> None:
    parsed = read(
        declared(ACROSS, tmp_path),
        workbook(
            ["Unit: Percent a year", "", "", "", ""],
            ["Measure", "Country", "Adjusted", 2023, 2024],
            ["Rate", "ZAF", "yes", 1, 2],
            ["Rate", "ZAF", "no", 1, 3],
        ),
    )
    assert {row["period_start"].year for row in rows(parsed)} == {2023}
    assert len(reasons(parsed)) == 2 and "neither is believed" in reasons(parsed)[0]


def test_rows_can_be_months_of_the_years_above_and_marks_are_kept_as_status(
    tmp_path: Path,
) -> None:
    entry = declared(MONTHS, tmp_path)
    parsed = read(
        entry,
        workbook(
            ["Table 7: Prices, Namibia", "", ""],
            ["", "", "2020=100"],
            ["Month", 2024, "2025*"],
            ["January", "101.5+", 104],
            ["Feb", 102, "105.25 +"],
            ["Febuary", 1, ""],
        ),
    )
    stated = [
        (row["period_start"], row["value"], row["obs_status"], row["base_period"])
        for row in rows(parsed)
    ]
    assert stated == [
        (date(2024, 1, 1), Decimal("101.5"), "revised", "2020=100"),
        (date(2025, 1, 1), Decimal(104), "provisional", "2020=100"),
        (date(2024, 2, 1), Decimal(102), None, "2020=100"),
        (date(2025, 2, 1), Decimal("105.25"), "revised", "2020=100"),
    ]
    assert {row["frequency"] for row in rows(parsed)} == {"monthly"}
    assert reasons(parsed) == ["NA.CPI.INDEX: 'Febuary' below '2024' is no month"]


def test_a_note_above_a_table_names_the_base_and_a_table_without_it_is_not_read(
    tmp_path: Path,
) -> None:
    text = LONG.format(decimal=".").replace(
        'column = ["Rate"',
        "base = '{base}'\nnote = 'Index (?P<base>[0-9]{4}=100)'\ncolumn = [\"Rate\"",
    )
    entry = declared(text, tmp_path)
    table = "Year,Month,Rate\n2026,July,4.10\n"
    (row,) = rows(read(entry, f"Prices; Index 2020=100\n{table}".encode()))
    assert row["base_period"] == "2020=100"
    without = read(entry, table.encode())
    assert rows(without) == [] and "no note" in reasons(without)[0]


def test_a_table_with_another_title_is_refused_and_one_without_any_is_read(tmp_path: Path) -> None:
    text = LONG.format(decimal=".").replace(
        'decimal = "."', "decimal = \".\"\nheading = '(?i)average'"
    )
    entry = declared(text, tmp_path)
    table = "Year,Month,Rate\n2026,July,4.10\n"
    for above in ("", "Bank,,\nMonthly Average Rates,,\n"):
        assert len(rows(read(entry, f"{above}{table}".encode()))) == 1
    other = read(entry, f"Bank,,\nRates at the end of the period,,\n{table}".encode())
    assert rows(other) == []
    (reason,) = reasons(other)
    assert "headed 'Bank Rates at the end of the period'" in reason and "average" in reason


GDP = "Gross Domestic Product At"


@pytest.mark.parametrize(
    ("title", "row"),
    [
        (f"{GDP} 2019 Constant Basic Prices (=N=Million)", "GDP at 2019 constant price"),
        ("Real GDP at 2019 Constant Basic Prices (N' Million)", "GDP Constant Basic Price"),
        (f"{GDP} Constant 2019 Basic Prices (N Million)", "GDP at constant prices"),
    ],
)
def test_the_gdp_of_nigeria_is_read_however_a_release_words_its_title(title: str, row: str) -> None:
    (entry,) = (entry for entry in ENTRIES if entry.key == "ng-nbs-gdp")
    years: list[object] = ["", 2023, 2024]
    nominal: list[list[object]] = [
        [f"{GDP} Current Basic Prices (=N=Million)"],
        years,
        ["GDP Current Basic Price", 1, 2],
    ]
    growth: list[list[object]] = [[f"{title.partition('(')[0]}(%)"], years, [row, 3, 4]]
    parsed = read(entry, workbook(*nominal, [title], years, [row, 5, 6], *growth))
    found = {(each["series"], each["base_period"], each["value"]) for each in rows(parsed)}
    assert found == {
        *(("NG.NBS.GDP.NOMINAL", None, value) for value in (1, 2)),
        *(("NG.NBS.GDP.REAL", "2019", value) for value in (5, 6)),
    }


def test_a_series_has_its_own_country_and_columns_have_names_in_two_languages(
    tmp_path: Path,
) -> None:
    entry = declared(NAMED, tmp_path)
    english = "Date,Currency,Buy\n2026-08-19,US Dollar,50.1\n2026-08-19,Euro,55.1\n"
    arabic = "التاريخ,العملة,شراء\n2026-08-19,دولار أمريكى,50.1\n"
    for body in (english, arabic):
        (row,) = rows(read(entry, body.encode()))
        assert (row["series"], row["country"], row["value"]) == ("EG.USD", "EG", Decimal("50.1"))


@pytest.mark.parametrize(
    ("text", "change", "problem"),
    [
        (ACROSS, ("{area}", "ZAF"), "if and only if area"),
        (ACROSS, ("area = [", 'country = "NA"\narea = ['), "either a country or area"),
        (ACROSS, ("where =", 'column = "Rate"\nwhere ='), "the columns are periods"),
        (MONTHS, ("<base>", "<other>"), "names the 'base' of its base"),
        (MONTHS, ("note = '(", "note = '(("), "series[0].note: not a regular expression"),
        (NAMED, ('country = "EG"\n', ""), "either a country or area"),
    ],
)
def test_a_mistake_in_a_table_of_another_kind_is_named(
    text: str, change: tuple[str, str], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(DeclaredFileError) as refused:
        declared(text.replace(*change), tmp_path)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('country = "NA"', 'country = "XX"'), "country: XX is no country"),
        (('column = ["Rate", "Taux"]', ""), "either column or row"),
        (('type = "cpi"', 'type = "prices"'), "type"),
        (('base_url = "https://bank.example"', 'base_url = "bank.example"'), "web address"),
    ],
)
def test_a_mistake_in_a_declaration_is_named(
    change: tuple[str, str], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(DeclaredFileError) as refused:
        declared(LONG.format(decimal=".").replace(*change), tmp_path)
    assert problem in str(refused.value) and "docs/add-a-table.md" in str(refused.value)


def test_a_restricted_table_is_refused_until_its_licence_is_cleared(tmp_path: Path) -> None:
    assert any(entry.licence.license_class == "restricted" for entry in ENTRIES)
    with pytest.raises(LicenceError):
        refuse_restricted(source_of(read_settings({}), "ke-cbk-inflation"))
    cleared = tmp_path / "cleared.toml"
    cleared.write_text('[ke-cbk-inflation]\nlicence = { class = "licensed", name = "Ours" }\n')
    source = source_of(read_settings({"SANKOFA_SERIES_TABLES": str(cleared)}), "ke-cbk-inflation")
    refuse_restricted(source)
    assert source.license_class == "licensed" and "inflation" in source.title
