"""``python -m pitbench questions|readers|run --files FOLDER …``; see ``README.md``."""

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pitbench import reader_python, reader_sql
from pitbench.files import BenchFile, FilesMissing, find_files
from pitbench.model import Adapter, Answer, Question, Truth
from pitbench.questions import PUBLIC_SEED, draw, fingerprint
from pitbench.scoring import Judged, counted, judge

# The seed of the hidden part is in no repository.
SEED = "PITBENCH_SEED"


def main(arguments: list[str] | None = None) -> int:
    """Run one of the commands; 1 if the readers disagree or files are missing."""
    parser = argparse.ArgumentParser(prog="pitbench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("questions", "readers", "run"):
        command = commands.add_parser(name)
        command.add_argument("--files", type=Path, action="append", required=True)
        if name == "run":
            command.add_argument(
                "--adapter",
                action="append",
                required=True,
                help="'module:Class name=value …'; may be repeated",
            )
            command.add_argument("--results", type=Path, required=True, help="a folder")
    chosen = parser.parse_args(arguments)
    try:
        files = find_files(chosen.files)
    except FilesMissing as missing:
        print(f"pitbench: {missing}", file=sys.stderr)
        return 1
    seed = os.environ.get(SEED, PUBLIC_SEED)
    questions, truths, disagreements = prepare(files, seed)
    if chosen.command == "questions":
        for question in questions:
            print(json.dumps(asdict(question)))
        return 0
    if chosen.command == "readers":
        print(f"{len(questions)} questions, {fingerprint(questions)}")
        print(f"the readers disagree on {len(disagreements)}")
        for question, one, other in disagreements:
            print(question, one, other, sep="\n  ")
        return bool(disagreements)
    results = {}
    chosen.results.mkdir(parents=True, exist_ok=True)
    for wanted in chosen.adapter:
        name, *options = wanted.split()
        result = run(load(name, files, options), questions, truths)
        result |= {"adapter": name, "seed": "public" if seed == PUBLIC_SEED else "hidden"}
        result["left_out"] = len(disagreements)
        results[name.partition(":")[2]] = result
        path = chosen.results / f"{name.partition(':')[2]}.json"
        path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(table(results))
    return 0


def prepare(
    files: list[BenchFile], seed: str
) -> tuple[list[Question], dict[str, Truth], list[tuple[Question, Truth, Truth]]]:
    """Return the questions of a seed, the truths on which both readers agree, and the others."""
    stated = reader_python.histories(files)
    questions = draw(stated, seed, max(file.read_on for file in files))
    first = reader_python.truths(questions, stated, files)
    second = reader_sql.truths(questions, files)
    disagreements = [
        (question, first[question.id], second[question.id])
        for question in questions
        if first[question.id] != second[question.id]
    ]
    disputed = {question.id for question, *_ in disagreements}
    return questions, {name: first[name] for name in first if name not in disputed}, disagreements


def run(adapter: Adapter, questions: list[Question], truths: Mapping[str, Truth]) -> dict[str, Any]:
    """Ask an adapter everything of its tracks on which the readers agree."""
    judged, failures = [], []
    begun = time.process_time()
    for question in questions:
        if question.figure.track not in adapter.tracks or question.id not in truths:
            continue
        answer, failure = _answer(adapter, question)
        if failure is not None:
            failures.append(failure)
        truth = truths[question.id]
        judged.append(Judged(question, answer, truth, judge(question, answer, truth)))
    return {
        "questions": fingerprint(questions),
        "cpu_seconds": round(time.process_time() - begun, 1),
        **counted(judged),
        "failures": failures[:20],
        "not_right": [_shown(one) for one in judged if one.outcome != "right"],
    }


def _answer(adapter: Adapter, question: Question) -> tuple[Answer | None, str | None]:
    """Return the answer; an adapter that fails gives none, and the run goes on."""
    try:
        return adapter.answer(question), None
    except Exception as error:
        return None, f"{question.id}: {type(error).__name__}: {error}"


def _shown(one: Judged) -> dict[str, Any]:
    answer = None if one.answer is None else str(one.answer.value)
    sets = {name: sorted(map(str, values)) for name, values in asdict(one.truth).items()}
    return {"outcome": one.outcome, "answer": answer, **asdict(one.question), **sets}


def load(name: str, files: list[BenchFile], options: list[str]) -> Adapter:
    """Return an adapter by ``module:Class``, made with the files and the options."""
    module, _, adapter = name.partition(":")
    made = getattr(importlib.import_module(module), adapter)
    adapter_: Adapter = made(files, **dict(option.split("=", 1) for option in options))
    return adapter_


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return results as a table in Markdown, a line for each adapter and track."""
    lines = [
        "| adapter | track | questions | look-ahead per 1,000 | right | wrong | look-ahead | stale "
        "| unanswered | contested: right of |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for adapter, result in results.items():
        for track, row in result["tracks"].items():
            apart = result["contested"].get(track)
            contested = f"{apart['right']} of {apart['questions']}" if apart else "0 of 0"
            cells = (
                *(adapter, track, row["questions"], row["look_ahead_per_1000"], row["right"]),
                *(row["wrong"], row["look_ahead"], row["stale"], row["unanswered"], contested),
            )
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
