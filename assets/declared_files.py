"""TOML files that declare sources, one table for each, checked member by member when read.

What a table may say is defined by its struct (``assets.tenders.portal_files``,
``assets.entities.list_files``, ``assets.macro.table_files``). Every mistake is refused with a
sentence that names the file, the table and the member.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from warehouse.errors import SankofaError
from warehouse.tables import LicenseClass

DeclaredText = Annotated[str, Meta(min_length=1)]
# How a licence is known: each document states it, a page of the publisher does (at an address that
# is declared), somebody else says so, or nobody does.
LicenseEvidence = Literal["in the file", "on the page", "third party", "not stated"]
LICENCE_CHOICES = {"class": get_args(LicenseClass), "evidence": get_args(LicenseEvidence)}
_KEY = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PROBLEM = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<member>.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")


class DeclaredFileError(SankofaError):
    """A file has a mistake; the message names the file, the table and the member."""

    def __init__(self, file: Path, key: str, member: str, problem: str, page: str) -> None:
        where = ": ".join(part for part in (str(file), key, member) if part)
        super().__init__(f"{where}: {problem}. See {page}")


class DeclarationError(ValueError):
    """Members of a table do not fit each other; ``member`` is the one to change."""

    def __init__(self, member: str, problem: str) -> None:
        super().__init__(problem)
        self.member = member


class DeclaredTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a file: members that it does not define are refused."""


class DeclaredSource(DeclaredTable, frozen=True, kw_only=True):
    """The table of a source; its name is the key."""

    key: str = ""


class DeclaredLicence(DeclaredTable, frozen=True, kw_only=True):
    """Under which licence a source is published, and the page where that is said."""

    license_class: LicenseClass = msgspec.field(name="class")
    name: DeclaredText
    stated_at: DeclaredText | None = None
    evidence: LicenseEvidence | None = None


Entry = TypeVar("Entry", bound=DeclaredSource)


def declared_tables(file: Path, page: str) -> dict[str, Any]:
    """Return the tables of a file by their keys."""
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise DeclaredFileError(file, "", "", problem, page) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclaredFileError(file, "", "", f"not TOML: {error}", page) from None


def checked_key(file: Path, key: str, table: Any, taken: frozenset[str], page: str) -> None:
    """Refuse a key that is none or is taken, and a member that is no table."""
    problem = None
    if not _KEY.fullmatch(key):
        problem = "a key is lower-case letters, digits and hyphens, such as ug-ppda"
    elif key in taken:
        problem = "there is already a source of this key; choose another"
    elif not isinstance(table, Mapping):
        problem = f"begin a table for each source: [{key}]"
    if problem:
        raise DeclaredFileError(file, key, "", problem, page)
    if "key" in table:
        problem = "the key is the name of the table; remove it"
        raise DeclaredFileError(file, key, "key", problem, page)


def convert(
    file: Path,
    key: str,
    table: Mapping[str, Any],
    struct: type[Entry],
    check: Callable[[Entry], None],
    choices: Mapping[str, tuple[str, ...]],
    page: str,
) -> Entry:
    """Return a table as its struct, under its key; ``check`` raises if members do not fit."""
    try:
        entry = msgspec.convert({**table, "key": key}, struct)
        check(entry)
    except msgspec.ValidationError as error:
        member, problem = _explained(str(error), members_of(struct), choices)
        raise DeclaredFileError(file, key, member, problem, page) from None
    except DeclarationError as error:
        raise DeclaredFileError(file, key, error.member, str(error), page) from None
    return entry


def read_entries(
    file: Path,
    struct: type[Entry],
    check: Callable[[Entry], None],
    page: str,
    built_in: Mapping[str, Any] | None = None,
    taken: Iterable[str] = (),
    choices: Mapping[str, tuple[str, ...]] = LICENCE_CHOICES,
) -> list[Entry]:
    """Return the sources of a file; refuse a mistake, and a key that another source has.

    A table with the key of a built-in source is what that says, with the members it states
    replaced.
    """
    keys, entries = frozenset(taken), []
    for key, table in declared_tables(file, page).items():
        checked_key(file, key, table, keys, page)
        whole = merged((built_in or {}).get(key, {}), table)
        entries.append(convert(file, key, whole, struct, check, choices, page))
    return entries


def own_entries(
    files: Iterable[Path],
    read: Callable[[Path, Mapping[str, Any], Iterable[str]], list[Entry]],
    built_in: Mapping[str, Any],
    taken: Iterable[str],
) -> list[Entry]:
    """Return the sources of a user's own files; ``taken`` are the keys of all other sources."""
    keys, entries = set(taken), dict[str, Entry]()
    for file in files:
        entries |= {entry.key: entry for entry in read(file, built_in, keys | set(entries))}
    return list(entries.values())


# What a declaration says that does not decide about rows.
_NOT_READING = frozenset(
    {"title", "licence", "base_url", "hosts", "addresses", "new_within", "notes"}
)


def variant_of(entry: DeclaredTable) -> str:
    """Return all that decides how the documents of a source are read, as a text."""
    members = msgspec.to_builtins(entry)
    plain = {name: value for name, value in members.items() if name not in _NOT_READING}
    return msgspec.json.encode(plain, order="deterministic").decode()


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with some of its members replaced; within tables, member by member."""
    result = dict(base)
    for name, value in changes.items():
        before = result.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[name] = merged(before, value)
        else:
            result[name] = value
    return result


def check_address(member: str, address: str | None) -> None:
    """Raise DeclarationError for what is no web address."""
    if address is None:
        return
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DeclarationError(member, f"{address!r} is not a web address: begin with https://")


def check_addresses(base_url: str | None, addresses: Iterable[str]) -> None:
    """Raise DeclarationError for addresses that do not follow ``base_url``."""
    check_address("base_url", base_url)
    if base_url is not None and base_url.endswith("/"):
        raise DeclarationError("base_url", "leave out the slash at the end")
    if any(not address.startswith("/") for address in addresses):
        raise DeclarationError("addresses", "begin each with a slash; it follows base_url")


def members_of(struct: Any) -> list[str]:
    """Return the names of all members of a struct, and of the structs in it."""
    names: set[str] = set()
    for field in msgspec.structs.fields(struct):
        names.add(field.encode_name)
        for kind in (field.type, *get_args(field.type)):
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                names.update(members_of(kind))
    return sorted(names)


def _explained(
    problem: str, members: list[str], choices: Mapping[str, tuple[str, ...]]
) -> tuple[str, str]:
    """Return the member that a message of msgspec is about, and the message in our words."""
    match = _PROBLEM.fullmatch(problem)
    assert match is not None
    what, member = match["what"], match["member"] or ""
    if unknown := _UNKNOWN.fullmatch(what):
        name = unknown[1]
        near = difflib.get_close_matches(name, members, 1)
        hint = f"; did you mean {near[0]}?" if near and near[0] != name else ""
        return _joined(member, name), f"there is no such member here{hint}"
    if missing := _MISSING.fullmatch(what):
        return _joined(member, missing[1]), "is missing"
    name = member.rpartition(".")[2]
    allowed = f"; one of {', '.join(choices[name])}" if name in choices else ""
    return member, what[:1].lower() + what[1:].replace(" | null", "") + allowed


def _joined(table: str, member: str) -> str:
    return f"{table}.{member}" if table else member
