import gzip
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.parsing.parsed import Parsed
from assets.tenders.parse import parse_portal
from assets.tenders.portal_files import license_of
from tests.helpers.parsed_rows import has_columns, untyped
from tests.helpers.paths import REAL
from tests.helpers.tenders import KEY, PORTALS, PORTUGAL, document, read, real
from warehouse.names.redaction import open_names
from warehouse.record.incoming import to_arrow
from warehouse.record.tables import TENDER_PARTIES, TENDER_RELEASES
from warehouse.shared.urls import FICTIONAL_URL

BASE = {"ocid": "ocds-a-1", "id": "1", "date": "2026-08-14T00:00:00Z"}


def release_row(release: dict[str, Any], source: str = "za-etenders") -> dict[str, Any]:
    (row,) = read(BASE | release, source).rows["tender_releases"]
    return row


def published_json(release: dict[str, Any], source: str = "za-etenders") -> Any:
    return json.loads(release_row(release, source)["release"])


def party_rows(release: dict[str, Any], source: str = "za-etenders") -> list[dict[str, Any]]:
    return read(BASE | release, source).rows.get("tender_parties", [])


def locations(parsed: Parsed) -> list[str]:
    accepted = [row["source_ref"] for row in parsed.rows.get("tender_releases", [])]
    rejected = [row.source_ref for row in parsed.rejected.get("tender_releases", [])]
    return [source_ref.partition("#")[2] for source_ref in accepted + rejected]


RECORD = {"ocid": "ocds-a-1", "releases": [BASE], "compiledRelease": BASE | {"id": "c"}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (BASE, ["line 1"]),
        (b"\n\n" + json.dumps(BASE).encode() + b"\n", ["line 3"]),
        ({"releases": [BASE, BASE]}, ["/releases/0", "/releases/1"]),
        ([{"releases": [BASE]}, BASE], ["/0/releases/0", "/1"]),
        ({"records": [RECORD]}, ["/records/0/releases/0"]),
        ({"records": [RECORD | {"releases": []}]}, ["/records/0/compiledRelease"]),
        (
            {"records": [RECORD | {"releases": [{"url": "https://example.org/1"}]}]},
            ["/records/0/compiledRelease"],
        ),
        ({"releasePackage": {"releases": [BASE]}}, ["/releasePackage/releases/0"]),
        (json.dumps(BASE).encode() + b"\n\n" + json.dumps(BASE).encode(), ["line 1", "line 3"]),
        (json.dumps(BASE, indent=1).encode() * 2, ["line 1", "line 5"]),
        (gzip.compress(json.dumps(BASE).encode(), mtime=0), ["line 1"]),
        (b"\xef\xbb\xbf" + json.dumps(BASE).encode(), ["line 1"]),
        (json.dumps(BASE).encode("utf-16"), ["line 1"]),
    ],
)
def test_a_release_is_found_in_any_wrapping(body: Any, expected: list[str]) -> None:
    parsed = read(body)

    assert locations(parsed) == expected
    assert parsed.rejected == {}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the body is empty"),
        (b"<html><body>Maintenance</body></html>", "not JSON: Expecting value"),
        (json.dumps({"releases": [BASE]}).encode()[:-9], "not JSON: "),
        (gzip.compress(json.dumps(BASE).encode(), mtime=0)[:-9], "the body cannot be opened: "),
        (b"[" * 100_000, "not JSON: nested too deeply"),
        (b"{}", "no OCDS release, record or package"),
        ({"releases": []}, "holds no release"),
        ({"records": [{"ocid": "a", "releases": []}]}, "a record with links only"),
        (BASE | {"ocid": ""}, "a release without an ocid"),
        (BASE | {"id": None}, "a release without an id"),
    ],
)
def test_an_unreadable_body_is_one_rejection_with_a_reason(body: Any, reason: str) -> None:
    parsed = read(body)

    (rejected,) = parsed.rejected["tender_releases"]
    assert rejected.reason.startswith(reason)
    assert parsed.rows == {}


