"""Tests that share one world: each writes its part of it, and reads what came of that part."""

from collections.abc import Callable, Generator
from functools import cached_property
from typing import Generic, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class Stories(Generic[Part, Result]):
    """Tests whose parts are taken into one world, once, when the first of them runs.

    ``tell`` takes the parts of all tests and returns what came of each. A test is a generator that
    yields its part, and gets this back.
    """

    def __init__(self, tell: Callable[[list[Part]], list[Result]]) -> None:
        self._tell = tell
        self._stories: list[Callable[[], Generator[Part, Result, None]]] = []

    @cached_property
    def _results(self) -> list[Result]:
        return self._tell([next(story()) for story in self._stories])

    def test(self, story: Callable[[], Generator[Part, Result, None]]) -> Callable[[], None]:
        """Return the test of a story."""
        number = len(self._stories)
        self._stories.append(story)

        def test() -> None:
            told = story()
            next(told)
            try:
                told.send(self._results[number])
            except StopIteration:
                return
            raise AssertionError("a story has one part, and so one `yield`")

        test.__doc__ = story.__doc__
        return test
