"""The bench judges as its rules say: two readers that agree, and no way to look ahead unseen."""

import csv
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from pitbench import reader_python, reader_sql
from pitbench.__main__ import main, prepare, run
from pitbench.adapters.plain import NoDays, Plain
from pitbench.files import ROOT, BenchFile, find_files
from pitbench.model import Answer, Figure, Kind, Moment, Question, Track, same
from pitbench.questions import PUBLIC_SEED, fingerprint
from pitbench.scoring import judge

# A service whose package has some of the files; elsewhere they are looked for in vain.
STARTER = ROOT.parent.parent / "pipelines" / "starter_world.zip"
REAL = ROOT.parent.parent.parent / "shared" / "real"
YEAR = ("2019-01-01", "2019-12-31")


def stated(value: float, filed: str | None, accn: str, **more: Any) -> dict[str, Any]:
    start, end = YEAR
    row = {"start": start, "end": end, "val": value, "accn": accn, "form": "20-F", **more}
    return row if filed is None else {**row, "filed": filed}


@pytest.fixture
def files(tmp_path: Path) -> list[BenchFile]:
    """An issuer with a case of every rule, a series that withdrew a value, and an indicator."""
    facts = {
        "us-gaap": {
            "SalesRevenueNet": units(USD=[stated(100, "2020-03-01", "a")]),
            # The next year under another element, with another value.
            "Revenues": units(USD=[stated(101, "2021-03-01", "b")]),
            "Assets": units(
                USD=[
                    {**row, "start": ""}
                    for row in (stated(7, "2020-03-01", "a"), stated(8, "2020-03-01", "a2"))
                ]
            ),
            # Restated in the evening, amended, and once more without a day.
            "NetIncomeLoss": units(
                USD=[
                    stated(10.5, "2020-03-01", "a"),
                    stated(11, "2021-03-01", "b"),
                    stated(12, "2021-06-01", "c", form="20-F/A"),
                    stated(13, None, "d"),
                ],
                EUR=[stated(9, "2020-03-01", "a")],
            ),
            # No element of a measure; it says in the first year what revenue is in the next.
            "SalesRevenueGoodsNet": units(USD=[stated(101, "2020-03-01", "a")]),
            "EarningsPerShareDiluted": units(
                **{"EUR": [stated(0.5, "2020-03-01", "a")]},
                **{"EUR/shares": [stated(0.05, "2021-03-01", "b")]},
            ),
        }
    }
    observations = [
        {"date": "2019-01-01", "realtime_start": day, "realtime_end": "9999-12-31", "value": value}
        for day, value in (("2019-04-30", "5.25"), ("2020-01-30", "."), ("2021-01-30", "5.5"))
    ]
    indicator = {"indicator": {"id": "GDP"}, "country": {"id": "ZA"}, "date": "2019", "value": 3.25}
    documents = {
        "facts.json": {"cik": 1, "facts": facts},
        "series.json": {"observations": observations},
        "indicator.json": [{"page": 1}, [indicator]],
    }
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document), "utf-8")
    (tmp_path / "accepted.csv").write_text("adsh,accepted\nb,2021-03-01 16:05:00.0\n", "utf-8")
    return [
        BenchFile("companyfacts", tmp_path / "facts.json", "2021-12-31", ""),
        BenchFile("alfred", tmp_path / "series.json", "2021-12-31", "https://x/?series_id=GDP"),
        BenchFile("worldbank", tmp_path / "indicator.json", "2021-12-31", ""),
        BenchFile("acceptances", tmp_path / "accepted.csv", "2021-12-31", ""),
    ]


def units(**rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"units": rows}


def figure(measure: str, currency: str = "USD", start: str = YEAR[0]) -> Figure:
    return Figure("filings", "1", measure, currency, start, YEAR[1])


PROFIT, SERIES = figure("profit_attributable"), Figure("series", "GDP", "value", "", "", YEAR[0])
INDICATOR = Figure("indicators", "ZA/GDP", "value", "", "", YEAR[1])


CASES: list[tuple[Figure, str, Moment, Kind, list[str]]] = [
    (PROFIT, "2020-02-29", "end", "known", []),
    (PROFIT, "2020-03-01", "end", "known", ["10.5"]),
    (PROFIT, "2021-02-28", "end", "known", ["10.5"]),
    (PROFIT, "2021-03-01", "end", "known", ["11"]),
    # Accepted after the close.
    (PROFIT, "2021-03-01", "close", "known", ["10.5"]),
    (PROFIT, "2021-03-02", "close", "known", ["11"]),
    # What has no day is never known.
    (PROFIT, "2021-12-31", "end", "known", ["12"]),
    (PROFIT, "2021-12-31", "end", "first", ["10.5"]),
    # Another currency is another figure.
    (figure("profit_attributable", "EUR"), "2021-12-31", "end", "known", ["9"]),
    # Another element with another value, and two filings of one day, are contested.
    (figure("revenue"), "2020-12-31", "end", "known", ["100"]),
    (figure("revenue"), "2021-12-31", "end", "known", ["100", "101"]),
    (figure("total_assets", start=""), "2020-12-31", "end", "known", ["7", "8"]),
    # Older files name the unit of an amount per share by its currency alone.
    (figure("eps_diluted", "EUR"), "2021-12-31", "end", "known", ["0.05"]),
    # Withdrawn, and published anew.
    (SERIES, "2019-12-31", "end", "known", ["5.25"]),
    (SERIES, "2020-12-31", "end", "known", []),
    (SERIES, "2021-12-31", "end", "known", ["5.5"]),
    (INDICATOR, "2020-12-31", "end", "known", []),
]


