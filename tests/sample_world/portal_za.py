"""The South African portal: packages of compiled releases; a value of 0 means not stated.

A process is compiled again whenever something happened: an amendment, an award, the end without
one. Each time it has the id of that day.
"""

from datetime import date, timedelta

from tests.sample_world.organisations import SampleOrganisation, person_name
from tests.sample_world.tenders import (
    Publication,
    SampleProcess,
    company_supplier,
    contact_text,
    other_bidders,
    publications,
    read_on,
    stated_amount,
)
from tests.sample_world.writer import Json, WorldWriter

SOURCE = "za-etenders"
LICENSE = "https://opendatacommons.org/licenses/pddl/1-0/111"

_RECRAWLED = 106
_EDITED, _WITHDRAWN = 1, 2
_PROVINCES = ("Gauteng", "Western Cape", "KwaZulu-Natal", "Limpopo")
_METHODS = ("open", "open", "open", "selective", "limited", "direct")
# Of sixteen tenders, how many end in which way; the others stay open.
_ENDS = ("award",) * 12 + ("cancelled", "cancelled", "unsuccessful", "")


def write_portal(world: WorldWriter) -> None:
    """Write a package a month, and the first one again as it was after an edit."""
    months = publications(world, SOURCE, "ZA", schedule)
    for number, (month, page) in enumerate(months.items()):
        releases = _write_month(world, month, page)
        if number == 0:
            _write_again(world, month, releases)
        if number == 1:
            _write_copy(world, month)
    _write_broken(world)


def schedule(process: SampleProcess) -> dict[str, int]:
    """Return how many days after opening each stage is published."""
    stages = {"tender": 0}
    if process.number % 8 == 3:
        stages["amendment"] = 6
    end = _ENDS[process.number % len(_ENDS)]
    if end:
        stages[end] = _window(process) + 12 + process.number * 7 % 45
    return stages


def month_path(month: str) -> str:
    """Return the path of a month at the portal."""
    return f"api/OCDSReleases/{month}.json"


def package(path: str, published: str, releases: list[Json]) -> Json:
    """Wrap releases as the portal does."""
    return {
        "uri": f"https://fictional.example/{SOURCE}/{path}",
        "version": "1.1",
        "publishedDate": f"{published}T19:13:26Z",
        "publisher": {
            "name": "Fictional National Treasury (South Africa)",
            "uri": "https://fictional.example/za-etenders/",
        },
        "license": LICENSE,
        "releases": releases,
    }


def _write_month(world: WorldWriter, month: str, page: list[Publication]) -> list[Json]:
    path, day = month_path(month), read_on(world, month)
    releases = [_release(world, publication) for publication in page]
    world.write_json(SOURCE, day, path, package(path, day, releases), len(releases))
    _note(world, day, path, page)
    return releases


def _write_again(world: WorldWriter, month: str, releases: list[Json]) -> None:
    path, day, again = month_path(month), read_on(world, month), world.ago(_RECRAWLED)
    edited, withdrawn = releases[_EDITED], releases[_WITHDRAWN]
    longer = date.fromisoformat(edited["date"][:10]) + timedelta(days=80)
    edited["tender"]["tenderPeriod"]["endDate"] = f"{longer}T11:00:00Z"
    edited["tender"]["status"] = "cancelled"
    remaining = [release for release in releases if release is not withdrawn]
    world.write_json(SOURCE, again, path, package(path, again, remaining), len(remaining))
    ids = {"ocid": edited["ocid"], "id": edited["id"], "before": day}
    pointer = f"/releases/{_EDITED}"
    world.traps.note("release_edited_in_place", SOURCE, again, path, pointer=pointer, **ids)
    ids = {"ocid": withdrawn["ocid"], "id": withdrawn["id"], "gone": again}
    pointer = f"/releases/{_WITHDRAWN}"
    world.traps.note("release_withdrawn", SOURCE, day, path, pointer=pointer, **ids)


def _write_copy(world: WorldWriter, month: str) -> None:
    first = {"day": read_on(world, month), "path": month_path(month)}
    day, path = world.ago(_RECRAWLED - 1), "api/OCDSReleases/latest.json"
    world.copy(SOURCE, (first["day"], first["path"]), (day, path))
    world.traps.note("duplicate_document", SOURCE, day, path, same_as=first)


def _write_broken(world: WorldWriter) -> None:
    day = world.ago(224)
    path = f"api/OCDSReleases/{day[:7]}-part.json"
    truncated = (
        b'{"uri": "https://fictional.example/", "version": "1.1", "releases": [{"ocid": "ocds-'
    )
    world.write(SOURCE, day, path, truncated)
    world.traps.note("broken_truncated_json", SOURCE, day, path)


def _note(world: WorldWriter, day: str, path: str, page: list[Publication]) -> None:
    for position, publication in enumerate(page):
        number = publication.process.number
        release = f"/releases/{position}"
        traps = {
            "contact_in_free_text": (number % 6 == 0, "/tender/description"),
            "zero_means_unknown": (_is_unknown(publication.process), "/tender/value/amount"),
            "impossible_date": (number % 50 == 2, "/tender/briefingSession/date"),
            "contact_member": (number % 50 == 2, "/tender/contactPerson"),
        }
        if publication.stage == "award":
            traps |= {
                "amount_as_text": (number % 12 == 2, "/awards/0/value/amount"),
                "list_of_firms": (_is_joint(publication.process), "/awards/0/suppliers/0/name"),
                "person_among_suppliers": (
                    _is_person(publication.process),
                    "/awards/0/suppliers/0/name",
                ),
            }
        for name, (holds, pointer) in traps.items():
            if holds:
                world.traps.note(name, SOURCE, day, path, pointer=f"{release}{pointer}")


