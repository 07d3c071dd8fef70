"""Each parser has a version of its own; in a working copy, changed code counts as another."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assets import parser_versions
from assets.ingest.sources import SOURCES
from assets.parser_versions import (
    effective_version,
    parser_name,
    read_lock,
    variant_digits,
)
from assets.source import Parser, Source
from assets.tenders.portal_files import Portal
from assets.tenders.sources import _variant
from deploy.parser_versions import lock_of, lock_text, main
from tests.helpers.checkout_copy import copy_packages
from tests.helpers.paths import ROOT
from warehouse.shared.errors import SankofaError

KNOWN = {source.key: source for source in SOURCES}
H10 = KNOWN["h10"].parser.version
LOCK = ROOT / "assets" / "parsers.lock"


def test_no_parser_changed_without_a_new_version() -> None:
    current = lock_text(lock_of(source.parser for source in SOURCES))
    assert LOCK.read_text("utf-8") == current, (
        "the code of a parser changed: raise its version, or leave it if no row can change, and "
        "run `python -m deploy.parser_versions` (see docs/add-a-source.md)"
    )


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working copy whose code is as its lock says, to change."""
    copy_packages(tmp_path, monkeypatch)
    monkeypatch.setattr(parser_versions, "LOCK", tmp_path / "assets" / "parsers.lock")
    # The code is as the lock of the repository says: test_no_parser_changed_without_a_new_version.
    return tmp_path


def append_code(checkout: Path, path: str, text: str = "CHANGED = True") -> None:
    with (checkout / path).open("a") as module:
        module.write(f"\n{text}\n")


def changed() -> set[str]:
    """Return the sources whose documents the next load reads again."""
    return {
        source.key
        for source in SOURCES
        if effective_version(source.parser) != effective_version_of_release(source.parser)
    }


def effective_version_of_release(parser: Parser) -> str:
    digits = f"/{variant_digits(parser.variant)}" if parser.variant else ""
    return f"{parser.version}{digits}"


def sources_of(*subjects: str) -> set[str]:
    return {source.key for source in SOURCES if source.subject in subjects}


@pytest.mark.slow
def test_changed_code_counts_for_the_parsers_that_use_it_and_no_other(checkout: Path) -> None:
    assert changed() == set()
    append_code(checkout, "assets/macro/h10.py")
    assert changed() == {"h10"}
    assert effective_version(KNOWN["h10"].parser).startswith(f"{H10}+")
    append_code(checkout, "assets/macro/periods.py")
    assert changed() == sources_of("macro")
    append_code(checkout, "quality/persons.py")
    figures = {"sec-companyfacts", "xbrl-filings", "openfigi"}
    read_again = changed()
    assert figures.isdisjoint(read_again) and sources_of("tenders") <= read_again


@pytest.mark.slow
def test_a_table_counts_for_the_parsers_that_read_it(checkout: Path) -> None:
    append_code(checkout, "assets/filings/elements.csv", "cash,us-gaap,Cash,9,,,debit,instant")
    read_again = changed()
    assert {"sec-companyfacts", "xbrl-filings"} <= read_again and "h10" not in read_again


@pytest.mark.slow
def test_how_names_are_compared_counts_for_what_stores_them(checkout: Path) -> None:
    append_code(checkout, "warehouse/names/reading.py")
    read_again = changed()
    assert sources_of("tenders") <= read_again and "h10" not in read_again


@pytest.mark.slow
def test_comments_and_what_only_fetches_or_stores_do_not_count(checkout: Path) -> None:
    append_code(checkout, "assets/macro/h10.py", "# A remark.")
    for path in ("assets/macro/fetch.py", "assets/fetching/client.py", "assets/source.py"):
        append_code(checkout, path)
    for path in ("warehouse/record/append.py", "warehouse/tables/macro.py"):
        append_code(checkout, path)
    assert changed() == set()


@pytest.mark.slow
def test_an_installed_package_counts_the_number_alone(checkout: Path) -> None:
    append_code(checkout, "assets/macro/h10.py")
    parser_versions.LOCK.unlink()
    assert effective_version(KNOWN["h10"].parser) == str(H10)


@pytest.mark.slow
def test_the_quirks_of_a_portal_count_for_that_portal(checkout: Path) -> None:
    parser = KNOWN["ke-ppip"].parser
    other = replace(parser, variant=_variant(Portal("ke-ppip", "KE", "Another title", "cc-by")))
    assert effective_version(other) != effective_version(parser)
    assert effective_version(other).partition("/")[0] == str(parser.version)
    titles = {_variant(Portal("x", "KE", title, "cc-by")) for title in ("One title", "Another")}
    assert len(titles) == 1


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The parser of H.10 under the next version."""

    def next_version(source: Source) -> Source:
        if source.key != "h10":
            return source
        return replace(source, parser=replace(source.parser, version=H10 + 1))

    sources = tuple(map(next_version, SOURCES))
    monkeypatch.setattr("deploy.parser_versions.SOURCES", sources)
    yield


@pytest.mark.slow
def test_the_lock_is_not_renewed_in_passing(checkout: Path) -> None:
    before = parser_versions.LOCK.read_text()
    assert CliRunner().invoke(main).output == "nothing changed\n"
    append_code(checkout, "assets/macro/h10.py")
    refused = CliRunner().invoke(main)
    assert refused.exit_code == 1
    assert f"assets.macro.h10.parse (version {H10}) changed under" in refused.output
    assert "Raise its version" in refused.output and "--same-rows" in refused.output
    assert parser_versions.LOCK.read_text() == before
    accepted = CliRunner().invoke(main, ["--same-rows"])
    assert (accepted.exit_code, accepted.output) == (0, f"assets.macro.h10.parse {H10}\n")
    assert changed() == set()


@pytest.mark.slow
@pytest.mark.usefixtures("raised")
def test_a_raised_version_is_entered(checkout: Path) -> None:
    append_code(checkout, "assets/macro/h10.py")
    entered = CliRunner().invoke(main)
    assert (entered.exit_code, entered.output) == (0, f"assets.macro.h10.parse {H10 + 1}\n")
    assert ("assets.macro.h10.parse", H10) not in read_lock()


@pytest.mark.slow
def test_a_damaged_lock_is_named(checkout: Path) -> None:
    append_code(checkout, "assets/parsers.lock", "<<<<<<< ours")
    with pytest.raises(SankofaError, match=r"parsers.lock: cannot read the line '<<<<<<< ours'"):
        effective_version(KNOWN["h10"].parser)


def test_a_parser_is_named_by_its_function() -> None:
    assert parser_name(KNOWN["h10"].parser) == "assets.macro.h10.parse"
    assert parser_name(KNOWN["ke-ppip"].parser) == "assets.tenders.parse.parse_portal"