def test_both_readers_find_what_the_rules_say(files: list[BenchFile]) -> None:
    questions = [
        Question(str(number), about, as_of, moment, kind, ())
        for number, (about, as_of, moment, kind, _) in enumerate(CASES)
    ]
    by_python = reader_python.truths(questions, reader_python.histories(files), files)
    accepted = [set(by_python[question.id].accepted) for question in questions]
    assert accepted == [set(map(Decimal, values)) for *_, values in CASES]
    assert reader_sql.truths(questions, files) == by_python


def test_the_readers_agree_on_real_filings(tmp_path: Path) -> None:
    if not STARTER.exists():
        pytest.skip("left out: no package with some of the files is next to the bench")
    with ZipFile(STARTER) as archive:
        facts = [member for member in archive.infolist() if "CIK" in member.filename]
        smallest = sorted(facts, key=lambda member: member.file_size)[:3]
        paths = [Path(archive.extract(member, tmp_path)) for member in smallest]
    files = [BenchFile("companyfacts", path, "2021-07-24", "") for path in paths]
    questions, truths, disagreements = prepare(files, "any")
    assert len(questions) == len(truths) > 100
    assert disagreements == []


@pytest.mark.shared
@pytest.mark.nightly
def test_the_public_questions_are_the_ones_that_were_committed() -> None:
    questions, _, disagreements = prepare(find_files([REAL]), PUBLIC_SEED)
    assert disagreements == []
    assert fingerprint(questions) == (ROOT / "questions.sha256").read_text("utf-8").strip()


def test_another_seed_draws_other_questions_about_the_same_files(files: list[BenchFile]) -> None:
    drawn = [fingerprint(prepare(files, seed)[0]) for seed in ("one", "one", "two")]
    assert drawn[0] == drawn[1] != drawn[2]


class Silent:
    tracks: frozenset[Track] = frozenset({"filings", "series", "indicators"})

    def answer(self, question: Question) -> Answer | None:
        return None


class Failing(Silent):
    def answer(self, question: Question) -> Answer | None:
        raise OSError("no service")


def test_who_knows_the_future_is_caught_and_who_is_silent_has_not_answered(
    files: list[BenchFile],
) -> None:
    questions, truths, _ = prepare(files, "any")
    by_day, cheating = (run(adapter(files), questions, truths) for adapter in (Plain, NoDays))
    # It knows days and no moments: at a close it takes what came in the evening for known.
    ahead = [one for one in by_day["not_right"] if one["outcome"] == "look-ahead"]
    assert {one["moment"] for one in ahead} == {"close"}
    assert all(row["look_ahead"] > 0 for row in cheating["tracks"].values())
    for result in (run(Silent(), questions, truths), run(Failing(), questions, truths)):
        for row in (*result["tracks"].values(), *result["contested"].values()):
            assert row["unanswered"] == row["questions"] > 0


def test_a_value_that_another_element_had_made_public_is_wrong_and_no_look_ahead(
    files: list[BenchFile],
) -> None:
    question = Question("q", figure("revenue"), "2020-12-31", "end", "known", ())
    truth = reader_python.truths([question], reader_python.histories(files), files)["q"]
    assert reader_sql.truths([question], files)["q"] == truth
    outcomes = [judge(question, Answer(Decimal(value)), truth) for value in (100, 101, 102)]
    assert outcomes == ["right", "wrong", "wrong"]
    early = replace(question, as_of="2020-02-29")
    truth = reader_python.truths([early], reader_python.histories(files), files)["q"]
    assert judge(early, Answer(Decimal(101)), truth) == "look-ahead"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("100", "100.0", True),
        ("4172400000", "4172.4", False),
        ("1234567", "1230000", True),
        ("1235567", "1240000", True),
        ("1236567", "1230000", True),
        ("1231000", "1240000", False),
        ("0.060694", "0.06", True),
        ("5", "4.8", False),
        ("-1234567", "-1230000", True),
        ("-1234567", "1230000", False),
    ],
)
def test_a_rounding_answers_for_its_value_and_nothing_else_does(
    left: str, right: str, expected: bool
) -> None:
    assert same(Decimal(left), Decimal(right)) is same(Decimal(right), Decimal(left)) is expected


def test_missing_files_are_said_and_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "CIK0000078150.json").write_text("{}")
    assert main(["readers", "--files", str(tmp_path)]) == 1
    with (ROOT / "files.csv").open(encoding="utf-8", newline="") as table:
        number = len(list(csv.reader(table))) - 1
    assert f"{number} of {number} files are in none of the folders" in capsys.readouterr().err
