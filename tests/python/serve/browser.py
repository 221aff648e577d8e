"""A real browser for tests: Debian's chromium, driven over a pipe by its DevTools protocol. It needs no package.

with Browser() as browser, browser.tab(url) as tab:
    tab.wait_for("document.title === 'fastcb'")
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "needs chromium: apt-get install chromium"
PATIENCE = 60  # seconds; the machine may be busy

_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--js-flags=--expose-gc",
    "--enable-precise-memory-info",
)


class Browser:
    """One process of chromium, without a window."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self._folder = tempfile.mkdtemp(prefix="vw-fastcb-browser-")
        read_there, self._write = os.pipe()
        self._read, write_there = os.pipe()
        # Chromium reads descriptor 3 and writes descriptor 4, which a shell can arrange.
        descriptors = f'exec "$@" 3<&{read_there} 4>&{write_there}'
        command = [CHROMIUM, *_FLAGS, f"--user-data-dir={self._folder}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", descriptors, "bash", *command],
            pass_fds=(read_there, write_there),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self._next = 0
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self.events: list[dict[str, Any]] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
        self._listener.join(PATIENCE)
        os.close(self._write)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self) -> None:
        kept = b""
        with os.fdopen(self._read, "rb", buffering=0) as pipe:
            while piece := pipe.read(1 << 16):
                *messages, kept = (kept + piece).split(b"\0")
                for message in map(json.loads, messages):
                    if "id" in message:
                        self._answers.pop(message["id"]).put(message)
                    else:
                        self.events.append(message)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Asks the browser for something."""
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        answer = self._answers[self._next] = queue.SimpleQueue()
        os.write(self._write, json.dumps(message).encode() + b"\0")
        found = answer.get(timeout=PATIENCE)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']['message']}")
        result: dict[str, Any] = found["result"]
        return result

    @contextlib.contextmanager
    def tab(self, url: str, width: int = 1200, height: int = 900, scheme: str = "light") -> Iterator[Tab]:
        """A page in a profile of its own, with a window of this size."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        tab.call("Page.navigate", url=url)
        try:
            tab.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")
            yield tab
        finally:
            self.call("Target.closeTarget", targetId=target)
            self.call("Target.disposeBrowserContext", browserContextId=context)


class Tab:
    """One page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def run(self, script: str) -> Any:
        """The value of an expression on the page; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"].get("description", "an exception"))
        return found["result"].get("value")

    def wait_for(self, script: str, patience: float = PATIENCE) -> None:
        """Waits until an expression is true."""
        until = time.monotonic() + patience
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < until, f"never true: {script}; the page says {self.text()[:2000]}"
            time.sleep(0.03)

    def text(self) -> str:
        """What is to be read on the page."""
        return str(self.run("document.body.innerText"))

    def press(self, key: str) -> None:
        """Presses a key, wherever the focus is."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}
        text = {"text": "\r"} if key == "Enter" else {}
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], **text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Types into what has the focus."""
        self.call("Input.insertText", text=text)

    def picture(self, path: str | Path, *, whole: bool = True) -> None:
        """Writes a PNG of the page."""
        given: dict[str, Any] = {"captureBeyondViewport": whole}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            given["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **given)["data"]))

    def complaints(self) -> list[str]:
        """What the browser complained of: errors in scripts, and what the page's policy forbade."""
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"].get("exception", {}).get("description")))
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(f"{event['params']['entry']['text']} {event['params']['entry'].get('url', '')}")
        return found

    def requested(self) -> list[str]:
        """All addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("sessionId") == self._session and event["method"] == "Network.requestWillBeSent"
        ]