@pytest.mark.parametrize(
    ("tender", "reason"),
    [
        ({"value": {"amount": 10**30}}, "tender/value/amount: a number with more"),
        ({"value": {"amount": -(10**20)}}, "tender/value/amount: a number with more"),
        ({"value": {"amount": "0." + "1" * 19}}, "tender/value/amount: a number with more"),
        ({"numberOfTenderers": 10**30}, "tender/numberOfTenderers: a number with more"),
        ({"numberOfTenderers": 2**63}, "tender/numberOfTenderers: a number with more"),
    ],
)
def test_a_release_is_kept_without_a_number_that_cannot_be_stored(
    tender: dict[str, Any], reason: str
) -> None:
    parsed = read(BASE | {"tender": {"title": "Road works", **tender}})

    (row,), (rejected,) = parsed.rows["tender_releases"], parsed.rejected["tender_releases"]
    assert rejected.reason.startswith(reason)
    assert json.loads(row["release"])["tender"] == {"title": "Road works"}
    assert (row["tender_value"], row["number_of_tenderers"]) == (None, None)


def test_only_the_broken_line_is_rejected() -> None:
    lines = [json.dumps(BASE), '{"ocid": "ocds-a-2", "id"', json.dumps(BASE)]

    parsed = read("\n".join(lines).encode())

    assert locations(parsed) == ["line 1", "line 3", "line 2"]


def test_only_the_release_with_broken_bytes_is_rejected() -> None:
    good = json.dumps(BASE | {"tender": {"title": "Água"}}, ensure_ascii=False).encode()

    parsed = read(b'{"releases": [' + good + b', {"ocid": "x", "id": "\xff"}]}')

    assert locations(parsed) == ["line 1/releases/0", "line 1/releases/1"]
    assert parsed.rejected["tender_releases"][0].reason == "holds bytes that are no text"


def test_latin_1_is_read_as_it_was_written() -> None:
    body = json.dumps(BASE | {"tender": {"title": "Água"}}, ensure_ascii=False)

    (row,) = read(body.encode("latin-1")).rows["tender_releases"]
    assert json.loads(row["release"]) == {"tender": {"title": "Água"}}


@pytest.mark.parametrize(
    ("released", "released_on", "available_at"),
    [
        ("2026-08-14T00:00:00Z", date(2026, 8, 14), date(2026, 8, 14)),
        ("2019-11-25T17:20:38.1197059Z", date(2019, 11, 25), date(2019, 11, 25)),
        ("2026-05-19T01:49:07+03:00", date(2026, 5, 18), date(2026, 5, 18)),
        ("2026-05-19", date(2026, 5, 19), date(2026, 5, 19)),
        ("2026-09-01T00:00:00Z", date(2026, 9, 1), date(2026, 8, 15)),
        ("0001-01-01T00:00:00Z", None, date(2026, 8, 15)),
        ("2922-08-26T00:00:00Z", None, date(2026, 8, 15)),
        ("2026-02-30", None, date(2026, 8, 15)),
        (None, None, date(2026, 8, 15)),
    ],
)
def test_a_release_is_available_from_its_date_but_never_later_than_we_read_it(
    released: str | None, released_on: date | None, available_at: date
) -> None:
    row = release_row({"date": released}, "ke-ppip")

    assert (row["released_on"], row["available_at"]) == (released_on, available_at)


@pytest.mark.parametrize(
    ("released", "released_at"),
    [
        ("2019-11-25T17:20:38.1197059Z", "2019-11-25T17:20:38.1197059Z"),
        ("2026-05-19T01:49:07+03:00", "2026-05-19T01:49:07+03:00"),
        ("2026-05-19", "2026-05-19"),
        ("0001-01-01T00:00:00Z", None),
        ("call Mr Dlamini on 082 555 0101", None),
        (20260519, None),
    ],
)
def test_the_time_of_a_release_is_kept_as_it_is_written(
    released: object, released_at: str | None
) -> None:
    assert release_row({"date": released}, "ke-ppip")["released_at"] == released_at


