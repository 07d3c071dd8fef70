"""Who listens on a port; ports without ``/proc`` and cores without CPU affinity, as on macOS."""

import os
import socket
from pathlib import Path

import pytest

from pipelines import ports
from warehouse.errors import SankofaError
from warehouse.server_options import available_cores


def test_without_proc_a_port_in_use_is_refused_without_naming_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ports, "Path", lambda *parts: tmp_path.joinpath("none", *parts[1:]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert ports.holder(port) is None
        with pytest.raises(SankofaError, match=f"port {port}, for REST, is in use\\."):
            ports.refuse_taken({"REST": ports.Address("127.0.0.1", port)})


def test_the_server_is_named_and_not_its_worker_with_a_lower_id(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ports, "Path", lambda first, *parts: tmp_path.joinpath(first[1:], *parts))
    for pid, parent, command in ((7, 42, "python -c spawn"), (42, 1, "python -m mcp_server")):
        process = tmp_path / "proc" / str(pid)
        (process / "fd").mkdir(parents=True)
        (process / "fd" / "3").symlink_to("socket:[99]")
        (process / "stat").write_text(f"{pid} (a (b) c) S {parent} 0 0")
        (process / "cmdline").write_text(command.replace(" ", "\0"))
    (tmp_path / "proc" / "net").mkdir()
    listening = "0: 0100007F:2082 00000000:0000 0A 0:0 00:0 0 0 0 99"
    (tmp_path / "proc" / "net" / "tcp").write_text(f"header\n{listening}\n")

    assert ports.holder(0x2082) == ports.Holder(42, "python -m mcp_server")


def test_without_cpu_affinity_all_cores_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)

    assert len(available_cores()) == (os.cpu_count() or 1)
