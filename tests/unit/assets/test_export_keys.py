"""Files of exports are taken over only while every table they read stays the same."""

import re

import duckdb
import pyarrow as pa
import pytest

from assets.exports.artifacts import AWARDS_TABLE, EXPORT_FILES, ExportFile
from assets.exports.export import _unchanged


@pytest.mark.parametrize("export_file", EXPORT_FILES, ids=lambda file: file.key)
def test_a_file_declares_every_table_that_it_reads(export_file: ExportFile) -> None:
    read = set(duckdb.connect().get_table_names(export_file.statement))
    # The awards are made from the releases while these are written.
    assert read - {AWARDS_TABLE} <= set(export_file.needs)
    if AWARDS_TABLE in read:
        assert export_file.after == "af-tender-releases" and "tender_releases" in export_file.needs


def test_a_file_is_taken_over_if_its_key_is_that_of_the_version_before() -> None:
    keys = {file.key: "1" for file in EXPORT_FILES}
    everything = set(keys)
    assert _unchanged(EXPORT_FILES, keys, keys, everything) == everything
    assert _unchanged(EXPORT_FILES, keys, {}, everything) == set()
    assert _unchanged(EXPORT_FILES, keys, keys, set()) == set()
    changed = keys | {"af-macro-series": "2"}
    assert _unchanged(EXPORT_FILES, changed, keys, everything) == everything - {"af-macro-series"}


def test_releases_are_written_again_for_the_awards_in_them() -> None:
    keys = {file.key: "1" for file in EXPORT_FILES}
    changed = keys | {"af-tender-awards": "2"}
    taken_over = _unchanged(EXPORT_FILES, changed, keys, set(keys))
    assert set(keys) - taken_over == {"af-tender-awards", "af-tender-releases"}


@pytest.mark.parametrize("export_file", EXPORT_FILES, ids=lambda file: file.key)
def test_hashes_are_the_last_columns_and_the_primary_key_the_very_last(
    export_file: ExportFile,
) -> None:
    is_hash = [
        isinstance(column.example, str)
        and re.fullmatch("[0-9a-f]{32,}", column.example) is not None
        for column in export_file.columns
    ]
    assert any(is_hash) and is_hash == sorted(is_hash)
    assert export_file.id == export_file.columns[-1].name == export_file.sort[-1]


@pytest.mark.parametrize("export_file", EXPORT_FILES, ids=lambda file: file.key)
def test_days_are_dates_and_never_texts(export_file: ExportFile) -> None:
    for column in export_file.columns:
        if isinstance(column.example, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", column.example):
            assert column.field.type == pa.date32(), column.name
