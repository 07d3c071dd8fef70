"""Measure ours and its peers in turn, and print one table with the goals and whether they are met.

A line is a question and a client. ``uniform``, ``zipf``: how often each thing is wanted; ``gzip``,
``304``, ``csv`` and ``jsonl`` ask uniformly, too. Requests a second and CPU are medians of rounds,
in which all servers take turns. Ratios of goals to other servers are of requests a second, those
to other clients of ours are of the server's CPU, which a busy machine changes less.
"""

import os
import time
import urllib.request
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from urllib.parse import quote

from tests.bench.serve import data
from tests.bench.serve.cases import CASES, COMPARED, QUESTIONS, Question, by_zipf, questions
from tests.bench.serve.contenders import Contender, ours, started
from tests.bench.serve.load import Load, LoadResult, load
from tests.bench.serve.processes import cpu_seconds, private_mb
from tests.bench.serve.publications import p99_of_publications, private_mb_of_publications

# At least so much of waitress with a constant body, and so many times Datasette.
OF_WAITRESS = {"fundamentals": 0.6, "tenders": 0.55, "series": 0.6, "entity": 0.7}
TIMES_DATASETTE = {"fundamentals": 25, "tenders": 10, "series": 20, "entity": 6}
OF_WAITRESS_ZIPF = 0.8
# At most so many times the CPU of the same answers as JSON, not compressed.
TIMES_IDENTITY = {"gzip": 2.5, "304": 0.25, "csv": 3.0, "jsonl": 3.0}
MEMORY_MB, GROWTH = 150, 1.1
TWO_WORKERS = 1.8
P99_TIMES = 2.0
# Addresses that are requested again with their ETag.
_CONDITIONAL = 500


@dataclass(frozen=True)
class Goal:
    """A figure and the one that it should reach."""

    name: str
    figure: float
    bound: float
    at_least: bool = True

    def __str__(self) -> str:
        """Write figure, goal and verdict."""
        met = self.figure >= self.bound if self.at_least else self.figure <= self.bound
        sign = "≥" if self.at_least else "≤"
        return f"{self.name} {self.figure:.3g} {sign} {self.bound:g} {'yes' if met else 'NO'}"


Seen = dict[str, list[LoadResult]]


def report(scale: float = 1.0, rounds: int = 3, seconds: int = 2, publications: int = 100) -> None:
    """Print the table."""
    began = time.monotonic()
    dataset = data.at(scale)
    queries = {case: questions(dataset, case) for case in CASES}
    server, client = _cores()
    with ours(dataset, server) as contender:
        sizes = {case: _size(contender, some, dataset.key) for case, some in queries.items()}
    print(f"  data and questions ready after {time.monotonic() - began:.0f} s\n")
    print(_HEAD)
    with started(dataset, server, sizes) as contenders:
        for case in CASES:
            seen = _measure(dataset, case, queries[case], contenders, rounds, seconds, client)
            _print_case(case, sizes[case], seen)
        private = private_mb(contenders[0].pid)
    _print_line("a worker", "after all", goals=[Goal("private MB", private, MEMORY_MB, False)])
    two = _two_workers(dataset, queries["fundamentals"], rounds, seconds, (server, client))
    _print_line("two workers", "uniform", goals=[Goal("times one", two, TWO_WORKERS)])
    for when, times in p99_of_publications(
        dataset, queries["fundamentals"], seconds, server, client
    ).items():
        _print_line("p99", when, goals=[Goal("times without", times, P99_TIMES, False)])
    first, last = private_mb_of_publications(publications, server, client)
    growth = Goal(f"MB {first:.0f} to {last:.0f}, times", last / first, GROWTH, False)
    _print_line(f"{publications} publications", "private", goals=[growth])
    print(f"\n  {(time.monotonic() - began) / 60:.1f} minutes")


def _cores() -> tuple[int, int]:
    cores = sorted(os.sched_getaffinity(0))
    return cores[0], cores[-1]