def test_a_release_that_was_edited_under_its_id_is_a_publication_for_each_date() -> None:
    dates = ("2026-03-02T08:00:00Z", "2026-03-09T08:00:00Z", "2026-03-02T08:00:00Z")
    edits = [BASE | {"date": day, "tender": {"title": f"Road {day}"}} for day in dates]
    rows = read({"records": [{"ocid": BASE["ocid"], "releases": edits}]}).rows["tender_releases"]
    assert [row["publication"] for row in rows] == [
        BASE["id"],
        f"{BASE['id']}/2026-03-09T08:00:00Z",
        BASE["id"],
    ]
    assert {row["release_id"] for row in rows} == {BASE["id"]}


def test_a_wrong_time_zone_does_not_move_the_day() -> None:
    assert release_row({"date": "2026-08-14T00:30:00+02:00"})["released_on"] == date(2026, 8, 14)
    assert release_row({"date": "2026-08-14T00:30:00+02:00"}, "ke-ppip")["released_on"].day == 13


def test_zero_means_unknown_only_where_the_portal_writes_it_so() -> None:
    tender = {"tender": {"id": "1", "value": {"amount": 0, "currency": "ZAR"}}}

    assert release_row(tender)["tender_value"] is None
    assert release_row(tender)["tender_currency"] is None
    assert published_json(tender) == {"tender": {"id": "1"}}
    assert release_row(tender, "ke-ppip")["tender_value"] == 0


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=1))
def test_every_digit_of_an_amount_survives(amount: Decimal) -> None:
    body = b'{"ocid":"a","id":"1","awards":[{"value":{"amount":%s}}]}' % str(amount).encode()

    (row,) = read(body).rows["tender_releases"]
    assert row["release"] == f'{{"awards":[{{"value":{{"amount":{amount}}}}}]}}'


def test_an_amount_is_published_as_it_was_written() -> None:
    body = (
        b'{"ocid":"a","id":"1","tender":{"value":{"amount":1234567890123456.780,"currency":"KES"}}}'
    )

    (row,) = read(body, "ke-ppip").rows["tender_releases"]
    assert row["tender_value"] == Decimal("1234567890123456.780")
    assert '"amount":1234567890123456.780' in row["release"]


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1234.50", "1234.50"),
        ("1234.500000", "1234.500000"),
        (" 276500 ", "276500"),
        ("-3.10", "-3.10"),
        ("1234567890123456.78", "1234567890123456.78"),
    ],
)
@pytest.mark.parametrize("portal", ["za-etenders", "ke-ppip"])
def test_an_amount_written_as_text_is_read_at_any_portal_and_counted(
    written: str, amount: str, portal: str
) -> None:
    members = {"tender": {"value": {"amount": written, "currency": "ZAR"}}}

    parsed = read({**BASE, **members}, portal)
    (row,) = parsed.rows["tender_releases"]

    assert row["tender_value"] == Decimal(amount)
    assert f'"amount":{amount}' in row["release"]
    assert (row["numbers_as_text"], parsed.rejected) == (1, {})


@pytest.mark.parametrize(
    "written",
    [
        "1,250.00",
        "1 250",
        "1e5",
        "n/a",
        "R 12",
        "_NO_APLICA_",
        "½",
        "٣",
        "12.",
        "9" * 39,
        "0." + "1" * 5000,
        True,
        {"a": 1},
        [1],
    ],
)
def test_what_should_be_a_number_and_is_none_is_quarantined_and_its_release_kept(
    written: Any,
) -> None:
    tender = {"title": "Road works", "value": {"amount": written, "currency": "ZAR"}}

    parsed = read({**BASE, "tender": tender})
    (row,) = parsed.rows["tender_releases"]
    (rejected,) = parsed.rejected["tender_releases"]

    assert (row["tender_value"], row["numbers_as_text"]) == (None, 0)
    assert row["release"] == '{"tender":{"title":"Road works"}}'
    assert rejected.reason.startswith("tender/value/amount: ") and rejected.partial
    assert str(written) not in rejected.reason


