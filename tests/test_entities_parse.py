import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stdnum import lei as leis

from assets.entities import gleif
from assets.entities.ids import mint
from assets.entities.mappings import isin_mapping, listings, opencorporates_mapping
from assets.parsed import Parsed
from tests.conftest import REAL
from warehouse.landing import Document
from warehouse.record.rows import to_arrow
from warehouse.record.tables import ENTITIES, IDENTIFIERS


def document() -> Document:
    observed = datetime(2026, 11, 14, 2, tzinfo=UTC)
    return Document("0" * 64, "gleif", "https://example.org/f", "cc0", observed, 200, {}, 0)


def checked(stem: str) -> str:
    """Give an LEI of a fictional stem with its check digits."""
    return next(f"{stem}{n:02}" for n in range(100) if leis.is_valid(f"{stem}{n:02}"))


LEI, OTHER = checked("213800FICTIONAL001"), checked("213800FICTIONAL002")


def cdf(**entity: Any) -> dict[str, Any]:
    return {
        "LEI": {"$": LEI},
        "Entity": {
            "LegalName": {"@xml:lang": "en", "$": "Ubuntu Fictional Mining Ltd"},
            "OtherEntityNames": {"OtherEntityName": [{"@type": "TRADING", "$": "UFM"}]},
            "LegalAddress": {"Country": {"$": "ZA"}},
            "RegistrationAuthority": {
                "RegistrationAuthorityID": {"$": "RA000604"},
                "RegistrationAuthorityEntityID": {"$": "2001/123456/06"},
            },
            "LegalJurisdiction": {"$": "ZA"},
            "EntityCategory": {"$": "GENERAL"},
            "EntityStatus": {"$": "ACTIVE"},
        }
        | entity,
        "Registration": {
            "LastUpdateDate": {"$": "2024-05-04T00:30:00+02:00"},
            "RegistrationStatus": {"$": "LAPSED"},
        },
    }


def read(root: Any) -> Parsed:
    return gleif.parse(document(), json.dumps(root).encode())


