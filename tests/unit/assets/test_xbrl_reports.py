"""XBRL 2.1 instances and inline XBRL give the figures that xBRL-JSON gives of the same facts."""

import gzip
import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.filings.xbrl_reports import LINK, NAMESPACES, XBRLI, parse, plain_number, read_report
from assets.parsing.parsed import Parsed
from tests.helpers.paths import REAL
from warehouse.record.landing import Document

LEI = "213800FICTIONAL00144"
PUBLISHED = {"x-date-added": "2024-04-30 10:00:00", "x-fxo-id": f"{LEI}-2023-12-31-ESEF-UA-0"}
DOCUMENT = Document(
    *("0" * 64, "xbrl-filings", "https://filings.xbrl.org/report", "cc0"),
    *(datetime(2026, 1, 1, tzinfo=UTC), 200, PUBLISHED, 0),
)
SPACES = """xmlns:xbrli="http://www.xbrl.org/2003/instance"
 xmlns:l="http://www.xbrl.org/2003/linkbase"
 xmlns:i="http://xbrl.ifrs.org/taxonomy/2023-03-23/ifrs-full"
 xmlns:own="https://issuer.example/2023"
 xmlns:cur="http://www.xbrl.org/2003/iso4217" xmlns:d="http://xbrl.org/2006/xbrldi"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"
 xmlns:t="http://www.xbrl.org/inlineXBRL/transformation/2020-02-12" """
ENTITY = f'<xbrli:identifier scheme="http://standards.iso.org/iso/17442">{LEI}</xbrli:identifier>'
SEGMENT = """<xbrli:segment><d:explicitMember dimension="i:SegmentsAxis"
>own:Mines</d:explicitMember></xbrli:segment>"""
YEAR = """<xbrli:period><xbrli:startDate>2023-01-01</xbrli:startDate>
<xbrli:endDate>2023-12-31</xbrli:endDate></xbrli:period>"""
RESOURCES = f"""
<xbrli:context id="year"><xbrli:entity>{ENTITY}</xbrli:entity>{YEAR}</xbrli:context>
<xbrli:context id="mines"><xbrli:entity>{ENTITY}{SEGMENT}</xbrli:entity>{YEAR}</xbrli:context>
<xbrli:context id="end"><xbrli:entity>{ENTITY}</xbrli:entity>
<xbrli:period><xbrli:instant>2023-12-31</xbrli:instant></xbrli:period></xbrli:context>
<xbrli:context id="timeless"><xbrli:entity>{ENTITY}</xbrli:entity><xbrli:period/></xbrli:context>
<xbrli:unit id="hryvnia"><xbrli:measure>cur:UAH</xbrli:measure></xbrli:unit>
<xbrli:unit id="each"><xbrli:divide>
<xbrli:unitNumerator><xbrli:measure>cur:UAH</xbrli:measure></xbrli:unitNumerator>
<xbrli:unitDenominator><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unitDenominator>
</xbrli:divide></xbrli:unit>"""
MONEY = 'unitRef="hryvnia" decimals="-3"'
FACTS = f"""
<i:Revenue id="r" contextRef="year" {MONEY}>1250000</i:Revenue>
<i:Revenue contextRef="mines" {MONEY}>50000</i:Revenue>
<i:Assets contextRef="end" {MONEY}>9000000</i:Assets>
<i:ProfitLoss contextRef="year" {MONEY}>-75000</i:ProfitLoss>
<i:BasicEarningsLossPerShare contextRef="year" unitRef="each" decimals="2"
>-0.75</i:BasicEarningsLossPerShare>
<own:Notes contextRef="year">Text of no figure</own:Notes>"""
PAGE_FACTS = f"""
<p>Revenue <ix:nonFraction id="r" name="i:Revenue" contextRef="year" {MONEY} scale="3"
 format="t:num-dot-decimal">1,2<b>50</b><ix:exclude> page 7 </ix:exclude></ix:nonFraction></p>
<ix:nonFraction name="i:Revenue" contextRef="mines" {MONEY} scale="3">50</ix:nonFraction>
<ix:nonFraction name="i:Assets" contextRef="end" {MONEY} scale="6"
 format="t:num-comma-decimal">9,000</ix:nonFraction>
(<ix:nonFraction name="i:ProfitLoss" contextRef="year" {MONEY} scale="3"
 sign="-">75</ix:nonFraction>)
<ix:nonFraction name="i:BasicEarningsLossPerShare" contextRef="year" unitRef="each" decimals="2"
 sign="-" format="t:num-dot-decimal">0.75</ix:nonFraction>
<ix:nonNumeric name="own:Notes" contextRef="year">Text of no figure</ix:nonNumeric>"""


