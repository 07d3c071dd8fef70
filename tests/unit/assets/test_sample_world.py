"""The sample world holds what it says, where it says, byte for byte each time."""

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from stdnum import isin, lei

from assets.sample.sec import FIRST_CRAWL
from assets.sample.world import SOURCES, write_world

Place = dict[str, Any]

BROKEN = {"broken_truncated_json", "broken_html_error_page", "broken_invalid_utf8"}
TRAPS = BROKEN | {
    "ambiguous_register_number",
    "amendment_without_change",
    "amount_as_text",
    "broken_json_line",
    "changed_financial_year",
    "comparative_repeats",
    "contact_in_free_text",
    "contact_member",
    "convenience_translation",
    "country_na",
    "currency_change",
    "delisted",
    "duplicate_document",
    "error_with_status_200",
    "filing_observed_out_of_order",
    "history_of_versions",
    "impossible_date",
    "interim_without_fiscal_year",
    "issuer_is_buyer",
    "issuer_is_supplier",
    "lei_lapsed",
    "licence_forbids_redistribution",
    "macro_revision",
    "missing_line",
    "more_digits_than_float",
    "name_change",
    "official_under_buyer_id",
    "person_among_suppliers",
    "person_with_cik",
    "rebased_index",
    "release_edited_in_place",
    "release_withdrawn",
    "restatement",
    "revised_in_12th_digit",
    "running_month_changes",
    "sole_proprietor_with_lei",
    "tenth_is_exact",
    "value_comes_back",
    "zero_means_unknown",
}
LEGAL_FORM = re.compile(r"\b(ltd|limited|plc|s\.a\.|sarl|sa|llc|s\.a\.s\.|inc)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    return folder


def digest(folder: Path) -> str:
    total = hashlib.sha256()
    for place in sorted(folder.rglob("*")):
        if place.is_file():
            total.update(place.relative_to(folder).as_posix().encode())
            total.update(place.read_bytes())
    return total.hexdigest()


def traps(world: Path, name: str) -> list[Place]:
    places: dict[str, list[Place]] = json.loads((world / "traps.json").read_text("utf-8"))
    return places[name]


def body(world: Path, place: Place, day: str | None = None) -> bytes:
    where: Path = world / place["source"] / (day or place["day"]) / place["path"]
    return where.read_bytes()


def value(world: Path, place: Place, day: str | None = None) -> Any:
    text = body(world, place, day).decode("utf-8")
    if "line" in place:
        text = text.splitlines()[place["line"] - 1]
    found = json.loads(text, parse_float=Decimal)
    for step in place.get("pointer", "").split("/")[1:]:
        step = step.replace("~1", "/")
        found = found[int(step)] if isinstance(found, list) else found[step]
    return found


def facts(world: Path, name: str) -> Iterator[list[Place]]:
    for place in traps(world, name):
        yield [row for row in value(world, place) if row["end"] == place["end"]]


def rows(world: Path, place: Place, day: str | None = None) -> list[dict[str, str]]:
    return list(csv.DictReader(body(world, place, day).decode("utf-8").splitlines()))


def json_documents(world: Path) -> Iterator[Any]:
    broken = {(p["source"], p["day"], p["path"]) for name in BROKEN for p in traps(world, name)}
    for source in SOURCES:
        for place in sorted((world / source).rglob("*.json")):
            day, path = place.relative_to(world / source).as_posix().split("/", 1)
            if (source, day, path) not in broken:
                yield json.loads(place.read_text("utf-8"))


def names(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from names(each)
    elif isinstance(node, dict):
        for key, each in node.items():
            if key in ("name", "legalName", "entityName"):
                yield each
            elif key == "LegalName":
                yield each["$"]
            elif key != "unit":
                yield from names(each)


def is_a_day(text: str) -> bool:
    try:
        return date(1900, 1, 1) < date.fromisoformat(text[:10]) < date(2100, 1, 1)
    except ValueError:
        return False


def test_the_same_seed_gives_the_same_bytes_in_any_process(world: Path, tmp_path: Path) -> None:
    code = "import pathlib, sys; from assets.sample.world import write_world as w; "
    code += "w(pathlib.Path(sys.argv[1]))"
    settings = os.environ | {"PYTHONHASHSEED": "4711"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "again")], check=True, env=settings)
    assert digest(tmp_path / "again") == digest(world)


def test_another_seed_gives_other_bytes(world: Path, tmp_path: Path) -> None:
    write_world(tmp_path, seed=8)
    assert digest(tmp_path) != digest(world)


def test_a_world_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    first = write_world(tmp_path)
    marked = next((tmp_path / "alfred").rglob("*.json"))
    marked.write_bytes(b"left alone")
    assert write_world(tmp_path) == first
    assert marked.read_bytes() == b"left alone"


