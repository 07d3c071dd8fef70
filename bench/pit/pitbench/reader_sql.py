"""The second reader of the files: DuckDB reads the JSON itself, and SQL decides (``truth.sql``)."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from pitbench.files import BenchFile, elements
from pitbench.model import Question, Truth

_ROW = 'STRUCT("start" VARCHAR, "end" VARCHAR, val VARCHAR, accn VARCHAR, filed VARCHAR)'
_FACTS = f"MAP(VARCHAR, MAP(VARCHAR, STRUCT(units MAP(VARCHAR, {_ROW}[]))))"
_OBSERVATION = "STRUCT(date VARCHAR, realtime_start VARCHAR, value VARCHAR)[]"
_QUESTION = (
    *("id", "track", "subject", "measure", "currency", "start_day", "end_day"),
    *("as_of", "moment", "kind"),
)
_YEAR = (
    "STRUCT(date VARCHAR, country STRUCT(id VARCHAR), indicator STRUCT(id VARCHAR), value VARCHAR)"
)


def truths(questions: list[Question], files: list[BenchFile]) -> dict[str, Truth]:
    """Return the truth of each question."""
    with duckdb.connect() as sql, _plain(files) as paths:
        _tables(sql, paths)
        rows = [
            (question.id, *_key(question), question.as_of, question.moment, question.kind)
            for question in questions
        ]
        columns = ", ".join(f"{name} VARCHAR" for name in _QUESTION)
        sql.execute(f"CREATE TABLE question ({columns})")
        _insert(sql, "question", rows)
        found = sql.execute(Path(__file__).with_name("truth.sql").read_text("utf-8")).fetchall()
    return {
        identity: Truth(*(frozenset(values or ()) for values in sets)) for identity, *sets in found
    }


def _key(question: Question) -> tuple[str, ...]:
    figure = question.figure
    return (
        *(figure.track, figure.subject, figure.measure, figure.currency),
        *(figure.start, figure.end),
    )


def _tables(sql: Any, paths: dict[str, list[tuple[Path, str]]]) -> None:
    """Make what ``truth.sql`` reads; a kind of which there are no files is an empty table."""
    sql.execute("CREATE TABLE measure (element VARCHAR, measure VARCHAR)")
    _insert(sql, "measure", list(elements().items()))
    sql.execute("CREATE TABLE acceptance (adsh VARCHAR, accepted VARCHAR)")
    sql.execute(f"CREATE TABLE companyfacts (cik VARCHAR, facts {_FACTS})")
    sql.execute(f"CREATE TABLE alfred (series VARCHAR, observations {_OBSERVATION})")
    sql.execute(f"CREATE TABLE worldbank (observation {_YEAR})")
    for path, _ in paths.get("acceptances", []):
        sql.execute(f"INSERT INTO acceptance SELECT adsh, accepted FROM '{path}'")
    json = "maximum_object_size = 100000000, format = 'unstructured'"
    for path, _ in paths.get("companyfacts", []):
        columns = {"cik": "VARCHAR", "facts": _FACTS}
        sql.execute(
            f"INSERT INTO companyfacts FROM read_json('{path}', columns = {columns}, {json})"
        )
    for path, series in paths.get("alfred", []):
        columns = {"observations": _OBSERVATION}
        sql.execute(
            f"INSERT INTO alfred SELECT ?, * FROM read_json('{path}', columns = {columns}, {json})",
            [series],
        )
    for path, _ in paths.get("worldbank", []):
        # A list of two: what the answer is, and the values.
        sql.execute(
            f"""INSERT INTO worldbank
            SELECT unnest(from_json(json_extract(json, '$[1]'), '["{_YEAR}"]'))
            FROM (SELECT content::JSON AS json FROM read_text('{path}'))"""
        )


def _insert(sql: Any, table: str, rows: list[tuple[str, ...]]) -> None:
    if rows:
        sql.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


@contextmanager
def _plain(files: list[BenchFile]) -> Iterator[dict[str, list[tuple[Path, str]]]]:
    """Yield the path of each file by its kind; a gzip is unpacked for as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        paths: dict[str, list[tuple[Path, str]]] = {}
        for number, file in enumerate(files):
            path = file.path
            if path.suffix == ".gz":
                path = Path(folder, f"{number}.json")
                path.write_bytes(file.body())
            paths.setdefault(file.kind, []).append((path, file.series()))
        yield paths
