"""Import Great Expectations without scipy.stats and altair until something needs them.

It imports both for expectations about distributions and for plots, which no suite has; they are a
third of the seconds that its import takes. While it is imported, stand-ins have their place, which
import the real package when one of its names is asked for.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_LATER = ("scipy", "scipy.stats", "altair")


class _Later(ModuleType):
    """A module that is imported when one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        # The import system asks for names like __path__ of a module that it finds.
        if name.startswith("__") or sys.modules.get(self.__name__) is self:
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def without_plots() -> Iterator[None]:
    """Put off the import of packages that nobody has imported yet."""
    later = {name: _Later(name) for name in _LATER if name not in sys.modules}
    if "scipy" in later:
        vars(later["scipy"])["stats"] = later["scipy.stats"]
    elif "scipy.stats" in later:
        # Whoever imported scipy gets its parts as they are.
        del later["scipy.stats"]
    sys.modules.update(later)
    try:
        yield
    finally:
        for name in later:
            del sys.modules[name]
