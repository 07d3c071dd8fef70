"""The Nigerian budget portal: one small package that may not be redistributed."""

from tests.sample_world.tenders import SampleProcess, home_issuer, processes, read_on
from tests.sample_world.writer import Json, WorldWriter

SOURCE = "ng-budget"
LICENSE = "https://fictional.example/licences/no-redistribution"

_PAGE_SIZE = 30


def write_portal(world: WorldWriter) -> None:
    """Write the packages of the portal, all under a licence that forbids redistribution."""
    page: list[SampleProcess] = []
    for process in processes(world, SOURCE, "NG", world.scale):
        page.append(process)
        if len(page) == _PAGE_SIZE:
            _write_page(world, page)
            page = []


def _write_page(world: WorldWriter, page: list[SampleProcess]) -> None:
    day = read_on(world, f"{page[-1].opened:%Y-%m}")
    path = f"ocds/releases-{page[0].number // _PAGE_SIZE:05d}.json"
    package = {
        "uri": f"https://fictional.example/{SOURCE}/{path}",
        "version": "1.1",
        "publishedDate": f"{page[-1].opened}T08:00:00+01:00",
        "publisher": {"name": "Fictional Budget Office (Nigeria)"},
        "license": LICENSE,
        "releases": [_release(world, process) for process in page],
    }
    world.write_json(SOURCE, day, path, package, len(page))
    world.traps.note("licence_forbids_redistribution", SOURCE, day, path, pointer="/license")


def _release(world: WorldWriter, process: SampleProcess) -> Json:
    seller = home_issuer(world, "NG", world.random(SOURCE, "seller", process.number))
    buyer = {"id": process.buyer.register_number, "name": process.buyer.name}
    value = {"amount": process.amount, "currency": "NGN"}
    return {
        "ocid": f"ocds-gyl66f-{7_000 + process.number}",
        "id": f"{7_000 + process.number}-award",
        "date": f"{process.opened}T08:00:00+01:00",
        "tag": ["award"],
        "initiationType": "tender",
        "language": "en",
        "buyer": buyer,
        "parties": [
            {**buyer, "roles": ["buyer"]},
            {
                "id": "supplier-1",
                "name": seller.name,
                "identifier": seller.identifier,
                "roles": ["supplier"],
            },
        ],
        "planning": {"budget": {"amount": value, "project": process.title}},
        "tender": {
            "id": str(7_000 + process.number),
            "title": process.title,
            "status": "complete",
            "value": value,
            "mainProcurementCategory": process.category,
        },
        "awards": [
            {
                "id": f"{7_000 + process.number}-1",
                "status": "active",
                "date": f"{process.opened}T08:00:00+01:00",
                "value": value,
                "suppliers": [{"id": "supplier-1", "name": seller.name}],
            }
        ],
        "contracts": [],
    }
