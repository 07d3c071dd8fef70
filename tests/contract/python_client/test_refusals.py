"""The Python client when the service refuses, is busy or breaks off: errors and waits."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from sankofa_client import (
    BadRequest,
    KeyRefused,
    NotFound,
    NotReached,
    ProblemError,
    RateLimited,
    Sankofa,
    SankofaError,
    Unavailable,
)

from api.app import create_app
from tests.helpers.altering_proxy import Reply, altering
from tests.helpers.contract_client import Contract
from tests.helpers.rest_service import RunningServer, answering
from warehouse.control.keys import KeyStore, create_key
from warehouse.serve.build import Mart
from warehouse.serve.usage import Usage
from warehouse.shared.tiers import TIERS, Tier

ISSUER = "DCHGWRYXXDHC"


def test_an_error_carries_the_problem_and_the_request(service: Contract, sankofa: Sankofa) -> None:
    with pytest.raises(BadRequest) as refused:
        sankofa.screen("net_margins")
    error = refused.value
    assert (error.status, error.code) == (400, "parameter_invalid")
    assert error.title and error.detail and "net_margin" in error.problem["nearest"]
    assert error.request_id and error.request_id in str(error)
    with pytest.raises(NotFound):
        sankofa.facts("DCNOBODY")
    with Sankofa(service.server.address, "sk_live_nobodys") as client:
        with pytest.raises(KeyRefused) as unknown:
            client.screen("net_margin")
        assert isinstance(unknown.value, ProblemError) and isinstance(unknown.value, SankofaError)
        assert "sk_live_nobodys" not in f"{client!r} {unknown.value}"


def test_key_and_address_come_from_the_environment_too(
    service: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_URL", f"{service.server.address}/")
    monkeypatch.setenv("SANKOFA_API_KEY", service.key())
    with Sankofa() as client:
        assert len(client.screen("net_margin", limit=1)) == 1
    monkeypatch.delenv("SANKOFA_URL")
    with pytest.raises(ValueError, match="SANKOFA_URL"):
        Sankofa()


def test_without_a_key_the_sandbox_key_of_the_service_is_used_if_there_is_one(
    service: Contract, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # As a secret that a workflow does not have.
    monkeypatch.setenv("SANKOFA_API_KEY", "")
    texts: list[str] = []

    def note(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        texts.extend([path] if path == "/llms.txt" else [])
        return forward()

    with altering(service.server.port, note) as address, Sankofa(address) as client:
        assert len(client.screen("net_margin", limit=3)) == 3
    assert texts == ["/llms.txt"] and "public sandbox key" in caplog.text

    def no_key(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        return Reply(404, {}, b"") if path == "/llms.txt" else forward()

    with (
        altering(service.server.port, no_key) as address,
        Sankofa(address) as client,
        pytest.raises(KeyRefused) as refused,
    ):
        client.screen("net_margin")
    assert "SANKOFA_API_KEY" in refused.value.__notes__[0]


def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(service: Contract) -> None:
    seen: list[str] = []

    def note(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        seen.append(path)
        return forward()

    with altering(service.server.port, note) as elsewhere:

        def redirect(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
            return Reply(301, {"Location": f"{elsewhere}{path}"}, b"")

        with (
            altering(service.server.port, redirect) as address,
            Sankofa(address, service.key()) as client,
            pytest.raises(ProblemError, match=elsewhere),
        ):
            client.screen("net_margin")
    assert not seen


@contextmanager
def limited(
    service: Contract, folder: Path, tier: Tier, clock: Callable[[], float]
) -> Iterator[tuple[RunningServer, str]]:
    """Serve the sample world with other limits of one tier, at the time of a clock."""
    keys = KeyStore(folder / "control.sqlite", {**TIERS, tier.name: tier})
    usage = Usage(folder / "usage.lmdb", clock)
    with (
        closing(Mart(service.world.marts)) as mart,
        answering(create_app(mart, keys, usage=usage)) as server,
    ):
        yield server, create_key(keys, tier.name)


def test_a_burst_limit_is_waited_for_as_long_as_the_service_says(
    service: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, waits = [datetime(2026, 11, 10, 12, 0, 30, tzinfo=UTC).timestamp()], list[float]()

    def wait(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    monkeypatch.setattr("sankofa_client.connection.sleep", wait)
    tier = replace(TIERS["sample"], per_minute=3)
    with (
        limited(service, tmp_path, tier, lambda: now[0]) as (server, key),
        Sankofa(server.address, key) as client,
    ):
        tenders = client.tenders("KE", limit=200, narrow=False)
    assert len(tenders) == 200 and tenders["provenance_id"].is_unique
    assert len(waits) >= 2 and all(1 <= seconds <= 61 for seconds in waits)


def test_a_limit_of_the_month_is_an_error_at_once(
    service: Contract, tmp_path: Path, waits: list[float]
) -> None:
    now = datetime(2026, 11, 10, tzinfo=UTC).timestamp()
    tier = replace(TIERS["starter"], per_month=1)
    with (
        limited(service, tmp_path, tier, lambda: now) as (server, key),
        Sankofa(server.address, key) as client,
    ):
        client.screen("net_margin")
        with pytest.raises(RateLimited) as refused:
            client.screen("net_margin")
    assert refused.value.retry_after and refused.value.retry_after > 24 * 3600
    assert refused.value.problem["violated_policies"] == ["monthly"]
    assert "longest_wait" in refused.value.__notes__[0]
    assert not waits


def test_a_datastore_that_comes_back_is_waited_for(
    service: Contract, sankofa: Sankofa, monkeypatch: pytest.MonkeyPatch
) -> None:
    marts, away = service.world.marts, service.world.root / "away"
    expected, waits = sankofa.facts(ISSUER, as_of="2020-12-31"), list[float]()

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            away.rename(marts)

    monkeypatch.setattr("sankofa_client.connection.sleep", wait)
    marts.rename(away)
    try:
        survived = sankofa.facts(ISSUER, as_of="2020-12-31")
        marts.rename(away)
        waits[:] = [0.0] * 5
        with pytest.raises(Unavailable) as refused:
            sankofa.facts(ISSUER)
    finally:
        if away.exists():
            away.rename(marts)
    pd.testing.assert_frame_equal(survived, expected)
    assert refused.value.code == "datastore_unavailable" and refused.value.retry_after == 5
    # As often as ``retries`` says, and no more.
    assert waits[5:] == [5.0] * 5


def test_a_connection_that_breaks_is_tried_again(service: Contract, waits: list[float]) -> None:
    answers: list[Callable[[Reply], Reply | None]] = [
        lambda reply: None,
        lambda reply: replace(reply, sent=20),
        lambda reply: Reply(502, {"Content-Type": "text/html"}, b"<h1>Bad Gateway</h1>"),
    ]

    def breaking(
        path: str, headers: Mapping[str, str], forward: Callable[[], Reply]
    ) -> Reply | None:
        return answers.pop()(forward()) if answers else forward()

    with (
        altering(service.server.port, breaking) as address,
        Sankofa(address, service.key()) as client,
    ):
        assert len(client.screen("net_margin", limit=2)) == 2
        assert len(waits) == 3
        answers[:] = [lambda reply: None] * 10
        with pytest.raises(NotReached, match=address):
            client.screen("net_margin", limit=1)
    assert len(waits) == 8
    with (
        Sankofa("ftp://127.0.0.1", retries=3) as client,
        pytest.raises(NotReached, match="Check the address"),
    ):
        client.search("ubuntu")
    assert len(waits) == 8


def test_a_wait_may_be_given_as_a_date(service: Contract, waits: list[float]) -> None:
    busy = [Reply(503, {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, b"")]

    def once(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        return busy.pop() if busy else forward()

    with (
        altering(service.server.port, once) as address,
        Sankofa(address, service.key()) as client,
    ):
        client.resolve("XJSE:UBF0")
    assert waits == [0.0]


@pytest.mark.parametrize("ask", ["facts", "metrics", "filings", "elements"])
def test_a_misspelt_day_is_refused_and_not_answered_with_today(ask: str, sankofa: Sankofa) -> None:
    company = sankofa.company("XJSE:UBF0")
    for call in (getattr(company, ask), partial(getattr(sankofa, ask), "XJSE:UBF0")):
        with pytest.raises(TypeError, match=r"'asof' is no argument.*did you mean 'as_of'\?"):
            call(asof="2020-12-31")
