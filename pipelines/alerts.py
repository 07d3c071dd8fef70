"""Alerts on failure: a command and a webhook that are told of failed runs and refused publications.

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
from typing import Literal
from urllib.parse import urlsplit

from warehouse.control.keys import redact_keys
from warehouse.metrics.counts import counting
from warehouse.metrics.declared import ALERTS_SENT
from warehouse.settings import Settings

# The name of the sensor of runs that Dagster starts.
ALERTS = "alert_on_failure"
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
        completed = subprocess.run(  # noqa: S603
            shlex.split(command),
            input=body,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        # The words of the command can hold a password.
        _log.error("SANKOFA_ALERT_COMMAND could not be run: %s", type(error).__name__)
        return False
    if completed.returncode:
        lines = completed.stderr.decode("utf-8", "replace").strip().splitlines() or ["no output"]
        _log.error(
            "SANKOFA_ALERT_COMMAND failed with exit status %d: %s", completed.returncode, lines[-1]
        )
    return completed.returncode == 0


def _post(url: str, body: bytes) -> bool:
    try:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=_WEBHOOK_SECONDS):  # noqa: S310
            return True
    except (OSError, ValueError, HTTPException) as error:
        # Of the address only its host: the path of a webhook is often its secret.
        _log.error("the webhook at %s did not take the alert: %s", urlsplit(url).hostname, error)
        return False
