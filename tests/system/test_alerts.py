"""Alerts on failure: somebody is told of failed runs, and a failed alert fails nothing else."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.alerts import ALERTS, Alert, send_alert
from pipelines.definitions import definitions, failed_runs
from pipelines.jobs import run_job
from tests.helpers.metrics import exposed, value
from warehouse.shared.errors import AlreadyPublished, AuditFailed, SankofaError
from warehouse.shared.settings import Settings, read_settings

ALERT = Alert("run_failed", "ingest", "42", {"ecb": "no such file; sk_live_" + "a" * 32})
# A command that appends what it is told to the file named as its argument.
KEEPER = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


@dataclass
class Webhook:
    """A server that keeps what is posted to it."""

    url: str
    status: int = 200
    bodies: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def webhook(status: int = 200) -> Iterator[Webhook]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.bodies.append(json.loads(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received = Webhook(f"http://127.0.0.1:{server.server_port}/secret-path", status)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield received
        server.shutdown()


def settings_with(home: Path, **alerts: str) -> Settings:
    named = {f"SANKOFA_ALERT_{name.upper()}": value for name, value in alerts.items()}
    return read_settings({"SANKOFA_HOME": str(home), **named})


def keeper(file: Path) -> str:
    return f'{sys.executable} -c "{KEEPER}" {file}'


def test_a_command_and_a_webhook_get_the_same_alert_without_keys(tmp_path: Path) -> None:
    file = tmp_path / "told"
    with webhook() as received:
        settings = settings_with(tmp_path, command=keeper(file), webhook=received.url)
        send_alert(settings, ALERT)
    (told,) = map(json.loads, file.read_text().splitlines())
    assert received.bodies == [told]
    assert told["event"] == "run_failed" and told["job"] == "ingest" and told["run_id"] == "42"
    assert "the job ingest failed. ecb: no such file" in told["text"]
    assert "a" * 32 not in json.dumps(told)


@pytest.mark.parametrize(
    "command",
    ["/no/such/command", "unclosed 'quote", f"{sys.executable} -c 'raise SystemExit(\"why\")'"],
)
def test_an_alert_that_fails_is_logged_and_the_other_one_is_still_sent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, command: str
) -> None:
    with webhook(status=500) as received:
        send_alert(settings_with(tmp_path, command=command, webhook=received.url), ALERT)
    assert len(received.bodies) == 1
    of_command, of_webhook = (record.getMessage() for record in caplog.records)
    assert of_command.startswith("SANKOFA_ALERT_COMMAND ")
    assert of_webhook.startswith("the webhook at 127.0.0.1 did not take the alert: ")
    assert "secret-path" not in caplog.text
    for channel in ("command", "webhook"):
        labels = {"channel": channel, "outcome": "failed"}
        assert value(exposed(tmp_path / "metrics"), "sankofa_alerts_total", **labels) == 1


def test_a_failed_run_of_the_command_tells_once_and_fails_as_before(tmp_path: Path) -> None:
    (tmp_path / "sample" / "ecb" / "not a day").mkdir(parents=True)
    with webhook() as received:
        settings = settings_with(tmp_path, webhook=received.url)
        with pytest.raises(SankofaError, match=r"the job ingest failed in ecb: .*name the folder"):
            run_job(settings, "ingest", assets=[dg.AssetKey("ecb_macro_series")])
        (told,) = received.bodies
        assert told["event"] == "run_failed" and "name the folder" in told["failures"]["ecb"]
        with pytest.raises(SankofaError, match="name the folder"):
            dead = settings_with(tmp_path, webhook="http://127.0.0.1:9/")
            run_job(dead, "ingest", assets=[dg.AssetKey("ecb_macro_series")])


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (AuditFailed("losses: ecb lost a third of its rows"), "publication_refused"),
        (RuntimeError("out of luck"), "run_failed"),
        (AlreadyPublished("by another run"), None),
    ],
    ids=str,
)
def test_a_failed_run_of_dagster_is_told_by_its_sensor(
    tmp_path: Path, error: Exception, event: str | None
) -> None:
    @dg.op
    def quality() -> None:
        raise error

    @dg.job(name="publish")
    def publish() -> None:
        quality()

    with webhook() as received, dg.DagsterInstance.ephemeral() as instance:
        sensor = failed_runs(settings_with(tmp_path, webhook=received.url))
        result = publish.execute_in_process(instance=instance, raise_on_error=False)
        (failure,) = (
            event
            for event in result.all_events
            if event.event_type == dg.DagsterEventType.RUN_FAILURE
        )
        context = dg.build_run_status_sensor_context(ALERTS, failure, instance, result.dagster_run)
        sensor(context.for_run_failure())
        told = [(body["event"], body["failures"]) for body in received.bodies]
    expected = {"quality": str(error)}
    assert told == ([] if event is None else [(event, expected)])


def test_dagster_has_the_sensor_only_if_somebody_is_to_be_told(tmp_path: Path) -> None:
    def names(settings: Settings) -> set[str]:
        return {sensor.name for sensor in definitions(settings).sensors or ()}

    assert ALERTS not in names(settings_with(tmp_path))
    assert ALERTS in names(settings_with(tmp_path, command="logger -t sankofa"))