def bare(value: Any) -> Any:
    """Write a record as the other rendering does: scalars without their wrapping."""
    if isinstance(value, dict):
        return value["$"] if "$" in value else {name: bare(each) for name, each in value.items()}
    return [bare(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("root", [{"records": [cdf()]}, [bare(cdf())]])
def test_an_lei_record_is_an_entity_and_its_identifiers(root: Any) -> None:
    parsed = read(root)

    (row,) = parsed.rows["entities"]
    assert row["service_id"] == mint("lei", LEI)
    assert (row["legal_name"], row["other_names"]) == ("Ubuntu Fictional Mining Ltd", '["UFM"]')
    assert (row["entity_type"], row["status"], row["lei_status"]) == ("company", "ACTIVE", "LAPSED")
    assert row["available_at"] == date(2024, 5, 3)
    assert row["publication"] == "2024-05-03T22:30:00.000+00:00"
    found = [
        (each["id_type"], each["id_value"], each["issuer"]) for each in parsed.rows["identifiers"]
    ]
    assert found == [("lei", LEI, None), ("registry", "2001/123456/06", "RA000604")]


def test_an_answer_of_the_api_is_read_alike() -> None:
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
    found = [(each["id_type"], each["id_value"]) for each in parsed.rows["identifiers"]]
    assert found == [("lei", LEI), ("aggregator", "za/2001123456")]


def test_a_natural_person_with_an_lei_is_rejected_without_its_name() -> None:
    parsed = read({"records": [cdf(EntityCategory={"$": "SOLE_PROPRIETOR"})]})

    (rejected,) = parsed.rejected["entities"]
    assert rejected.reason == "natural person"
    assert rejected.source_ref.endswith("#/records/0")
    assert parsed.rows == {}


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


def test_a_duplicate_points_to_the_one_that_stays() -> None:
    record = cdf(SuccessorEntity={"SuccessorLEI": {"$": OTHER}})
    record["Registration"]["RegistrationStatus"] = {"$": "DUPLICATE"}

    (row,) = read([record]).rows["entities"]
    assert row["same_as"] == mint("lei", OTHER)


@pytest.mark.parametrize("body", [b"", b"<html/>", b"[]", b'{"data": null}', b'{"records": ['])
def test_what_is_no_register_is_one_rejection(body: bytes) -> None:
    parsed = gleif.parse(document(), body)

    assert len(parsed.rejected["entities"]) == 1
    assert parsed.rows == {}


def test_isins_of_an_lei_are_identifiers() -> None:
    data = [{"type": "isins", "attributes": {"lei": LEI, "isin": "US0378331005"}}]

    (row,) = read({"data": data}).rows["identifiers"]
    assert (row["id_type"], row["id_value"]) == ("isin", "US0378331005")
    assert row["service_id"] == mint("lei", LEI)


def test_mapping_files_give_identifiers_known_on_the_day_they_were_read() -> None:
    body = (
        f"\ufeffLEI,ISIN\r\n{LEI},US0378331005\r\n{LEI},US0378331006\r\nX,US0378331005\r\n{LEI}\r\n"
    )

    parsed = isin_mapping(document(), body.encode())
    (row,) = parsed.rows["identifiers"]
    assert (row["available_at"], row["publication"]) == (date(2026, 11, 14), "2026-11-14")
    assert [each.source_ref.partition("#")[2] for each in parsed.rejected["identifiers"]] == [
        "line 3",
        "line 4",
        "line 5",
    ]


def test_an_opencorporates_id_is_an_aggregators() -> None:
    body = f"LEI,OpenCorporatesID\n{LEI},za/2001123456\n{LEI},nothing\n"

    parsed = opencorporates_mapping(document(), body.encode())
    (row,) = parsed.rows["identifiers"]
    assert (row["id_type"], row["id_value"]) == ("aggregator", "za/2001123456")
    assert len(parsed.rejected["identifiers"]) == 1


def test_a_listing_is_a_ticker_of_the_issuer_of_its_isin() -> None:
    body = (
        "mic,ticker,isin,name,currency,status\n"
        "XJSE,UFM,US0378331005,Ubuntu Fictional Mining Ltd,ZAC,listed\n"
        "XJSE,NON,,No Isin Ltd,ZAC,listed\n"
        "JSE,BAD,US0378331005,No Mic Ltd,ZAC,listed\n"
    )

    parsed = listings(document(), body.encode())
    found = [
        (each["service_id"], each["id_type"], each["id_value"], each["issuer"], each["status"])
        for each in parsed.rows["identifiers"]
    ]
    issuer = mint("isin", "US0378331005")
    assert found == [
        (issuer, "ticker", "XJSE:UFM", "XJSE", "listed"),
        (issuer, "isin", "US0378331005", None, None),
    ]
    assert len(parsed.rejected["identifiers"]) == 2


PARSERS = [gleif.parse, isin_mapping, opencorporates_mapping, listings]
HEADERS = st.sampled_from([b"", b"LEI,ISIN\n", b"mic,ticker,isin\n", b'{"data":'])


@settings(deadline=None)
@given(st.sampled_from(PARSERS), HEADERS, st.binary())
def test_any_bytes_are_rows_or_rejections(
    parse: Callable[[Document, bytes], Parsed], header: bytes, body: bytes
) -> None:
    assert_whole(parse(document(), header + body))


def assert_whole(parsed: Parsed) -> None:
    for table in (ENTITIES, IDENTIFIERS):
        rows = parsed.rows.get(table.name, [])
        assert all(set(row) == set(table.row.model_fields) for row in rows)
        assert to_arrow(table, rows)[1] == []
    assert sum(map(len, parsed.rows.values())) + sum(map(len, parsed.rejected.values())) > 0


@pytest.mark.shared
def test_every_real_file_is_rows_and_rejections(capsys: pytest.CaptureFixture[str]) -> None:
    total: Counter[str] = Counter()
    for path in sorted((REAL / "gleif").rglob("*.json")):
        parsed = gleif.parse(document(), path.read_bytes())
        assert_whole(parsed)
        total["files"] += 1
        total.update({name: len(rows) for name, rows in parsed.rows.items()})
        total["rejected"] += sum(map(len, parsed.rejected.values()))
    with capsys.disabled():
        print(f"\n{dict(total)}")


@pytest.mark.shared
def test_the_natural_persons_of_the_golden_copy_are_left_out() -> None:
    body = (REAL / "gleif" / "goldencopy_lei2_20240505_first320.json").read_bytes()

    parsed = gleif.parse(document(), body)
    people = [each for each in parsed.rejected["entities"] if each.reason == "natural person"]
    assert (len(parsed.rows["entities"]), len(people)) == (295, 25)
    assert "Allan Chang" not in str(parsed)