def test_every_number_of_a_release_that_cannot_be_read_is_counted() -> None:
    award = {"value": {"amount": "?"}, "items": [{"quantity": "2.5", "unit": {"value": "7"}}]}
    tender = {"numberOfTenderers": "3", "tenderPeriod": {"durationInDays": "#VALUE!"}}

    parsed = read({**BASE, "awards": [award, award], "tender": tender})
    (row,) = parsed.rows["tender_releases"]
    rejected = parsed.rejected["tender_releases"]
    reasons = Counter(value.reason.split(":")[0] for value in rejected)

    assert (row["number_of_tenderers"], row["numbers_as_text"]) == (3, 3)
    assert reasons == {
        "awards/value/amount": 2,
        "period/durationInDays": 1,
        "awards/items/unit/value": 2,
    }


@pytest.mark.parametrize("written", ["7" * 5000, "-" + "7" * 39, "0." + "0" * 5000 + "1"])
def test_a_quantity_of_too_many_digits_is_left_out_by_itself(written: str) -> None:
    items = [{"id": "1", "quantity": written}, {"id": "2", "quantity": "7" * 38}]

    parsed = read({**BASE, "awards": [{"items": items}]})
    (row,) = parsed.rows["tender_releases"]
    (rejected,) = parsed.rejected["tender_releases"]

    kept = [{"id": "1"}, {"id": "2", "quantity": int("7" * 38)}]
    assert json.loads(row["release"]) == {"awards": [{"items": kept}]}
    assert rejected.reason.startswith("items/quantity: a text of more than 38 digits")
    assert rejected.partial


def test_an_empty_amount_is_absent() -> None:
    parsed = read({**BASE, "tender": {"title": "T", "value": {"amount": " "}}})

    assert parsed.rejected == {} and parsed.rows["tender_releases"][0]["tender_value"] is None


JOINT = {"id": "J", "name": "Nowhere (Pty) Ltd / Fictional Works CC / Jane Fictional"}


def test_a_supplier_that_lists_several_firms_is_several_parties_of_the_award() -> None:
    award = {"id": "1", "suppliers": [JOINT]}
    parsed = read({**BASE, "parties": [{**JOINT, "roles": ["supplier"]}], "awards": [award]})
    parties = {row["party_key"]: row["name"] for row in parsed.rows["tender_parties"]}
    (row,) = parsed.rows["tender_releases"]

    assert {row["role"] for row in parsed.rows["tender_parties"]} == {"supplier"}
    assert parties.pop("name:nowhere pty ltd") == "Nowhere (Pty) Ltd"
    assert parties.pop("name:fictional works cc") == "Fictional Works CC"
    assert list(parties.values()) == [None] and row["parties_withheld"] == 1
    assert json.loads(row["release"])["awards"][0]["suppliers"] == [
        {"name": "Nowhere (Pty) Ltd"},
        {"name": "Fictional Works CC"},
    ]


def test_a_firm_of_a_list_is_the_party_that_the_release_lists_under_its_own_name() -> None:
    listed = {"id": "N", "name": "Nowhere (Pty) Ltd", "roles": ["tenderer"]}
    parsed = read({**BASE, "parties": [listed], "awards": [{"suppliers": [JOINT]}]})

    keys = {(row["name"], row["role"]): row["party_key"] for row in parsed.rows["tender_parties"]}
    assert keys["Nowhere (Pty) Ltd", "supplier"] == keys["Nowhere (Pty) Ltd", "tenderer"] == "N"