def instance(facts: str = FACTS, resources: str = RESOURCES) -> bytes:
    return f'<?xml version="1.0"?><xbrli:xbrl {SPACES}>{resources}{facts}</xbrli:xbrl>'.encode()


def page(facts: str = PAGE_FACTS, resources: str = RESOURCES, head: str = "") -> bytes:
    header = f"<ix:header><ix:resources>{resources}</ix:resources></ix:header>"
    body = f"<body><div>{header}</div>{facts}</body>"
    return f'{head}<html xmlns="http://www.w3.org/1999/xhtml" {SPACES}>{body}</html>'.encode()


def xbrl_json() -> bytes:
    namespaces = {
        "ifrs-full": "http://xbrl.ifrs.org/taxonomy/2023-03-23/ifrs-full",
        "scheme": "http://standards.iso.org/iso/17442",
    }
    year, end = "2023-01-01T00:00:00/2024-01-01T00:00:00", "2024-01-01T00:00:00"
    facts = {
        str(number): {
            "value": value,
            "decimals": decimals,
            "dimensions": {
                "concept": f"ifrs-full:{name}",
                "entity": f"scheme:{LEI}",
                "period": period,
                "unit": unit,
            },
        }
        for number, (name, value, decimals, period, unit) in enumerate(
            [
                ("Revenue", "1250000", -3, year, "iso4217:UAH"),
                ("Assets", "9000000", -3, end, "iso4217:UAH"),
                ("ProfitLoss", "-75000", -3, year, "iso4217:UAH"),
                ("BasicEarningsLossPerShare", "-0.75", 2, year, "iso4217:UAH/xbrli:shares"),
            ]
        )
    }
    info = {"documentType": "https://xbrl.org/2021/xbrl-json", "namespaces": namespaces}
    return json.dumps({"documentInfo": info, "facts": facts}).encode()


def figures(parsed: Parsed) -> list[dict[str, Any]]:
    return [{**row, "source_ref": None} for row in parsed.rows["fundamentals"]]


def reasons(body: bytes) -> list[str]:
    return [each.reason for each in parse(DOCUMENT, body).rejected.get("fundamentals", [])]


def zipped(name: str, body: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(name, body)
        archive.writestr("report/META-INF/reportPackage.json", "{}")
        archive.writestr("report/taxonomy.xml", "<linkbase/>")
    return target.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        instance(),
        page(),
        page(head='<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://x.example/">'),
        zipped("report/reports/a.xbrl", instance()),
        gzip.compress(instance()),
    ],
    ids=["instance", "page", "page with a document type", "zip", "gzip"],
)
def test_every_form_of_a_report_gives_the_same_figures(body: bytes) -> None:
    parsed = parse(DOCUMENT, body)

    assert figures(parsed) == figures(parse(DOCUMENT, xbrl_json()))
    assert len(figures(parsed)) > 3
    assert parsed.rejected == {}


def test_a_figure_of_a_report_names_it_by_its_number_and_its_address() -> None:
    for row in parse(DOCUMENT, instance()).rows["fundamentals"]:
        named = row["document_id"], row["document_url"]
        assert named == (PUBLISHED["x-fxo-id"], DOCUMENT.url)


