"""The benchmarks run: each is called at a small size, so that it cannot fall behind the product."""

import json
from pathlib import Path

import pytest

from api.app import create_app
from tests.bench import isin, metrics, shape, signals
from tests.bench.__main__ import BENCHMARKS
from tests.bench.serve import data
from tests.bench.serve.cases import CASES, ask, by_zipf, questions
from tests.bench.serve.publications import publish_changed
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart


def test_every_benchmark_is_in_the_list_of_make_bench() -> None:
    folder = Path(signals.__file__).parent
    helpers = {"__init__", "__main__", "build_size", "changed_rows", "measure", "world"}
    modules = {path.stem for path in folder.glob("*.py")} - helpers
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert set(BENCHMARKS) == modules | packages


def test_the_benchmark_of_signals_runs(tmp_path: Path) -> None:
    signals.write(tmp_path, 200)
    assert int(str(signals.panels(str(tmp_path))())) > 1_000


def test_the_benchmark_of_a_record_by_its_shape_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shape.report(100_000, 10_000)
    assert "append 200 figures" in capsys.readouterr().out


def test_the_benchmark_of_isins_runs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.zip"
    isin.write(path, 300)
    isin.write(tmp_path / "pairs.zip.next", 310)
    days = [
        [rows for rows, _ in json.loads(str(way(str(path))()))["days"]]
        for way in (isin.bare_loop, isin.to_record)
    ]
    assert days == [[300], [300, 10]]


def test_the_benchmark_of_metrics_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FACTS", 400)
    metrics.fill(tmp_path)
    assert "values" in str(metrics.sankofa(str(tmp_path))())
    assert "ratios" in str(metrics.bare_pivot(str(tmp_path))())


@pytest.mark.nightly
def test_every_question_of_the_benchmark_of_serving_finds_rows_before_and_after_a_publication(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANKOFA_BENCH_DATA", str(tmp_path))
    dataset = data.at(0.001)
    mart = Mart(dataset.marts)
    app = create_app(mart, KeyStore(dataset.keys))
    for _ in range(2):
        for case in CASES:
            answers = [
                ask(app, question.ours, dataset.key)
                for question in by_zipf(questions(dataset, case))[:10]
            ]
            assert {status for status, _, _ in answers} == {"200 OK"}, case
            assert any(b'"count":0' not in body for _, _, body in answers), case
        publish_changed(dataset.folder, 1)
        assert mart.build().data_version == "20260201.1"