def test_the_bid_of_several_firms_counts_once() -> None:
    other = {"id": "O", "name": "Other (Pty) Ltd"}

    assert release_row({"tender": {"tenderers": [JOINT, other]}})["joint_bids"] == 2
    assert release_row({"tender": {"tenderers": [JOINT]}})["joint_bids"] == 1
    assert release_row({"tender": {"tenderers": [other]}})["joint_bids"] is None


def test_a_party_with_the_number_of_one_organisation_is_never_split() -> None:
    numbered = {**JOINT, "identifier": {"scheme": "ZA-CIP", "id": "2001/123456/07"}}
    numbered["name"] = "Nowhere (Pty) Ltd / Fictional Works CC"

    (row,) = party_rows({"parties": [{**numbered, "roles": ["buyer"]}]})
    assert (row["name"], row["party_key"]) == (numbered["name"], "ZA-CIP:2001/123456/07")


def test_a_list_of_firms_under_the_number_of_a_person_is_withheld() -> None:
    number = {"scheme": "AR-CUIT", "id": "20-12345678-9"}
    party = {"id": "P", "name": "Ficticio Construcciones SRL; Nada SRL", "identifier": number}
    release = {"parties": [{**party, "roles": ["supplier"]}], "awards": [{"suppliers": [party]}]}

    assert [row["name"] for row in party_rows(release)] == [None]
    assert "SRL" not in release_row(release)["release"]


@pytest.mark.parametrize(
    ("written", "role"),
    [
        ("Comprador", "buyer"),
        ("Proveedor o contratista", "supplier"),
        ("Entidad que realiza la contratación", "procuringEntity"),
        ("Participante", "tenderer"),
        ("Supplier", "supplier"),
        ("procuringentity", "procuringEntity"),
    ],
)
def test_roles_in_other_words_are_those_of_ocds(written: str, role: str) -> None:
    party = {"id": "N", "name": "Nowhere (Pty) Ltd", "roles": [written]}

    assert [row["role"] for row in party_rows({"parties": [party]})] == [role]


def test_contacts_and_unlisted_members_are_never_served() -> None:
    release = {
        "tender": {
            "title": "Road works. Enquiries: Ms Jane Fictional 012 345 6789",
            "contactPerson": {"name": "Mr T. Fictional", "email": "t@example.org"},
            "documents": [{"title": "Letter to Jane Fictional"}],
            "tenderPeriod": {
                "startDate": "0001-01-01T00:00:00Z",
                "endDate": "2026-09-16T11:00:00Z",
            },
        },
        "parties": [{"id": "1", "name": "City of Nowhere", "contactPoint": {"name": "Jane"}}],
    }

    assert published_json(release) == {
        "tender": {"title": "Road works.", "tenderPeriod": {"endDate": "2026-09-16T11:00:00Z"}}
    }
    assert "Jane" not in str(party_rows(release))


def test_a_party_has_one_row_per_role() -> None:
    release = {
        "parties": [
            {"id": "7", "name": "Nowhere Municipality", "roles": ["buyer", "procuringEntity"]},
            {
                "id": "8",
                "name": "Fictional Roads (Pty) Ltd",
                "identifier": {"scheme": "ZA-CIP", "id": "2001/123456/07"},
                "roles": ["supplier"],
            },
        ],
        "buyer": {"id": "7", "name": "Nowhere Municipality "},
        "awards": [{"id": "a", "suppliers": [{"id": "8", "name": "Fictional Roads (Pty) Ltd"}]}],
    }

    roles = [(row["party_key"], row["role"]) for row in party_rows(release)]
    assert roles == [
        ("7", "buyer"),
        ("7", "procuringEntity"),
        ("ZA-CIP:2001/123456/07", "supplier"),
    ]
    assert release_row(release)["buyer_key"] == "7"
    assert published_json(release)["awards"][0]["suppliers"] == [
        {"id": "8", "name": "Fictional Roads (Pty) Ltd"}
    ]