def _is_unknown(process: SampleProcess) -> bool:
    return process.number % 9 == 1


def _is_person(process: SampleProcess) -> bool:
    return process.number % 25 == 8


def _is_joint(process: SampleProcess) -> bool:
    return process.number % 30 == 19


def _window(process: SampleProcess) -> int:
    return 9 + process.number * 11 % 31


def _release(world: WorldWriter, publication: Publication) -> Json:
    process, day = publication.process, publication.day
    number = 165_000 + process.number
    buyer = {"id": process.buyer.register_number, "name": process.buyer.name}
    result: Json = {
        "ocid": f"ocds-9t57fa-{number}",
        "id": f"ocds-9t57fa-{number}-{day}",
        "date": f"{day}T00:00:00Z",
        "tag": ["compiled"],
        "initiationType": "tender",
        "tender": _tender(world, publication, number, buyer),
        "planning": {"rationale": "", "budget": {"description": " - "}, "documents": []},
        "parties": [],
        "buyer": buyer,
        "language": "en-za",
        "awards": [],
        "contracts": [],
    }
    if publication.stage == "award":
        _add_award(world, publication, result)
    return result


def _add_award(world: WorldWriter, publication: Publication, release: Json) -> None:
    process = publication.process
    winner = _winner(world, process)
    release["parties"] = [winner]
    amount = process.amount * (880 + process.number * 13 % 190) // 1000
    release["awards"] = [
        {
            "id": f"{release['tender']['id']}-1",
            "title": release["tender"]["title"],
            "status": "active",
            "date": f"{process.day(publication_delay(process) - 3)}T00:00:00Z",
            "value": {
                "amount": stated_amount(amount, as_text=process.number % 12 == 2),
                "currency": "ZAR",
            },
            "suppliers": [{"id": winner["id"], "name": winner["name"]}],
        }
    ]
    bidders = [{"id": winner["id"], "name": winner["name"]}] + [
        {"id": firm.register_number, "name": firm.name}
        for firm in other_bidders(world, process, "ZA")
    ]
    release["tender"] |= {"tenderers": bidders, "numberOfTenderers": len(bidders)}


def publication_delay(process: SampleProcess) -> int:
    """Return how many days after opening the end of a tender is published."""
    return max(schedule(process).values())


def _winner(world: WorldWriter, process: SampleProcess) -> Json:
    firm = company_supplier(world, process, "ZA")
    if _is_person(process):
        return _party(f"P{process.number}", person_name(process.number + 5))
    if _is_joint(process):
        other = other_bidders(world, process, "ZA")
        names = [firm.name, *(bidder.name for bidder in other[:1])]
        return _party(f"JV{process.number}", " / ".join(names))
    if firm.kind == "issuer":
        # Of the listed ones some state their number, some only their name.
        stated = {"identifier": firm.identifier} if process.number % 24 else {}
        return _party(firm.register_number, firm.name) | stated
    return _party(firm.register_number, _trading_name(firm, process))


def _trading_name(firm: SampleOrganisation, process: SampleProcess) -> str:
    if process.number % 20 == 7:
        return f"{firm.name} t/a Fictional {firm.name.split()[0]} Works"
    if firm.serial % 11 == 3:
        return firm.name.replace("(Pty) Ltd", "CC")
    return firm.name


def _party(party_id: str, name: str) -> Json:
    return {"id": party_id, "name": name, "roles": ["supplier", "tenderer"]}


def _tender(world: WorldWriter, publication: Publication, number: int, buyer: Json) -> Json:
    process, stage = publication.process, publication.stage
    contact = f". {contact_text(process)}" if process.number % 6 == 0 else ""
    category = "" if process.number % 11 == 0 else process.category
    is_amended = process.number % 8 == 3 and stage != "tender"
    amount = 0 if _is_unknown(process) else process.amount
    closes = process.day(_window(process) + (7 if is_amended else 0))
    return {
        "id": str(number),
        "title": f"FIC{number}{process.category[0].upper()}",
        "status": {"award": "complete", "cancelled": stage, "unsuccessful": stage}.get(
            stage, "active"
        ),
        "category": f"Services: {process.category}",
        "province": world.random(SOURCE, "province", process.number).choice(_PROVINCES),
        "deliveryLocation": "1 Fictional Street - Fictional Bay - 0000",
        "mainProcurementCategory": category,
        "additionalProcurementCategories": [category] if category else [],
        "description": f"{process.title}{contact}",
        "value": {
            "amount": stated_amount(
                amount * 21 // 20 if is_amended else amount,
                as_text=process.number % 14 == 4 and amount > 0,
            ),
            "currency": "ZAR",
        },
        "documents": [],
        "tenderPeriod": {
            "startDate": f"{process.opened}T00:00:00Z",
            "endDate": f"{closes}T11:00:00Z",
        },
        "tenderers": [],
        "procuringEntity": buyer,
        "procurementMethod": _METHODS[process.number % len(_METHODS)],
        "procurementMethodDetails": "Request for Bid(Open-Tender)",
        "briefingSession": _briefing(process),
        "contactPerson": {
            "name": f"Ms. {person_name(process.number + 7)}",
            "email": f"tenders{process.number}@fictional.example",
            "telephoneNumber": f"011-555-{process.number % 10_000:04d}",
        },
    }


def _briefing(process: SampleProcess) -> Json:
    has_briefing = process.number % 2 == 1
    # The zero of .NET's dates, for no briefing.
    briefing_date = f"{process.day(5)}T10:00:00Z" if has_briefing else "0001-01-01T00:00:00Z"
    return {
        "isSession": has_briefing,
        "compulsory": has_briefing,
        "date": briefing_date,
        "venue": "N/A",
    }