def test_another_world_replaces_the_one_that_was_there(world: Path, tmp_path: Path) -> None:
    write_world(tmp_path, seed=8)
    write_world(tmp_path)
    assert digest(tmp_path) == digest(world)


def test_rows_grow_with_the_scale(tmp_path: Path) -> None:
    one, two = (write_world(tmp_path / str(scale), scale) for scale in (1, 2))
    for name in one:
        if name.endswith(".records"):
            assert 1.8 <= two[name] / one[name] <= 2.2, name


def test_every_source_is_there_and_read_on_a_day(world: Path) -> None:
    for source in SOURCES:
        days = [place.name for place in (world / source).iterdir()]
        assert days
        assert all(date.fromisoformat(day) <= date(2026, 6, 30) for day in days)


def test_documents_that_are_not_named_as_broken_parse(world: Path) -> None:
    assert sum(1 for _ in json_documents(world)) > 50
    (bad,) = traps(world, "broken_json_line")
    for place in (world / "ke-ppip").rglob("*.jsonl"):
        for number, line in enumerate(place.read_text("utf-8").splitlines(), 1):
            if not (place.match(f"*{bad['path']}") and number == bad["line"]):
                json.loads(line)


def test_every_name_says_that_it_is_fictional(world: Path) -> None:
    found = [name for document in json_documents(world) for name in names(document)]
    listed = [row["name"] for row in rows(world, traps(world, "delisted")[0])]
    assert len(found) > 500
    assert [name for name in found + listed if "fictional" not in name.casefold()] == []


def test_leis_and_isins_have_valid_check_digits(world: Path) -> None:
    golden = next(iter((world / "gleif" / "2026-01-15").rglob("*.json")))
    leis = [record["LEI"]["$"] for record in json.loads(golden.read_text("utf-8"))["records"]]
    with next((world / "isin-lei").rglob("*.csv")).open(encoding="utf-8") as text:
        mapped = list(csv.DictReader(text))
    assert len(set(leis)) == len(leis) > 50
    assert all(lei.is_valid(each) for each in leis)
    assert all(isin.is_valid(row["ISIN"]) and row["LEI"] in leis for row in mapped)


def test_assets_are_liabilities_and_equity(world: Path) -> None:
    for place in (world / "sec-companyfacts").rglob("*.json"):
        text = place.read_text("utf-8")
        told = json.loads(text, parse_float=Decimal)["facts"].get("ifrs-full", {})
        for unit in [unit for unit in told.get("Assets", {"units": {}})["units"] if unit != "USD"]:
            owned, owed, equity = (
                [row["val"] for row in told[element]["units"][unit]]
                for element in ("Assets", "Liabilities", "Equity")
            )
            assert owned == [sum(both) for both in zip(owed, equity, strict=True)]


def test_submissions_list_the_filings_of_the_facts(world: Path) -> None:
    for place in (world / "sec-companyfacts").glob("2026-05-20/**/*.json"):
        listed = json.loads(
            (world / "sec-submissions/2026-05-20/submissions" / place.name).read_text()
        )
        told = re.findall(r'"accn": "([^"]+)"', place.read_text("utf-8"))
        assert set(told) == set(listed["filings"]["recent"]["accessionNumber"])


def test_every_trap_is_named_and_points_into_a_document(world: Path) -> None:
    named = json.loads((world / "traps.json").read_text("utf-8"))
    assert set(named) == TRAPS
    for places in named.values():
        for place in places:
            assert body(world, place)
            if "pointer" in place:
                value(world, place)


def test_restated_values_differ_and_comparatives_repeat(world: Path) -> None:
    for found in facts(world, "restatement"):
        first, second = found
        assert first["val"] != second["val"] and first["filed"] < second["filed"]
    for found in facts(world, "comparative_repeats"):
        assert len({row["accn"] for row in found}) == 2 and len({row["val"] for row in found}) == 1
    for found in facts(world, "value_comes_back"):
        first, second, third = (row["val"] for row in found)
        assert first == third != second


def test_amendments_repeat_what_they_amend(world: Path) -> None:
    forms = set()
    for found in facts(world, "amendment_without_change"):
        forms |= {row["form"] for row in found}
        assert len({row["val"] for row in found}) == 1
    assert forms >= {"20-F/A", "10-K/A"}


def test_an_old_filing_is_observed_after_a_younger_one(world: Path) -> None:
    for place in traps(world, "filing_observed_out_of_order"):
        early = {row["filed"][:4] for row in value(world, place, FIRST_CRAWL)}
        late = {row["filed"][:4] for row in value(world, place)}
        assert "2019" not in early and "2020" in early and "2019" in late


