"""A client that a public generator makes of ``/openapi.json`` works against the server."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.contract_client import Contract
from tests.helpers.whole_tables import query

NAME = "made_client"


@pytest.fixture
def client(api: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Generate a client, any warning being an error, and log in with a paid key."""
    pytest.importorskip("openapi_python_client", reason="left out: install the extra `dev`")
    (tmp_path / "config.yml").write_text("post_hooks: []\n")
    generated = subprocess.run(
        [
            *(Path(sys.executable).with_name("openapi-python-client"), "generate"),
            *("--url", f"{api.server.address}/openapi.json", "--meta", "none"),
            *("--output-path", tmp_path / NAME, "--config", tmp_path / "config.yml"),
            "--fail-on-warning",
        ],
        capture_output=True,
        text=True,
    )
    assert generated.returncode == 0, generated.stdout + generated.stderr
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module(f"{NAME}.client")
    with made.AuthenticatedClient(
        base_url=api.server.address, token=api.key(), prefix="", auth_header_name="X-API-Key"
    ) as ready:
        yield ready
    for name in [module for module in sys.modules if module.partition(".")[0] == NAME]:
        del sys.modules[name]


def call(operation: str, **arguments: Any) -> Any:
    """Call one operation and give what the client read of the answer."""
    return importlib.import_module(f"{NAME}.api.{operation}").sync(**arguments)


def test_a_generated_client_reads_rows_pages_and_problems(api: Contract, client: Any) -> None:
    issuer = query(api.mart.build(), "SELECT service_id FROM metrics ORDER BY 1")[0][0]

    assert call("service.get_status", client=client).status.value == "ok"
    facts = call("fundamentals.get_fundamentals", service_id=issuer, client=client)
    expected = api.get(f"/v1/fundamentals/{issuer}").rows
    assert [row.fact_id for row in facts.data] == [row["fact_id"] for row in expected]
    assert facts.data[0].period_end == date.fromisoformat(expected[0]["period_end"])

    page = call("tenders.list_tenders", client=client, country="KE", limit=3)
    following = call(
        "tenders.list_tenders", client=client, country="KE", limit=3, cursor=page.next_cursor
    )
    met = [row.release_id for row in (*page.data, *following.data)]
    assert met == [row["release_id"] for row in api.get("/v1/tenders?country=KE&limit=6").rows]

    series = call("macro.list_macro", client=client, series="FX.EUR.ZAR", as_of=date(2026, 3, 31))
    assert series.data and series.as_of == date(2026, 3, 31)
    entity = call("entities.get_entity", service_id=issuer, client=client)
    assert entity.data[0].service_id == issuer
    ranked = call("metrics.screen_issuers", client=client, metric=_metric("net_margin"), limit=2)
    assert [row.rank for row in ranked.data] == [1, 2]
    signal = call("signals.get_signal", signal_key="single-bid-rate", client=client, limit=2)
    assert len(signal.observations) == signal.count == 2
    assert call("exports.get_export", client=client).artifacts
    assert call("quality.get_quality_metrics", sku="AF-FUND", client=client).data

    refused = call("tenders.list_tenders", client=client, country="XXXX")
    assert (refused.code.value, refused.parameter) == ("parameter_invalid", "country")
    missing = call("entities.get_entity", service_id="DCNOBODY", client=client)
    assert (missing.status, missing.code.value) == (404, "not_found")


def _metric(slug: str) -> Any:
    models = importlib.import_module(f"{NAME}.models")
    return models.ScreenIssuersMetric(slug)
