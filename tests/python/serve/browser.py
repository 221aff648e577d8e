"""A real browser for tests: Debian's chromium, driven by playwright."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "needs chromium: apt-get install chromium"
PATIENCE = 60_000  # milliseconds; the machine may be busy

_FLAGS = ["--js-flags=--expose-gc", "--enable-precise-memory-info"]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """One process of chromium, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS, chromium_sandbox=False)
        yield browser
        browser.close()


@dataclass
class Tab:
    """A page in a profile of its own.

    Attributes:
        page: What playwright knows it as.
        complaints: What the browser complained of: errors in scripts, and what the page's policy forbade.
        requested: All addresses that the page asked for.
    """

    page: Page
    complaints: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._listen)
        self.page.on("request", lambda request: self.requested.append(request.url))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} {message.location['url']}")

    def wait_for(self, script: str, seconds: float = PATIENCE / 1000) -> Any:
        """The value of an expression, once it is true. Playwright's own would need what the page's policy forbids."""
        end = time.monotonic() + seconds
        while not (found := self.page.evaluate(script)):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.02)
        return found

    def heap(self) -> int:
        """Bytes that the page's scripts hold, after a collection."""
        return int(self.page.evaluate("gc(); gc(); performance.memory.usedJSHeapSize"))

    def elements(self) -> int:
        return self.page.locator("*").count()


@contextlib.contextmanager
def tab(browser: Browser, url: str) -> Iterator[Tab]:
    """A page that has been opened."""
    with browser.new_context(viewport={"width": 1200, "height": 900}) as context:
        found = Tab(context.new_page())
        found.page.goto(url)
        yield found
