"""The sample world contains the traps it lists, and is reproducible byte for byte."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from stdnum import isin, lei
from stdnum.br import cnpj

from tests.sample_world.world import SMALL_WORLD, SOURCES, digest, write_world

Trap = dict[str, Any]

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
    "element_change",
    "error_with_status_200",
    "filing_contradicts_itself",
    "filing_observed_out_of_order",
    "history_of_versions",
    "impossible_date",
    "interim_without_fiscal_year",
    "issuer_is_buyer",
    "issuer_is_supplier",
    "lei_lapsed",
    "list_of_firms",
    "licence_forbids_redistribution",
    "macro_revision",
    "measuring_unit",
    "missing_line",
    "month_overwritten",
    "more_digits_than_float",
    "name_change",
    "officer_in_register",
    "official_under_buyer_id",
    "person_among_suppliers",
    "person_with_cik",
    "rebased_index",
    "release_edited_in_place",
    "release_withdrawn",
    "restatement",
    "revised_in_12th_digit",
    "running_month_changes",
    "sign_corrected",
    "sign_turned_away",
    "sole_proprietor_with_lei",
    "tenth_is_exact",
    "trading_name",
    "value_comes_back",
    "version_dropped",
    "year_of_weeks",
    "zero_means_unknown",
}
CVM: dict[str, Any] = {"delimiter": ";", "quoting": csv.QUOTE_NONE}
LEGAL_FORM = re.compile(r"\b(ltd|limited|plc|s\.a\.|sarl|sa|llc|s\.a\.s\.|inc)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, SMALL_WORLD)
    return folder


def traps(world: Path, name: str) -> list[Trap]:
    trap_lists: dict[str, list[Trap]] = json.loads((world / "traps.json").read_text("utf-8"))
    return trap_lists[name]


def body(world: Path, trap: Trap, day: str | None = None) -> bytes:
    file: Path = world / trap["source"] / (day or trap["day"]) / trap["path"]
    return file.read_bytes()


def value(world: Path, trap: Trap, day: str | None = None) -> Any:
    text = body(world, trap, day).decode("utf-8")
    if "line" in trap:
        text = text.splitlines()[trap["line"] - 1]
    node = json.loads(text, parse_float=Decimal)
    for step in trap.get("pointer", "").split("/")[1:]:
        step = step.replace("~1", "/")
        node = node[int(step)] if isinstance(node, list) else node[step]
    return node


def facts(world: Path, name: str) -> Iterator[list[Trap]]:
    for trap in traps(world, name):
        yield [row for row in value(world, trap) if row["end"] == trap["end"]]


def rows(world: Path, trap: Trap, day: str | None = None) -> list[dict[str, str]]:
    return list(csv.DictReader(body(world, trap, day).decode("utf-8").splitlines()))


def json_documents(world: Path) -> Iterator[Any]:
    broken = {(p["source"], p["day"], p["path"]) for name in BROKEN for p in traps(world, name)}
    for source in SOURCES:
        for file in sorted((world / source).rglob("*.json")):
            day, path = file.relative_to(world / source).as_posix().split("/", 1)
            if (source, day, path) not in broken:
                yield json.loads(file.read_text("utf-8"))


def names(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from names(item)
    elif isinstance(node, dict):
        for key, member in node.items():
            if key in ("name", "legalName", "entityName"):
                yield member
            elif key == "LegalName":
                yield member["$"]
            elif key != "unit":
                yield from names(member)


def is_a_day(text: str) -> bool:
    try:
        return date(1900, 1, 1) < date.fromisoformat(text[:10]) < date(2100, 1, 1)
    except ValueError:
        return False


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_any_process(world: Path, tmp_path: Path) -> None:
    code = "import pathlib, sys; from tests.sample_world.world import write_world; "
    code += "from tests.sample_world.world import SMALL_WORLD; "
    code += "write_world(pathlib.Path(sys.argv[1]), SMALL_WORLD)"
    settings = os.environ | {"PYTHONHASHSEED": "4711"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "again")], check=True, env=settings)
    assert digest(tmp_path / "again") == digest(world)


@pytest.mark.slow
def test_another_seed_gives_other_bytes(world: Path, tmp_path: Path) -> None:
    write_world(tmp_path, replace(SMALL_WORLD, seed=8))
    assert digest(tmp_path) != digest(world)


def test_the_world_ends_with_what_was_new_on_its_day(world: Path) -> None:
    for source in SOURCES:
        folders = [file.name for file in (world / source).iterdir()]
        assert folders
        assert all(date.fromisoformat(day) <= SMALL_WORLD.day for day in folders)
    newest = {
        "sec-companyfacts": (r'"filed": "([^"]+)"', 14),
        "za-etenders": (r'"date": "(2[^"T]+)T', 7),
        "ke-ppip": (r'"date": "(2[^"T]+)T', 7),
        "co-secop": (r'"lastUpdate": "([^"T]+)T', 7),
        "ecb": (r",(\d{4}-\d\d-\d\d),[0-9.]+,A", 4),
        "alfred": (r'"realtime_start": "(2[^"]+)"', 12),
        "worldbank": (r'"lastupdated": "([^"]+)"', 60),
        "cvm": (r";DFP;\d+;(\d{4}-\d\d-\d\d);", 14),
    }
    for source, (pattern, most) in newest.items():
        newest_days = {
            found
            for file in (world / source).rglob("*.*")
            if file.is_file()
            for found in re.findall(pattern, file.read_text("utf-8", "replace"))
        }
        age = SMALL_WORLD.day - date.fromisoformat(max(newest_days))
        assert timedelta(0) <= age <= timedelta(days=most), (source, age)


@pytest.mark.slow
def test_rows_grow_with_the_scale(tmp_path: Path) -> None:
    single, double = (
        write_world(tmp_path / str(scale), replace(SMALL_WORLD, scale=scale)) for scale in (1, 2)
    )
    for name in single:
        if name.endswith(".records"):
            assert 1.8 <= double[name] / single[name] <= 2.2, name


def test_all_documents_but_the_broken_ones_parse(world: Path) -> None:
    assert sum(1 for _ in json_documents(world)) > 50
    (broken_line,) = traps(world, "broken_json_line")
    for file in (world / "ke-ppip").rglob("*.jsonl"):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if not (file.match(f"*{broken_line['path']}") and number == broken_line["line"]):
                json.loads(line)


def test_every_name_contains_fictional(world: Path) -> None:
    all_names = [name for document in json_documents(world) for name in names(document)]
    listed = [row["name"] for row in rows(world, traps(world, "delisted")[0])]
    assert len(all_names) > 500
    assert [name for name in all_names + listed if "fictional" not in name.casefold()] == []


def test_leis_and_isins_have_valid_check_digits(world: Path) -> None:
    golden = next(iter((world / "gleif").rglob("lei2-2*.json")))
    leis = [record["LEI"]["$"] for record in json.loads(golden.read_text("utf-8"))["records"]]
    with next((world / "isin-lei").rglob("*.csv")).open(encoding="utf-8") as text:
        mapped = list(csv.DictReader(text))
    assert len(set(leis)) == len(leis) > 50
    assert all(lei.is_valid(number) for number in leis)
    assert all(isin.is_valid(row["ISIN"]) and row["LEI"] in leis for row in mapped)


def test_assets_equal_liabilities_and_equity(world: Path) -> None:
    (contradicted,) = traps(world, "filing_contradicts_itself")
    for file in (world / "sec-companyfacts").rglob("*.json"):
        text = file.read_text("utf-8")
        concepts = json.loads(text, parse_float=Decimal)["facts"].get("ifrs-full", {})
        for unit in [
            unit for unit in concepts.get("Assets", {"units": {}})["units"] if unit != "USD"
        ]:
            assets, liabilities, equity = (
                [row["val"] for row in concepts[element]["units"][unit]]
                for element in ("Assets", "Liabilities", "Equity")
            )
            sums = [sum(pair) for pair in zip(liabilities, equity, strict=True)]
            wrong = sum(stated != total for stated, total in zip(assets, sums, strict=True))
            assert wrong == file.match(f"*{contradicted['path']}")


def test_submissions_list_the_filings_of_the_facts(world: Path) -> None:
    for file in (world / "sec-companyfacts").rglob("*.json"):
        day = file.relative_to(world / "sec-companyfacts").parts[0]
        submissions = world / "sec-submissions" / day / "submissions" / file.name
        if not submissions.exists():
            continue
        listed = json.loads(submissions.read_text())
        accessions = re.findall(r'"accn": "([^"]+)"', file.read_text("utf-8"))
        assert set(accessions) == set(listed["filings"]["recent"]["accessionNumber"])


def test_every_trap_is_named_and_points_into_a_document(world: Path) -> None:
    trap_lists = json.loads((world / "traps.json").read_text("utf-8"))
    assert set(trap_lists) == TRAPS
    for traps_of_name in trap_lists.values():
        for trap in traps_of_name:
            assert body(world, trap)
            if "pointer" in trap:
                value(world, trap)


def test_restated_values_differ_and_comparatives_repeat(world: Path) -> None:
    for fact_rows in facts(world, "restatement"):
        first, second = fact_rows
        assert first["val"] != second["val"] and first["filed"] < second["filed"]
    for fact_rows in facts(world, "comparative_repeats"):
        assert (
            len({row["accn"] for row in fact_rows}) == 2
            and len({row["val"] for row in fact_rows}) == 1
        )
    for fact_rows in facts(world, "value_comes_back"):
        first, second, third = (row["val"] for row in fact_rows)
        assert first == third != second


def test_amendments_repeat_what_they_amend(world: Path) -> None:
    forms = set()
    for fact_rows in facts(world, "amendment_without_change"):
        forms |= {row["form"] for row in fact_rows}
        assert len({row["val"] for row in fact_rows}) == 1
    assert forms >= {"20-F/A", "10-K/A"}


def test_an_older_filing_is_observed_after_a_newer_one(world: Path) -> None:
    for trap in traps(world, "filing_observed_out_of_order"):
        first = min(file.name for file in (world / trap["source"]).iterdir())
        early = {row["filed"][:4] for row in value(world, trap, first)}
        late = {row["filed"][:4] for row in value(world, trap)}
        filed = str(int(trap["end"][:4]) + 1)
        assert filed not in early and str(int(filed) + 1) in early and filed in late


def test_years_currencies_and_lines_change(world: Path) -> None:
    for fact_rows in facts(world, "changed_financial_year"):
        assert {row["start"][5:] for row in fact_rows} == {"01-01"}
    assert all(facts(world, "currency_change"))
    assert {trap["pointer"][-3:] for trap in traps(world, "currency_change")} == {"GHS", "USD"}
    assert all(facts(world, "convenience_translation"))
    assert not any(facts(world, "missing_line"))
    assert all(
        row["fy"] is None
        for fact_rows in facts(world, "interim_without_fiscal_year")
        for row in fact_rows
    )


def test_signs_elements_and_measuring_units_change(world: Path) -> None:
    ((own, comparative),) = facts(world, "sign_corrected")
    assert own["val"] == -comparative["val"] < 0
    ((own, comparative),) = facts(world, "sign_turned_away")
    assert own["val"] == -comparative["val"] > 0
    ((contracts,),) = facts(world, "element_change")
    (change,) = traps(world, "element_change")
    whole = change | {"pointer": change["pointer"].replace("FromContractsWithCustomers", "")}
    (revenue, *_) = [row for row in value(world, whole) if row["end"] == change["end"]]
    assert contracts["val"] < revenue["val"] and contracts["filed"] > revenue["filed"]
    ((own, comparative),) = facts(world, "measuring_unit")
    assert comparative["val"] > own["val"] * Decimal("1.2")


def test_a_year_has_52_or_53_weeks(world: Path) -> None:
    (trap,) = traps(world, "year_of_weeks")
    years = {(row["start"], row["end"]) for row in value(world, trap)}
    days = {date.fromisoformat(end) - date.fromisoformat(start) for start, end in years}
    assert days == {timedelta(days=363), timedelta(days=370)}


def test_digits_are_written_as_reported(world: Path) -> None:
    (many_digits,) = traps(world, "more_digits_than_float")
    assert b'"val": 1234567890123456.78,' in body(world, many_digits)
    ((tenth,),) = facts(world, "tenth_is_exact")
    assert tenth["val"] == Decimal("0.1")


def test_impossible_dates_are_included(world: Path) -> None:
    dates = {value(world, trap)[:10] for trap in traps(world, "impossible_date")}
    assert not any(is_a_day(text) for text in dates)
    assert "0001-01-01" in dates and any(text.startswith("2922") for text in dates)
    assert any(text.endswith("-02-30") for text in dates)


def test_people_have_no_legal_form(world: Path) -> None:
    for trap_name in ("person_among_suppliers", "official_under_buyer_id", "person_with_cik"):
        for trap in traps(world, trap_name):
            name = value(world, trap)
            assert "fictional-" in name.casefold() and not LEGAL_FORM.search(name)


def test_free_text_contains_contacts(world: Path) -> None:
    for trap in traps(world, "contact_in_free_text"):
        assert re.search(r"@fictional\.example|555 \d{4}|Contact person", value(world, trap))


def test_portals_write_misleading_values(world: Path) -> None:
    assert all(value(world, trap) == 0 for trap in traps(world, "zero_means_unknown"))
    assert all(isinstance(value(world, trap), str) for trap in traps(world, "amount_as_text"))
    for trap in traps(world, "licence_forbids_redistribution"):
        assert value(world, trap).endswith("/no-redistribution")


def test_a_zip_of_statements_has_the_latest_version_of_a_document_alone(world: Path) -> None:
    for trap in traps(world, "version_dropped"):
        revenues, indexed = [], []
        for day in (trap["before"], trap["day"]):
            with zipfile.ZipFile(io.BytesIO(body(world, trap, day))) as archive:
                index, *statements = (
                    list(csv.DictReader(archive.read(name).decode("latin-1").splitlines(), **CVM))
                    for name in archive.namelist()
                )
            indexed.append([row["VERSAO"] for row in index if row["CNPJ_CIA"] == trap["cnpj"]])
            lines = [row for rows in statements for row in rows if row["CNPJ_CIA"] == trap["cnpj"]]
            assert {row["VERSAO"] for row in lines} == {indexed[-1][-1]}
            assert {row["ORDEM_EXERC"] for row in lines} == {"ÚLTIMO", "PENÚLTIMO"}
            (revenue,) = {
                row["VL_CONTA"]
                for row in lines
                if (row["CD_CONTA"], row["ORDEM_EXERC"]) == ("3.01", "ÚLTIMO")
            }
            revenues.append(revenue)
        assert indexed == [["1"], ["1", "2"]] and revenues[0] != revenues[1]


def test_a_register_has_officers_beside_companies(world: Path) -> None:
    for trap in traps(world, "officer_in_register"):
        header, *lines = body(world, trap).decode("latin-1").splitlines()
        row = dict(zip(header.split(";"), lines[trap["line"] - 2].split(";"), strict=True))
        assert "Fictional-" in row[trap["column"]] and "@" in row["EMAIL_RESP"]
        assert cnpj.is_valid(row["CNPJ_CIA"]) and "FICTIONAL" in row["DENOM_SOCIAL"]


def test_a_series_overwrites_a_month_without_a_word(world: Path) -> None:
    for trap in traps(world, "month_overwritten"):
        before, after = (
            dict(line.split(";") for line in body(world, trap, day).decode().splitlines())
            for day in (trap["before"], trap["day"])
        )
        year, month = trap["period"].split("-")
        changed = {period for period, text in before.items() if after[period] != text}
        assert changed == {f'"01/{month}/{year}"'} and len(after) > len(before)


def test_a_portal_edits_and_withdraws_silently(world: Path) -> None:
    (edited,) = traps(world, "release_edited_in_place")
    before, after = value(world, edited, edited["before"]), value(world, edited)
    assert before != after and before["id"] == after["id"] and before["date"] == after["date"]
    (withdrawn,) = traps(world, "release_withdrawn")
    assert value(world, withdrawn)["id"] == withdrawn["id"]
    assert withdrawn["id"].encode() not in body(world, withdrawn, withdrawn["gone"])


def test_one_register_number_is_in_two_registers(world: Path) -> None:
    gleif_traps = [p for p in traps(world, "ambiguous_register_number") if p["source"] == "gleif"]
    entries = [value(world, trap) for trap in gleif_traps]
    assert len({entry["RegistrationAuthorityEntityID"]["$"] for entry in entries}) == 1
    assert len({entry["RegistrationAuthorityID"]["$"] for entry in entries}) == 2


def test_duplicates_have_the_same_bytes(world: Path) -> None:
    for trap in traps(world, "duplicate_document"):
        assert body(world, trap) == body(world, trap | trap["same_as"])


def test_broken_documents_are_broken(world: Path) -> None:
    for name in (*BROKEN, "broken_json_line"):
        for trap in traps(world, name):
            with pytest.raises(ValueError, match=r"."):
                value(world, trap)


def test_macro_values_are_revised_and_rebased(world: Path) -> None:
    (twelfth,) = traps(world, "revised_in_12th_digit")
    before, after = value(world, twelfth, twelfth["before"]), value(world, twelfth)
    assert 0 < abs(after / before - 1) < Decimal("1e-10")
    for trap in traps(world, "macro_revision"):
        if trap["source"] == "worldbank":
            assert value(world, trap, trap["before"]) != value(world, trap)
        else:
            ends = {row["realtime_end"] for row in value(world, trap)}
            assert len(ends) > 2 and "9999-12-31" in ends
    for trap in traps(world, "rebased_index"):
        if trap["source"] == "worldbank":
            assert value(world, trap, trap["before"]) != value(world, trap)
        else:
            assert trap["on"] in {row["realtime_start"] for row in value(world, trap)}


def test_the_current_month_changes_between_crawls(world: Path) -> None:
    for trap in traps(world, "running_month_changes"):
        values = [
            {r["TIME_PERIOD"]: r["OBS_VALUE"] for r in rows(world, trap, day)}
            for day in (trap["before"], None)
        ]
        assert values[0][trap["period"]] != values[1][trap["period"]]


def test_namibia_is_na(world: Path) -> None:
    codes = {value(world, trap) for trap in traps(world, "country_na")}
    assert codes == {"NA", "T6"}


def test_issuers_appear_in_the_portals(world: Path) -> None:
    golden = next(iter((world / "gleif").rglob("lei2-2*.json"))).read_text("utf-8")
    for trap_name in ("issuer_is_supplier", "issuer_is_buyer"):
        for trap in traps(world, trap_name):
            assert f'"$": "{value(world, trap)}"' in golden
