"""A real browser, driven over the Chrome DevTools Protocol."""

import base64
import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.helpers.waiting import wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """A page that records the URLs it requests and the errors it logs."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.requested_urls: list[str] = []
        self.errors: list[str] = []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Network", "Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Navigate to an address."""
        self._send("Page.navigate", url=address)

    def evaluate(self, script: str) -> Any:
        """Run a script in the page and return its value."""
        response = self._send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in response, response
        return response["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Run a script until its value is truthy; return the value."""
        return wait_until(
            lambda: self.evaluate(script), 60, failure=lambda: f"{script}: {self.errors}"
        )

    def look(self, width: int, scheme: str) -> None:
        """Set the width of the screen and its colour scheme, ``light`` or ``dark``."""
        phone = width < 600
        self._send(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": 844 if phone else 800},
            **{"deviceScaleFactor": 1, "mobile": phone},
        )
        media_feature = {"name": "prefers-color-scheme", "value": scheme}
        self._send("Emulation.setEmulatedMedia", features=[media_feature])

    def press(self, key: str, code: int) -> None:
        """Press and release a key."""
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        if key == "Enter":
            event["text"] = "\r"
        for event_type in ("keyDown", "keyUp"):
            self._send("Input.dispatchKeyEvent", type=event_type, **event)

    def picture(self) -> bytes:
        """Return a screenshot of the whole page as PNG."""
        screenshot = self._send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(screenshot["data"])

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._connection.send(json.dumps(message))
        while True:
            received = json.loads(self._connection.recv(timeout=60))
            self._note(received)
            if received.get("id") == number:
                assert "error" not in received, received
                return dict(received["result"])

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Network.requestWillBeSent":
            self.requested_urls.append(message["params"]["request"]["url"])
        if message.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
            self.errors.append(json.dumps(message["params"]))
        if (
            message.get("method") == "Runtime.consoleAPICalled"
            and message["params"]["type"] == "error"
        ):
            self.errors.append(json.dumps(message["params"]))


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Start headless Chromium with a fresh profile in a folder."""
    assert CHROMIUM is not None
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    # Chromium would otherwise look for updates; no host but this machine resolves.
    flags += ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
    flags += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(
            [
                CHROMIUM,
                *flags,
                "--remote-debugging-port=0",
                f"--user-data-dir={folder / 'profile'}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        with connect(_devtools(process, folder), max_size=None) as connection:
            yield Page(connection)
    finally:
        process.terminate()
        process.wait(30)


def _devtools(process: subprocess.Popen[bytes], folder: Path) -> str:
    port_file = folder / "profile" / "DevToolsActivePort"

    def announced_address() -> str | None:
        if port_file.is_file() and len(lines := port_file.read_text().split()) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        assert process.poll() is None, (folder / "browser.log").read_text()
        return None

    return wait_until(announced_address, 60)
