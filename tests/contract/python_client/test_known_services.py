"""The Python client knows a service by the key and the version that it has seen of it before."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sankofa_client import OutdatedVersion, Sankofa, SankofaError, SignatureInvalid

from tests.helpers.altering_proxy import Reply, altering
from tests.helpers.contract_client import Contract


@dataclass
class Operator:
    """Whoever answers at an address: signs with a key of theirs, offers versions of theirs."""

    service: Contract
    key: Ed25519PrivateKey | None = None
    version: str | None = None
    key_requests: int = 0
    address: str = ""
    _signed: dict[str, bytes] = field(default_factory=dict)

    @property
    def pem(self) -> bytes:
        if self.key is None:
            return self.service.server.get("/exports/signing-key.pem")[2]
        return self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def answer(self, path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        if path.endswith("signing-key.pem"):
            self.key_requests += 1
            return Reply(200, {}, self.pem)
        if path.endswith("manifest.json.sig") and self.key is not None:
            return Reply(200, {}, self.key.sign(self._signed["manifest"]))
        if path.endswith("manifest.json") and self.version is not None:
            body = json.loads(self.service.server.get("/exports/latest/manifest.json")[2])
            reply = Reply(200, {}, json.dumps({**body, "data_version": self.version}).encode())
        else:
            reply = replace(forward(), headers={})
        if path.endswith("manifest.json"):
            self._signed["manifest"] = reply.body
        return reply


@contextmanager
def operating(service: Contract) -> Iterator[Operator]:
    operator = Operator(service)
    with altering(service.server.port, operator.answer) as operator.address:
        yield operator


@pytest.fixture
def operator(service: Contract) -> Iterator[Operator]:
    with operating(service) as operator:
        yield operator


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return tmp_path / "settings" / "known.json"


def latest(operator: Operator, known: Path, pinned: bytes | None = None) -> str:
    with Sankofa(operator.address, signing_key=pinned, known_services=known) as client:
        return str(client.bulk_files().attrs["data_version"])


def test_the_first_key_of_a_service_is_remembered_and_used_from_then_on(
    operator: Operator, known: Path
) -> None:
    version = latest(operator, known)
    assert latest(operator, known) == version and operator.key_requests == 1
    host = operator.address.removeprefix("http://")
    entry = {"signing_key": operator.pem.decode(), "latest": version}
    assert json.loads(known.read_text()) == {host: entry}


def test_another_key_is_refused_with_what_to_do(operator: Operator, known: Path) -> None:
    latest(operator, known)
    operator.key = Ed25519PrivateKey.generate()
    host = operator.address.removeprefix("http://")
    for _ in range(2):
        with pytest.raises(SignatureInvalid) as refused:
            latest(operator, known)
        assert f"{host} signs with another key than the one it had at first" in str(refused.value)
        assert "signing_key" in str(refused.value) and str(known) in str(refused.value)
    # One way is the new key from the operator, once; the other is to forget the service.
    assert latest(operator, known, operator.pem) == latest(operator, known)
    operator.key = None
    with pytest.raises(SignatureInvalid):
        latest(operator, known)
    known.write_text("{}")
    latest(operator, known)


def test_a_manifest_that_the_known_key_did_not_sign_is_no_matter_of_a_new_key(
    operator: Operator, known: Path
) -> None:
    latest(operator, known)
    operator.version = "20991231.1"
    with pytest.raises(SankofaError) as refused:
        latest(operator, known)
    assert "another key" not in str(refused.value)


def test_a_pinned_key_is_trusted_though_another_was_first(operator: Operator, known: Path) -> None:
    latest(operator, known)
    with pytest.raises(SignatureInvalid):
        latest(operator, known, Operator(operator.service, Ed25519PrivateKey.generate()).pem)
    requests = operator.key_requests
    latest(operator, known, operator.pem)
    assert operator.key_requests == requests


def test_a_latest_version_older_than_one_that_was_seen_is_refused(
    operator: Operator, known: Path
) -> None:
    operator.key = Ed25519PrivateKey.generate()
    for operator.version in ("20261109.2", "20261109.10", "20261110.1"):
        assert latest(operator, known) == operator.version
    for operator.version in ("20261109.10", "20200101.1"):
        for pinned in (None, operator.pem):
            with pytest.raises(OutdatedVersion, match=r"offered 20261110\.1 before"):
                latest(operator, known, pinned)
        # By its name it can be downloaded.
        with Sankofa(operator.address, known_services=known) as client:
            frame = client.bulk_files(operator.version)
        assert frame.attrs["data_version"] == operator.version
    operator.version = "20261110.1"
    assert latest(operator, known) == "20261110.1"


def test_each_service_is_known_by_a_key_of_its_own(service: Contract, known: Path) -> None:
    with operating(service) as first, operating(service) as second:
        first.key, second.key = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
        first.version, second.version = "20261110.1", "20261109.1"
        for _ in range(2):
            assert (latest(first, known), latest(second, known)) == ("20261110.1", "20261109.1")
        assert len(json.loads(known.read_text())) == 2


def test_a_file_of_known_services_that_is_none_is_an_error_and_stays(
    operator: Operator, known: Path
) -> None:
    known.parent.mkdir()
    for text in ("{", "[]", '{"a": 1}'):
        known.write_text(text)
        with pytest.raises(SankofaError, match=r"cannot be read.*Restore it, or delete it"):
            latest(operator, known)
        assert known.read_text() == text


def test_what_cannot_be_remembered_is_a_warning(operator: Operator, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="cannot be stored"):
        latest(operator, tmp_path / "file" / "known.json")


def test_keys_are_remembered_in_the_folder_of_settings(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with Sankofa(operator.address) as client:
        client.bulk_files()
    assert (tmp_path / "sankofa" / "known_services.json").is_file()
