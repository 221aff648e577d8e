import pytest

from bakeoff.openml_server import serving


@pytest.fixture
def server():
    """A server on localhost that answers as OpenML does."""
    with serving() as state:
        yield state
