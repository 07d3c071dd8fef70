"""A receipt proves offline how a question was answered: no byte of either can be another."""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sankofa_client import Sankofa, SignatureInvalid, verify_receipt

from pipelines.commands.main import sankofa as command
from tests.helpers.nightly import times
from tests.helpers.rest_service import RunningServer, World, make_world, served_here
from tests.helpers.seed import seed_of_this_run
from warehouse.contract.receipts import Receipts, checked_receipt
from warehouse.shared.errors import SankofaError
from warehouse.shared.signing import SigningKey

PATHS = (
    "/v1/fundamentals/DCA1?as_of=2018-12-31",
    "/v1/fundamentals/DCA1?format=csv",
    "/v1/tenders?country=ZA&query=%C3%A9t%C3%A9",
    "/v1/tenders?country=ZA&limit=1000&format=ndjson",
    "/v1/entities/DCA1",
    "/v1/screen?metric=net_margin",
    "/v1/usage",
    "/v1/export",
)
CLAIMS = {"claims": [{"series": "FX.EUR.ZAR", "period": "2018-01-03", "value": 1}]}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory, "receipts")


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[RunningServer]:
    with served_here(world) as running:
        yield running


@pytest.fixture(scope="module")
def ask(world: World, server: RunningServer) -> Iterator[Callable[..., httpx.Response]]:
    with httpx.Client(base_url=server.address, headers={"X-API-Key": world.paid}) as client:
        yield client.request


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return SigningKey.at(tmp_path_factory.mktemp("keys") / "signing-key.pem")


@pytest.mark.parametrize("path", PATHS)
def test_a_receipt_states_the_question_and_the_bytes_of_the_answer(
    world: World, ask: Callable[..., httpx.Response], path: str
) -> None:
    key = ask("GET", "/exports/signing-key.pem").content
    plain, joined = ask("GET", path), f"{path}{'&' if '?' in path else '?'}receipt=true"
    # Twice: an answer that is kept would have the receipt of another moment.
    for _ in range(2):
        began = datetime.now(UTC) - timedelta(seconds=1)
        answer = ask("GET", joined)
        assert answer.status_code == 200
        if path != "/v1/usage":
            assert answer.content == plain.content
        stated = checked_receipt(answer.headers["X-Receipt"].encode(), answer.content, key)
        assert stated == verify_receipt(answer.headers["X-Receipt"], answer.content, key)
        on, _, query = joined.partition("?")
        assert stated["question"] == {"method": "GET", "path": on, "query": query}
        assert stated["as_of"] == ("2018-12-31" if "as_of" in path else None)
        assert stated["data_version"] == answer.headers["X-Data-Version"]
        assert began <= datetime.fromisoformat(stated["time"]) <= datetime.now(UTC)
    assert "X-Receipt" not in plain.headers


def test_a_future_day_is_receipted_as_today(ask: Callable[..., httpx.Response]) -> None:
    answer = ask("GET", "/v1/fundamentals/DCA1?as_of=2999-01-01&receipt=true")
    stated = json.loads(answer.headers["X-Receipt"])
    assert stated["as_of"] == answer.json()["as_of"] <= date.today().isoformat()


def test_the_receipt_of_a_post_names_what_was_sent(ask: Callable[..., httpx.Response]) -> None:
    key, sent = ask("GET", "/exports/signing-key.pem").content, json.dumps(CLAIMS).encode()
    answer = ask("POST", "/v1/claims?receipt=true", content=sent)
    stated = checked_receipt(answer.headers["X-Receipt"].encode(), answer.content, key)
    assert stated["question"]["body_sha256"] == hashlib.sha256(sent).hexdigest()


def test_what_is_refused_has_no_receipt(ask: Callable[..., httpx.Response]) -> None:
    for path in ("/v1/entities/DCNOBODY1?receipt=true", "/v1/entities/DCA1?receipt=maybe"):
        assert "X-Receipt" not in ask("GET", path).headers
    assert ask("GET", "/v1/entities/DCA1?receipt=false").status_code == 200


def test_a_cursor_goes_on_with_or_without_a_receipt(ask: Callable[..., httpx.Response]) -> None:
    first = ask("GET", "/v1/tenders?country=ZA&limit=2&receipt=true").json()
    cursor = f"&cursor={first['next_cursor']}"
    assert ask("GET", f"/v1/tenders?country=ZA&limit=2{cursor}").status_code == 200


def test_a_server_without_the_key_says_that_it_has_none(world: World) -> None:
    with served_here(world, signing_key=world.root / "nowhere.pem") as running:
        status, _, body = running.get("/v1/entities/DCA1?receipt=true", world.paid)
        assert (status, json.loads(body)["parameter"]) == (400, "receipt")
        assert b"no signing key" in body
        assert not (world.root / "nowhere.pem").exists()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda of: st.lists(of) | st.dictionaries(st.text(), of),
)


