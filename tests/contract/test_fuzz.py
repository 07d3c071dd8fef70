"""Anything at all is answered by the contract: never a 500, a row of another tier, or a person.

``python -m tests.fuzz`` asks a million times; here a few thousand are asked.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz.judged import Judge, names_a_person
from tests.fuzz.run import run
from tests.fuzz.service import Answer, Known, Request, Service
from tests.helpers import installation
from tests.helpers.seed import seed_of_this_run

REQUESTS = 3_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installation.copy_of(
        installation.sample_home(tmp_path_factory), "fuzzed", tmp_path_factory
    )


@pytest.fixture(scope="module")
def service(home: Path) -> Service:
    return Service(home)


@pytest.fixture(scope="module")
def known(service: Service) -> Known:
    return service.known()


def test_no_request_is_answered_outside_the_contract(home: Path, known: Known) -> None:
    done = run(home, known, seed_of_this_run(), REQUESTS)
    assert done.wrong == []
    assert {200, 304, 400, 401, 402, 404, 405, 406, 414} <= set(done.statuses)


def test_the_judge_sees_a_row_of_another_tier(service: Service, known: Known) -> None:
    judge, sample, paid = Judge(service, known), known.keys["sample"], known.keys["starter"]
    holder = next(
        value for value in known.values["service_id"] if _withheld(service, value, sample)
    )
    for path, query, rule in (
        ("/v1/tenders", "limit=26", "more rows than the cap were given"),
        (f"/v1/crosswalk/{holder}", "", "the paid crosswalk was given"),
        ("/v1/crosswalk", "id_type=registry&id_value=x", "the paid crosswalk was given"),
    ):
        given = service.ask(Request(path, query, paid))
        assert rule in judge.wrong(Request(path, query, sample), given)


def test_the_judge_sees_a_failure_a_key_a_cursor_and_a_file(service: Service, known: Known) -> None:
    judge, paid = Judge(service, known), known.keys["professional"]
    asked = Request("/v1/tenders", "", paid)
    given = service.ask(asked)
    assert judge.wrong(asked, given) == []
    assert judge.wrong(asked, replace(given, status=500)) == ["status 500"]
    assert judge.wrong(replace(asked, key=known.revoked), given)
    assert judge.wrong(replace(asked, query="cursor=x"), given)
    assert judge.wrong(asked, Answer(404, given.headers, given.raw))
    file = Request(f"/exports/latest/{min(known.licensed_files)}", "", paid)
    held = service.ask(file)
    assert held.status == 200 and judge.wrong(file, held) == []
    assert judge.wrong(replace(file, key=known.keys["sample"]), held)


def test_the_judge_knows_the_people_of_the_world_who_are_in_its_documents(home: Path) -> None:
    documents = [path for path in installation.at(home).sample.rglob("*") if path.is_file()]
    naming = [document for document in documents if names_a_person(document.read_bytes())]
    assert {item.relative_to(installation.at(home).sample).parts[0] for item in naming} >= {
        *("za-etenders", "ke-ppip", "co-secop", "sec-submissions"),
    }


def _withheld(service: Service, service_id: str, key: str) -> bool:
    answer = service.ask(Request(f"/v1/crosswalk/{service_id}", "", key))
    return answer.status == 200 and bool(answer.body["withheld_id_types"])