def _get(contender: Contender, url: str, key: str) -> tuple[int, str]:
    """Return the size and the ETag of an answer."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{contender.port}{url}", headers={"X-API-Key": key}
    )
    with urllib.request.urlopen(request) as answer:
        return len(answer.read()), answer.headers["ETag"]


def _size(contender: Contender, some: list[Question], key: str) -> int:
    return int(median(_get(contender, item.ours, key)[0] for item in some[:20]))


def _loads(
    dataset: data.Data, case: str, uniform: list[Question], contenders: Sequence[Contender]
) -> dict[str, tuple[Contender, Load]]:
    """Return what each line of a case sends, and to which server."""
    service, waitress, *peers = contenders
    urls, head = [item.ours for item in uniform], {"X-API-Key": dataset.key}
    loads = {
        "uniform": (service, Load(urls, head)),
        "waitress": (waitress, Load([f"/{quote(case)}"])),
    }
    if case not in COMPARED:
        return loads
    loads["zipf"] = service, Load([item.ours for item in by_zipf(uniform)], head)
    loads["gzip"] = service, Load(urls, {**head, "Accept-Encoding": "gzip"})
    known = urls[:_CONDITIONAL]
    etags = [_get(service, url, dataset.key)[1] for url in known]
    loads["304"] = service, Load(known, head, etags)
    if case != "entity":
        for client, form in (("csv", "csv"), ("jsonl", "ndjson")):
            loads[client] = service, Load([f"{url}&format={form}" for url in urls], head)
    for peer in peers:
        loads[peer.name] = peer, Load([getattr(item, peer.words) for item in uniform])
    return loads


def _measure(
    dataset: data.Data,
    case: str,
    uniform: list[Question],
    contenders: Sequence[Contender],
    rounds: int,
    seconds: int,
    core: int,
) -> Seen:
    seen: Seen = defaultdict(list)
    loads = _loads(dataset, case, uniform, contenders)
    for number in range(rounds + 1):
        for client, (contender, sent) in loads.items():
            # Each round goes on elsewhere in the list: what one sent may be in a cache.
            first = number * QUESTIONS // (rounds + 1) % len(sent.addresses)
            run = run_load(contender, replace(sent, first=first), seconds if number else 1, core)
            if run.failed:
                raise RuntimeError(f"{contender.name} failed {run.failed} of {case}, {client}")
            # The first round only warms: what is read lies in memory for everyone.
            seen[client] += [run] if number else []
    return seen


def run_load(contender: Contender, sent: Load, seconds: int, core: int) -> LoadResult:
    """Send requests to a server and return what came of it, with the CPU it used for each."""
    before = cpu_seconds(contender.pid)
    result = load(contender.port, sent, seconds, core)
    spent = (cpu_seconds(contender.pid) - before) / max(1.0, result.per_second * seconds) * 1e6
    return replace(result, cpu=spent)


_HEAD = (
    "  question            client         bytes      req/s   p50 ms   p99 ms   CPU µs"
    "  ×waitress  by CPU  goals"
)


def _print_line(
    question: str,
    client: str,
    size: int | None = None,
    result: LoadResult | None = None,
    waitress: LoadResult | None = None,
    goals: Sequence[Goal] = (),
) -> None:
    line = f"  {question:19} {client:10} {'' if size is None else f'{size:,}':>9}"
    if result is not None:
        line += f" {result.per_second:10,.0f} {result.p50:8.2f} {result.p99:8.2f}"
        line += f" {result.cpu:8,.0f}"
        if waitress is not None:
            speed, cpu = result.per_second / waitress.per_second, waitress.cpu / result.cpu
            line += f" {speed:10.2f} {cpu:7.2f}"
        else:
            line += " " * 19
    else:
        line += " " * 57
    print(f"{line}  {'; '.join(map(str, goals))}".rstrip(), flush=True)


def middle(results: Sequence[LoadResult]) -> LoadResult:
    """Return the medians of several runs."""
    names = ("per_second", "p50", "p99", "cpu")
    medians = {name: median(getattr(run, name) for run in results) for name in names}
    return LoadResult(failed=sum(run.failed for run in results), **medians)


def _print_case(case: str, size: int, seen: Mapping[str, Sequence[LoadResult]]) -> None:
    results = {client: middle(runs) for client, runs in seen.items()}
    uniform, waitress = results["uniform"], results["waitress"]
    for client, result in results.items():
        goals = []
        if client == "uniform" and case in COMPARED:
            speed = uniform.per_second
            goals.append(Goal("of waitress", speed / waitress.per_second, OF_WAITRESS[case]))
            datasette = speed / results["datasette"].per_second
            goals.append(Goal("times Datasette", datasette, TIMES_DATASETTE[case]))
        if client == "zipf":
            of_waitress = result.per_second / waitress.per_second
            goals.append(Goal("of waitress", of_waitress, OF_WAITRESS_ZIPF))
        if client in TIMES_IDENTITY:
            times = result.cpu / uniform.cpu
            goals.append(Goal("CPU of uniform", times, TIMES_IDENTITY[client], False))
        _print_line(case, client, size, result, waitress, goals)


def _two_workers(
    dataset: data.Data,
    uniform: list[Question],
    rounds: int,
    seconds: int,
    cores: tuple[int, int],
) -> float:
    """Return how much more two workers answer than one, each on a core of its own.

    With a third core for the clients, by requests; otherwise, clients and workers share cores, and
    it is worked out from the CPU that a request takes.
    """
    available = sorted(os.sched_getaffinity(0))
    has_room = len(available) > 2
    sent = Load([item.ours for item in uniform], {"X-API-Key": dataset.key})
    both = cores if not has_room else (available[0], available[1])
    results: dict[int, list[LoadResult]] = {1: [], 2: []}
    with (
        ours(dataset, both[0], port=51) as one,
        ours(dataset, *both, port=52, workers=2) as two,
    ):
        for number in range(rounds + 1):
            for workers, contender in ((1, one), (2, two)):
                first = number * QUESTIONS // (rounds + 1)
                run = run_load(contender, replace(sent, first=first), seconds, available[-1])
                results[workers] += [run] if number else []
    alone, together = middle(results[1]), middle(results[2])
    if has_room:
        return together.per_second / alone.per_second
    return 2 * alone.cpu / together.cpu