def test_a_fact_is_located_by_its_id_or_its_place() -> None:
    refs = [
        row["source_ref"].partition("#")[2]
        for row in parse(DOCUMENT, instance()).rows["fundamentals"]
    ]

    assert refs[0] == "r"
    assert all(ref.startswith("fact ") for ref in refs[1:])


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        (f'<i:Assets contextRef="none" {MONEY}>1</i:Assets>', "context 'none' is not in"),
        (f'<i:Assets contextRef="timeless" {MONEY}>1</i:Assets>', "without a period"),
        ('<i:Assets contextRef="end" unitRef="x" decimals="0">1</i:Assets>', "unit 'x' is not in"),
        ('<i:Assets contextRef="end" unitRef="hryvnia">1</i:Assets>', "neither decimals nor"),
        ('<i:Assets contextRef="end" unitRef="hryvnia" decimals="a">1</i:Assets>', "decimals: 'a'"),
        (f'<i:Assets contextRef="end" {MONEY} xsi:nil="true"/>', "no value given"),
        (f'<i:Assets contextRef="end" {MONEY}>n/a</i:Assets>', "is not a number"),
        (f"<own:Both>{FACTS}</own:Both>", "a tuple"),
        ('<i:Assets contextRef="end"><xbrli:numerator/></i:Assets>', "a fraction"),
        ("<l:footnoteLink><l:footnote/></l:footnoteLink>", "footnotes: 1 not read"),
    ],
)
def test_what_is_no_fact_of_an_instance_is_rejected_with_the_reason(fact: str, reason: str) -> None:
    (found,) = reasons(instance(FACTS + fact))

    assert reason in found
    assert figures(parse(DOCUMENT, instance(FACTS + fact))) == figures(parse(DOCUMENT, instance()))


@pytest.mark.parametrize(
    ("attributes", "text", "reason"),
    [
        ('format="t:num-words-en"', "two", "the format 'num-words-en'"),
        ('format="own:num-dot-decimal"', "2", "the format 'num-dot-decimal' of"),
        ('format="nowhere:num-dot-decimal"', "2", "a prefix that is not declared"),
        ('format="t:num-dot-decimal"', "1.2.3", "is no number of the format"),
        ('scale="x"', "2", "scale: 'x'"),
        ('sign="+"', "2", "sign: '+'"),
        ("", "-2", "a sign of its own"),
        ('target="other"', "2", "another report"),
    ],
)
def test_a_number_of_a_page_that_is_not_understood_is_rejected_with_the_reason(
    attributes: str, text: str, reason: str
) -> None:
    tag = f'<ix:nonFraction name="i:Equity" contextRef="end" {MONEY} {attributes}>'
    (found,) = reasons(page(f"{PAGE_FACTS}{tag}{text}</ix:nonFraction>"))

    assert reason in found


@pytest.mark.parametrize(
    ("text", "name", "number"),
    [
        ("1,234.5", "num-dot-decimal", "1234.5"),
        ("1 234", "numdotdecimal", "1234"),
        ("1.234,5", "num-comma-decimal", "1234.5"),
        ("1\u00a0234,5", "numcommadecimal", "1234.5"),
        ("1.234,5", "numdotcomma", "1234.5"),
        ("1,234.5", "numcommadot", "1234.5"),
        ("1 234,5", "numspacecomma", "1234.5"),
        ("–", "zerodash", "0"),
        ("nil", "fixed-zero", "0"),
    ],
)
def test_the_registered_number_formats_are_read(text: str, name: str, number: str) -> None:
    registry = "http://www.xbrl.org/inlineXBRL/transformation/2015-02-26"
    assert plain_number(text, registry, name) == number


