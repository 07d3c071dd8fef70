import io
import json
import re
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stdnum import isin as isins
from stdnum.iso7064 import mod_97_10

from assets.entities import gleif, mappings, openfigi
from assets.entities.identifiers import is_isin, is_lei, mint
from assets.entities.mappings import are_isins, are_leis
from assets.ingest.load import load_source
from assets.ingest.sources import SOURCES
from assets.parsing.parsed import Parsed, join_parts
from tests.helpers.gleif import LEI, OTHER, cdf, document, read
from tests.helpers.parsed_rows import has_columns, untyped
from tests.helpers.paths import REAL
from tests.helpers.real_recordings import real_recordings
from warehouse.record.incoming import to_arrow
from warehouse.record.landing import Document, FetchedResponse, Landing
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES, IDENTIFIERS

# What identifiers are made of, and what they are not.
UNITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZaz -é"


def isin_mapping(document: Document, body: bytes) -> Parsed:
    return untyped(mappings.parse(document, body, mapping=mappings.ISINS))


def opencorporates_mapping(document: Document, body: bytes) -> Parsed:
    return untyped(mappings.parse(document, body, mapping=mappings.OPENCORPORATES))


def unwrapped(value: Any) -> Any:
    """Return a record in the other JSON form: scalars without their wrapper."""
    if isinstance(value, dict):
        return (
            value["$"]
            if "$" in value
            else {name: unwrapped(member) for name, member in value.items()}
        )
    return [unwrapped(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("root", [{"records": [cdf()]}, [unwrapped(cdf())]])
def test_an_lei_record_is_an_entity_and_its_identifiers(root: Any) -> None:
    parsed = read(root)

    (row,) = parsed.rows["entities"]
    assert row["service_id"] == mint("lei", LEI)
    assert (row["legal_name"], row["other_names"]) == ("Ubuntu Fictional Mining Ltd", '["UFM"]')
    assert (row["entity_type"], row["status"], row["lei_status"]) == ("company", "ACTIVE", "LAPSED")
    assert row["available_at"] == date(2024, 5, 3)
    assert row["publication"] == "2024-05-03T22:30:00.000+00:00"
    identifiers = [
        (row["id_type"], row["id_value"], row["issuer"]) for row in parsed.rows["identifiers"]
    ]
    assert identifiers == [("lei", LEI, None), ("registry", "2001/123456/06", "RA000604")]


def test_an_api_response_is_read_like_a_file() -> None:
    attributes = {
        "lei": LEI,
        "entity": {
            "legalName": {"name": "Ubuntu Fictional Mining Ltd"},
            "legalAddress": {"country": "ZA"},
            "registeredAt": {"id": "RA999999"},
            "registeredAs": "none",
            "category": "RESIDENT_GOVERNMENT_ENTITY",
            "status": "ACTIVE",
        },
        "registration": {"status": "ISSUED", "lastUpdateDate": "2025-05-06T15:51:56Z"},
        "ocid": "za/2001123456",
    }
    parsed = read({"data": {"type": "lei-records", "id": LEI, "attributes": attributes}})

    (row,) = parsed.rows["entities"]
    assert (row["entity_type"], row["country"]) == ("state_body", "ZA")
    identifiers = [(row["id_type"], row["id_value"]) for row in parsed.rows["identifiers"]]
    assert identifiers == [("lei", LEI), ("aggregator", "za/2001123456")]


def test_a_natural_person_with_an_lei_is_rejected_without_its_name() -> None:
    parsed = read({"records": [cdf(EntityCategory={"$": "SOLE_PROPRIETOR"})]})

    (rejected,) = parsed.rejected["entities"]
    assert rejected.reason == "natural person"
    assert rejected.source_ref.endswith("#/records/0")
    (row,) = parsed.rows["entities"]
    assert row["withdrawn"]
    assert {row[name] for name in ENTITIES.content} == {None}
    assert "Ubuntu" not in str(parsed)


def test_an_lei_without_a_category_needs_other_evidence() -> None:
    parsed = read(
        [cdf(EntityCategory=None, LegalName={"$": "Jane Fictional"}), cdf(EntityCategory=None)]
    )

    assert len(parsed.rows["entities"]) == 1
    assert "Jane" not in parsed.rejected["entities"][0].reason


def test_wrong_check_digits_are_rejected() -> None:
    wrong = LEI[:-1] + str((int(LEI[-1]) + 1) % 10)

    (rejected,) = read([cdf() | {"LEI": wrong}]).rejected["entities"]
    assert rejected.reason == f"'{wrong}' is no LEI: its check digits are wrong"


@pytest.mark.parametrize("text", [LEI.lower(), f"{LEI[:4]}-{LEI[4:]}", f"{LEI[:19]} {LEI[19:]}"])
def test_an_lei_in_another_spelling_is_rejected(text: str) -> None:
    assert "entities" not in read([cdf() | {"LEI": text}]).rows


def test_a_duplicate_points_to_its_successor() -> None:
    record = cdf(SuccessorEntity={"SuccessorLEI": {"$": OTHER}})
    record["Registration"]["RegistrationStatus"] = {"$": "DUPLICATE"}

    (row,) = read([record]).rows["entities"]
    assert row["same_as"] == mint("lei", OTHER)


@pytest.mark.parametrize("body", [b"", b"<html/>", b"[]", b'{"data": null}', b'{"records": ['])
def test_a_body_without_lei_records_is_one_rejection(body: bytes) -> None:
    parsed = gleif.parse(document(), body)

    assert len(parsed.rejected["entities"]) == 1
    assert parsed.rows == {}


def as_xml(records: list[dict[str, Any]]) -> bytes:
    def element(name: str, value: Any) -> str:
        if isinstance(value, list):
            return "".join(element(name, item) for item in value)
        inner = (
            "".join(element(tag, member) for tag, member in value.items())
            if isinstance(value, dict)
            else escape(value or "")
        )
        return f"<lei:{name}>{inner}</lei:{name}>"

    body = "".join(element("LEIRecord", unwrapped(record)) for record in records)
    namespace = "http://www.gleif.org/data/schema/leidata/2016"
    text = f"<lei:LEIRecords>{body}</lei:LEIRecords>"
    return f'<lei:LEIData xmlns:lei="{namespace}">{text}</lei:LEIData>'.encode()


def as_json(records: list[dict[str, Any]]) -> bytes:
    return json.dumps({"records": records}).encode()


def zipped(body: bytes, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        archive.writestr("lei2-golden-copy", body)
    return target.getvalue()


def without_source_ref(parsed: Parsed) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [{**row, "source_ref": None} for row in rows] for name, rows in parsed.rows.items()
    }


def streamed(body: bytes) -> list[Parsed]:
    return list(gleif.stream(document(), io.BytesIO(body)))


SUCCEEDED = cdf(SuccessorEntity={"SuccessorLEI": {"$": OTHER}})
RECORDS = [cdf(), cdf(LegalName={"$": 'Société "Fictive" & Cie S.A.'}), SUCCEEDED]


@pytest.mark.parametrize("encode", [as_json, as_xml])
@pytest.mark.parametrize("compress", [bytes, zipped])
def test_every_format_of_the_golden_copy_gives_the_same_rows(
    encode: Callable[[list[dict[str, Any]]], bytes], compress: Callable[[bytes], bytes]
) -> None:
    body = compress(encode(RECORDS))

    expected = without_source_ref(read({"records": RECORDS}))
    assert without_source_ref(gleif.parse(document(), body)) == expected
    assert without_source_ref(join_parts(streamed(body))) == expected


_API_RECORD = {
    "type": "lei-records",
    "attributes": {
        "lei": LEI,
        "entity": {
            "legalName": {"name": "Ubuntu  Fictional\u00a0Mining Ltd"},
            "otherNames": [
                {"name": "Fictional Shafts Ltd", "type": "PREVIOUS_LEGAL_NAME"},
                {"name": "UFM", "type": "TRADING_OR_OPERATING_NAME"},
                {"name": "Mine Fictive SA", "type": "ALTERNATIVE_LANGUAGE_LEGAL_NAME"},
            ],
            "headquartersAddress": {"country": "MU"},
            "legalForm": {"id": "XH8C"},
            "category": "GENERAL",
        },
    },
}
_CDF_NAMES = (
    '<OtherEntityName type="PREVIOUS_LEGAL_NAME">Fictional Shafts Ltd</OtherEntityName>'
    '<OtherEntityName type="TRADING_OR_OPERATING_NAME">UFM</OtherEntityName>'
    '<OtherEntityName type="ALTERNATIVE_LANGUAGE_LEGAL_NAME">Mine Fictive SA</OtherEntityName>'
)
_CDF_XML = (
    f"<LEIData><LEIRecords><LEIRecord><LEI>{LEI}</LEI><Entity>"
    "<LegalName>Ubuntu Fictional\n Mining Ltd</LegalName>"
    f"<OtherEntityNames>{_CDF_NAMES}</OtherEntityNames>"
    "<HeadquartersAddress><Country>MU</Country></HeadquartersAddress>"
    "<LegalForm><EntityLegalFormCode>XH8C</EntityLegalFormCode></LegalForm>"
    "<EntityCategory>GENERAL</EntityCategory></Entity></LEIRecord></LEIRecords></LEIData>"
)
_WRAPPED = cdf(
    OtherEntityNames={
        "OtherEntityName": [
            {"@type": "PREVIOUS_LEGAL_NAME", "$": "Fictional Shafts Ltd"},
            {"@type": "TRADING_OR_OPERATING_NAME", "$": "UFM"},
            {"@type": "ALTERNATIVE_LANGUAGE_LEGAL_NAME", "$": "Mine Fictive SA"},
        ]
    },
    HeadquartersAddress={"Country": {"$": "MU"}},
    LegalForm={"EntityLegalFormCode": {"$": "XH8C"}},
)


@pytest.mark.parametrize(
    "body",
    [json.dumps({"data": _API_RECORD}), json.dumps([_WRAPPED]), _CDF_XML],
    ids=["api", "golden copy", "xml"],
)
def test_former_and_trading_names_are_told_apart_by_their_type(body: str) -> None:
    (row,) = gleif.parse(document(), body.encode()).rows["entities"]

    assert row["legal_name"] == "Ubuntu Fictional Mining Ltd"
    assert json.loads(row["other_names"]) == ["Fictional Shafts Ltd", "UFM", "Mine Fictive SA"]
    assert row["former_names"] == '["Fictional Shafts Ltd"]'
    assert row["trading_names"] == '["UFM"]'
    assert (row["headquarters_country"], row["legal_form"]) == ("MU", "XH8C")


@pytest.mark.parametrize("code", ["8888", "9999"])
def test_a_code_for_no_legal_form_is_none(code: str) -> None:
    parsed = read([cdf(LegalForm={"EntityLegalFormCode": {"$": code}})])

    assert parsed.rows["entities"][0]["legal_form"] is None


@pytest.mark.slow
def test_a_long_copy_is_parsed_in_parts_with_the_locations_of_a_short_one() -> None:
    records = [cdf()] * (gleif.RECORDS_PER_PART + 1)

    first, second = streamed(as_json(records))
    assert len(first.rows["entities"]) == gleif.RECORDS_PER_PART
    (row,) = second.rows["entities"]
    assert row["source_ref"].endswith(f"#/records/{gleif.RECORDS_PER_PART}")


@pytest.mark.parametrize("encode", [as_json, as_xml])
def test_records_before_a_broken_tail_are_read(
    encode: Callable[[list[dict[str, Any]]], bytes],
) -> None:
    body = encode(RECORDS)[:-60]

    for parsed in (join_parts(streamed(body)), gleif.parse(document(), body)):
        assert len(parsed.rows["entities"]) == 2
        assert len(parsed.rejected["entities"]) == 1


def test_a_document_type_is_refused_before_its_entities_are_expanded() -> None:
    bomb = b'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'

    parsed = gleif.parse(document(), b"<?xml version='1.0'?>" + bomb + as_xml([cdf()]))
    assert parsed.rows == {}
    (rejected,) = parsed.rejected["entities"]
    assert rejected.reason == "a document type is declared: refused"


@pytest.mark.slow
def test_memory_stays_flat_however_long_the_copy_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gleif, "RECORDS_PER_PART", 100)

    def peak(count: int) -> int:
        body = io.BytesIO(as_json([cdf()] * count))
        tracemalloc.start()
        for _ in gleif.stream(document(), body):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak(1_000) < 1.2 * peak(500)


def test_isins_of_an_lei_are_identifiers() -> None:
    data = [{"type": "isins", "attributes": {"lei": LEI, "isin": "US0378331005"}}]

    (row,) = read({"data": data}).rows["identifiers"]
    assert (row["id_type"], row["id_value"]) == ("isin", "US0378331005")
    assert row["service_id"] == mint("lei", LEI)


def test_identifiers_of_mapping_files_are_available_from_the_day_they_were_read() -> None:
    body = (
        f"\ufeffLEI,ISIN\r\n{LEI},US0378331005\r\n{LEI},US0378331006\r\nX,US0378331005\r\n{LEI}\r\n"
    )

    parsed = isin_mapping(document(), body.encode())
    (row,) = parsed.rows["identifiers"]
    assert (row["available_at"], row["publication"]) == (date(2026, 11, 14), document().source)
    assert [row.source_ref.partition("#")[2] for row in parsed.rejected["identifiers"]] == [
        "line 3",
        "line 4",
        "line 5",
    ]


@pytest.mark.parametrize(
    ("read_mapping", "header", "value"),
    [
        (isin_mapping, "LEI,ISIN", "US0378331005"),
        (opencorporates_mapping, "LEI,OpenCorporatesID", "us_de/4386463"),
    ],
)
def test_the_published_header_of_mapping_files_is_read(
    read_mapping: Callable[[Document, bytes], Parsed], header: str, value: str
) -> None:
    (row,) = read_mapping(document(), f"{header}\n{LEI},{value}\n".encode()).rows["identifiers"]

    assert (row["service_id"], row["id_value"]) == (mint("lei", LEI), value)


def test_a_zipped_mapping_has_the_rows_of_a_plain_one() -> None:
    body = f"LEI,ISIN\n{LEI},US0378331005\n{LEI},US0378331006\n".encode()

    bare_rows, zipped_rows = isin_mapping(document(), body), isin_mapping(document(), zipped(body))
    assert without_source_ref(zipped_rows) == without_source_ref(bare_rows)
    assert zipped_rows.rejected["identifiers"][0].source_ref.endswith("lei2-golden-copy#line 3")


def test_a_mapping_is_one_publication_that_is_read_every_day() -> None:
    body = f"LEI,ISIN\n{LEI},US0378331005\n".encode()
    next_day = replace(document(), observed_at=document().observed_at + timedelta(days=1))

    (first,), (second,) = (
        isin_mapping(each, body).rows["identifiers"] for each in (document(), next_day)
    )
    assert first["publication"] == second["publication"]
    assert first["available_at"] < second["available_at"]


def test_the_file_of_the_next_day_appends_only_the_pairs_that_are_new(tmp_path: Path) -> None:
    (source,) = (each for each in SOURCES if each.key == "isin-lei")
    landing, record = Landing(str(tmp_path / "landing")), Record(str(tmp_path / "record"))
    counts = []
    for day, isins_of_day in enumerate((["US0378331005"], ["US0378331005", "US4592001014"]), 12):
        body = "LEI,ISIN\n" + "".join(f"{LEI},{isin}\n" for isin in isins_of_day)
        read_at = datetime(2026, 11, day, tzinfo=UTC)
        url = "https://mapping.gleif.org/api/v2/isin-lei/latest/download"
        landing.land(FetchedResponse(source.key, url, body.encode(), "cc0", read_at))
        (entry,) = load_source(record, landing, source)
        counts.append((entry.read, entry.appended, entry.held))

    assert counts == [(1, 1, 0), (2, 1, 1)]


@pytest.mark.parametrize("pair", [f" {LEI.lower()} ,us0378331005 ", f'"{LEI}","US0378331005"'])
def test_a_pair_that_is_written_in_another_way_is_read_like_any_other(pair: str) -> None:
    body = f"LEI,ISIN\n{LEI},US0378331005\n{pair}\n".encode()

    rows = isin_mapping(document(), body).rows["identifiers"]
    assert len(rows) == 2
    assert {(row["service_id"], row["id_value"]) for row in rows} == {
        (mint("lei", LEI), "US0378331005")
    }


@pytest.mark.slow
def test_the_rows_before_the_damage_of_a_zipped_mapping_are_read() -> None:
    pairs = f"{LEI},US0378331005\n" * 100_000
    damaged = bytearray(zipped(f"LEI,ISIN\n{pairs}".encode(), zipfile.ZIP_STORED))
    damaged[-1_000] ^= 1

    parsed = isin_mapping(document(), bytes(damaged))
    assert "damaged from here on" in parsed.rejected["identifiers"][-1].reason
    assert len(parsed.rows["identifiers"]) > 90_000


@given(
    st.text(UNITS[:36], min_size=18, max_size=18),
    st.sampled_from(["US", "ZA", "XS", "ZZ", "QQ", "00"]),
    st.integers(0, 19),
    st.sampled_from(["", *UNITS]),
)
def test_leis_and_isins_are_valid_together_if_they_are_one_by_one(
    body: str, prefix: str, place: int, changed: str
) -> None:
    lei = body + mod_97_10.calc_check_digits(body)
    isin = prefix + body[:9] + isins.calc_check_digit(prefix + body[:9])
    for valid, are_valid, is_valid in ((lei, are_leis, is_lei), (isin, are_isins, is_isin)):
        texts = [valid, valid[:place] + changed + valid[place + 1 :], None, valid]
        expected = [each is not None and is_valid(each) for each in texts]
        assert are_valid(pa.array(texts)).tolist() == expected


def test_an_opencorporates_id_is_an_aggregators() -> None:
    body = f"LEI,OpenCorporatesID\n{LEI},za/2001123456\n{LEI},nothing\n"

    parsed = opencorporates_mapping(document(), body.encode())
    (row,) = parsed.rows["identifiers"]
    assert (row["id_type"], row["id_value"]) == ("aggregator", "za/2001123456")
    assert len(parsed.rejected["identifiers"]) == 1


def parse_figi_response(answers: Any, **headers: str) -> Parsed:
    header_values = {name.replace("_", "-"): value for name, value in headers.items()}
    return openfigi.parse(replace(document(), headers=header_values), json.dumps(answers).encode())


FIGIS = {"figi": "BBG000BLNNH6", "compositeFIGI": "BBG000BLNNH6", "shareClassFIGI": "BBG001S5S399"}


def jobs(*isins: str) -> str:
    return json.dumps([{"idType": "ID_ISIN", "idValue": isin} for isin in isins])


@pytest.mark.parametrize(
    "headers", [{"X_Jobs": jobs("us4592001014")}, {"x_jobs": jobs("US4592001014")}]
)
def test_the_figis_of_an_isin_are_identifiers_of_its_issuer(headers: dict[str, str]) -> None:
    parsed = parse_figi_response([{"data": [FIGIS, FIGIS]}], **headers)

    identifiers = [(row["id_type"], row["id_value"]) for row in parsed.rows["identifiers"]]
    assert identifiers == [
        ("isin", "US4592001014"),
        ("figi", "BBG000BLNNH6"),
        ("figi", "BBG001S5S399"),
    ]
    assert {row["service_id"] for row in parsed.rows["identifiers"]} == {
        mint("isin", "US4592001014")
    }


def test_an_isin_unknown_to_openfigi_is_rejected_with_its_message() -> None:
    answers = [{"warning": "No identifier found."}, {"error": "Invalid idValue format."}]

    parsed = parse_figi_response(answers, x_jobs=jobs("US4592001014", "US0378331005"))
    assert [row.reason for row in parsed.rejected["identifiers"]] == [
        "US4592001014: OpenFIGI: No identifier found.",
        "US0378331005: OpenFIGI: Invalid idValue format.",
    ]


@pytest.mark.parametrize(
    ("job", "issuer", "expected"),
    [
        (
            {"idType": "TICKER", "idValue": "gfi", "micCode": "XJSE", "currency": "ZAR"},
            mint("ticker", "XJSE:GFI"),
            ("ticker", "XJSE:GFI", "XJSE", None, "ZAR"),
        ),
        (
            {"idType": "TICKER", "idValue": "GFI", "exchCode": "SJ"},
            mint("ticker", "XJSE:GFI"),
            ("ticker", "XJSE:GFI", "XJSE", None, None),
        ),
        (
            {"idType": "COMPOSITE_ID_BB_GLOBAL", "idValue": "BBG000BLNNH6"},
            mint("figi", "BBG000BLNNH6"),
            ("figi", "BBG000BLNNH6", None, "composite", None),
        ),
        (
            {"idType": "ID_CUSIP", "idValue": "459200101"},
            mint("cusip", "459200101"),
            ("figi", "BBG000BLNNH6", None, "composite", None),
        ),
    ],
)
def test_an_answer_is_about_what_was_requested_whatever_its_type(
    job: dict[str, str], issuer: str, expected: tuple[str | None, ...]
) -> None:
    parsed = parse_figi_response([{"data": [FIGIS]}], x_jobs=json.dumps([job]))

    columns = ("id_type", "id_value", "issuer", "figi_level", "currency")
    rows = parsed.rows["identifiers"]
    assert {row["service_id"] for row in rows} == {issuer}
    assert tuple(rows[0].get(name) for name in columns) == expected
    levels = {row["id_value"]: row["figi_level"] for row in rows if row["id_type"] == "figi"}
    assert levels == {"BBG000BLNNH6": "composite", "BBG001S5S399": "share_class"}
    assert_rows_fit(parsed)


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ({"idType": "TICKER", "idValue": "GFI"}, "requested the ticker 'GFI' without a market"),
        (
            {"idType": "TICKER", "idValue": "IBM", "exchCode": "US"},
            "requested the ticker 'IBM' without a market",
        ),
        ({"idType": "BASE_TICKER", "idValue": "IBM"}, "requested 'BASE_TICKER', which identifies"),
        ({"idType": "ID_BB_GLOBAL", "idValue": "BBG"}, "requested 'BBG', which is no FIGI"),
        ("ID_ISIN", "requested 'None', which identifies no security"),
    ],
)
def test_what_identifies_no_security_is_rejected(job: Any, reason: str) -> None:
    parsed = parse_figi_response([{"data": [FIGIS]}], x_jobs=json.dumps([job]))

    assert "identifiers" not in parsed.rows
    assert parsed.rejected["identifiers"][0].reason.startswith(reason)


