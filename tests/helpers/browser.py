"""A real browser, told what to do over the Chrome DevTools Protocol."""

import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """One page: it is opened, it evaluates, and every address it asked for is kept."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.asked: list[str] = []
        self.complaints: list[str] = []
        target = self._tell("Target.createTarget", url="about:blank")["targetId"]
        attached = self._tell("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Network", "Page", "Runtime", "Log"):
            self._tell(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Go to an address."""
        self._tell("Page.navigate", url=address)

    def evaluate(self, script: str) -> Any:
        """Run a script in the page and give its value."""
        told = self._tell(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Run a script until its value is true."""
        until = time.monotonic() + 60
        while not (value := self.evaluate(script)):
            assert time.monotonic() < until, (script, self.complaints)
            time.sleep(0.05)
        return value

    def look(self, width: int, scheme: str) -> None:
        """Be as wide as some screen, in its light or its dark colours."""
        phone = width < 600
        self._tell(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": 844 if phone else 800},
            **{"deviceScaleFactor": 1, "mobile": phone},
        )
        scheme_is = {"name": "prefers-color-scheme", "value": scheme}
        self._tell("Emulation.setEmulatedMedia", features=[scheme_is])

    def press(self, key: str, code: int) -> None:
        """Press and release a key, as someone at a keyboard does."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        if key == "Enter":
            named["text"] = "\r"
        for kind in ("keyDown", "keyUp"):
            self._tell("Input.dispatchKeyEvent", type=kind, **named)

    def picture(self) -> bytes:
        """Give a picture of the whole page, as PNG."""
        shot = self._tell("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def _tell(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._connection.send(json.dumps(message))
        while True:
            heard = json.loads(self._connection.recv(timeout=60))
            self._note(heard)
            if heard.get("id") == number:
                assert "error" not in heard, heard
                return dict(heard["result"])

    def _note(self, heard: dict[str, Any]) -> None:
        if heard.get("method") == "Network.requestWillBeSent":
            self.asked.append(heard["params"]["request"]["url"])
        if heard.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
            self.complaints.append(json.dumps(heard["params"]))
        if heard.get("method") == "Runtime.consoleAPICalled" and heard["params"]["type"] == "error":
            self.complaints.append(json.dumps(heard["params"]))


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Start Chromium without a window, with a profile of its own in a folder."""
    assert CHROMIUM is not None
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    # Chromium itself would else ask its maker for updates; nothing but this machine is found.
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
    told = folder / "profile" / "DevToolsActivePort"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if told.is_file() and len(lines := told.read_text().split()) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        assert process.poll() is None, (folder / "browser.log").read_text()
        time.sleep(0.05)
    raise AssertionError("the browser does not answer")
