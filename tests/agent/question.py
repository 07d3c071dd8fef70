"""A question of the benchmark: its words, the shortest path over the tools, and its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.agent.published import Published

Answer = Mapping[str, object]


@dataclass(frozen=True)
class Call:
    """One call; an argument that begins with ``$`` is taken from what was told before."""

    tool: str
    arguments: Mapping[str, Any]


def call(tool: str, **arguments: Any) -> Call:
    """Return a call; ``from_`` stands for ``from``, which is a word of Python."""
    return Call(tool, {name.rstrip("_"): value for name, value in arguments.items()})


@dataclass(frozen=True)
class Trial:
    """The number of a question in a trial of an earlier version, and what it cost there."""

    number: int
    calls: int
    tokens: int


@dataclass(frozen=True)
class Question:
    """A question, and what the answer must say.

    ``says`` names what is read from the results by selectors. ``known`` reads the same from the
    published files, or states what never changes. ``tokens`` is what the results may cost.
    """

    text: str
    path: tuple[Call, ...]
    says: Mapping[str, str]
    known: Callable[[Published], Answer]
    tokens: int
    trial: Trial | None = None
    tier: str = "professional"


@dataclass(frozen=True)
class Words:
    """Stands in an expected answer for a sentence that has some words."""

    words: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and all(
            word.casefold() in other.casefold() for word in self.words
        )

    def __hash__(self) -> int:
        return hash(self.words)


def words(*several: str) -> Words:
    return Words(several)


def always(**answer: object) -> Callable[[Published], Answer]:
    """Return an answer that is the same in every sample world."""
    return lambda published: answer
