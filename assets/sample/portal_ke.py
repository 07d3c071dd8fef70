"""The Kenyan portal: JSON Lines, one release a line, every bidder a supplier."""

from collections.abc import Callable

from assets.sample.organisations import person_name, supplier
from assets.sample.tenders import (
    SampleProcess,
    company_supplier,
    contact_text,
    monthly,
    processes,
    read_on,
)
from assets.sample.writer import Json, WorldWriter, exact_json

SOURCE = "ke-ppip"

_PER_SCALE = 100
_TO_CONTRACT = 50


def write_portal(world: WorldWriter) -> None:
    """Write the tender releases of the portal and then the contract releases."""
    _write_stage(world, "tender", 0, _tender_release)
    _write_stage(world, "contract", _TO_CONTRACT, _contract_release)
    _write_broken(world)


def person_supplies(process: SampleProcess) -> bool:
    """Return whether a person, not a firm, wins the process."""
    return process.number % 9 == 4


def _write_stage(
    world: WorldWriter,
    stage: str,
    days: int,
    release_of: Callable[[WorldWriter, SampleProcess], Json],
) -> None:
    for month, batch in monthly(processes(world, SOURCE, "KE", _PER_SCALE), days):
        day, path = read_on(month), f"ocds/{month}-{stage}/releases.jsonl"
        lines = [exact_json(release_of(world, process)) for process in batch]
        world.write(SOURCE, day, path, ("\n".join(lines) + "\n").encode(), len(lines))
        _note(world, stage, day, path, batch)


def _write_broken(world: WorldWriter) -> None:
    process = next(processes(world, SOURCE, "KE", _PER_SCALE))
    release = exact_json(_tender_release(world, process) | {"id": "20251104-FICTIONAL"})
    lines = (release, release[: len(release) // 2], release.replace("-FICTIONAL", "-FICTIONAL-2"))
    path = "ocds/broken/releases.jsonl"
    world.write(SOURCE, "2025-11-04", path, "\n".join(lines).encode(), len(lines))
    world.traps.note("broken_json_line", SOURCE, "2025-11-04", path, line=2)


def _note(world: WorldWriter, stage: str, day: str, path: str, batch: list[SampleProcess]) -> None:
    for line, process in enumerate(batch, 1):
        where = {"line": line, "ocid": _ocid(process)}
        if stage == "tender" and process.number % 8 == 3:
            world.traps.note(
                "contact_in_free_text", SOURCE, day, path, pointer="/tender/title", **where
            )
        if stage == "tender" and process.number % 40 == 6:
            pointer = "/tender/tenderPeriod/endDate"
            world.traps.note("impossible_date", SOURCE, day, path, pointer=pointer, **where)
        if stage == "contract" and person_supplies(process):
            pointer = "/awards/0/suppliers/0/name"
            world.traps.note("person_among_suppliers", SOURCE, day, path, pointer=pointer, **where)
        if stage == "contract" and process.number % 5 < 2 and not person_supplies(process):
            pointer = "/parties/0/identifier/id"
            world.traps.note("issuer_is_supplier", SOURCE, day, path, pointer=pointer, **where)


def _ocid(process: SampleProcess) -> str:
    return f"ocds-5whusi-{290_000 + process.number}-FIC/T{process.number}/{process.opened.year}"


def _tender_release(world: WorldWriter, process: SampleProcess) -> Json:
    return _release(process, "tender", 0) | {"parties": [_buyer_party(process)]}


def _contract_release(world: WorldWriter, process: SampleProcess) -> Json:
    winner = _winner(world, process)
    award_id = f"{process.day(_TO_CONTRACT):%Y%m%d}-{158_000 + process.number}"
    return _release(process, "contract", _TO_CONTRACT) | {
        "awards": [_award(process, award_id, winner)],
        "contracts": [_contract(process, award_id)],
        "parties": [winner, *_losers(world, process), _buyer_party(process)],
    }


def _release(process: SampleProcess, tag: str, days: int) -> Json:
    stamp = process.day(days)
    reference = f"FIC/T{process.number}/{process.opened.year}"
    closes = f"{process.day(14 + process.number % 12)}T10:00:00+03:00"
    if process.number % 40 == 6:
        # A year as it is typed by mistake.
        closes = "2922" + closes[4:]
    contact = f" - {contact_text(process)}" if process.number % 8 == 3 else ""
    return {
        "ocid": _ocid(process),
        "id": f"{stamp:%Y%m%d}114907-{reference}",
        "date": f"{stamp}T11:49:07+03:00",
        "tender": {
            "id": f"{process.opened:%Y%m%d}114907-{reference}",
            "title": f"{process.title}{contact}",
            "status": "active" if tag == "tender" else "complete",
            "procurementMethod": ("open", "open", "selective", "limited")[process.number % 4],
            "tenderPeriod": {"startDate": f"{process.opened}T11:49:07+03:00", "endDate": closes},
            "mainProcurementCategory": process.category,
        },
        "buyer": {"id": process.buyer.register_number, "name": process.buyer.name + " "},
        "tag": [tag],
        "initiationType": "tender",
        "language": "en",
    }


def _buyer_party(process: SampleProcess) -> Json:
    return {"id": process.buyer.register_number, "name": process.buyer.name, "roles": ["buyer"]}


def _winner(world: WorldWriter, process: SampleProcess) -> Json:
    if person_supplies(process):
        name = person_name(process.number)
        titled = (name, f"Mr. {name}", f"{name} t/a Fictional Kiosk")[process.number // 9 % 3]
        return _bidder(str(800_000 + process.number), titled)
    company = company_supplier(world, process, "KE")
    if company.kind != "issuer":
        return _bidder(str(703_000 + company.serial), company.name)
    return _bidder(str(600_000 + company.serial), company.name) | {
        "identifier": company.identifier,
        "additionalIdentifiers": [{"scheme": "XI-LEI", "id": company.lei}],
    }


def _losers(world: WorldWriter, process: SampleProcess) -> list[Json]:
    firms = [
        supplier("KE", 20 * world.scale + process.number % 7 + n) for n in range(process.number % 4)
    ]
    return [_bidder(str(703_000 + firm.serial), firm.name) for firm in firms]


def _bidder(party_id: str, name: str) -> Json:
    return {
        "id": party_id,
        "identifier": {"scheme": "Bidders", "id": party_id, "legalName": name},
        "address": {"locality": "KENYA", "region": "KENYA", "countryName": "KENYA"},
        "roles": ["supplier"],
        "name": name,
    }


def _award(process: SampleProcess, award_id: str, winner: Json) -> Json:
    return {
        "value": {"amount": process.amount, "currency": "KES"},
        "contractPeriod": _contract_period(process),
        "id": award_id,
        "title": process.title,
        "date": f"{process.day(40)}T00:00:00+03:00",
        "status": "active",
        "suppliers": [{"id": winner["id"], "name": winner["name"]}],
    }


def _contract(process: SampleProcess, award_id: str) -> Json:
    return {
        "value": {"amount": process.amount, "currency": "KES"},
        "period": _contract_period(process),
        "awardID": award_id,
        "id": f"{award_id}-809",
        "title": process.title,
        "dateSigned": f"{process.day(_TO_CONTRACT)}T00:00:00+03:00",
    }


def _contract_period(process: SampleProcess) -> Json:
    return {
        "startDate": f"{process.day(_TO_CONTRACT)}T00:00:00+03:00",
        "endDate": f"{process.day(_TO_CONTRACT + 180)}T00:00:00+03:00",
    }
