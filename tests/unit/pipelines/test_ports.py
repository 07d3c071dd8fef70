"""Ports on a system without ``/proc``, and cores without CPU affinity, as on macOS."""

import os
import socket
from pathlib import Path

import pytest
from mcp_server.__main__ import _available_cores

from pipelines import ports
from warehouse.errors import SankofaError


def test_without_proc_a_port_in_use_is_refused_without_naming_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ports, "Path", lambda *parts: tmp_path.joinpath("none", *parts[1:]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert ports.holder(port) is None
        with pytest.raises(SankofaError, match=f"port {port}, for REST, is in use\\."):
            ports.refuse_taken("127.0.0.1", {"REST": port})


def test_without_cpu_affinity_all_cores_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)

    assert _available_cores() == (os.cpu_count() or 1)
