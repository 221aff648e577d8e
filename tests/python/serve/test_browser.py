"""The live page in a real browser."""

import threading
import time

import psutil
import pytest

from serve.servers import serving, threaded
from vw_fastcb import Loop

pytest.importorskip("playwright")

from playwright.sync_api import expect

from serve.browser import CHROMIUM, MISSING, PATIENCE, chromium, tab

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
expect.set_options(timeout=PATIENCE)

TOKEN = "a-token-of-32-characters-or-more"
NEWS = {"actions": ["politics", "sports", "music"], "reward_range": (0, 1), "default_reward": 0, "seed": 1}

# What a screen reader would stumble over.
NAMELESS = """[...document.querySelectorAll('button, svg[role=img], table, input, section, dialog, progress')]
  .filter((one) => one.checkVisibility() && !(
    one.getAttribute('aria-label') || one.innerText?.trim() || one.caption || one.labels?.length
    || document.getElementById(one.getAttribute('aria-labelledby'))?.innerText))
  .map((one) => one.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as one:
        yield one


def card(page, name):
    """What stands under a name."""
    return page.locator("#cards div", has_text=name).first.locator("dd")


def visit(loop, number):
    loop.decide({"user": "Tom", "hour": number}, event_id=f"e{number}")
    loop.reward(f"e{number}", 1)


def test_the_page_in_a_browser(browser, tmp_path):
    with (
        Loop.open(tmp_path / "news.db", **NEWS) as loop,
        threaded(loop, tokens=[TOKEN.encode()]) as server,
        tab(browser, f"{server.url}/") as seen,
    ):
        page = seen.page
        # The token, by keyboard alone.
        expect(page.get_by_label("Token")).to_be_focused()
        page.keyboard.type("a-wrong-token-of-this-length")
        page.keyboard.press("Enter")
        expect(page.get_by_text("this is not the token")).to_be_visible()
        page.get_by_label("Token").fill("")
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        expect(card(page, "Decisions")).to_have_text("0 0 learned", use_inner_text=True)
        expect(page.locator("#reward")).to_contain_text("No decision has been made yet.")

        # What happens comes by itself.
        for number in range(8):
            visit(loop, number)
        first = loop.checkpoint()
        expect(page.locator("#recent").get_by_role("button")).to_have_count(8)
        expect(card(page, "Decisions")).to_have_text("8 8 learned", use_inner_text=True)
        expect(page.locator("#policies tbody tr")).to_have_count(4)
        expect(page.locator("#policies tbody tr").first.locator("th, td").nth(0)).to_have_text("what was played")
        expect(page.locator("#policies tbody tr").first.locator("th, td").nth(1)).to_have_text("1.000")
        expect(card(page, "Mean reward")).to_contain_text("1.000")

        # What drove a decision, by keyboard; Escape leaves, and the focus is where it was.
        page.get_by_role("button", name="e7").focus()
        page.keyboard.press("Enter")
        why = page.get_by_role("dialog", name="What drove e7")
        expect(why).to_contain_text("user=Tom")
        expect(why).to_contain_text("predicted reward")
        assert page.evaluate(NAMELESS) == []
        page.keyboard.press("Escape")
        expect(why).to_be_hidden()
        expect(page.get_by_role("button", name="e7")).to_be_focused()

        # A chart tells its values by keyboard, and as a table.
        page.locator("#shares svg").focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#shares .readout")).to_contain_text("%")
        page.locator("#shares summary").click()
        expect(page.locator("#shares caption")).to_contain_text("Share of each action")
        assert page.locator("#shares tbody tr").count() > 0

        # Rolling back is asked for once more, and done.
        visit(loop, 8)
        loop.checkpoint()
        page.locator("#generations").get_by_role("button").first.click()
        ask = page.get_by_role("dialog", name=f"generation {first}?")
        expect(ask).to_be_visible()
        assert loop.status().learned == 9
        ask.get_by_role("button", name="Roll back").click()
        expect(ask).to_be_hidden()
        assert loop.status().learned == 8

        assert page.evaluate(NAMELESS) == []
        assert {url.partition("/page")[0] for url in seen.requested if "/page" in url} == {server.url}
        assert {url for url in seen.requested if "/page" not in url} <= {f"{server.url}/", "data:,"}
        assert [one for one in seen.complaints if "401" not in one] == []

        # On a phone, in the dark.
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        seen.wait_for("document.documentElement.scrollWidth === 390")
        expect(page.locator("body")).to_have_css("background-color", "rgb(17, 20, 23)")
        page.evaluate("document.documentElement.dataset.theme = 'light'")
        expect(page.locator("body")).to_have_css("background-color", "rgb(246, 247, 248)")


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
        with tab(browser, f"{server.url}/") as seen:
            for thread in threads:
                thread.start()
            try:
                sizes = []
                for _ in range(minutes):
                    time.sleep(60)
                    tree = [psutil.Process(server.process.pid), *psutil.Process(server.process.pid).children()]
                    sizes.append((seen.heap(), seen.elements(), *(one.memory_info().rss for one in tree)))
                    print(sizes[-1], flush=True)
            finally:
                ended.set()
                for thread in threads:
                    thread.join()
            assert seen.complaints == []
    first, last = sizes[1], sizes[-1]
    growth = [after / before for before, after in zip(first, last, strict=True)]
    assert last[1] < 3000, sizes  # a chart has at most 240 stretches of time
    assert growth[0] < 1.5, sizes
    assert max(growth[2:]) < 1.15, sizes
