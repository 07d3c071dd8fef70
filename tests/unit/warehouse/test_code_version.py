"""Versions made from code: they change with what the code does, and with nothing else."""

from pathlib import Path

import pytest

from warehouse.methodology import metrics
from warehouse.shared.code_version import code_hash, imported_modules

READER = '''"""Read documents."""

from assets import numbers
from assets.words.split import parts


def read(body: str) -> list[int]:
    """Return the numbers of a body."""
    # One a line.
    return [numbers.number(part) for part in parts(body)]
'''
NUMBERS = "def number(text):\n    return int(text)\n"
SPLIT = "def parts(body):\n    return body.split()\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package of a reader, two modules that it imports, and one that it does not."""
    write(tmp_path, "assets/__init__.py", "")
    write(tmp_path, "assets/reader.py", READER)
    write(tmp_path, "assets/numbers.py", NUMBERS)
    write(tmp_path, "assets/words/__init__.py", '"""Words."""\n')
    write(tmp_path, "assets/words/split.py", SPLIT)
    write(tmp_path, "assets/other.py", "LIMIT = 1\n")
    write(tmp_path, "assets/page.html", "<p>one</p>")
    return tmp_path


def write(tree: Path, path: str, text: str) -> None:
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(text, "utf-8")


def of(tree: Path) -> str:
    return code_hash("assets.reader", root=tree)


def test_a_version_covers_a_module_and_all_it_imports(tree: Path) -> None:
    modules = imported_modules(["assets.reader"], root=tree)
    assert modules == [
        "assets",
        "assets.numbers",
        "assets.reader",
        "assets.words.split",
    ]
    assert imported_modules(["assets.reader"], without=("assets.words",), root=tree) == [
        "assets",
        "assets.numbers",
        "assets.reader",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("assets/reader.py", READER.replace("numbers.number(part)", "numbers.number(part) + 1")),
        ("assets/numbers.py", NUMBERS.replace("int(text)", "int(text, 16)")),
        ("assets/words/split.py", SPLIT.replace("split()", "split(',')")),
        ("assets/words/split.py", SPLIT.replace("(body)", "(body, limit=None)")),
    ],
)
def test_changed_code_has_another_version(tree: Path, path: str, text: str) -> None:
    before = of(tree)
    write(tree, path, text)
    assert of(tree) != before


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("assets/reader.py", READER.replace("# One a line.", "# One a word, of any length.")),
        ("assets/reader.py", READER.replace("Return the numbers", "Give every number")),
        ("assets/reader.py", READER.replace("[numbers", "[\n        numbers")),
        ("assets/other.py", "LIMIT = 2\n"),
        ("assets/page.html", "<p>two</p>"),
    ],
)
def test_comments_layout_and_other_code_do_not_count(tree: Path, path: str, text: str) -> None:
    before = of(tree)
    write(tree, path, text)
    assert of(tree) == before


def test_a_text_that_is_no_docstring_counts(tree: Path) -> None:
    write(tree, "assets/numbers.py", "UNIT = 'a'\n")
    before = of(tree)
    write(tree, "assets/numbers.py", "UNIT = 'b'\n")
    assert of(tree) != before


def test_the_formulas_belong_to_the_code_of_the_metrics() -> None:
    assert metrics.__name__ in imported_modules(["assets.derive.metrics"])


WITH_SQL = 'from warehouse.shared.data_files import sql_file\n\nSQL = sql_file(__name__, "rates")\n'
RATES = "-- Rates.\n--\n-- Inputs: a\n-- Outputs: b\n\n-- name: rates\nSELECT 'a  b' AS x FROM a;\n"


def test_the_sql_files_that_a_module_reads_belong_to_its_code(tree: Path) -> None:
    write(tree, "assets/numbers.py", WITH_SQL + NUMBERS)
    write(tree, "assets/sql/rates.sql", RATES)
    write(tree, "assets/sql/other.sql", RATES)
    before = of(tree)
    write(tree, "assets/sql/other.sql", RATES.replace("FROM a", "FROM c"))
    # Comments and layout do not count.
    write(tree, "assets/sql/rates.sql", RATES.replace("Rates.", "Every rate.") + "\n\n")
    write(tree, "assets/sql/rates.sql", RATES.replace(" FROM a", "\n    FROM a"))
    assert of(tree) == before
    # A statement does, and so does a space in a text.
    write(tree, "assets/sql/rates.sql", RATES.replace("FROM a", "FROM c"))
    changed = of(tree)
    write(tree, "assets/sql/rates.sql", RATES.replace("a  b", "a b"))
    assert len({before, changed, of(tree)}) == 3


def test_an_sql_file_whose_name_is_not_written_out_is_refused(tree: Path) -> None:
    write(tree, "assets/numbers.py", WITH_SQL.replace('"rates"', "NAME") + NUMBERS)
    with pytest.raises(ValueError, match=r"numbers.py, line 3: write sql_file"):
        of(tree)
