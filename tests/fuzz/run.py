"""A run: so many requests from a seed, and what was wrong with their answers."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.judged import Judge
from tests.fuzz.made import Maker
from tests.fuzz.service import FuzzedService, FuzzInputs, Request


@dataclass
class Run:
    """How many answers had each status, and what was wrong, with the request that showed it."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[tuple[str, Request]] = field(default_factory=list)


def run(home: Path, inputs: FuzzInputs, seed: int, requests: int) -> Run:
    """Send and judge requests; an error that escapes the app is wrong too."""
    service, done = FuzzedService(home), Run()
    maker, judge = Maker(seed, inputs), Judge(service, inputs)
    for _ in range(requests):
        request = maker.request()
        try:
            answer = service.ask(request)
            violations = judge.wrong(request, answer)
        except Exception as error:  # whatever leaves the app, or cannot be read of its answer
            done.wrong.append((f"{type(error).__name__}: {error}", request))
            continue
        done.statuses[answer.status] += 1
        done.wrong += [(violation, request) for violation in violations]
    return done
