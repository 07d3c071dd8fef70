"""What publications cost those who read meanwhile: p99, and memory over many of them."""

import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests.bench.changed_rows import change
from tests.bench.serve.cases import CASES, Question, questions
from tests.bench.serve.contenders import ROOT, Contender, ours
from tests.bench.serve.data import VERSION, Data, at, publish_staged
from tests.bench.serve.load import Load, load
from tests.bench.serve.processes import private_mb
from warehouse.publish.builds import builds_at, delete_old_builds

# A world of a few thousand rows: what a reader keeps of each publication does not depend on more.
_SMALL = 0.001
_KEPT_BUILDS = 30
_QUESTIONS_BETWEEN = 10
_SECONDS_BETWEEN_SWITCHES = 0.25


@contextmanager
def _copy_of(data: Data) -> Iterator[Data]:
    """Copy what a publication changes; files of builds never change, so they are linked."""
    with tempfile.TemporaryDirectory(dir=data.folder) as folder:
        copy = replace(data, folder=Path(folder))
        shutil.copytree(data.folder / "stage", copy.folder / "stage")
        shutil.copytree(data.marts, copy.marts, copy_function=os.link)
        shutil.copy(data.keys, copy.keys)
        shutil.copy(data.folder / "key", copy.folder / "key")
        yield copy


def p99_of_publications(
    data: Data, uniform: list[Question], seconds: int, server: int, client: int
) -> dict[str, float]:
    """Return p99 while a publication runs, and while builds are switched, as multiples of before.

    The publication runs on the core of the clients, at a lower priority than theirs.
    """
    with _copy_of(data) as copy, ours(copy, server) as contender:
        number = 0

        def p99() -> float:
            nonlocal number
            number += 1
            urls = [item.ours for item in uniform]
            first = number * 997 % len(urls)
            sent = Load(urls, {"X-API-Key": copy.key}, first=first)
            return load(contender.port, sent, seconds, client).p99

        p99()
        before = median(p99() for _ in range(3))
        command = [sys.executable, "-c", _PUBLISH, str(copy.folder)]
        during: list[float] = []

        def give_way() -> None:
            os.sched_setaffinity(0, {client})
            os.nice(10)

        with subprocess.Popen(command, cwd=ROOT, preexec_fn=give_way) as publisher:
            while publisher.poll() is None:
                during.append(p99())
        if publisher.returncode:
            raise RuntimeError("the publication failed")
        with _switching(copy):
            switched = median(p99() for _ in range(3))
    return {"publishing": median(during) / before, "switching": switched / before}


@contextmanager
def _switching(data: Data) -> Iterator[None]:
    """Switch between two builds until the end of the block."""
    stop, builds, names = threading.Event(), builds_at(data.marts), (VERSION, _version(1))

    def switch() -> None:
        turn = 0
        while not stop.wait(_SECONDS_BETWEEN_SWITCHES):
            builds.switch(names[turn % 2])
            turn += 1

    thread = threading.Thread(target=switch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def private_mb_of_publications(number: int, server: int, client: int) -> tuple[float, float]:
    """Return the private memory of a worker in the first and in the last part of publications.

    A tenth of them comes before the first part: until then caches fill.
    """
    small = at(_SMALL)
    urls = {case: [item.ours for item in questions(small, case)] for case in CASES}
    memory: list[float] = []
    with _copy_of(small) as copy, ours(copy, server) as contender:
        get = _client(contender, copy.key)
        for turn in range(1, number + 1):
            publish_changed(copy.folder, turn)
            delete_old_builds(builds_at(copy.marts), _KEPT_BUILDS)
            for case in CASES:
                # Their cursors are of a build that is deleted.
                begin = turn * _QUESTIONS_BETWEEN % 10_000
                for url in urls[case][begin : begin + _QUESTIONS_BETWEEN]:
                    get(url.partition("&cursor=")[0])
            memory.append(private_mb(contender.pid))
    part = max(1, number // 10)
    return median(memory[part : 3 * part] or memory), median(memory[-2 * part :])


def _client(contender: Contender, key: str) -> Callable[[str], None]:
    connection = http.client.HTTPConnection("127.0.0.1", contender.port)

    def get(url: str) -> None:
        connection.request("GET", url, headers={"X-API-Key": key})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{url} answered {answer.status}")

    return get


def _version(turn: int) -> str:
    return f"20260201.{turn}"


def publish_changed(folder: Path, turn: int) -> None:
    """Change a thousandth of the rows and publish."""
    change(folder / "stage", turn)
    publish_staged(folder / "stage", folder / "marts", _version(turn))


_PUBLISH = f"""
import pathlib, sys
from {__name__} import publish_changed
publish_changed(pathlib.Path(sys.argv[1]), 1)
"""
