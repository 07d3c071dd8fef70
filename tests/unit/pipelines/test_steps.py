"""The steps of ``sankofa up``: each is announced, timed and numbered."""

import re

from pipelines.output import Steps


def test_each_step_is_announced_then_its_time_and_what_it_noted_follow() -> None:
    said: list[str] = []
    steps = Steps(said.append, bars=False)
    steps.total = 2
    for title in ("Loading", "Publishing"):
        with steps.step(title) as step:
            assert said[-1].endswith(f"] {title} …")
            step.show(1, 3)
            step.note(f"{title} went well")
    numbered = [re.sub(r"\d+\.\d s", "0.1 s", line) for line in said]
    assert numbered == [
        "[1/2] Loading …",
        "      done in 0.1 s",
        "      Loading went well",
        "[2/2] Publishing …",
        "      done in 0.1 s",
        "      Publishing went well",
    ]