# Every byte of each: some thousand checks an example.
@settings(max_examples=times(2))
@given(question=st.dictionaries(st.text(), JSON), body=st.binary(max_size=200), data=st.data())
def test_no_other_byte_of_a_receipt_or_of_its_answer_passes(
    tmp_path_factory: pytest.TempPathFactory,
    signer: SigningKey,
    question: dict[str, Any],
    body: bytes,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.getbasetemp() / "receipt-key.pem"
    receipts, pem = (
        Receipts(path if path.exists() else _made(path)),
        SigningKey.at(path).public_pem(),
    )
    receipt = receipts.write(question, None, "20261114.1", body).encode()
    assert both(receipt, body, pem)["question"] == question
    assert_refused(receipt, body, signer.public_pem())
    flip = data.draw(st.integers(1, 255))
    for changed in flipped(receipt, flip):
        assert_refused(changed, body, pem)
    for changed in (*flipped(body, flip), body + b"\n", body[:-1] if body else b"0"):
        assert_refused(receipt, changed, pem)
    for changed in (
        receipt + b" ",
        b" " + receipt,
        receipt[:-1],
        receipt.replace(b'"as_of":', b'"as_of": '),
    ):
        assert_refused(changed, body, pem)


def test_a_thousand_receipts_are_verified(world: World) -> None:
    receipts, random = Receipts(world.signing_key), Random(seed_of_this_run())
    pem = SigningKey.at(world.signing_key).public_pem()
    for number in range(1_000):
        body, day = random.randbytes(random.randrange(3_000)), date(2020, 1, 1) + timedelta(number)
        receipt = receipts.write({"path": f"/v1/{number}"}, day, "20261114.1", body).encode()
        assert both(receipt, body, pem)["as_of"] == day.isoformat()
        place = random.randrange(len(receipt))
        changed = bytes([receipt[place] ^ random.randrange(1, 256)])
        assert_refused(receipt[:place] + changed + receipt[place + 1 :], body, pem)


def test_the_client_and_the_command_verify_a_receipt_offline(
    world: World, server: RunningServer, tmp_path: Path
) -> None:
    key = SigningKey.at(world.signing_key).public_pem()
    known = tmp_path / "known.json"
    with Sankofa(server.address, world.paid, known_services=known) as client:
        kept = client.receipt("/v1/fundamentals/DCA1", as_of=date(2018, 12, 31))
    assert (kept.stated["as_of"], kept.signing_key.encode()) == ("2018-12-31", key)
    assert verify_receipt(kept.receipt, kept.body, kept.signing_key) == kept.stated
    other = Sankofa(server.address, world.paid, signing_key=OTHER_KEY, known_services=known)
    with other as client, pytest.raises(SignatureInvalid):
        client.receipt("/v1/entities/DCA1")
    files = {"receipt": f"{kept.receipt}\n".encode(), "body": kept.body, "key.pem": key}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    arguments = ["verify-receipt", *(str(tmp_path / name) for name in ("receipt", "body"))]
    home = {"SANKOFA_HOME": str(tmp_path / "home")}
    checked = CliRunner().invoke(
        command, [*arguments, "--key", str(tmp_path / "key.pem"), "--json"], env=home
    )
    assert (checked.exit_code, json.loads(checked.stdout)) == (0, kept.stated)
    assert "pass --key" in CliRunner().invoke(command, arguments, env=home).output
    here = {"SANKOFA_HOME": str(world.root)}
    assert "2018-12-31" in CliRunner().invoke(command, arguments, env=here).stdout
    (tmp_path / "body").write_bytes(kept.body + b" ")
    refused = CliRunner().invoke(command, arguments, env=here)
    assert refused.exit_code == 1 and "another answer" in refused.output


OTHER_KEY = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
"""


def _made(path: Path) -> Path:
    SigningKey.at(path)
    return path


def flipped(content: bytes, by: int) -> Iterator[bytes]:
    """Yield the bytes with each of them changed in turn."""
    for place, byte in enumerate(content):
        yield content[:place] + bytes([byte ^ by]) + content[place + 1 :]


def both(receipt: bytes, body: bytes, pem: bytes) -> dict[str, Any]:
    """Return what a receipt states, as the service and the client read it."""
    stated = checked_receipt(receipt, body, pem)
    assert verify_receipt(receipt, body, pem) == stated
    return stated


def assert_refused(receipt: bytes, body: bytes, pem: bytes) -> None:
    with pytest.raises(SankofaError):
        checked_receipt(receipt, body, pem)
    with pytest.raises(SignatureInvalid):
        verify_receipt(receipt, body, pem)
