"""The Colombian portal: packages with tender, award and contract releases of a process."""

from decimal import Decimal
from typing import Any

from assets.sample.organisations import issuer, person_name, supplier
from assets.sample.tenders import (
    SampleProcess,
    company_supplier,
    is_bought_by_issuer,
    monthly,
    processes,
    read_on,
)
from assets.sample.writer import Json, WorldWriter, exact_json

SOURCE = "co-secop"
LICENSE = "https://opendefinition.org/licenses/odc-pddl/"

# The stages of a process, and how many days after opening each is published.
STAGES = {"tender": 0, "award": 45, "contract": 60}

_CENT = Decimal("0.01")
_PER_SCALE = 60
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
    """Write a package for each stage and month."""
    for stage, days in STAGES.items():
        for month, batch in monthly(processes(world, SOURCE, "CO", _PER_SCALE), days):
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


def _write_month(world: WorldWriter, stage: str, month: str, batch: list[SampleProcess]) -> None:
    day, path = read_on(month), f"apiCCE2.0/rest/releases/{stage}/{month}.json"
    releases = [release(world, stage, process) for process in batch]
    world.write_json(SOURCE, day, path, package(path, day, releases), len(releases))
    _note(world, stage, day, path, batch)


def _note(world: WorldWriter, stage: str, day: str, path: str, batch: list[SampleProcess]) -> None:
    for position, process in enumerate(batch):
        if stage == "tender" and is_bought_by_issuer("CO", process.number):
            pointer = f"/releases/{position}/parties/0/identifier/id"
            world.traps.note("issuer_is_buyer", SOURCE, day, path, pointer=pointer)
        for at_stage, rest, name, pointer in _TRAPS:
            if stage == at_stage and process.number % _EVERY == rest:
                where = {"pointer": f"/releases/{position}{pointer}"}
                world.traps.note(name, SOURCE, day, path, **where)


def _write_broken(world: WorldWriter) -> None:
    day, path = "2025-11-04", "apiCCE2.0/rest/releases/tender/2025-10-part-1.json"
    world.write(SOURCE, day, path, _ERROR_PAGE)
    world.traps.note("broken_html_error_page", SOURCE, day, path)
    process = next(processes(world, SOURCE, "CO", _PER_SCALE))
    document = package(path, day, [release(world, "tender", process)])
    path = "apiCCE2.0/rest/releases/tender/2025-10-part-2.json"
    world.write(SOURCE, day, path, exact_json(document).encode("latin-1"), 1)
    world.traps.note("broken_invalid_utf8", SOURCE, day, path)


def release(world: WorldWriter, stage: str, process: SampleProcess) -> Json:
    """Return the release of one stage; a later one repeats the earlier ones."""
    number, day = 58_000 + process.number, process.day(STAGES[stage])
    # Made once: every call draws from the generator of the process.
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
        "tender": _tender(process, stage) | _tenderers(world, process, stage, seller),
        "awards": [],
        "contracts": [],
    }
    if stage != "tender":
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
    return {
        "id": str(103_000 + process.number),
        "title": process.title,
        "status": "active" if stage == "tender" else "complete",
        "procuringEntity": {"id": process.buyer.register_number, "name": named},
        "items": [
            {"id": 1, "description": process.title, "quantity": 1, "unit": {"name": "Unidad"}}
        ],
        "value": {"amount": amount, "currency": "COP"},
        "procurementMethod": ("open", "selective", "direct")[process.number % 3],
        "mainProcurementCategory": process.category,
        "tenderPeriod": {
            "startDate": f"{process.opened}T00:00:00.000Z",
            "endDate": f"{process.day(12 + process.number % 15)}T00:00:00.000Z",
        },
    }


def _tenderers(world: WorldWriter, process: SampleProcess, stage: str, seller: Json) -> Json:
    if stage == "tender":
        return {"numberOfTenderers": 0}
    others = [supplier("CO", 20 * world.scale + n) for n in range(process.number % 5)]
    named = [{"id": firm.register_number, "name": firm.name} for firm in others]
    tenderers = [{"id": "1", "name": seller["name"]}, *named]
    return {"tenderers": tenderers, "numberOfTenderers": len(tenderers)}


def _award(process: SampleProcess, number: int, seller: Json) -> Json:
    return {
        "id": str(number),
        "title": process.title,
        "status": "active",
        "date": f"{process.day(STAGES['award'])}T00:00:00.000Z",
        "value": _value(process),
        "suppliers": [{"id": 1, "name": seller["name"]}],
    }


def _contract(process: SampleProcess, number: int) -> Json:
    ends = f"{process.day(STAGES['contract'] + 90)}"
    ends = "2026-02-30" if process.number % 12 == 10 else ends
    return {
        "id": str(number),
        "awardID": str(number),
        "title": process.title,
        "status": "active",
        "period": {
            "startDate": f"{process.day(STAGES['contract'])}T00:00:00.000Z",
            "endDate": f"{ends}T00:00:00.000Z",
        },
        "value": _value(process),
        "dateSigned": f"{process.day(STAGES['contract'])}T00:00:00.000Z",
    }


def _value(process: SampleProcess) -> Json:
    amount = (Decimal(process.amount) * 97 / 100).quantize(_CENT)
    written: Decimal | str = str(amount) if process.number % 12 == 9 else amount
    return {"amount": written, "currency": "COP"}
