"""A table is matched by evidence alone: what is not certain has candidates, never an id."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from falcon.testing import TestClient

from api.app import create_app
from tests.helpers.installation import sample_home
from tests.helpers.publishing import publish
from tests.helpers.record_rows import entity_row, load
from tests.helpers.rest_service import world_of
from tests.helpers.seed import seed_of_this_run
from warehouse.control.keys import KeyStore, create_key
from warehouse.record.store import Record
from warehouse.record.tables import ENTITIES
from warehouse.serve.build import Mart

Row = dict[str, Any]


class Service:
    """The service over a build, as a paid key reaches it."""

    def __init__(self, marts: Path | str, keys: KeyStore, key: str) -> None:
        self.client = TestClient(create_app(Mart(marts), keys))
        self.headers = {"X-API-Key": key}

    def match(self, *rows: Row) -> list[Row]:
        body = json.dumps({"rows": rows})
        answer = self.client.simulate_post("/v1/match", body=body, headers=self.headers)
        assert answer.status_code == 200, answer.text
        found: list[Row] = answer.json["data"]
        return found

    def organisations(self) -> list[Row]:
        rows: list[Row] = self.client.simulate_get(
            "/v1/entities?limit=1000", headers=self.headers
        ).json["data"]
        return rows


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    world = world_of(sample_home(tmp_path_factory))
    return Service(world.marts, KeyStore(world.keys), world.paid)


def test_two_hundred_rows_are_right_or_have_candidates_and_none_is_wrong(service: Service) -> None:
    random, known = Random(seed_of_this_run()), service.organisations()
    rows: list[Row] = []
    right: list[str | None] = []
    for number in range(200):
        one, other = random.choice(known), random.choice(known)
        name, place = one["legal_name"], random.randrange(1, len(one["legal_name"]) - 1)
        is_same = one["service_id"] == other["service_id"] or name == other["legal_name"]
        row, wanted = [
            ({"name": name, "country": one["country"]}, one["service_id"]),
            ({"name": name[:place] + name[place + 1 :], "country": one["country"]}, None),
            ({"name": " ".join(name.split()[:2]), "country": one["country"]}, None),
            ({"id_value": one["lei"]}, one["service_id"]),
            ({"id_value": one["lei"], "name": name}, one["service_id"]),
            ({"id_value": one["lei"], "name": f"Nobody {other['legal_name']}"}, None),
            ({"name": name}, None),
            ({"id_value": one["service_id"], "country": "JP"}, None),
        ][number % 8 if one["lei"] and not is_same else 0]
        rows.append(row)
        right.append(wanted)
    found = service.match(*rows)
    for row, wanted, answer in zip(rows, right, found, strict=True):
        if wanted is not None:
            assert answer["service_id"] == wanted, (row, answer)
            assert answer["evidence"] and not answer["candidates"]
        elif answer["service_id"] is not None:
            # A name without one of its letters may still be read as the same name.
            assert "name" in row and "id_value" not in row, (row, answer)
    assert len([answer for answer in found if answer["candidates"]]) > 50


def test_what_we_do_not_know_has_no_candidate(service: Service) -> None:
    (answer,) = service.match({"id_value": "5493001KJTIIGC8Y1R12"})
    assert answer["service_id"] is None and answer["candidates"] == []
    assert "no organisation with this identifier" in answer["detail"]


def test_who_has_the_name_and_no_known_country_is_a_candidate(tmp_path: Path) -> None:
    record, keys = Record(str(tmp_path / "record")), KeyStore(str(tmp_path / "keys"))
    row = entity_row(legal_name="Baobab Fictional Mills Ltd", country=None, jurisdiction=None)
    load(record, ENTITIES, row)
    publish(record, tmp_path / "marts")
    service = Service(tmp_path / "marts", keys, create_key(keys, "professional"))
    for name, says in (("Baobab Fictional Mills Ltd", "Exactly this"), ("Baobab Mill", "alike")):
        (answer,) = service.match({"name": name, "country": "ZA"})
        assert answer["service_id"] is None and says in answer["detail"], answer
        assert [each["service_id"] for each in answer["candidates"]] == [row["service_id"]]


def test_a_row_without_name_and_identifier_is_named(service: Service) -> None:
    body = json.dumps({"rows": [{"name": "Dodo"}, {"country": "KE"}]})
    refused = service.client.simulate_post("/v1/match", body=body, headers=service.headers)
    assert (refused.status_code, refused.json["parameter"]) == (400, "rows[1].name")
