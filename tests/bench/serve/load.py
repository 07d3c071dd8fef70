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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CONNECTIONS = 16
# A line is an address and, after a tab, the ETag by which it is asked for again.
_LUA = """
local requests, at = {}, tonumber(os.getenv("FIRST"))
function init(arguments)
  for line in io.lines(os.getenv("REQUESTS")) do
    local address, etag = line:match("^([^\\t]*)\\t(.*)$")
    local headers = {}
    for name, value in pairs(wrk.headers) do headers[name] = value end
    if etag ~= "" then headers["If-None-Match"] = etag end
    requests[#requests + 1] = wrk.format("GET", address, headers)
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
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


@dataclass(frozen=True)
class Load:
    """What is sent: addresses one after another, each with an ETag or none, and common headers.

    ``first`` is where in the list a run begins, so that no run repeats what another one sent.
    """

    addresses: Sequence[str]
    headers: Mapping[str, str] = field(default_factory=dict)
    etags: Sequence[str] = ()
    first: int = 0


def load(port: int, sent: Load, seconds: int, core: int) -> LoadResult:
    """Send the requests over connections that stay open."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "requests")
        etags = sent.etags or [""] * len(sent.addresses)
        pairs = zip(sent.addresses, etags, strict=True)
        path.write_text("".join(f"{address}\t{etag}\n" for address, etag in pairs))
        run = _wrk if shutil.which("wrk") else _own
        environ = {**os.environ, "REQUESTS": str(path), "FIRST": str(sent.first)}
        return run(Path(folder), port, seconds, core, environ, sent.headers)


def _wrk(
    folder: Path,
    port: int,
    seconds: int,
    core: int,
    environ: dict[str, str],
    headers: Mapping[str, str],
) -> LoadResult:
    (folder / "ask.lua").write_text(_LUA)
    command = [
        *("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "--timeout", "20s"),
        *(part for name, value in headers.items() for part in ("-H", f"{name}: {value}")),
        *("-s", str(folder / "ask.lua"), f"http://127.0.0.1:{port}"),
    ]
    output = _run(command, core, environ)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+)", output)
    return LoadResult(
        float(_one(r"Requests/sec:\s+([\d.]+)", output)),
        _milliseconds(_one(r"\n\s+50%\s+(\S+)", output)),
        _milliseconds(_one(r"\n\s+99%\s+(\S+)", output)),
        int(bad[1] if bad else 0) + sum(map(int, broken.groups() if broken else ())),
    )


def _own(
    folder: Path,
    port: int,
    seconds: int,
    core: int,
    environ: dict[str, str],
    headers: Mapping[str, str],
) -> LoadResult:
    command = [sys.executable, "-m", "tests.bench.serve.load", str(port), str(seconds)]
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return LoadResult(**json.loads(_run(command, core, {**environ, "HEADERS": lines})))


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
        status = int(head[9:12])
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length is None and status != 304:
            raise RuntimeError("an answer does not say how long it is; install wrk")
        await reader.readexactly(0 if status == 304 or length is None else int(length[1]))
        took.append(time.perf_counter() - began)
        failed += status not in (200, 304)
        at += 1
    writer.close()
    return failed


async def _main(port: int, seconds: int) -> None:
    """Be the load: without wrk, which asks many times faster."""
    lines = Path(os.environ["REQUESTS"]).read_text().splitlines()
    first, head = int(os.environ["FIRST"]), f"Host: 127.0.0.1\r\n{os.environ['HEADERS']}"
    sent = []
    for line in lines[first:] + lines[:first]:
        address, etag = line.split("\t")
        condition = f"If-None-Match: {etag}\r\n" if etag else ""
        sent.append(f"GET {address} HTTP/1.1\r\n{head}{condition}\r\n".encode())
    took: list[float] = []
    until = time.perf_counter() + seconds
    parts = [sent[number::CONNECTIONS] or sent for number in range(CONNECTIONS)]
    failed = await asyncio.gather(*(_ask(port, part, until, took) for part in parts))
    took.sort()
    p50, p99 = (took[int(len(took) * part)] * 1000 for part in (0.5, 0.99))
    print(json.dumps(vars(LoadResult(len(took) / seconds, p50, p99, sum(failed)))))


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2])))
