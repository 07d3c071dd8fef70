"""Files of exports are taken over only while every table they read stays the same."""

import re

import duckdb
import pyarrow as pa
import pytest

from assets.exports.artifacts import EXPORT_FILES, ExportFile


@pytest.mark.parametrize("export_file", EXPORT_FILES, ids=lambda file: file.key)
def test_a_file_declares_every_table_that_it_reads(export_file: ExportFile) -> None:
    # Parsed and not bound, since there are no tables here.
    # All rows are fetched: DuckDB refuses other work on a connection that has rows left.
    parse = "SELECT json_serialize_sql(?)"
    ((parsed,),) = duckdb.execute(parse, [export_file.statement]).fetchall()
    read = set(re.findall(r'"table_name":"(\w+)"', parsed))
    named_within = set(re.findall(r'"key":"(\w+)"', parsed))
    assert read - named_within <= set(export_file.needs)


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
