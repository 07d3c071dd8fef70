"""Bulk files by the Python client: verified, downloaded once, opened in every form."""

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sankofa_client import (
    FileDamaged,
    HigherTierNeeded,
    NotFound,
    PackageMissing,
    Sankofa,
    SankofaError,
    SignatureInvalid,
)

from tests.helpers.altering_proxy import Reply, altering
from tests.helpers.contract_client import Contract

ISSUER, PANEL = "DCHGWRYXXDHC", "single-bid-rate"


def test_a_bulk_file_has_the_digits_of_the_api_in_every_form(
    service: Contract, sankofa: Sankofa, tmp_path: Path
) -> None:
    api = sankofa.facts(ISSUER, vintages="all", decimals=True, narrow=False).set_index("fact_id")
    values = api["value_reported"].sort_index()

    def of_issuer(frame: pd.DataFrame) -> "pd.Series[Any]":
        rows = frame[(frame["service_id"] == ISSUER) & ~frame["withdrawn"].astype(bool)]
        return rows.set_index("fact_id")["value_reported"].sort_index()

    exact = sankofa.bulk("af-fund-facts", folder=tmp_path, decimals=True)
    floats = sankofa.bulk("af-fund-facts.parquet", folder=tmp_path)
    polars = sankofa.bulk("af-fund-facts", folder=tmp_path, as_="polars")
    arrow = sankofa.bulk("af-fund-facts", folder=tmp_path, as_="arrow")
    duckdb = sankofa.bulk("af-fund-facts", folder=tmp_path, as_="duckdb")
    path = sankofa.bulk("af-fund-facts", folder=tmp_path, as_="path")

    assert len(values) > 25
    for decimals in (exact, polars.to_pandas(), arrow.to_pandas(), _decimals(duckdb)):
        assert list(of_issuer(decimals)) == list(values)
        assert list(of_issuer(decimals).index) == list(values.index)
    assert list(of_issuer(floats)) == [float(value) for value in values]
    assert floats["available_at"].dtype == "datetime64[us]"
    version = service.mart.build().data_version
    assert path == tmp_path / version / "af-fund-facts.parquet"
    assert floats.attrs["data_version"] == version and floats.attrs["sku"] == "AF-FUND"
    assert "superseded_at" in floats.attrs["sql_as_of"]


def _decimals(relation: Any) -> pd.DataFrame:
    """Return a relation with Decimals, which DuckDB's own conversion to pandas makes floats of."""
    return pd.DataFrame(relation.fetchall(), columns=relation.columns)


def test_the_list_of_bulk_files_is_that_of_the_manifest(
    service: Contract, sankofa: Sankofa
) -> None:
    files = sankofa.bulk_files()
    manifest = service.world.published().manifest()
    assert list(files["key"]) == [artifact.key for artifact in manifest.artifacts]
    assert list(files["sha256"]) == [artifact.sha256 for artifact in manifest.artifacts]
    assert files.attrs["data_version"] == manifest.data_version


