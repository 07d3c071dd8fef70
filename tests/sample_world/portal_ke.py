"""The Kenyan portal: JSON Lines, one release a line, every bidder a supplier."""

from tests.sample_world.organisations import person_name
from tests.sample_world.tenders import (
    Publication,
    SampleProcess,
    company_supplier,
    contact_text,
    other_bidders,
    processes,
    publications,
    read_on,
    stated_amount,
)
from tests.sample_world.writer import Json, WorldWriter, exact_json

SOURCE = "ke-ppip"

_TO_CONTRACT = 50
_METHODS = ("open", "open", "selective", "limited", "open", "direct")


def write_portal(world: WorldWriter) -> None:
    """Write the releases of each month, one a line."""
    for month, page in publications(world, SOURCE, "KE", schedule).items():
        day, path = read_on(world, month), f"ocds/{month}/releases.jsonl"
        lines = [exact_json(_RELEASES[each.stage](world, each.process)) for each in page]
        world.write(SOURCE, day, path, ("\n".join(lines) + "\n").encode(), len(lines))
        _note(world, day, path, page)
    _write_broken(world)


def schedule(process: SampleProcess) -> dict[str, int]:
    """Return how many days after opening each stage is published."""
    amendment = {"tenderAmendment": 8} if process.number % 10 == 2 else {}
    if process.number % 13 == 5:
        return {"tender": 0, **amendment, "tenderCancellation": 31}
    return {"tender": 0, **amendment, "contract": _TO_CONTRACT + process.number % 23}


def person_supplies(process: SampleProcess) -> bool:
    """Return whether a person, not a firm, wins the process."""
    return process.number % 9 == 4


def _write_broken(world: WorldWriter) -> None:
    process, day = next(processes(world, SOURCE, "KE")), world.ago(224)
    release = exact_json(_tender_release(world, process) | {"id": f"{day}-FICTIONAL"})
    lines = (release, release[: len(release) // 2], release.replace("-FICTIONAL", "-FICTIONAL-2"))
    path = "ocds/broken/releases.jsonl"
    world.write(SOURCE, day, path, "\n".join(lines).encode(), len(lines))
    world.traps.note("broken_json_line", SOURCE, day, path, line=2)


def _note(world: WorldWriter, day: str, path: str, page: list[Publication]) -> None:
    for line, publication in enumerate(page, 1):
        stage, process = publication.stage, publication.process
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
        elif stage == "contract" and "additionalIdentifiers" in _winner(world, process):
            pointer = "/parties/0/identifier/id"
            world.traps.note("issuer_is_supplier", SOURCE, day, path, pointer=pointer, **where)
        elif stage == "contract" and process.number % 15 == 8:
            pointer = "/awards/0/suppliers/0/name"
            world.traps.note("trading_name", SOURCE, day, path, pointer=pointer, **where)


def _ocid(process: SampleProcess) -> str:
    return f"ocds-5whusi-{290_000 + process.number}-FIC/T{process.number}/{process.opened.year}"


def _tender_release(world: WorldWriter, process: SampleProcess) -> Json:
    return _release(process, "tender", 0) | {"parties": [_buyer_party(process)]}


def _amendment_release(world: WorldWriter, process: SampleProcess) -> Json:
    release = _release(process, "tenderAmendment", schedule(process)["tenderAmendment"])
    release["tender"]["value"]["amount"] = process.amount * 23 // 20
    return release | {"parties": [_buyer_party(process)]}


def _cancelled_release(world: WorldWriter, process: SampleProcess) -> Json:
    days = schedule(process)["tenderCancellation"]
    release = _release(process, "tenderCancellation", days)
    release["tender"]["status"] = "cancelled"
    return release | {"parties": [_buyer_party(process)]}


def _contract_release(world: WorldWriter, process: SampleProcess) -> Json:
    winner, days = _winner(world, process), schedule(process)["contract"]
    award_id = f"{process.day(days):%Y%m%d}-{158_000 + process.number}"
    bidders = [winner, *_losers(world, process)]
    release = _release(process, "contract", days)
    release["tender"]["numberOfTenderers"] = len(bidders)
    return release | {
        "awards": [_award(process, award_id, winner)],
        "contracts": [_contract(process, award_id)],
        "parties": [*bidders, _buyer_party(process)],
    }


_RELEASES = {
    "tender": _tender_release,
    "tenderAmendment": _amendment_release,
    "tenderCancellation": _cancelled_release,
    "contract": _contract_release,
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
            "status": "complete" if tag == "contract" else "active",
            "value": {
                "amount": stated_amount(process.amount, as_text=process.number % 14 == 4),
                "currency": "KES",
            },
            "procurementMethod": _METHODS[process.number % len(_METHODS)],
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
        is_trading = process.number % 15 == 8
        trading = f" t/a Fictional {company.name.split()[0]} Stores" if is_trading else ""
        return _bidder(str(703_000 + company.serial), f"{company.name}{trading}")
    if process.number % 24:
        # Only a name, of which there is one in the country.
        return _bidder(str(600_000 + company.serial), company.name)
    return _bidder(str(600_000 + company.serial), company.name) | {
        "identifier": company.identifier,
        "additionalIdentifiers": [{"scheme": "XI-LEI", "id": company.lei}],
    }


def _losers(world: WorldWriter, process: SampleProcess) -> list[Json]:
    firms = other_bidders(world, process, "KE")
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
        "value": _awarded(process),
        "contractPeriod": _contract_period(process),
        "id": award_id,
        "title": process.title,
        "date": f"{process.day(schedule(process)['contract'] - 10)}T00:00:00+03:00",
        "status": "active",
        "suppliers": [{"id": winner["id"], "name": winner["name"]}],
    }


def _contract(process: SampleProcess, award_id: str) -> Json:
    return {
        "value": _awarded(process),
        "period": _contract_period(process),
        "awardID": award_id,
        "id": f"{award_id}-809",
        "title": process.title,
        "dateSigned": f"{process.day(schedule(process)['contract'])}T00:00:00+03:00",
    }


def _awarded(process: SampleProcess) -> Json:
    amount = process.amount * (900 + process.number * 17 % 160) // 1000
    return {"amount": stated_amount(amount, as_text=process.number % 12 == 7), "currency": "KES"}


def _contract_period(process: SampleProcess) -> Json:
    return {
        "startDate": f"{process.day(schedule(process)['contract'])}T00:00:00+03:00",
        "endDate": f"{process.day(schedule(process)['contract'] + 180)}T00:00:00+03:00",
    }
