"""The load: 16 connections from the other core, by wrk or, without it, by a process of ours."""

import asyncio
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 16
_LUA = """
local method, requests, at = os.getenv("METHOD"), {}, 0
for line in io.lines(os.getenv("REQUESTS")) do requests[#requests + 1] = line end
request = function()
  at = at % #requests + 1
  if method == "GET" then return wrk.format("GET", requests[at]) end
  return wrk.format("POST", "/api/sql", nil, requests[at])
end
"""
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


@dataclass(frozen=True)
class LoadResult:
    """What a run saw: requests a second, milliseconds, failures, µs of the server's CPU each."""

    per_second: float
    p50: float
    p99: float
    failed: int
    cpu: float = 0.0


def load(
    port: int, requests: list[str], seconds: int, core: int, key: str = "", method: str = "GET"
) -> LoadResult:
    """Send the requests one after another over connections that stay open."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "requests")
        path.write_text("\n".join(requests))
        run = _wrk if shutil.which("wrk") else _own
        environ = {**os.environ, "REQUESTS": str(path), "METHOD": method, "KEY": key}
        return run(Path(folder), port, seconds, core, environ)


def _wrk(folder: Path, port: int, seconds: int, core: int, environ: dict[str, str]) -> LoadResult:
    (folder / "ask.lua").write_text(_LUA)
    command = [
        *("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "--timeout", "20s"),
        *("-H", f"X-API-Key: {environ['KEY']}", "-s", str(folder / "ask.lua")),
        f"http://127.0.0.1:{port}",
    ]
    output = _run(command, core, environ)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+)", output)
    return LoadResult(
        float(_one(r"Requests/sec:\s+([\d.]+)", output)),
        _milliseconds(_one(r"50%\s+(\S+)", output)),
        _milliseconds(_one(r"99%\s+(\S+)", output)),
        int(bad[1] if bad else 0) + sum(map(int, broken.groups() if broken else ())),
    )


def _own(folder: Path, port: int, seconds: int, core: int, environ: dict[str, str]) -> LoadResult:
    command = [sys.executable, "-m", "tests.bench.serve.load", str(port), str(seconds)]
    return LoadResult(**json.loads(_run(command, core, environ)))


def _run(command: list[str], core: int, environ: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env=environ,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    return done.stdout


def _one(form: str, output: str) -> str:
    match = re.search(form, output)
    if match is None:
        raise RuntimeError(f"wrk printed nothing that matches {form}:\n{output}")
    return match[1]


def _milliseconds(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)(\w+)", text)
    return float(match[1]) * _UNITS[match[2]] if match else math.nan


async def _ask(port: int, sent: list[bytes], until: float, took: list[float]) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    at = failed = 0
    while (began := time.perf_counter()) < until:
        writer.write(sent[at % len(sent)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length is None:
            raise RuntimeError("an answer does not say how long it is; install wrk")
        await reader.readexactly(int(length[1]))
        took.append(time.perf_counter() - began)
        failed += not head.startswith(b"HTTP/1.1 2")
        at += 1
    writer.close()
    return failed


async def _main(port: int, seconds: int) -> None:
    """Be the load: without wrk, which asks many times faster."""
    requests, key = Path(os.environ["REQUESTS"]).read_text().splitlines(), os.environ["KEY"]
    head = f"Host: 127.0.0.1\r\nX-API-Key: {key}\r\n"
    if os.environ["METHOD"] == "GET":
        sent = [f"GET {item} HTTP/1.1\r\n{head}\r\n".encode() for item in requests]
    else:
        form = "POST /api/sql HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{}"
        sent = [form.format(head, len(item), item).encode() for item in requests]
    took: list[float] = []
    until = time.perf_counter() + seconds
    parts = [sent[number::CONNECTIONS] for number in range(CONNECTIONS)]
    failed = await asyncio.gather(*(_ask(port, part, until, took) for part in parts))
    took.sort()
    p50, p99 = (took[int(len(took) * part)] * 1000 for part in (0.5, 0.99))
    print(json.dumps(vars(LoadResult(len(took) / seconds, p50, p99, sum(failed)))))


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2])))
