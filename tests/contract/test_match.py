"""A table is matched by evidence alone: what is not certain has candidates, never an id."""

import json
from random import Random
from typing import Any

import pytest
from falcon.testing import TestClient

from api.app import create_app
from tests.helpers.installation import sample_home
from tests.helpers.rest_service import world_of
from tests.helpers.seed import seed_of_this_run
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart

Row = dict[str, Any]


class Service:
    """The service over the sample world, as a paid key reaches it."""

    def __init__(self, home: Any) -> None:
        world = world_of(home)
        self.client = TestClient(create_app(Mart(world.marts), KeyStore(world.keys)))
        self.headers = {"X-API-Key": world.paid}

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
    return Service(sample_home(tmp_path_factory))


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


def test_a_row_without_name_and_identifier_is_named(service: Service) -> None:
    body = json.dumps({"rows": [{"name": "Dodo"}, {"country": "KE"}]})
    refused = service.client.simulate_post("/v1/match", body=body, headers=service.headers)
    assert (refused.status_code, refused.json["parameter"]) == (400, "rows[1].name")