def test_years_currencies_and_lines_change(world: Path) -> None:
    for found in facts(world, "changed_financial_year"):
        assert {row["start"] for row in found} == {"2022-01-01"}
    assert all(facts(world, "currency_change"))
    assert {place["pointer"][-3:] for place in traps(world, "currency_change")} == {"GHS", "USD"}
    assert all(facts(world, "convenience_translation"))
    assert not any(facts(world, "missing_line"))
    assert all(
        row["fy"] is None for found in facts(world, "interim_without_fiscal_year") for row in found
    )


def test_digits_are_written_as_reported(world: Path) -> None:
    (long,) = traps(world, "more_digits_than_float")
    assert b'"val": 1234567890123456.78,' in body(world, long)
    ((tenth,),) = facts(world, "tenth_is_exact")
    assert tenth["val"] == Decimal("0.1")


def test_dates_that_cannot_be_are_there(world: Path) -> None:
    found = {value(world, place)[:10] for place in traps(world, "impossible_date")}
    assert not any(is_a_day(each) for each in found)
    assert {"0001-01-01", "2026-02-30"} <= found and any(each.startswith("2922") for each in found)


def test_people_have_no_legal_form(world: Path) -> None:
    for trap in ("person_among_suppliers", "official_under_buyer_id", "person_with_cik"):
        for place in traps(world, trap):
            name = value(world, place)
            assert "fictional-" in name.casefold() and not LEGAL_FORM.search(name)


def test_contacts_stand_in_free_text(world: Path) -> None:
    for place in traps(world, "contact_in_free_text"):
        assert re.search(r"@fictional\.example|555 \d{4}|Contact person", value(world, place))


def test_portals_write_what_must_not_be_believed(world: Path) -> None:
    assert all(value(world, place) == 0 for place in traps(world, "zero_means_unknown"))
    assert all(isinstance(value(world, place), str) for place in traps(world, "amount_as_text"))
    for place in traps(world, "licence_forbids_redistribution"):
        assert value(world, place).endswith("/no-redistribution")


def test_a_portal_edits_and_withdraws_without_a_word(world: Path) -> None:
    (edited,) = traps(world, "release_edited_in_place")
    before, after = value(world, edited, edited["before"]), value(world, edited)
    assert before != after and before["id"] == after["id"] and before["date"] == after["date"]
    (gone,) = traps(world, "release_withdrawn")
    assert value(world, gone)["id"] == gone["id"]
    assert gone["id"].encode() not in body(world, gone, gone["gone"])


def test_one_register_number_stands_in_two_registers(world: Path) -> None:
    places = [p for p in traps(world, "ambiguous_register_number") if p["source"] == "gleif"]
    entries = [value(world, place) for place in places]
    assert len({entry["RegistrationAuthorityEntityID"]["$"] for entry in entries}) == 1
    assert len({entry["RegistrationAuthorityID"]["$"] for entry in entries}) == 2


def test_duplicates_have_the_same_bytes(world: Path) -> None:
    for place in traps(world, "duplicate_document"):
        assert body(world, place) == body(world, place | place["same_as"])


def test_broken_documents_are_broken(world: Path) -> None:
    for name in (*BROKEN, "broken_json_line"):
        for place in traps(world, name):
            with pytest.raises(ValueError, match=r"."):
                value(world, place)


def test_macro_values_are_revised_and_rebased(world: Path) -> None:
    (twelfth,) = traps(world, "revised_in_12th_digit")
    before, after = value(world, twelfth, twelfth["before"]), value(world, twelfth)
    assert 0 < abs(after / before - 1) < Decimal("1e-10")
    for place in traps(world, "macro_revision"):
        if place["source"] == "worldbank":
            assert value(world, place, place["before"]) != value(world, place)
        else:
            ends = {row["realtime_end"] for row in value(world, place)}
            assert len(ends) > 2 and "9999-12-31" in ends
    for place in traps(world, "rebased_index"):
        if place["source"] == "worldbank":
            assert value(world, place, place["before"]) != value(world, place)
        else:
            assert place["on"] in {row["realtime_start"] for row in value(world, place)}


def test_the_running_month_changes_between_crawls(world: Path) -> None:
    for place in traps(world, "running_month_changes"):
        shown = [
            {r["TIME_PERIOD"]: r["OBS_VALUE"] for r in rows(world, place, day)}
            for day in (place["before"], None)
        ]
        assert shown[0][place["period"]] != shown[1][place["period"]]


def test_namibia_is_na(world: Path) -> None:
    codes = {value(world, place) for place in traps(world, "country_na")}
    assert codes == {"NA", "T6"}


def test_issuers_meet_again_in_the_portals(world: Path) -> None:
    golden = next(iter((world / "gleif" / "2026-01-15").rglob("*.json"))).read_text("utf-8")
    for trap in ("issuer_is_supplier", "issuer_is_buyer"):
        for place in traps(world, trap):
            assert f'"$": "{value(world, place)}"' in golden
