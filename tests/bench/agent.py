"""Questions of agents over the full sample world: calls and tokens of each, and of the trial."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from pipelines.sample_world import unpack_world
from tests.agent.all_questions import THEMES, TRIAL
from tests.agent.asked import Asked, asked_world
from tests.agent.question import Question
from tests.helpers.installation import (
    BriefPublication,
    load_sample,
    publication,
    settings_of,
)


def report() -> None:
    """Print what each question costs, in sum, and what those of the trial cost before."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        unpack_world(settings_of(home).sample, "fictional")
        load_sample(home)
        publication(settings_of(home), BriefPublication).run()
        with asked_world(home) as asked:
            print(f"  tools/list {len(asked.agent.tools_body):,} bytes", end=", ")
            print(f"describe_data {len(asked.agent.described.encode()):,} bytes")
            for theme, questions in THEMES.items():
                _say_theme(asked, theme, questions)
            _say_trial(asked)


def _say_theme(asked: Asked, theme: str, questions: Iterable[Question]) -> None:
    calls = tokens = 0
    print(f"  {theme}: calls, tokens")
    for question in questions:
        walked = asked.agent.walk(question)
        right = dict(walked.answer) == dict(question.known(asked.published))
        calls, tokens = calls + len(question.path), tokens + walked.tokens
        wrong = "" if right else "  WRONG"
        print(f"    {len(question.path)} {walked.tokens:6,}  {question.text}{wrong}")
    print(f"    {calls} {tokens:,} in sum")


def _say_trial(asked: Asked) -> None:
    before = [question.trial for question in TRIAL if question.trial is not None]
    calls = sum(len(question.path) for question in TRIAL)
    tokens = sum(asked.agent.walk(question).tokens for question in TRIAL)
    calls_before = sum(trial.calls for trial in before)
    tokens_before = sum(trial.tokens for trial in before)
    print(
        f"  the fourteen of the trial: {calls} calls (before {calls_before}), {tokens:,} tokens "
        f"(before {tokens_before:,}, ratio {tokens_before / tokens:.1f})"
    )
