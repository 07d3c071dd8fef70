"""Tables are found by their columns, whatever format, line, sheet or element they are in."""

import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.parsing.tables import Row, Wanted, table_rows

WANTED = Wanted((("code",), ("name", "nom")), (("day",),))
ROWS = [{"code": "UFM", "nom": "Fictional Mines"}, {"code": "007", "nom": "Fictional Été"}]
XLSX_SHEET = """<?xml version="1.0"?><worksheet
xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>"""


def rows(body: bytes, wanted: Wanted = WANTED) -> list[Row | str]:
    return [row for _, row in table_rows(body, wanted)]


def workbook(*lines: tuple[str, ...]) -> bytes:
    """Return a workbook of one sheet with texts in its cells."""
    namespace = "http://schemas.openxmlformats.org"
    cell = '<c r="{}{}" t="inlineStr"><is><t>{}</t></is></c>'
    sheet = "".join(
        f'<row r="{number}">'
        + "".join(cell.format("ABCDEF"[place], number, text) for place, text in enumerate(line))
        + "</row>"
        for number, line in enumerate(lines, 1)
    )
    office = f"{namespace}/officeDocument/2006/relationships"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{namespace}/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{namespace}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{namespace}/spreadsheetml/2006/main" '
        f'xmlns:r="{office}"><sheets><sheet name="Shares" sheetId="1" r:id="r1"/></sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{namespace}/package/2006/'
        f'relationships"><Relationship Id="r1" Type="{office}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": XLSX_SHEET.format(sheet),
    }
    return zipped(**parts)


def zipped(**members: str) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return body.getvalue()


CSV = "Code,Nom\nUFM,Fictional Mines\n007,Fictional Été\n"
OBJECTS = [{"Code": "UFM", "Nom": "Fictional Mines"}, {"Nom": "Fictional Été", "Code": "007"}]
BODIES = {
    "csv": CSV.encode(),
    "byte order mark": b"\xef\xbb\xbf" + CSV.encode(),
    "cp1252": CSV.encode("cp1252"),
    "utf-16": CSV.encode("utf-16"),
    "semicolons": CSV.replace(",", ";").encode(),
    "tabs": CSV.replace(",", "\t").encode(),
    "titles before the header": f"Shares of the day\n\n{CSV}\n".encode(),
    "blanks in the header": CSV.replace("Nom", "  NOM ").encode(),
    "json objects": json.dumps({"data": {"rows": OBJECTS}}).encode(),
    "json columns next to rows": json.dumps(
        {"fields": ["Code", "Nom"], "data": [list(row.values()) for row in ROWS]}
    ).encode(),
    "json lists": json.dumps([["Code", "Nom"], *[list(row.values()) for row in ROWS]]).encode(),
    "xml": (
        b"<r><n>2</n><list><code>UFM</code><nom>Fictional Mines</nom></list>"
        b"<list><code>007</code><nom>Fictional &#201;t&#233;</nom></list></r>"
    ),
    "xml attributes": (
        b'<r><s Code="UFM" Nom="Fictional Mines"/><s Code="007" Nom="Fictional &#201;t&#233;"/></r>'
    ),
    "html": (
        b"<!DOCTYPE html><table><tr><td>Top</td></tr></table><table><tr><th>Code<th> Nom </tr>"
        b"<tr><td>UFM</td><td><a>Fictional</a>\n Mines</td></tr>"
        b"<tr><td>007<td>Fictional&nbsp;&Eacute;t&eacute;</tr></table>"
    ),
    "workbook": workbook(
        ("Shares",), (), ("Code", "Nom"), ("UFM", "Fictional Mines"), ("007", "Fictional Été")
    ),
    "zip": zipped(**{"list.csv": CSV}),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_a_table_is_read_in_every_format_it_is_published_in(body: bytes) -> None:
    assert rows(body) == ROWS


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no table with the columns code, name/nom"),
        (b"Code,Price\nUFM,3\n", "no table with the columns code, name/nom"),
        (b"<html><p>Not found</p></html>", "no table with the columns code, name/nom"),
        (b"<html><table><tr><td>" + b"<b>" * 200_000, "a page of 200,004 tags; at most 200,000"),
        (b'{"error": "no such file"}', "no table with the columns code, name/nom"),
        (b'{"data": [', "not JSON: Input data was truncated"),
        (b"<list><code>", "not XML: no element found: line 1, column 12"),
        (b"<!DOCTYPE r [<!ENTITY a 'b'>]><r/>", "a document type with declarations of its own"),
        (b"Code,Nom,Code\nUFM,F,U\n", "the column 'code' is there twice"),
        (b"PK\x03\x04 cut off", "not a zip that can be read: BadZipFile"),
        (b"\xd0\xcf\x11\xe0 cut off", "not a workbook that can be read: "),
    ],
)
def test_a_body_without_the_table_says_what_is_missing(body: bytes, reason: str) -> None:
    (only,) = rows(body)
    assert isinstance(only, str) and only.startswith(reason)


def test_a_line_that_does_not_fit_its_header_is_a_reason_and_the_others_go_on() -> None:
    body = b"Code,Nom\nUFM\nGFM,Fictional Gold,3\nHFM,Fictional Harbours,,\n"

    assert list(table_rows(body, WANTED)) == [
        ("line 2", "not as many values as columns"),
        ("line 3", "not as many values as columns"),
        ("line 4", {"code": "HFM", "nom": "Fictional Harbours"}),
    ]


@given(st.sampled_from([b"", b"Code,Nom\n", b"<r>", b"<table>", b"[[", b"PK\x03\x04"]), st.binary())
def test_any_bytes_are_rows_or_a_reason(start: bytes, rest: bytes) -> None:
    assert rows(start + rest) or start == b"Code,Nom\n"
