"""The dashboard and the alert rules ask only for metrics that exist, with labels that they have."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pipelines import ports
from tests.helpers.paths import ROOT
from warehouse.shared.metrics import METRICS

FOLDER = ROOT / "deploy" / "monitoring"
LABELS = {metric.name: set(metric.labels) for metric in METRICS}
_NAME = re.compile(r"\bsankofa_\w+")
_SELECTOR = re.compile(r"(sankofa_\w+)\{([^}]*)\}")
_GROUPED = re.compile(r"sum by \(([^)]*)\)")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!=|=)")


def rules() -> Iterator[dict[str, object]]:
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]:
        yield from group["rules"]


def expressions() -> Iterator[str]:
    yield from (str(rule["expr"]) for rule in rules())
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def declared(name: str) -> str:
    """Return the metric of a series: a histogram has three."""
    return re.sub(r"_(bucket|count|sum)$", "", name)


@pytest.mark.parametrize("expression", list(expressions()))
def test_an_expression_names_metrics_and_labels_that_exist(expression: str) -> None:
    names = {declared(name) for name in _NAME.findall(expression)}
    assert names <= LABELS.keys()
    assert names or expression == 'up{job="sankofa"} == 0'
    for name, labels in _SELECTOR.findall(expression):
        assert set(_LABEL.findall(labels)) <= LABELS[declared(name)]
    known = {"le"}.union(*(LABELS[name] for name in names))
    for grouped in _GROUPED.findall(expression):
        assert set(grouped.split(", ")) <= known
    assert expression.count("(") == expression.count(")")


def test_every_rule_is_one_that_prometheus_loads_and_says_what_to_do() -> None:
    found = list(rules())
    assert len({rule["alert"] for rule in found}) == len(found) > 10
    for rule in found:
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"] and rule["annotations"]
        assert re.fullmatch(r"\d+[smhd]", str(rule.get("for", "0s")))


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {declared(name) for text in expressions() for name in _NAME.findall(text)}
    assert {metric.name for metric in METRICS} == shown


def test_prometheus_is_told_of_the_rules_and_of_the_port_of_the_metrics() -> None:
    configuration = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
    (job,) = configuration["scrape_configs"]
    assert job["static_configs"][0]["targets"] == [f"127.0.0.1:{ports.METRICS}"]
    assert all((FOLDER / Path(file)).exists() for file in configuration["rule_files"])


def test_names_of_metrics_follow_the_conventions_of_prometheus() -> None:
    for metric in METRICS:
        assert metric.name.endswith("_total") is (metric.kind == "counter")
        assert metric.meaning.endswith(".")
