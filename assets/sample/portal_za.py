"""The South African portal: packages of compiled releases; a value of 0 means not stated."""

from assets.sample.organisations import person_name
from assets.sample.tenders import SampleProcess, contact_text, monthly, processes, read_on
from assets.sample.writer import Json, WorldWriter

SOURCE = "za-etenders"
LICENSE = "https://opendatacommons.org/licenses/pddl/1-0/111"
RECRAWLED = "2026-03-02"

_PER_SCALE = 200
_EDITED, _WITHDRAWN = 1, 2
_PROVINCES = ("Gauteng", "Western Cape", "KwaZulu-Natal", "Limpopo")
_STATUSES = ("active", "active", "complete", "cancelled")


def write_portal(world: WorldWriter) -> None:
    """Write a package a month, and the first one again as it was after an edit."""
    months = monthly(processes(world, SOURCE, "ZA", _PER_SCALE))
    for number, (month, page) in enumerate(months):
        releases = _write_month(world, month, page)
        if number == 0:
            _write_again(world, month, releases)
        if number == 1:
            _write_copy(world, month)
    _write_broken(world)


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


def _write_month(world: WorldWriter, month: str, page: list[SampleProcess]) -> list[Json]:
    path, day = month_path(month), read_on(month)
    releases = [_release(process) for process in page]
    world.write_json(SOURCE, day, path, package(path, day, releases), len(releases))
    _note(world, day, path, page)
    return releases


def _write_again(world: WorldWriter, month: str, releases: list[Json]) -> None:
    path, day = month_path(month), read_on(month)
    edited, withdrawn = releases[_EDITED], releases[_WITHDRAWN]
    edited["tender"]["tenderPeriod"]["endDate"] = "2022-04-29T11:00:00Z"
    edited["tender"]["status"] = "cancelled"
    remaining = [release for release in releases if release is not withdrawn]
    world.write_json(SOURCE, RECRAWLED, path, package(path, RECRAWLED, remaining), len(remaining))
    ids = {"ocid": edited["ocid"], "id": edited["id"], "before": day}
    pointer = f"/releases/{_EDITED}"
    world.traps.note("release_edited_in_place", SOURCE, RECRAWLED, path, pointer=pointer, **ids)
    ids = {"ocid": withdrawn["ocid"], "id": withdrawn["id"], "gone": RECRAWLED}
    pointer = f"/releases/{_WITHDRAWN}"
    world.traps.note("release_withdrawn", SOURCE, day, path, pointer=pointer, **ids)


def _write_copy(world: WorldWriter, month: str) -> None:
    first = {"day": read_on(month), "path": month_path(month)}
    day, path = "2026-03-03", "api/OCDSReleases/latest.json"
    world.copy(SOURCE, (first["day"], first["path"]), (day, path))
    world.traps.note("duplicate_document", SOURCE, day, path, same_as=first)


def _write_broken(world: WorldWriter) -> None:
    path = "api/OCDSReleases/2025-10-part.json"
    truncated = (
        b'{"uri": "https://fictional.example/", "version": "1.1", "releases": [{"ocid": "ocds-'
    )
    world.write(SOURCE, "2025-11-04", path, truncated)
    world.traps.note("broken_truncated_json", SOURCE, "2025-11-04", path)


def _note(world: WorldWriter, day: str, path: str, page: list[SampleProcess]) -> None:
    for position, process in enumerate(page):
        tender = f"/releases/{position}/tender"
        if process.number % 6 == 0:
            where = {"pointer": f"{tender}/description"}
            world.traps.note("contact_in_free_text", SOURCE, day, path, **where)
        if process.number % 50 == 1:
            where = {"pointer": f"{tender}/value/amount"}
            world.traps.note("zero_means_unknown", SOURCE, day, path, **where)
        if process.number % 50 == 2:
            where = {"pointer": f"{tender}/briefingSession/date"}
            world.traps.note("impossible_date", SOURCE, day, path, **where)
            where = {"pointer": f"{tender}/contactPerson"}
            world.traps.note("contact_member", SOURCE, day, path, **where)


def _release(process: SampleProcess) -> Json:
    number, day = 165_000 + process.number, process.opened
    buyer = {"id": process.buyer.register_number, "name": process.buyer.name}
    return {
        "ocid": f"ocds-9t57fa-{number}",
        "id": f"ocds-9t57fa-{number}-{day}",
        "date": f"{day}T00:00:00Z",
        "tag": ["compiled"],
        "initiationType": "tender",
        "tender": _tender(process, number, buyer),
        "planning": {"rationale": "", "budget": {"description": " - "}, "documents": []},
        "parties": [],
        "buyer": buyer,
        "language": "en-za",
        "awards": [],
        "contracts": [],
    }


def _tender(process: SampleProcess, number: int, buyer: Json) -> Json:
    contact = f". {contact_text(process)}" if process.number % 6 == 0 else ""
    category = "" if process.number % 11 == 0 else process.category
    closes = process.day(process.rng.randrange(9, 40))
    return {
        "id": str(number),
        "title": f"FIC{number}{process.category[0].upper()}",
        "status": process.rng.choice(_STATUSES),
        "category": f"Services: {process.category}",
        "province": process.rng.choice(_PROVINCES),
        "deliveryLocation": "1 Fictional Street - Fictional Bay - 0000",
        "mainProcurementCategory": category,
        "additionalProcurementCategories": [category] if category else [],
        "description": f"{process.title}{contact}",
        # As in every release of the real portal.
        "value": {"amount": 0, "currency": "ZAR"},
        "documents": [],
        "tenderPeriod": {
            "startDate": f"{process.opened}T00:00:00Z",
            "endDate": f"{closes}T11:00:00Z",
        },
        "tenderers": [],
        "procuringEntity": buyer,
        "procurementMethod": "open",
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
