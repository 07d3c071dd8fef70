"""TOML files that declare sources, one table for each, read by pydantic models.

What a table may say is defined by its model (``assets.tenders.portal_files``,
``assets.entities.list_files``, ``assets.macro.table_files``). Every mistake is refused with a
sentence that names the file, the table and the member.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from warehouse.shared.errors import SankofaError
from warehouse.tables.sighting import LicenseClass

# How a licence is known: each document states it, a page of the publisher does (at an address that
# is declared), somebody else says so, or no one does.
LicenseEvidence = Literal["in the file", "on the page", "third party", "not stated"]
_KEY = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


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


def _web_address(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{address!r} is not a web address: begin with https://")
    return address


def _without_slash(address: str) -> str:
    if address.endswith("/"):
        raise ValueError("leave out the slash at the end")
    return address


def _with_slash(address: str) -> str:
    if not address.startswith("/"):
        raise ValueError("begin each with a slash; it follows base_url")
    return address


def _regular_expression(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return pattern


DeclaredText = Annotated[str, Field(min_length=1)]
WebAddress = Annotated[DeclaredText, AfterValidator(_web_address)]
BaseUrl = Annotated[WebAddress, AfterValidator(_without_slash)]
# What follows the base URL.
Address = Annotated[DeclaredText, AfterValidator(_with_slash)]
RegularExpression = Annotated[DeclaredText, AfterValidator(_regular_expression)]
# The name of a column, or the names that it has in different files.
Column = Annotated[
    tuple[DeclaredText, ...],
    BeforeValidator(lambda names: tuple(names) if isinstance(names, list) else (names,)),
]


class DeclaredTable(BaseModel):
    """A table of a file: members that it does not define are refused, and values of other types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_by_name=True)


class DeclaredSource(DeclaredTable):
    """The table of a source; its name is the key. ``page`` explains every member."""

    page: ClassVar[str]
    key: str


class DeclaredLicence(DeclaredTable):
    """Under which licence a source is published, and the page where that is said."""

    license_class: LicenseClass = Field(alias="class")
    name: DeclaredText
    stated_at: WebAddress | None = None
    evidence: LicenseEvidence | None = None


class DeclaredFiles(DeclaredSource):
    """The table of a source of tables, which are fetched from ``addresses`` if there are any."""

    title: DeclaredText
    licence: DeclaredLicence
    base_url: BaseUrl | None = None
    hosts: tuple[DeclaredText, ...] = ()
    addresses: tuple[Address, ...] = ()
    encoding: DeclaredText = "cp1252"
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    notes: str = ""


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


def read_entries(
    file: Path,
    model: type[Entry],
    taken: Iterable[str] = (),
    built_in: Mapping[str, Any] | None = None,
) -> list[Entry]:
    """Return the sources of a file; refuse a mistake, and a key that another source has.

    A table with the key of a built-in source is what that says, with the members it states
    replaced.
    """
    keys, entries = frozenset(taken), []
    for key, table in declared_tables(file, model.page).items():
        _check_key(file, key, table, keys, model.page)
        whole = {**_merged((built_in or {}).get(key, {}), table), "key": key}
        try:
            # As JSON a list may be a tuple or a set and a text a date; nothing else is converted.
            entries.append(model.model_validate_json(json.dumps(whole, default=str)))
        except ValidationError as error:
            member, problem = _explained(error, whole, model)
            raise DeclaredFileError(file, key, member, problem, model.page) from None
    return entries


def own_entries(
    files: Iterable[Path],
    model: type[Entry],
    taken: Iterable[str],
    built_in: Mapping[str, Any] | None = None,
) -> list[Entry]:
    """Return the sources of a user's own files; ``taken`` are the keys of all other sources."""
    keys, entries = set(taken), dict[str, Entry]()
    for file in files:
        found = read_entries(file, model, keys | set(entries), built_in)
        entries |= {entry.key: entry for entry in found}
    return list(entries.values())


# What a declaration says that does not decide about rows.
_NOT_READING = {"title", "licence", "base_url", "hosts", "addresses", "new_within", "notes"}


def variant_of(entry: DeclaredTable) -> str:
    """Return all that decides how the documents of a source are read, as a text."""
    members = entry.model_dump(exclude=_NOT_READING)
    return msgspec.json.encode(members, order="deterministic").decode()


def _check_key(file: Path, key: str, table: Any, taken: frozenset[str], page: str) -> None:
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


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with some of its members replaced; within tables, member by member."""
    result = dict(base)
    for name, value in changes.items():
        before = result.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[name] = _merged(before, value)
        else:
            result[name] = value
    return result


def _explained(
    error: ValidationError, table: Mapping[str, Any], model: type[BaseModel]
) -> tuple[str, str]:
    """Return the member that is wrong, and what is wrong with it, in our words."""
    # A misspelt member is also one that is missing: its own error says more.
    first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    context = first.get("ctx", {})
    member = _member(first, table)
    match first["type"]:
        case "extra_forbidden":
            names = _members_of(model)
            near = difflib.get_close_matches(str(first["loc"][-1]), names, 1)
            hint = f"; did you mean {near[0]}?" if near and near[0] != first["loc"][-1] else ""
            return member, f"there is no such member here{hint}"
        case "missing":
            return member, "is missing"
        case "union_tag_not_found":
            return _joined(member, context["discriminator"].strip("'")), "is missing"
        case "union_tag_invalid":
            named = _joined(member, context["discriminator"].strip("'"))
            return named, f"invalid value {context['tag']!r}; one of {context['expected_tags']}"
        case "value_error":
            cause = context["error"]
            return _joined(member, getattr(cause, "member", "")), str(cause)
    problem = re.sub("^[A-Z][a-z]+ should ", "must ", first["msg"].partition(" after ")[0])
    return member, f"{problem}, not {first['input']!r:.40}"


def _member(error: ErrorDetails, table: Any) -> str:
    """Return the path of the member that an error is about, as it is written in the file.

    Pydantic's location also has the tags of unions, which are no members of the table.
    """
    path = ""
    for part in error["loc"]:
        if isinstance(part, int):
            path, table = f"{path}[{part}]", table[part] if isinstance(table, list) else None
        elif isinstance(table, Mapping) and part in table:
            path, table = _joined(path, part), table[part]
    return _joined(path, str(error["loc"][-1])) if error["type"] == "missing" else path


def _members_of(model: type[BaseModel]) -> list[str]:
    """Return the names of all members of a model, and of the models in it."""
    schema = model.model_json_schema()
    models = (schema, *schema.get("$defs", {}).values())
    return sorted({name for each in models for name in each.get("properties", ())})


def _joined(table: str, member: str) -> str:
    return f"{table}.{member}" if table and member else table or member
