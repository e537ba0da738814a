"""Opens a page in headless Chromium and asks what a reader would see: parts, errors, widths, pictures.

Talks the DevTools protocol over a pair of pipes, so no port and no further package is needed. Chromium is
found on PATH; where there is none, `browser()` skips the test and says so.
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import optional
from tests.machines import PATIENCE_S

FOLDER = "BENCHGATE_SCREENSHOTS"
"""The environment variable that names a folder for screenshots to look at."""


@dataclass
class Browser:
    process: subprocess.Popen[bytes]
    to: int
    of: int
    rest: bytes = b""
    number: int = 0
    session: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            result = self._next()
            if result.get("id") == self.number:
                assert "error" not in result, f"{method}: {result['error']}"
                answer: dict[str, Any] = result["result"]
                return answer

    def wait(self, method: str) -> None:
        while not any(event.get("method") == method for event in self.events):
            self._next()

    def _next(self) -> dict[str, Any]:
        limit = time.monotonic() + PATIENCE_S
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.of], [], [], max(limit - time.monotonic(), 0))
            assert ready, "Chromium does not answer"
            chunk = os.read(self.of, 1 << 20)
            assert chunk, f"Chromium ended with status {self.process.poll()}"
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, page: Path, width: int, *, scheme: str = "light", scripts: bool = True) -> None:
        """Loads a file as on a screen of this width, in a dark or light scheme; `scripts`: whether the page's
        own may run."""
        self.session = ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self.ask(f"{domain}.enable")
        shape = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **shape)
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=wanted)
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.ask("Page.navigate", url=page.absolute().as_uri())
        self.wait("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """What the page answers to a JavaScript expression of the test."""
        done = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def complaints(self) -> list[str]:
        """Everything that the browser logged, and every request beyond the page itself."""
        said = [
            event["params"]["entry"]["text"] for event in self.events if event["method"] == "Log.entryAdded"
        ]
        said += [
            str(event["params"]) for event in self.events if event["method"] == "Runtime.consoleAPICalled"
        ]
        asked = [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [*said, *asked[1:]]

    def shoot(self, name: str) -> None:
        """A screenshot of the whole page, if somebody wants to look at it."""
        folder = os.environ.get(FOLDER)
        if folder:
            done = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(done["data"]))


@contextmanager
def browser(home: Path) -> Iterator[Browser]:
    """`home`: an empty folder for its profile."""
    path = optional.path("Chromium")
    (his_in, to), (of, his_out) = os.pipe(), os.pipe()
    flags = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--no-sandbox"]
    flags += ["--disable-dev-shm-usage", "--disable-background-networking", f"--user-data-dir={home}"]
    # Chromium reads commands from descriptor 3 and answers to 4.
    wrapped = ["bash", "-c", f'exec "$@" 3<&{his_in} 4>&{his_out}', "chromium", path, *flags, "about:blank"]
    process = subprocess.Popen(
        wrapped,
        pass_fds=(his_in, his_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(his_in)
    os.close(his_out)
    result = Browser(process, to, of)
    try:
        yield result
        result.session = ""
        result.ask("Browser.close")
    finally:
        os.close(to)
        os.close(of)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
