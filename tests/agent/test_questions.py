"""An agent answers ordinary questions in few calls and few tokens, and is told what it cannot know.

Calls and tokens are counts, not timings: they are the same on every machine.
"""

from dataclasses import replace

import pytest

from tests.agent.all_questions import QUESTIONS, THEMES, TRIAL
from tests.agent.asked import Asked
from tests.agent.question import Question, always, call, words
from tests.agent.selectors import select

MOST_CALLS = 3
TRIAL_TOKENS = 25_000
TOOLS_BYTES, DESCRIBED_BYTES = 25_000, 10_000
OF_THEME = [
    pytest.param(question, id=f"{theme}-{number}")
    for theme, questions in THEMES.items()
    for number, question in enumerate(questions, 1)
]


@pytest.mark.parametrize("question", OF_THEME)
def test_a_question_is_answered_within_its_budget(question: Question, asked: Asked) -> None:
    walked = asked.agent.walk(question)
    assert dict(walked.answer) == dict(question.known(asked.published)), question.text
    assert walked.tokens <= question.tokens, question.text


def test_no_question_needs_more_than_three_calls() -> None:
    assert len(QUESTIONS) >= 50
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)
    assert max(len(question.path) for question in QUESTIONS) <= MOST_CALLS


def test_the_questions_of_the_trial_cost_a_fraction_of_what_they_did(asked: Asked) -> None:
    trials = [question.trial for question in TRIAL if question.trial is not None]
    assert [trial.number for trial in trials] == list(range(1, 15))
    assert sum(asked.agent.walk(question).tokens for question in TRIAL) <= TRIAL_TOKENS
    assert sum(len(question.path) for question in TRIAL) < sum(trial.calls for trial in trials)


def test_every_tool_is_on_some_path(asked: Asked) -> None:
    used = {step.tool for question in QUESTIONS for step in question.path}
    assert used | {"get_entity"} == set(asked.agent.tools)


def test_what_every_conversation_begins_with_is_small(asked: Asked) -> None:
    assert len(asked.agent.tools_body) < TOOLS_BYTES
    assert len(asked.agent.described.encode()) < DESCRIBED_BYTES


GUESSED = Question("Who is it?", (), {}, always(), 0)


@pytest.mark.parametrize(
    "arguments",
    [
        {"service_id": "DCHGWRYXXDHC"},
        {"cursor": "abc"},
        {"query": "Ubuntu"},
        {"as_of": "2021-06-30"},
        {"country": "KE"},
        {"value": 12},
        {"series": "CPI.ZAF"},
    ],
)
def test_an_argument_that_nothing_told_fails_the_question(
    asked: Asked, arguments: dict[str, object]
) -> None:
    question = replace(GUESSED, path=(call("get_entity", **arguments),))
    with pytest.raises(AssertionError, match=r"guessed|told"):
        asked.agent.walk(question)


def test_a_selector_reads_only_earlier_results() -> None:
    first = {"shared": {"unit": "ZAR"}, "data": [{"n": 1}, {"n": 2, "unit": "USD"}]}
    assert select("$1.data[*].unit", [first], {}) == ["ZAR", "USD"]
    assert select("$1.data[n=2].unit", [first], {}) == "USD"
    assert select("$1.data[?n].n", [first], {}) == [1, 2]
    assert select("$1.data[7].n", [first], {}) is None
    with pytest.raises(AssertionError, match="no earlier call"):
        select("$2.data", [first], {})
    with pytest.raises(AssertionError, match="malformed"):
        select("$1.data[", [first], {})


def test_words_stand_for_a_sentence_that_has_all_of_them() -> None:
    assert words("not", "held") == "It is NOT held."
    assert words("not", "held") != "It is held."