def test_open_files_need_no_key_and_licensed_ones_more_than_the_sandbox_key(
    service: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SANKOFA_API_KEY", raising=False)
    with Sankofa(service.server.address) as client:
        assert len(client.bulk(PANEL, folder=tmp_path)) > 0
        with pytest.raises(HigherTierNeeded) as refused:
            client.bulk("af-fund-facts", folder=tmp_path)
    assert refused.value.upgrade_url


def test_a_name_of_no_file_or_of_several_is_an_error_that_lists_them(sankofa: Sankofa) -> None:
    with pytest.raises(SankofaError, match=f"is no file of .*{PANEL}"):
        sankofa.bulk("prices")
    with pytest.raises(SankofaError, match=r"several files .*af-macro-annual, macro-series"):
        sankofa.bulk("AF-MACRO")
    with pytest.raises(NotFound):
        sankofa.bulk(PANEL, "20200101.1")
    with pytest.raises(ValueError, match="no data_version"):
        sankofa.bulk(PANEL, "../latest")


def test_a_file_is_downloaded_once_and_again_if_it_was_damaged(
    service: Contract, tmp_path: Path
) -> None:
    downloads: list[str] = []

    def note(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        if path.endswith(".parquet"):
            downloads.append(path)
        return forward()

    with altering(service.server.port, note) as address, Sankofa(address) as client:
        path = client.bulk(PANEL, folder=tmp_path, as_="path")
        assert client.bulk(PANEL, folder=tmp_path, as_="path") == path and len(downloads) == 1
        intact = path.read_bytes()
        path.write_bytes(intact[:-1] + b"?")
        assert client.bulk(PANEL, folder=tmp_path, as_="path").read_bytes() == intact
    assert len(downloads) == 2


def test_a_download_goes_on_where_it_broke(
    service: Contract, tmp_path: Path, waits: list[float]
) -> None:
    ranges: list[str | None] = []

    def cut(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        reply = forward()
        if not path.endswith(".parquet"):
            return reply
        ranges.append(headers.get("Range"))
        return replace(reply, sent=5000) if len(ranges) < 3 else reply

    with altering(service.server.port, cut) as address, Sankofa(address) as client:
        whole = client.bulk(PANEL, folder=tmp_path / "cut", as_="path").read_bytes()
        intact = client.bulk(PANEL, folder=tmp_path / "intact", as_="path").read_bytes()
        # Of an earlier run, and not of this file.
        part = tmp_path / "other" / client.bulk_files().attrs["data_version"] / f"{PANEL}.parquet"
        part.parent.mkdir(parents=True)
        part.with_name(f"{part.name}.part").write_bytes(b"?" * 100)
        assert client.bulk(PANEL, folder=tmp_path / "other", as_="path").read_bytes() == intact
    assert whole == intact
    assert ranges == [None, "bytes=5000-", "bytes=10000-", None, "bytes=100-", None]
    assert not list(tmp_path.rglob("*.part")) and len(waits) == 2


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_a_damaged_file_is_refused_and_not_kept(
    size: int, service: Contract, tmp_path: Path
) -> None:
    """Of another size, or of the same with one other byte."""

    def damage(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        reply = forward()
        if not path.endswith(".parquet"):
            return reply
        changed = bytes([reply.body[0] ^ 1]) + reply.body[1:]
        return replace(reply, body={-1: changed[:-1], 0: changed, 1: changed + b"?"}[size])

    with (
        altering(service.server.port, damage) as address,
        Sankofa(address) as client,
        pytest.raises(FileDamaged, match=PANEL),
    ):
        client.bulk(PANEL, folder=tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_manifest_with_another_signature_is_refused(service: Contract, tmp_path: Path) -> None:
    def change(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        reply = forward()
        if not path.endswith("manifest.json"):
            return reply
        return replace(reply, body=reply.body.replace(b"single", b"double"))

    with (
        altering(service.server.port, change) as address,
        Sankofa(address) as client,
        pytest.raises(SignatureInvalid, match="do not use"),
    ):
        client.bulk(PANEL, folder=tmp_path)
    another = Ed25519PrivateKey.generate().public_key()
    pem = another.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with (
        Sankofa(service.server.address, signing_key=pem.decode()) as client,
        pytest.raises(SignatureInvalid),
    ):
        client.bulk_files()


def test_a_pinned_signing_key_is_the_only_one_that_is_trusted(
    service: Contract, tmp_path: Path
) -> None:
    status, _, key = service.server.get("/exports/signing-key.pem")
    assert status == 200

    def no_key(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        assert not path.endswith(".pem")
        return forward()

    with (
        altering(service.server.port, no_key) as address,
        Sankofa(address, signing_key=key) as client,
    ):
        assert len(client.bulk(PANEL, folder=tmp_path)) > 0


def test_a_signed_manifest_of_another_version_is_refused(service: Contract) -> None:
    version = service.mart.build().data_version

    def replay(path: str, headers: Mapping[str, str], forward: Callable[[], Reply]) -> Reply:
        status, _, body = service.server.get(path.replace("20991231.1", version))
        return Reply(status, {}, body)

    with (
        altering(service.server.port, replay) as address,
        Sankofa(address) as client,
        pytest.raises(SignatureInvalid, match=version),
    ):
        client.bulk_files("20991231.1")


@pytest.mark.parametrize(
    ("module", "as_", "package"),
    [
        ("polars", "polars", "polars"),
        ("duckdb", "duckdb", "duckdb"),
        ("pyarrow.parquet", "pandas", "pyarrow"),
        ("cryptography.exceptions", "path", "cryptography"),
    ],
)
def test_a_package_that_is_missing_is_named_with_how_to_install_it(
    module: str,
    as_: Any,
    package: str,
    service: Contract,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with (
        Sankofa(service.server.address) as client,
        pytest.raises(PackageMissing, match=f"pip install {package}$"),
    ):
        client.bulk(PANEL, folder=tmp_path, as_=as_)


def test_files_are_kept_in_the_folder_of_caches(
    service: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Sankofa(service.server.address) as client:
        path = client.bulk(PANEL, as_="path")
    assert path.parent.parent == tmp_path / "sankofa"
    shutil.rmtree(path.parent)