@pytest.mark.parametrize("headers", [{}, {"x_jobs": jobs("US4592001014", "US0378331005")}])
def test_a_response_to_an_unknown_request_is_rejected(headers: dict[str, str]) -> None:
    parsed = parse_figi_response([{"data": [FIGIS]}], **headers)

    assert parsed.rows == {}
    assert len(parsed.rejected["identifiers"]) == 1


PARSERS = [gleif.parse, isin_mapping, opencorporates_mapping, openfigi.parse]
HEADERS = st.sampled_from([b"", b"LEI,ISIN\n", b'{"data":'])


@settings(deadline=None)
@example(isin_mapping, b"LEI,ISIN\n", b",")
@example(isin_mapping, b"LEI,ISIN\n", b"\x80,")
@given(st.sampled_from(PARSERS), HEADERS, st.binary())
def test_any_bytes_are_rows_or_rejections(
    parse: Callable[[Document, bytes], Parsed], header: bytes, body: bytes
) -> None:
    assert_rows_fit(parse(document(), header + body))


def assert_rows_fit(parsed: Parsed) -> None:
    for table in (ENTITIES, IDENTIFIERS):
        rows = parsed.rows.get(table.name, [])
        assert all(has_columns(row, table) for row in rows)
        assert to_arrow(table, rows)[1] == []
    assert sum(map(len, parsed.rows.values())) + sum(map(len, parsed.rejected.values())) > 0