def test_precision_is_turned_into_decimals() -> None:
    fact = '<i:Assets contextRef="end" unitRef="hryvnia" precision="{}">1234567</i:Assets>'
    report = read_report(instance(fact.format(3)))
    assert report is not None
    assert [each["decimals"] for each in report.facts.values()] == [-4]
    assert "says nothing" in reasons(instance(fact.format(0)))[0]


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (LAUGHS.encode() + instance().partition(b"?>")[2], "declarations of its own"),
        (b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><x>&secret;</x>', "'secret' is not declared"),
        (b'<!DOCTYPE x [<!ENTITY e SYSTEM "http://x.example/">]><x>&e;</x>', "declarations of"),
        (b"<a>" * 100_000, "elements within elements"),
        (b"<a><b></a>", "not XML"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "not XML"),
        (b"<linkbase/>", "holds no report"),
        (page("<p>no facts</p>"), "a page without facts"),
        (page(resources=""), "6 facts of a report whose contexts are in another"),
        (instance(resources=""), "an instance without contexts: 6 facts"),
        (b"PK\x03\x04 damaged", "damaged"),
        (b"", "empty"),
    ],
)
def test_a_hostile_or_damaged_body_is_one_rejection(body: bytes, reason: str) -> None:
    (found,) = reasons(body)

    assert reason in found


@given(st.binary(), st.sampled_from([b"", b"<", b"<xbrl", instance()[:900], page()[:700]]))
def test_any_bytes_are_rejected_or_read(body: bytes, head: bytes) -> None:
    assert reasons(head + body)


def counted_facts(body: bytes) -> int:
    """Count the facts of a real report in another way."""
    count = 0
    root = ElementTree.fromstring(body)
    if root.tag == f"{{{XBRLI}}}xbrl":
        return sum(not child.tag.startswith((f"{{{XBRLI}}}", f"{{{LINK}}}")) for child in root)
    for element in root.iter():
        namespace, _, local = str(element.tag).lstrip("{").partition("}")
        count += namespace in NAMESPACES and local in ("nonFraction", "nonNumeric")
    return count


def real_reports() -> list[Path]:
    folders = ("filings_macro/filings/xbrl-mx", "filings_macro/filings/ixbrl", "more/xbrl/in_brsr")
    return [path for folder in folders for path in sorted((REAL / folder).glob("*"))]


def unpacked(path: Path) -> bytes:
    body = path.read_bytes()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.read(archive.namelist()[0])
    return gzip.decompress(body) if path.suffix == ".gz" else body


@pytest.mark.nightly
@pytest.mark.shared
def test_every_fact_of_real_reports_is_read_or_has_a_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert real_reports()
    for path in real_reports():
        body = unpacked(path)
        facts = counted_facts(body)
        try:
            report = read_report(body)
        except ValueError as error:
            # A page of a report of several pages.
            assert f"{facts} facts of a report whose contexts" in str(error)
            continue
        assert report is not None
        assert len(report.facts) + len(report.problems) == facts > 1000
        parsed = parse(DOCUMENT, path.read_bytes())
        assert all(each.partial for each in parsed.rejected.get("fundamentals", []))
        with capsys.disabled():
            rows = len(parsed.rows["fundamentals"])
            print(f"\n{path.name}: {facts} facts, {rows} figures", end="")


@pytest.mark.shared
def test_the_figures_of_a_real_instance_are_those_of_its_text() -> None:
    path = REAL / "filings_macro/filings/xbrl-mx/ifrsxbrl_WALMEX_2017-1.xbrl"
    rows = parse(DOCUMENT, path.read_bytes()).rows["fundamentals"]

    root = ElementTree.fromstring(path.read_bytes())
    elements = {element.get("id"): element for element in root.iter() if element.get("contextRef")}
    for row in rows:
        element = elements[row["source_ref"].partition("#")[2]]
        assert str(element.tag).rpartition("}")[2] == row["element"].rpartition(":")[2]
        assert float(element.text or "") == float(row["value_reported"])
        assert row["unit"].startswith("MXN") or row["unit"] == "shares"
