"""All questions of the benchmark."""

from tests.agent import (
    questions_figures,
    questions_names,
    questions_past,
    questions_proof,
    questions_tenders,
    questions_trial,
    questions_unanswerable,
    questions_words,
)
from tests.agent.question import Question

THEMES: dict[str, tuple[Question, ...]] = {
    "trial": questions_trial.QUESTIONS,
    "names": questions_names.QUESTIONS,
    "figures": questions_figures.QUESTIONS,
    "past": questions_past.QUESTIONS,
    "proof": questions_proof.QUESTIONS,
    "tenders": questions_tenders.QUESTIONS,
    "unanswerable": questions_unanswerable.QUESTIONS,
    "words": questions_words.QUESTIONS,
}
QUESTIONS = tuple(question for theme in THEMES.values() for question in theme)
TRIAL = questions_trial.QUESTIONS