def test_organisations_of_ocds_1_0_are_parties_too() -> None:
    number = {"scheme": "ZA-CIP", "id": "2001/123456/07"}
    supplier = {"identifier": number, "name": "Fictional Roads", "contactPoint": {"name": "Jane"}}
    release = {
        "awards": [{"id": "a", "suppliers": [supplier]}],
        "buyer": {"name": "Nowhere Municipality"},
    }

    evidence = [(row["party_key"], row["org_evidence"]) for row in party_rows(release)]
    assert evidence == [
        ("name:nowhere municipality", "public_body:municipality"),
        ("ZA-CIP:2001/123456/07", "register:ZA-CIP"),
    ]


def test_a_bidder_is_not_a_supplier_where_the_portal_calls_every_bidder_supplier() -> None:
    names = ("Alpha Fictional Limited", "Beta Fictional Limited")
    release = {
        "parties": [
            {"id": str(number), "name": name, "roles": ["supplier"]}
            for number, name in enumerate(names)
        ],
        "awards": [{"suppliers": [{"id": "1", "name": names[1]}]}],
    }

    roles = [(row["party_key"], row["role"]) for row in party_rows(release, "ke-ppip")]
    assert roles == [("0", "tenderer"), ("1", "tenderer"), ("1", "supplier")]


def test_a_withheld_party_leaves_a_keyed_hash_and_a_count() -> None:
    release = {"awards": [{"id": "a", "suppliers": [{"id": "9", "name": "Jane Fictional"}]}]}

    (row,) = party_rows(release)
    assert re.fullmatch("withheld:[0-9a-f]{32}", row["party_key"])
    assert (row["name"], row["identifier_id"], row["org_evidence"]) == (None, None, None)
    assert release_row(release)["parties_withheld"] == 1
    assert published_json(release) == {"awards": [{"id": "a"}]}
    assert party_rows(release | {"id": "2"})[0]["party_key"] == row["party_key"]
    body = json.dumps(BASE | release).encode()
    other = untyped(parse_portal(document(), body, PORTALS["za-etenders"], b"other"))
    assert other.rows["tender_parties"][0]["party_key"] != row["party_key"]


def test_an_officials_name_under_the_buyers_id_is_withheld() -> None:
    release = {
        "parties": [
            {"id": "900", "name": "ALCALDIA DE NADA", "roles": ["buyer", "procuringEntity"]}
        ],
        "buyer": {"id": "900", "name": "ALCALDIA DE NADA"},
        "tender": {"id": "t", "procuringEntity": {"id": "900", "name": "Ana Ficticia Gomez"}},
    }

    row = release_row(release, "co-secop")
    assert row["buyer_key"] == "900"
    assert row["parties_withheld"] == 1
    assert json.loads(row["release"]) == {
        "buyer": {"id": "900", "name": "ALCALDIA DE NADA"},
        "tender": {"id": "t"},
    }
    assert "Ana" not in str(party_rows(release, "co-secop"))


def test_a_register_number_used_by_two_names_is_no_evidence() -> None:
    number = {"scheme": "ZA-CIP", "id": "2001/123456/07"}
    release = {
        "parties": [
            {"id": "1", "name": "Fictional Roads", "identifier": number, "roles": ["supplier"]}
        ],
        "awards": [{"suppliers": [{"id": "1", "name": "Jane Fictional"}]}],
    }

    assert [row["name"] for row in party_rows(release)] == [None, None]


def test_a_placeholder_id_keeps_two_suppliers_apart() -> None:
    suppliers = [
        {"id": "1", "name": "Uno Ficticio S.A.S."},
        {"id": "1", "name": "Dos Ficticio S.A.S."},
    ]

    party_keys = {
        row["party_key"] for row in party_rows({"awards": [{"suppliers": suppliers}]}, "co-secop")
    }
    assert party_keys == {"name:uno ficticio s a s", "name:dos ficticio s a s"}


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ({"countryName": "Denmark"}, "Fictional A/S"),
        ({"country": "dk"}, "Fictional A/S"),
        ({"countryName": "Nowhere"}, None),
        ({}, None),
        ("Copenhagen", None),
    ],
)
def test_a_foreign_party_is_judged_by_its_own_country(address: Any, name: str | None) -> None:
    supplier = {"id": "8", "name": "Fictional A/S", "roles": ["supplier"], "address": address}

    assert [row["name"] for row in party_rows({"parties": [supplier]})] == [name]


