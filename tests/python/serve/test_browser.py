"""The live page in a real browser."""

import threading
import time

import psutil
import pytest

from serve.browser import CHROMIUM, MISSING, Browser
from serve.servers import serving, threaded
from vw_fastcb import Loop

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)

TOKEN = "a-token-of-32-characters-or-more"
NEWS = {"actions": ["politics", "sports", "music"], "reward_range": (0, 1), "default_reward": 0, "seed": 1}
CARD = "[...document.querySelectorAll('#cards div')].find((one) => one.innerText.startsWith('{}'))"

# What a screen reader would stumble over.
NAMELESS = """[...document.querySelectorAll('button, svg[role=img], table, input, section, dialog, progress')]
  .filter((one) => one.checkVisibility() && !(
    one.getAttribute('aria-label') || one.innerText?.trim() || one.caption || one.labels?.length
    || document.getElementById(one.getAttribute('aria-labelledby'))?.innerText))
  .map((one) => one.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


def shown(tab, name):
    return tab.run(CARD.format(name) + "?.querySelector('dd').childNodes[0].textContent")


def visit(loop, number):
    loop.decide({"user": "Tom", "hour": number}, event_id=f"e{number}")
    loop.reward(f"e{number}", 1)


def test_the_page_in_a_browser(browser, tmp_path):
    with (
        Loop.open(tmp_path / "news.db", **NEWS) as loop,
        threaded(loop, tokens=[TOKEN.encode()]) as server,
        browser.tab(f"{server.url}/") as tab,
    ):
        # The token, by keyboard alone.
        tab.wait_for("document.activeElement.id === 'token'")
        tab.type("a-wrong-token-of-this-length")
        tab.press("Enter")
        tab.wait_for("document.getElementById('refused').innerText.includes('not the token')")
        tab.run("document.getElementById('token').value = ''")
        tab.type(TOKEN)
        tab.press("Enter")
        tab.wait_for("document.querySelector('#cards dd')")
        assert shown(tab, "Decisions") == "0"
        assert "No decision has been made yet." in tab.run("document.getElementById('reward').textContent")

        # What happens comes by itself.
        for number in range(8):
            visit(loop, number)
        first = loop.checkpoint()
        tab.wait_for("document.querySelectorAll('#recent button').length === 8")
        tab.wait_for(f"{CARD.format('Decisions')}.querySelector('dd').childNodes[0].textContent === '8'")
        tab.wait_for("document.querySelectorAll('#policies tbody tr').length === 4")
        assert tab.run("document.querySelector('#policies tbody tr').innerText").split("\t")[:2] == [
            "what was played",
            "1.000",
        ]
        assert shown(tab, "Mean reward") == "1.000"

        # What drove a decision, by keyboard; Escape leaves, and the focus is where it was.
        tab.run("document.querySelector('#recent button').focus()")
        tab.press("Enter")
        tab.wait_for("document.querySelector('#why[open] tbody')")
        words = tab.run("document.getElementById('why').innerText")
        assert "What drove e7" in words
        assert "user=Tom" in words
        assert "predicted reward" in words
        assert tab.run(NAMELESS) == []
        tab.press("Escape")
        tab.wait_for("!document.getElementById('why').open && document.activeElement.innerText === 'e7'")

        # A chart tells its values by keyboard, and as a table.
        tab.run("document.querySelector('#shares svg').focus()")
        tab.press("ArrowLeft")
        assert "%" in tab.run("document.querySelector('#shares .readout').innerText")
        tab.run("document.querySelector('#shares details').open = true")
        tab.wait_for("document.querySelectorAll('#shares tbody tr').length > 0")
        assert tab.run("document.querySelector('#shares caption').innerText").startswith("Share of each action")

        # Rolling back is asked for once more, and done.
        visit(loop, 8)
        loop.checkpoint()
        tab.wait_for("document.querySelector('#generations button')")
        tab.run("document.querySelector('#generations button').click()")
        tab.wait_for(f"document.getElementById('ask').innerText.includes('generation {first}?')")
        assert loop.status().learned == 9
        tab.run("document.getElementById('ask-yes').click()")
        tab.wait_for("!document.getElementById('ask').open")
        assert loop.status().learned == 8

        assert tab.run(NAMELESS) == []
        assert {url.partition("/page")[0] for url in tab.requested() if "/page" in url} == {server.url}
        assert {url for url in tab.requested() if "/page" not in url} <= {f"{server.url}/", "about:blank"}
        assert [one for one in tab.complaints() if "401" not in one] == []

        # On a phone, in the dark.
        tab.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        tab.wait_for("document.documentElement.clientWidth === 390 && document.documentElement.scrollWidth === 390")
        paper = "getComputedStyle(document.body).backgroundColor"
        assert tab.run(paper) == "rgb(17, 20, 23)"
        tab.run("document.documentElement.dataset.theme = 'light'")
        assert tab.run(paper) == "rgb(246, 247, 248)"


@pytest.mark.slow
def test_minutes_of_traffic_leave_browser_and_server_nearly_as_they_were(browser, tmp_path):
    """One visitor after another, as fast as they go. It is not an hour, and the server may still grow a little."""
    minutes = 6
    with serving(tmp_path / "news.db", "--actions", "politics,sports,music", "--reward-range", "0", "1", "--wait", "2s",
                 "--default-reward", "0", "--checkpoint-every", "2s") as server:  # fmt: skip
        ended = threading.Event()

        def visitors():
            number = 0
            while not ended.is_set():
                server.post("/decide", {"context": {"user": "Tom", "hour": number % 24}, "event_id": f"e{number}"})
                if number % 2:
                    server.post("/reward", {"event_id": f"e{number}", "value": 1})
                number += 1

        threads = [threading.Thread(target=visitors)]
        with browser.tab(f"{server.url}/") as tab:
            for thread in threads:
                thread.start()
            try:
                sizes = []
                for _ in range(minutes):
                    time.sleep(60)
                    tab.run("gc(); gc()")
                    heap = tab.run("performance.memory.usedJSHeapSize")
                    nodes = tab.run("document.querySelectorAll('*').length")
                    tree = [psutil.Process(server.process.pid), *psutil.Process(server.process.pid).children()]
                    sizes.append((heap, nodes, *(one.memory_info().rss for one in tree)))
                    print(sizes[-1], flush=True)
            finally:
                ended.set()
                for thread in threads:
                    thread.join()
            assert tab.complaints() == []
    first, last = sizes[1], sizes[-1]
    growth = [after / before for before, after in zip(first, last, strict=True)]
    assert last[1] < 3000, sizes  # a chart has at most 240 stretches of time
    assert growth[0] < 1.5, sizes
    assert max(growth[2:]) < 1.15, sizes