FORMATS = [
    ("gleif", "*", gleif.parse),
    ("gleif", "*", lambda document, body: join_parts(gleif.stream(document, io.BytesIO(body)))),
    ("gleif/matching", "*.csv", isin_mapping),
    ("opencorporates", "*", opencorporates_mapping),
    ("figi", "*", openfigi.parse),
    ("org_id", "*.json", gleif.parse),
]


@pytest.mark.shared
@pytest.mark.parametrize(("folder", "pattern", "parse"), FORMATS)
def test_every_real_file_is_rows_and_rejections(
    folder: str,
    pattern: str,
    parse: Callable[[Document, bytes], Parsed],
    capsys: pytest.CaptureFixture[str],
) -> None:
    total: Counter[str] = Counter()
    for path in sorted((REAL / folder).rglob(pattern)):
        if not path.is_file():
            continue
        headers = {"x-jobs": jobs("US4592001014")} if "mapping" in path.parts else {}
        parsed = parse(replace(document(), headers=headers), path.read_bytes())
        assert_rows_fit(parsed)
        total["files"] += 1
        total.update({name: len(rows) for name, rows in parsed.rows.items()})
        total["rejected"] += sum(map(len, parsed.rejected.values()))
    with capsys.disabled():
        print(f"\n{folder}: {dict(total)}")


