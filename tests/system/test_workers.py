"""Worker processes: where the system lacks what only Linux has, and when a signal stops them."""

import os
import signal
import threading
from pathlib import Path

import pytest

from api.serve import run_workers
from warehouse.shared.settings import available_cores
from warehouse.shared.stop import Stop


@pytest.fixture
def without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what macOS does not have."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)


@pytest.mark.usefixtures("without_affinity")
def test_without_cpu_affinity_every_core_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert available_cores() == [0, 1, 2]
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == [0]


@pytest.mark.usefixtures("without_affinity")
def test_without_cpu_affinity_workers_run_all_the_same(tmp_path: Path) -> None:
    stop = Stop()

    def work(stop: Stop) -> None:
        (tmp_path / str(os.getpid())).touch()
        stop.wait(30)

    def stop_when_both_run() -> None:
        while len(list(tmp_path.iterdir())) < 2 and not stop.wait(0.05):
            pass
        stop.set()

    threading.Thread(target=stop_when_both_run, daemon=True).start()
    # Workers inherit no signal handler here, so that SIGTERM ends them.
    run_workers(work, 2, stop)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_signal_stops_a_process_whatever_it_does_at_that_moment() -> None:
    process, stops = os.getpid(), [Stop() for _ in range(200)]
    before = signal.getsignal(signal.SIGUSR1)
    try:
        for number, stop in enumerate(stops):
            stop.on_signals(signal.SIGUSR1)
            later = threading.Timer(number * 1e-5, os.kill, (process, signal.SIGUSR1))
            later.start()
            while not stop.wait(0):
                pass
            later.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert all(stop.is_set() for stop in stops)
