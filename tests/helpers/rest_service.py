"""A published world with its exports, and the real server over it in separate processes."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from waitress.server import create_server

from api.serve import ServeOptions, bind, listen_on
from api.server.waitress_loop import run
from assets.exports.export import changes_of_export, export, switch_latest
from assets.page_data import page_data
from tests.helpers.made_once import copy_of, made_once
from tests.helpers.paths import ROOT
from tests.helpers.processes import children_of
from tests.helpers.publishing import publish
from tests.helpers.random_world import derived_of, everything, joined
from tests.helpers.record_rows import load, release_row
from tests.helpers.waiting import wait_until
from warehouse.control.keys import KeyStore, create_key, sandbox
from warehouse.publish.builds import Builds, builds_at
from warehouse.publish.partitions import REGISTERS
from warehouse.publish.snapshot import Derivation, Snapshot
from warehouse.record.store import Record
from warehouse.record.tables import TENDER_RELEASES
from warehouse.serve.catalogue import CHANGES, EXPORT_MANIFEST_KEY
from warehouse.serve.exports import PublishedExports, encode_manifest
from warehouse.shared.signing import SigningKey
from warehouse.shared.stop import Stop

Response = tuple[int, http.client.HTTPMessage, bytes]


@dataclass(frozen=True)
class World:
    """An installation with one build, and a key of each kind."""

    root: Path
    sample: str
    paid: str

    @property
    def marts(self) -> Path:
        return self.root / "marts"

    @property
    def keys(self) -> Path:
        return self.root / "control.sqlite"

    @property
    def exports(self) -> str:
        return str(self.root / "exports")

    @property
    def signing_key(self) -> Path:
        return self.root / "signing-key.pem"

    def published(self) -> PublishedExports:
        return PublishedExports(self.exports)

    @property
    def builds(self) -> Builds:
        return builds_at(self.marts)

    def publish(self, *releases: dict[str, object], **shown: object) -> str:
        """Publish again, with more releases, with exports, and with what pages show."""
        record = Record(str(self.root / "record"))
        if releases:
            load(record, TENDER_RELEASES, *releases)
        version = publish(
            record,
            self.marts,
            joins=Derivation("joined", joined, ("same_as",), REGISTERS),
            derivations=[
                Derivation(
                    "invented", lambda snapshot: derived_of(Random(1), snapshot.data_version)
                )
            ],
            work=self.root / "work",
            export=self._export,
            page_data=lambda snapshot: {**self._page_data(snapshot), **shown},
        )
        switch_latest(self.exports, version)
        return version

    def _export(self, snapshot: Snapshot, before: str | None) -> Mapping[str, str]:
        manifest = export(
            snapshot,
            self.exports,
            signing_key=SigningKey.at(self.signing_key),
            previous=before,
            notice="FICTIONAL",
        )
        return {
            EXPORT_MANIFEST_KEY: encode_manifest(manifest).decode(),
            CHANGES: msgspec.json.encode(
                changes_of_export(snapshot, str(self.exports), before)
            ).decode(),
        }

    def _page_data(self, snapshot: Snapshot) -> dict[str, Any]:
        published = self.published()
        return page_data(snapshot, published.manifest(snapshot.data_version), published)


def publish_invented(root: Path) -> World:
    """Load the invented rows and publish them."""
    record = Record(str(root / "record"))
    for table, rows in everything(Random(1)).items():
        load(record, table, *rows)
    world = World(root, "", "")
    world.publish()
    return world


def world_of(home: Path) -> World:
    """Return a published home as a world, with a key of each kind."""
    store = KeyStore(home / "control.sqlite")
    return World(home, sandbox(store), create_key(store, "professional"))


def make_world(
    factory: pytest.TempPathFactory, name: str, *, twice: bool = False, **shown: object
) -> World:
    """Return the invented world, which a run publishes once, in a folder of its own.

    With ``twice`` there is a second build, with one more release. With ``shown`` the second build
    is of this world alone: pages show that as well.
    """

    def publish_again(home: Path) -> None:
        shutil.copytree(made_once(factory, "invented", publish_invented), home)
        World(home, "", "").publish(release_row(7_000), **shown)

    if shown:
        folder = factory.mktemp(name) / "home"
        publish_again(folder)
        return world_of(folder)
    made = ("invented-twice", publish_again) if twice else ("invented", publish_invented)
    return world_of(copy_of(made_once(factory, *made), name, factory))


@dataclass(frozen=True)
class RunningServer:
    """A running server and its port."""

    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(
        self, path: str, key: str | None = None, method: str = "GET", **headers: str
    ) -> Response:
        """Send one request over a fresh connection."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(
                method, path, headers={**sent, **({"X-API-Key": key} if key else {})}
            )
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()


