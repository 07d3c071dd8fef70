"""The version under which a parser reads documents, and the lock that ties it to its code.

A parser's version is the number declared with its source. ``parsers.lock`` has the hash of the
code behind the number. In a working copy whose code differs from the lock, the version is
the number and the hash, ``3+9f86d081``, so that changed code reads the documents again by itself.
An installed package has no lock: there the number counts.

The code of a parser is the module of its functions and every module of ``assets`` and ``quality``
that those import, directly or not, with the CSV tables they read; and of ``warehouse`` how dates
are read and names compared.
Fetching is left out, and so is storing: neither changes what a document says.
"""

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from assets.parsing.parsed import InPieces
from assets.source import Parser
from warehouse.shared.code_version import code_hash
from warehouse.shared.errors import SankofaError

LOCK = Path(__file__).with_name("parsers.lock")
_WITHIN = ("assets", "quality", "warehouse.shared.texts", "warehouse.names")
_WITHOUT = ("assets.fetching", "assets.source")

# The hash of the code of each parser, by its name and version.
Locked = Mapping[tuple[str, int], str]


def effective_version(parser: Parser) -> str:
    """Return the version under which a parser reads documents."""
    version, name = str(parser.version), parser_name(parser)
    if LOCK.exists() and is_ours(name):
        code = parser_code(parser)
        if read_lock().get((name, parser.version)) != code:
            version += f"+{code[:8]}"
    return f"{version}/{variant_digits(parser.variant)}" if parser.variant else version


def variant_digits(variant: str) -> str:
    """Return the digits that identify the variant of a parser in its version."""
    return hashlib.sha256(variant.encode()).hexdigest()[:8]


def parser_name(parser: Parser) -> str:
    """Return the full name of the function that parses: ``assets.macro.h10.parse``."""
    function = _function(parser.parse)
    return f"{function.__module__}.{function.__qualname__}"


def parser_code(parser: Parser) -> str:
    """Return the hash of the code of a parser."""
    functions = [parser.parse] if parser.stream is None else [parser.parse, parser.stream]
    modules = {_function(function).__module__ for function in functions}
    return code_hash(*modules, within=_WITHIN, without=_WITHOUT)


def read_lock() -> Locked:
    """Return the lock; empty if there is none."""
    if not LOCK.exists():
        return {}
    locked: dict[tuple[str, int], str] = {}
    for line in LOCK.read_text("utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        try:
            name, version, code = line.split()
            locked[name, int(version)] = code
        except ValueError:
            raise SankofaError(
                f"{LOCK}: cannot read the line {line!r}; restore the file, then run "
                "`python -m deploy.parser_versions`"
            ) from None
    return locked


def _function(function: Any) -> Any:
    """Return the function itself of one whose first arguments are bound, or that is in two."""
    while isinstance(function, partial | InPieces):
        function = function.read if isinstance(function, InPieces) else function.func
    return function


def is_ours(name: str) -> bool:
    """Return whether a parser is of the product, not of a plug-in."""
    return name.startswith(tuple(f"{package}." for package in _WITHIN))