def test_a_member_of_another_type_counts_as_absent() -> None:
    release = {
        "buyer": "Nowhere Municipality",
        "tender": {"title": ["x"], "id": {"a": 1}, "items": {"id": "1"}, "status": "active"},
        "awards": [1, {"id": 7, "suppliers": {"name": "x"}, "value": 5}],
        "parties": [{"name": ["x"], "id": ["y"], "identifier": {"id": {}, "scheme": []}}],
    }

    assert published_json(release) == {"tender": {"status": "active"}, "awards": [{"id": 7}]}
    assert party_rows(release) == []


@pytest.mark.parametrize(
    ("licence_text", "license_class"),
    [
        ("https://opendatacommons.org/licenses/pddl/1-0/111", "public-domain"),
        ("https://opendefinition.org/licenses/odc-pddl/", "public-domain"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "cc0"),
        ("https://creativecommons.org/licenses/by/4.0/", "cc-by"),
        ("https://opendatacommons.org/licenses/by/1-0/", "open-attribution"),
        ("http://data.gc.ca/eng/open-government-licence-canada", "open-attribution"),
        ("https://creativecommons.org/licenses/by-nc/4.0/", "restricted"),
        ("https://creativecommons.org/licenses/by-sa/4.0/", "restricted"),
        ("All rights reserved", "restricted"),
        ("gibberish", None),
        (None, None),
    ],
)
def test_a_licence_is_recognised_by_its_url(
    licence_text: str | None, license_class: str | None
) -> None:
    assert license_of(licence_text) == license_class


def test_a_package_that_may_not_be_redistributed_is_rejected() -> None:
    address = "https://creativecommons.org/licenses/by-nc/4.0/"

    rejected = read({"license": address, "releases": [BASE, BASE]}).rejected["tender_releases"]
    assert [row.reason for row in rejected] == [
        f"the licence does not let us pass it on: {address}"
    ] * 2
    (unknown,) = read(BASE, "ng-budget").rejected["tender_releases"]
    assert unknown.reason == "no open licence is stated: nothing"
    (row,) = read({"license": "CC-BY", "releases": [BASE]}).rows["tender_releases"]
    assert row["license_class"] == "cc-by"


MEMBERS = (
    *("ocid", "id", "date", "tag", "parties", "buyer", "tender", "awards", "suppliers", "value"),
    *("amount", "name", "roles", "releases", "records", "identifier", "scheme", "tenderPeriod"),
    *("startDate", "items", "quantity", "tenderers", "compiledRelease", "license"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5)
    ),
    max_leaves=30,
)


@settings(deadline=None)
@given(st.binary() | st.builds(lambda value: json.dumps(value).encode(), JSON))
def test_any_bytes_are_rows_or_rejections(body: bytes) -> None:
    parsed = read(body, "ke-ppip")

    assert_rows_fit(parsed)


def assert_rows_fit(parsed: Parsed) -> None:
    for table in (TENDER_RELEASES, TENDER_PARTIES):
        rows = parsed.rows.get(table.name, [])
        assert all(has_columns(row, table) for row in rows)
        assert to_arrow(table, rows)[1] == []
        keys = [tuple(row[name] for name in (*table.identity, "source_ref")) for row in rows]
        assert len(set(keys)) == len(keys)
    accepted, rejected = (
        parsed.rows.get("tender_releases", []),
        parsed.rejected.get("tender_releases", []),
    )
    assert len(accepted) + len(rejected) > 0


