"""Settings: read once, checked, and named in what is wrong with them."""

import re
from pathlib import Path

import pytest

from assets.tenders.sources import SOURCES
from warehouse.shared.settings import SettingError, read_settings, readable_settings, variable_of


def test_home_alone_is_enough(tmp_path: Path) -> None:
    settings = read_settings({"SANKOFA_HOME": str(tmp_path)})

    assert settings.home == tmp_path
    assert settings.marts == str(tmp_path / "marts")
    assert settings.exports_url == "http://127.0.0.1:8321/exports"
    assert settings.withheld_key == "sankofa development"


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("SANKOFA_KEEP_BUILDS", "0", "a whole number of at least 1"),
        ("SANKOFA_KEEP_BUILDS", "many", "a whole number of at least 1"),
        ("SANKOFA_STALE_HOURS", "-1", "a whole number of at least 0"),
        ("SANKOFA_LEAST_FREE_MB", "1.5", "a whole number of at least 0"),
        ("SANKOFA_BASE_URL", "example.org", "an http:// or https:// URL"),
        ("SANKOFA_BASE_ECB", "ftp://example.org", "an http:// or https:// URL"),
        ("SANKOFA_CONTACT", "nobody", "an e-mail address or a web page"),
        ("SANKOFA_RUNS", "postgresql://host/dagster", "nothing, or an address that begins with"),
        ("SANKOFA_PROCESSES", "0", "a whole number of at least 1"),
        ("SANKOFA_MEMORY_MB", "100", "a whole number of at least 256"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_and_what_is_allowed(
    name: str, text: str, allowed: str
) -> None:
    with pytest.raises(SettingError) as raised:
        read_settings({name: text})

    assert str(raised.value).startswith(f"{name} is {text!r}; give {allowed}")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("SANKOFA_H10_CADENCES", "daily hourly", "'hourly'; give one or more of 'daily', "),
        ("SANKOFA_CIKS", "1 +2", "'1'; give CIKs of up to ten digits"),
    ],
)
def test_a_bad_item_of_a_list_is_named(name: str, text: str, says: str) -> None:
    with pytest.raises(SettingError, match=re.escape(f"{name} contains {says}")):
        read_settings({name: text})


def test_every_bad_value_is_reported_and_the_rest_is_read() -> None:
    settings, errors = readable_settings(
        {"SANKOFA_KEEP_BUILDS": "x", "SANKOFA_STALE_HOURS": "y", "SANKOFA_CIKS": "1, 2"}
    )

    assert [error.name for error in errors] == ["SANKOFA_KEEP_BUILDS", "SANKOFA_STALE_HOURS"]
    assert (settings.keep_builds, settings.stale_hours, settings.ciks) == (30, 48, ("1", "2"))


def test_the_settings_of_one_source_are_found_by_its_key() -> None:
    name = variable_of("SANKOFA_BASE_", "za-etenders")
    settings = read_settings({name: "http://127.0.0.1:8/", "SANKOFA_BASE_URL": "https://a.org/"})

    assert name == "SANKOFA_BASE_ZA_ETENDERS"
    assert settings.source_urls == {"za-etenders": "http://127.0.0.1:8"}
    assert settings.base_url == "https://a.org"


def test_an_empty_variable_counts_as_not_set() -> None:
    settings = read_settings({"SANKOFA_KEEP_BUILDS": " ", "SANKOFA_USAGE": "redis://h"})

    assert settings.keep_builds == 30
    assert settings.explicit("usage") == "redis://h"
    assert settings.explicit("keep_builds") is None


def test_secrets_are_not_in_the_representation() -> None:
    settings = read_settings(
        {"SANKOFA_WITHHELD_KEY": "hunter2", "SANKOFA_CONTROL": "redis://:pw@h"}
    )

    assert "hunter2" not in repr(settings) and "pw" not in repr(settings)


def test_parsers_hash_withheld_parties_under_the_key_they_are_bound_to() -> None:
    source = SOURCES[0]
    bound = source.with_withheld_key("hunter2")

    assert bound.parser.parse.keywords["key"] == b"hunter2"  # type: ignore[attr-defined]
    assert bound.parser.stream.read.keywords["key"] == b"hunter2"  # type: ignore[union-attr]
    assert source.parser.parse.keywords["key"] == b"sankofa development"  # type: ignore[attr-defined]