@dataclass(frozen=True)
class Served(RunningServer):
    """A server in separate processes: the first of them, and its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def children(self) -> list[int]:
        """Return the ids of the worker processes."""
        return children_of(self.process.pid)


@contextmanager
def answering(app: Any) -> Iterator[RunningServer]:
    """Serve an app over HTTP from a thread of this process."""
    server: Any = create_server(app, host="127.0.0.1", port=0)
    stop = threading.Event()

    def answer() -> None:
        while not stop.is_set():
            server.asyncore.loop(timeout=0.1, map=server._map, count=1)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield RunningServer(int(server.effective_port))
    finally:
        stop.set()
        thread.join(30)
        server.task_dispatcher.shutdown()
        server.asyncore.close_all(server._map, ignore_all=True)


@contextmanager
def served_here(world: World, **options: Any) -> Iterator[RunningServer]:
    """Serve a world from a thread of this process: what the options of a server do."""
    bound, stop = bind("127.0.0.1", 0), Stop()
    served_exports = ServeOptions(exports=world.exports, signing_key=world.signing_key)
    server = listen_on(bound, world.marts, world.keys, replace(served_exports, **options))
    thread = threading.Thread(target=run, args=(server, stop))
    thread.start()
    try:
        yield RunningServer(int(server.effective_port))
    finally:
        stop.set()
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def served(world: World, *options: str) -> Iterator[Served]:
    """Run ``python -m api`` at a free port until the end of the block."""
    with started(world, "api", "--exports", world.exports, *options) as server:
        yield server


@contextmanager
def started(world: World, module: str, *options: str) -> Iterator[Served]:
    """Run a server of ours at a free port until the end of the block."""
    log = world.root / f"{module}-log-{time.monotonic_ns()}"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", module, server_argument(module, world, *options)],
            stderr=file,
            cwd=ROOT,
        )
    try:
        server = Served(port_of(process, log), process, log)
        server.get("/health")
        yield server
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGTERM)
        process.wait(30)


_FIELDS = {
    "api": {"base-url": "base_urls", "trusted-proxy": "proxies"},
    "mcp_server": {
        **{"base-url": "bases", "allowed-host": "hosts", "allowed-origin": "origins"},
        "trusted-proxy": "proxies",
    },
}


def server_argument(module: str, world: World, *options: str) -> str:
    """Return the argument of a server's module for the options of the command."""
    chosen: dict[str, Any] = {"marts": str(world.marts), "control": str(world.keys), "port": 0}
    chosen["signing_key"] = str(world.signing_key)
    for option, value in zip(options[::2], options[1::2], strict=True):
        name = option.removeprefix("--")
        if name in _FIELDS[module]:
            chosen.setdefault(_FIELDS[module][name], []).append(value)
        else:
            is_number = name in ("workers", "port", "pages-per-minute")
            chosen[name.replace("-", "_")] = int(value) if is_number else value
    return json.dumps(chosen)


def port_of(process: subprocess.Popen[bytes], log: Path) -> int:
    def announced_port() -> int | None:
        match = re.search(r"listening at port (\d+)", log.read_text())
        assert match or process.poll() is None, log.read_text()
        return int(match[1]) if match else None

    return wait_until(announced_port, timeout=60)