@pytest.mark.shared
def test_every_real_file_is_rows_and_rejections(capsys: pytest.CaptureFixture[str]) -> None:
    total: Counter[str] = Counter()
    for path in sorted(path for path in (REAL / "ocds").rglob("*") if path.is_file()):
        parsed = real(str(path.relative_to(REAL)))
        assert_rows_fit(parsed)
        party_rows = parsed.rows.get("tender_parties", [])
        total["files"] += 1
        total["releases"] += len(parsed.rows.get("tender_releases", []))
        total["rejected"] += len(parsed.rejected.get("tender_releases", []))
        total["parties"] += len(party_rows)
        total["withheld"] += sum(row["name"] is None for row in party_rows)
    with capsys.disabled():
        print(f"\n{dict(total)}")


@pytest.mark.shared
def test_south_african_releases_have_no_value_and_no_contact() -> None:
    parsed = real("ocds/portals/za_etenders/etenders_2026-08-14.json")

    rows = parsed.rows["tender_releases"]
    assert len(rows) == 5
    assert {row["tender_value"] for row in rows} == {None}
    text = str(parsed.rows)
    assert "amount" not in text
    assert not re.search("contactPerson|Gwaze|@|071-338", text)
    assert {row["parties_withheld"] for row in rows} == {0}


@pytest.mark.shared
def test_colombian_officials_are_withheld() -> None:
    path = "ocds/portals/co_colombia/2021-03-03.json"
    package = json.loads((REAL / path).read_bytes())
    entities = [release["tender"].get("procuringEntity", {}) for release in package["releases"]]
    officials = {entity["name"] for entity in entities if entity.get("name")}

    parsed = real(path)
    assert len(officials) > 50
    assert not [official for official in officials if official in str(parsed.rows)]
    assert "Fabian Perez" not in str(parsed.rows)


@pytest.mark.shared
def test_natural_persons_among_portuguese_suppliers_are_withheld() -> None:
    path = "ocds/portals/pt_impic/collection_file.json"
    package = json.loads((REAL / path).read_bytes())[0]
    listed = [party for release in package["releases"] for party in release["parties"]]
    people = {party["name"] for party in listed if party["id"][0] in "123"}

    parsed = real(path)
    assert len(people) > 10
    assert not [person for person in people if person in str(parsed.rows)]
    served_names = [row["name"] for row in parsed.rows["tender_parties"]]
    assert sum(name is None for name in served_names) == len(
        [p for p in listed if p["id"][0] in "123"]
    )


def test_a_new_portal_needs_only_one_entry() -> None:
    portal = replace(PORTUGAL, key="xx-other", country="MZ")

    (row,) = read(BASE, portal=portal).rows["tender_releases"]
    assert (row["country"], row["license_class"]) == ("MZ", "cc-by")


def test_a_release_of_the_sample_world_has_no_page_at_the_portal() -> None:
    pages = []
    for url in ("https://example.org/releases", f"{FICTIONAL_URL}/za-etenders/releases"):
        at = replace(document(), url=url)
        parsed = parse_portal(at, json.dumps(BASE).encode(), PORTALS["za-etenders"], b"key")
        pages.append(untyped(parsed).rows["tender_releases"][0]["source_url"])
    assert pages[0].startswith("https://") and pages[1] is None


def test_a_release_carries_the_names_that_it_withholds_and_only_encrypted() -> None:
    person, trader = "Zukiswa Wambui Quillfeather", "Acme Roads (Pty) Ltd t/a Thabo Molefe"
    supplier = {"id": "s1", "name": person, "identifier": {"legalName": "Z W Quillfeather"}}
    award = {"id": "1", "suppliers": [supplier, {"id": "s2", "name": trader}]}
    row = release_row({"awards": [award]})
    assert open_names(KEY, row["withheld_names"]) == sorted(
        [person, "Z W Quillfeather", "t/a Thabo Molefe"]
    )
    assert "Quillfeather" not in str(row)
    assert release_row({})["withheld_names"] is None
