"""Why a run failed, and alerts on failure: by a command and a webhook.

Runs of the command tell by themselves (``jobs.py``), those that Dagster starts through a sensor. An
alert that cannot be delivered is logged: it never makes anything else fail.
"""

import json
import logging
import shlex
import socket
import subprocess
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, Literal
from urllib.parse import urlsplit

import dagster as dg
from dagster_shared.error import SerializableErrorInfo

from assets.ingest.failures import ParserFailed
from warehouse.shared import errors
from warehouse.shared.errors import AlreadyPublished, AuditFailed, SankofaError, disk_failure
from warehouse.shared.metrics import ALERTS_SENT, counting
from warehouse.shared.settings import Settings
from warehouse.shared.texts import redact_keys

# The name of the sensor of runs that Dagster starts.
ALERTS = "alert_on_failure"
# The tag of runs of the command.
BY_COMMAND = "sankofa/by"
# Dagster passes on only the name of an exception.
EXPECTED: dict[str, type[SankofaError]] = {
    kind.__name__: kind
    for kind in (*vars(errors).values(), ParserFailed)
    if isinstance(kind, type) and issubclass(kind, SankofaError)
}
INTERRUPTIONS = (KeyboardInterrupt.__name__, dg.DagsterExecutionInterruptedError.__name__)
_COMMAND_SECONDS, _WEBHOOK_SECONDS = 60.0, 20.0
_LONGEST_TEXT = 4_000
_log = logging.getLogger("sankofa.alerts")


@dataclass(frozen=True)
class Alert:
    """What happened. ``failures`` are the messages by step; ``text`` says it all in one piece."""

    event: Literal["run_failed", "publication_refused"]
    job: str
    run_id: str
    failures: Mapping[str, str]
    machine: str = field(default_factory=socket.gethostname)
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def text(self) -> str:
        """The alert in words, as chat services show it."""
        what = (
            "the audit refused a publication; the previous build is still served"
            if self.event == "publication_refused"
            else f"the job {self.job} failed"
        )
        why = "; ".join(f"{step}: {message}" for step, message in self.failures.items())
        return f"Sankofa on {self.machine}: {what}. {why}"[:_LONGEST_TEXT]

    def encoded(self) -> bytes:
        """Return the alert as JSON, without API keys."""
        return redact_keys(json.dumps({"text": self.text, **asdict(self)})).encode()


def alerts_are_set(settings: Settings) -> bool:
    """Return whether anybody wants alerts."""
    return bool(settings.alert_command or settings.alert_webhook)


def send_alert(settings: Settings, alert: Alert) -> None:
    """Run the command and call the webhook, if they are set; log what fails, and raise nothing."""
    if not alerts_are_set(settings):
        return
    body = alert.encoded()
    with counting(settings.metrics, "alerts") as counts:
        if settings.alert_command:
            took = _run_command(settings.alert_command, body)
            counts.add(ALERTS_SENT, "command", "ok" if took else "failed")
        if settings.alert_webhook:
            took = _post(settings.alert_webhook, body)
            counts.add(ALERTS_SENT, "webhook", "ok" if took else "failed")


def _run_command(command: str, body: bytes) -> bool:
    try:
        subprocess.run(  # noqa: S603
            shlex.split(command),
            input=body,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_COMMAND_SECONDS,
            check=True,
        )
        return True
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines() or ["no output"]
        status = error.returncode
        _log.error("SANKOFA_ALERT_COMMAND failed with exit status %d: %s", status, lines[-1])
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        # The words of the command can hold a password.
        _log.error("SANKOFA_ALERT_COMMAND could not be run: %s", type(error).__name__)
    return False


def _post(url: str, body: bytes) -> bool:
    try:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=_WEBHOOK_SECONDS):  # noqa: S310
            return True
    except (OSError, ValueError, HTTPException) as error:
        # Of the address only its host: the path of a webhook is often its secret.
        _log.error("the webhook at %s did not take the alert: %s", urlsplit(url).hostname, error)
        return False


@dataclass(frozen=True)
class StepFailure:
    """Why a step failed, and the metadata that it left."""

    message: str
    kind: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


def alert_of(job: str, run_id: str, failures: Mapping[str, StepFailure]) -> Alert | None:
    """Return what to tell of a failed run; None if another run had published meanwhile."""
    kinds = {failure.kind for failure in failures.values()}
    if kinds == {AlreadyPublished.__name__}:
        return None
    refused = AuditFailed.__name__ in kinds
    messages = {step: failure.message for step, failure in failures.items()}
    return Alert("publication_refused" if refused else "run_failed", job, run_id, messages)


def step_failure(event: dg.DagsterEvent) -> StepFailure:
    """Return why a step failed."""
    data = event.step_failure_data
    failure = failure_of(data.error)
    if data.user_failure_data is None:
        return failure
    metadata = metadata_values(data.user_failure_data.metadata)
    return StepFailure(str(data.user_failure_data.description), failure.kind, metadata)


def failure_of(error: SerializableErrorInfo | None) -> StepFailure:
    """Return the message and class name of the exception that caused an error.

    Ours is taken as it is: it says what the error of a library that caused it means.
    """
    while error is not None and error.cause is not None and error.cls_name not in EXPECTED:
        error = error.cause
    if error is None:
        return StepFailure("no reason given", "")
    message = error.message.partition(": ")[2].strip()
    if error.cls_name not in EXPECTED and (words := disk_failure(message)) is not None:
        return StepFailure(words, SankofaError.__name__)
    return StepFailure(message or str(error.cls_name), str(error.cls_name))


def metadata_values(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of Dagster's metadata."""
    return {label: value.value for label, value in metadata.items()}
