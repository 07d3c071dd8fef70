"""Run all contenders in turn, several rounds, and print medians and the ratios of the goals."""

import os
import urllib.request
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests.bench.serve import data
from tests.bench.serve.cases import CASES, Question, questions
from tests.bench.serve.contenders import Contender, ours, started
from tests.bench.serve.load import LoadResult, load

# At least so many times Datasette and the usual service, and so much of waitress's ceiling.
GOALS = {
    "fundamentals": (25, 35, 0.6),
    "tenders": (10, 15, 0.6),
    "macro": (20, 30, 0.6),
    "entity": (6, 7, 0.8),
}
MEMORY_MB = 400


def report(scale: float = 1.0, rounds: int = 3, seconds: int = 5) -> None:
    """Print requests a second, p50, p99, the ratios and our memory."""
    dataset = data.at(scale)
    queries = {case: questions(dataset, case) for case in CASES}
    server, client = _cores()
    sizes = _sizes(dataset, queries, server)
    seen: dict[tuple[str, str], list[LoadResult]] = defaultdict(list)
    with started(dataset, server, sizes) as contenders:
        for case in CASES:
            for number in range(rounds + 1):
                for contender in contenders:
                    run = _run(
                        dataset, contender, case, queries[case], seconds if number else 1, client
                    )
                    # The first round only warms: what is read lies in memory for everyone.
                    seen[case, contender.name] += [run] if number else []
            _print_case(case, sizes[case], seen, [contender.name for contender in contenders])
        private, whole = _memory(contenders[0].pid)
    print(f"\n  memory of our process: {private} MB of its own (goal: under {MEMORY_MB});")
    print(f"  with the pages of the build that the kernel keeps for it: {whole} MB")


def _cores() -> tuple[int, int]:
    cores = sorted(os.sched_getaffinity(0))
    return cores[0], cores[-1]


def _sizes(dataset: data.Data, queries: dict[str, list[Question]], core: int) -> dict[str, int]:
    """Return the size of our own responses."""
    sizes = {}
    with ours(dataset, core) as contender:
        for case, some in queries.items():
            lengths = []
            for item in some[:20]:
                request = urllib.request.Request(
                    f"http://127.0.0.1:{contender.port}{item.ours}",
                    headers={"X-API-Key": dataset.key},
                )
                with urllib.request.urlopen(request) as answer:
                    lengths.append(len(answer.read()))
            sizes[case] = int(median(lengths))
    return sizes


def _run(
    dataset: data.Data,
    contender: Contender,
    case: str,
    queries: list[Question],
    seconds: int,
    core: int,
) -> LoadResult:
    if contender.words == "constant":
        texts = [f"/{case}"]
    else:
        texts = [getattr(item, contender.words) for item in queries]
    method = "POST" if contender.words == "roapi" else "GET"
    before = _cpu(contender.pid)
    seen = load(contender.port, texts, seconds, core, dataset.key, method)
    spent = (_cpu(contender.pid) - before) / max(1.0, seen.per_second * seconds) * 1e6
    seen = replace(seen, cpu=spent)
    if seen.failed:
        raise RuntimeError(f"{contender.name} failed {seen.failed} requests of {case}")
    return seen


def _print_case(
    case: str, size: int, seen: dict[tuple[str, str], list[LoadResult]], names: list[str]
) -> None:
    print(f"\n  {case}, {size:,} bytes")
    print("                       requests/s   p50 ms   p99 ms   CPU µs    ours is     by CPU")
    speed = {name: median(run.per_second for run in seen[case, name]) for name in names}
    cpu = {name: median(run.cpu for run in seen[case, name]) for name in names}
    for name in names:
        p50, p99 = (median(getattr(run, at) for run in seen[case, name]) for at in ("p50", "p99"))
        times, by_cpu = speed["sankofa"] / speed[name], cpu[name] / cpu["sankofa"]
        print(
            f"    {name:12} {speed[name]:15,.0f} {p50:9.2f} {p99:8.2f} {cpu[name]:8.0f} "
            f"{times:10.2f} {by_cpu:10.2f}"
        )
    datasette, usual, ceiling = GOALS[case]
    reached = {
        f"{datasette} times Datasette": speed["sankofa"] >= datasette * speed["datasette"],
        f"{usual} times FastAPI": speed["sankofa"] >= usual * speed["fastapi"],
        f"{ceiling} of waitress": speed["sankofa"] >= ceiling * speed["waitress"],
    }
    print("    " + "; ".join(f"{goal}: {'yes' if met else 'NO'}" for goal, met in reached.items()))


def _cpu(pid: int) -> float:
    """Return the CPU seconds that a process and its children have used.

    On a machine that others use too, compare these: who has more threads is given more turns.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return own + sum(_cpu(int(part)) for task in tasks for part in task.read_text().split())


def _memory(pid: int) -> tuple[int, int]:
    """Return a process's private memory, and its memory with mapped files, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return tuple(int(fields[name].split()[0]) // 1024 for name in ("RssAnon", "VmRSS"))  # type: ignore[return-value]
