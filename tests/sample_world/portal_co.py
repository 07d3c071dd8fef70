"""The Colombian portal: packages with planning, tender, award and contract releases."""

from decimal import Decimal
from typing import Any

from tests.sample_world.organisations import issuer, person_name
from tests.sample_world.tenders import (
    Publication,
    SampleProcess,
    company_supplier,
    is_bought_by_issuer,
    other_bidders,
    processes,
    publications,
    read_on,
    stated_amount,
)
from tests.sample_world.writer import Json, WorldWriter, exact_json

SOURCE = "co-secop"
LICENSE = "https://opendefinition.org/licenses/odc-pddl/"

_CENT = Decimal("0.01")
_ERROR_PAGE = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>"
_TRAPS = (
    ("tender", 1, "official_under_buyer_id", "/tender/procuringEntity/name"),
    ("award", 4, "person_among_suppliers", "/awards/0/suppliers/0/name"),
    ("award", 9, "amount_as_text", "/awards/0/value/amount"),
    ("award", 6, "ambiguous_register_number", "/parties/1/identifier/id"),
    ("contract", 10, "impossible_date", "/contracts/0/period/endDate"),
)
# The traps of a stage are in every twelfth process: (stage, remainder, name, pointer).
_EVERY = 12


def write_portal(world: WorldWriter) -> None:
    """Write a package for each month."""
    for month, page in publications(world, SOURCE, "CO", schedule).items():
        day, path = read_on(world, month), f"apiCCE2.0/rest/releases/{month}.json"
        releases = [release(world, publication) for publication in page]
        world.write_json(SOURCE, day, path, package(path, day, releases), len(releases))
        _note(world, day, path, page)
    _write_broken(world)


def schedule(process: SampleProcess) -> dict[str, int]:
    """Return how many days after opening each stage is published; a plan comes before."""
    stages = {"planning": -20} if process.number % 4 == 1 else {}
    stages["tender"] = 0
    if process.number % 7 == 2:
        stages["tenderAmendment"] = 9
    if process.number % 11 == 8:
        return stages | {"tenderCancellation": 30}
    award = 25 + process.number % 37
    # Not every award is followed by a contract on the portal.
    return stages | {"award": award} | ({"contract": award + 15} if process.number % 3 else {})


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


def _note(world: WorldWriter, day: str, path: str, page: list[Publication]) -> None:
    for position, publication in enumerate(page):
        stage, process = publication.stage, publication.process
        if stage == "tender" and is_bought_by_issuer("CO", process.number):
            pointer = f"/releases/{position}/parties/0/identifier/id"
            world.traps.note("issuer_is_buyer", SOURCE, day, path, pointer=pointer)
        for at_stage, rest, name, pointer in _TRAPS:
            if stage == at_stage and process.number % _EVERY == rest:
                where = {"pointer": f"/releases/{position}{pointer}"}
                world.traps.note(name, SOURCE, day, path, **where)


def _write_broken(world: WorldWriter) -> None:
    day = world.ago(224)
    path = f"apiCCE2.0/rest/releases/{day[:7]}-part-1.json"
    world.write(SOURCE, day, path, _ERROR_PAGE)
    world.traps.note("broken_html_error_page", SOURCE, day, path)
    process = next(
        process for process in processes(world, SOURCE, "CO") if not process.buyer.name.isascii()
    )
    document = package(path, day, [release(world, Publication("tender", process.opened, process))])
    path = f"apiCCE2.0/rest/releases/{day[:7]}-part-2.json"
    world.write(SOURCE, day, path, exact_json(document).encode("latin-1"), 1)
    world.traps.note("broken_invalid_utf8", SOURCE, day, path)


def release(world: WorldWriter, publication: Publication) -> Json:
    """Return the release of one stage; a later one repeats the earlier ones."""
    stage, day, process = publication.stage, publication.day, publication.process
    number = 58_000 + process.number
    seller = _seller(world, process)
    result: Json = {
        "ocid": f"ocds-k50g02-{number}",
        "id": f"{number}-{stage}",
        "date": f"{day}T00:00:00.000Z",
        "tag": [stage],
        "initiationType": "tender",
        "language": "es",
        "lastUpdate": f"{day}T00:00:00.000Z",
        "parties": [_buyer_party(process)],
        "buyer": {"id": process.buyer.register_number, "name": process.buyer.name},
        "planning": {"rationale": process.title, "budget": {"amount": {"currency": "COP"}}},
        "awards": [],
        "contracts": [],
    }
    if stage != "planning":
        tenderers = _tenderers(world, process, stage, seller)
        result["tender"] = _tender(process, stage) | tenderers
    if stage in ("award", "contract"):
        result["parties"].append(seller)
        result["awards"].append(_award(process, number, seller))
    if stage == "contract":
        result["contracts"].append(_contract(process, number))
    return result