# What may be refused in real files of LEI records and answers of OpenFIGI, and nothing else.
_EXPLAINED = re.compile(
    "natural person"
    # An LEI without ISINs, or without children, has an answer without records.
    "|holds no LEI record"
    "|an other name is left out, since it may be a person's: .*"
    "|no category, and nothing else that shows an organisation"
    "|US4592001014: OpenFIGI: Invalid idValue format."
)


@pytest.mark.shared
def test_every_rejection_in_real_identity_files_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parsers = {"gleif": gleif.parse, "gleif-api": gleif.parse, "openfigi": openfigi.parse}
    counts: dict[str, Counter[str]] = {source: Counter() for source in parsers}
    for recording in real_recordings():
        if recording.source not in parsers:
            continue
        about = replace(document(), headers=recording.headers)
        parsed = parsers[recording.source](about, recording.path.read_bytes())
        assert_rows_fit(parsed)
        reasons = [row.reason for rows in parsed.rejected.values() for row in rows]
        assert [each for each in reasons if not _EXPLAINED.fullmatch(each)] == []
        count = counts[recording.source]
        count.update({"files": 1, "refused": len(reasons)})
        count["entities"] += len(parsed.rows.get("entities", ()))
        count.update(row["id_type"] for row in parsed.rows.get("identifiers", ()))
    with capsys.disabled():
        print("", *(f"{source}: {dict(count)}" for source, count in counts.items()), sep="\n")
    assert counts["gleif"]["files"] > 2 and counts["openfigi"]["files"] > 3


@pytest.mark.shared
def test_the_same_real_records_are_the_same_rows_as_json_and_as_xml() -> None:
    folder = REAL / "gleif" / "cdf_files"

    parsed_rows = [
        without_source_ref(gleif.parse(document(), (folder / name).read_bytes()))
        for name in ("lei-data.json", "lei-data.xml")
    ]
    assert parsed_rows[0] == parsed_rows[1]
    assert len(parsed_rows[0]["entities"]) > 1


@pytest.mark.shared
def test_natural_persons_in_the_golden_copy_are_rejected() -> None:
    body = (REAL / "gleif" / "goldencopy_lei2_20240505_first320.json").read_bytes()

    parsed = gleif.parse(document(), body)
    people = [row for row in parsed.rejected["entities"] if row.reason == "natural person"]
    organisations = [row for row in parsed.rows["entities"] if not row["withdrawn"]]
    assert (len(organisations), len(people)) == (295, 25)
    assert "Allan Chang" not in str(parsed)
