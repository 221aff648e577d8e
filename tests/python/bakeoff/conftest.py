import pytest

from bakeoff.openml_server import serving


@pytest.fixture
def undrawn(monkeypatch):
    """Reports without their pictures, which take most of the time. test_report_pages.py draws them."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    monkeypatch.setattr("vw_fastcb.bakeoff.report.html_page._picture", lambda panel: "")


@pytest.fixture
def server():
    """A server on localhost that answers as OpenML does."""
    with serving() as state:
        yield state