def _buyer_party(process: SampleProcess) -> Json:
    buyer = process.buyer
    # As Colombian releases give it: a number without a scheme.
    bare = {"id": buyer.register_number, "legalName": buyer.name}
    identifier = buyer.identifier if buyer.kind == "issuer" else bare
    return {
        "name": process.buyer.name,
        "id": process.buyer.register_number,
        "identifier": identifier,
        "address": {"locality": "FICTIONAL", "countryName": "COLOMBIA"},
        "contactPoint": {"email": "compras@fictional.example", "telephone": "6015550000"},
        "roles": ["procuringEntity", "buyer", "payer"],
    }


def _seller(world: WorldWriter, process: SampleProcess) -> Json:
    if process.number % 12 == 4:
        return _seller_party(person_name(process.number + 3), {"id": "1"})
    if process.number % 12 == 6:
        shared = issuer(3 + process.number % 2)
        return _seller_party(shared.name, {"id": shared.register_number})
    company = company_supplier(world, process, "CO")
    return _seller_party(company.name, company.identifier)


def _seller_party(name: str, identifier: Json) -> Json:
    return {
        "name": name,
        # Every supplier of the real portal has this id.
        "id": "1",
        "identifier": {**identifier, "legalName": name},
        "address": {"locality": "Fictional", "countryName": "COLOMBIA"},
        "roles": ["supplier", "payee"],
    }


def _tender(process: SampleProcess, stage: str) -> Json:
    official = person_name(process.number + 11)
    named = official if process.number % 12 == 1 else process.buyer.name
    amount = process.amount * (11 if stage != "tender" and process.number % 7 == 2 else 10) // 10
    statuses = {"award": "complete", "contract": "complete", "tenderCancellation": "cancelled"}
    return {
        "id": str(103_000 + process.number),
        "title": process.title,
        "status": statuses.get(stage, "active"),
        "procuringEntity": {"id": process.buyer.register_number, "name": named},
        "items": [
            {"id": 1, "description": process.title, "quantity": 1, "unit": {"name": "Unidad"}}
        ],
        "value": {"amount": amount, "currency": "COP"},
        "procurementMethod": ("open", "selective", "direct", "open", "limited")[process.number % 5],
        "mainProcurementCategory": process.category,
        "tenderPeriod": {
            "startDate": f"{process.opened}T00:00:00.000Z",
            "endDate": f"{process.day(12 + process.number % 15)}T00:00:00.000Z",
        },
    }


def _tenderers(world: WorldWriter, process: SampleProcess, stage: str, seller: Json) -> Json:
    if stage not in ("award", "contract"):
        return {"numberOfTenderers": 0}
    others = other_bidders(world, process, "CO")
    named = [{"id": firm.register_number, "name": firm.name} for firm in others]
    tenderers = [{"id": "1", "name": seller["name"]}, *named]
    return {"tenderers": tenderers, "numberOfTenderers": len(tenderers)}


def _award(process: SampleProcess, number: int, seller: Json) -> Json:
    return {
        "id": str(number),
        "title": process.title,
        "status": "active",
        "date": f"{process.day(schedule(process)['award'])}T00:00:00.000Z",
        "value": _value(process),
        "suppliers": [{"id": 1, "name": seller["name"]}],
    }


def _contract(process: SampleProcess, number: int) -> Json:
    signed = schedule(process)["contract"]
    ends = f"{process.day(signed + 90)}"
    # A day that no year has.
    ends = f"{ends[:4]}-02-30" if process.number % 12 == 10 else ends
    return {
        "id": str(number),
        "awardID": str(number),
        "title": process.title,
        "status": "active",
        "period": {
            "startDate": f"{process.day(signed)}T00:00:00.000Z",
            "endDate": f"{ends}T00:00:00.000Z",
        },
        "value": _value(process),
        "dateSigned": f"{process.day(signed)}T00:00:00.000Z",
    }


def _value(process: SampleProcess) -> Json:
    amount = (Decimal(process.amount) * (900 + process.number * 19 % 150) / 1000).quantize(_CENT)
    return {"amount": stated_amount(amount, as_text=process.number % 12 == 9), "currency": "COP"}
