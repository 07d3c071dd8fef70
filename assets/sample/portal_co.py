"""The Colombian portal: packages with tender, award and contract releases of a process."""

from typing import Any

from assets.sample.colombia_release import STAGES, release
from assets.sample.tenders import Process, is_bought_by_issuer, monthly, processes, read_on
from assets.sample.write import Json, World, exact_json

SOURCE = "co-secop"
LICENSE = "https://opendefinition.org/licenses/odc-pddl/"

_A_SCALE = 60
_ERROR_PAGE = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>"
_TRAPS = (
    ("tender", 1, "official_under_buyer_id", "/tender/procuringEntity/name"),
    ("award", 4, "person_among_suppliers", "/awards/0/suppliers/0/name"),
    ("award", 9, "amount_as_text", "/awards/0/value/amount"),
    ("award", 6, "ambiguous_register_number", "/parties/1/identifier/id"),
    ("contract", 10, "impossible_date", "/contracts/0/period/endDate"),
)
_EVERY = 12


def write_portal(world: World) -> None:
    """Write each stage of all processes in packages, in the order of their days."""
    for stage, days in STAGES.items():
        for month, batch in monthly(processes(world, SOURCE, "CO", _A_SCALE), days):
            _write_month(world, stage, month, batch)
    _write_broken(world)


def package(path: str, published: str, releases: list[Any]) -> Json:
    """Wrap releases as the portal does."""
    return {
        "uri": f"https://fictional.example/{SOURCE}/{path}",
        "publishedDate": f"{published}T11:24:38.000Z",
        "version": "1.1",
        "extensions": [],
        "publisher": {"name": "Fictional Compra Eficiente"},
        "license": LICENSE,
        "releases": releases,
    }


def _write_month(world: World, stage: str, month: str, batch: list[Process]) -> None:
    day, path = read_on(month), f"apiCCE2.0/rest/releases/{stage}/{month}.json"
    releases = [release(world, stage, process) for process in batch]
    world.write_json(SOURCE, day, path, package(path, day, releases), len(releases))
    _note(world, stage, day, path, batch)


def _note(world: World, stage: str, day: str, path: str, batch: list[Process]) -> None:
    for place, process in enumerate(batch):
        if stage == "tender" and is_bought_by_issuer("CO", process.number):
            pointer = f"/releases/{place}/parties/0/identifier/id"
            world.traps.note("issuer_is_buyer", SOURCE, day, path, pointer=pointer)
        for at_stage, rest, name, pointer in _TRAPS:
            if stage == at_stage and process.number % _EVERY == rest:
                where = {"pointer": f"/releases/{place}{pointer}"}
                world.traps.note(name, SOURCE, day, path, **where)


def _write_broken(world: World) -> None:
    day, path = "2025-11-04", "apiCCE2.0/rest/releases/tender/2025-10-part-1.json"
    world.write(SOURCE, day, path, _ERROR_PAGE)
    world.traps.note("broken_html_error_page", SOURCE, day, path)
    process = next(processes(world, SOURCE, "CO", _A_SCALE))
    document = package(path, day, [release(world, "tender", process)])
    path = "apiCCE2.0/rest/releases/tender/2025-10-part-2.json"
    world.write(SOURCE, day, path, exact_json(document).encode("latin-1"), 1)
    world.traps.note("broken_invalid_utf8", SOURCE, day, path)
