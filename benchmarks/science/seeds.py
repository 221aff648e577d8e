"""What a seed says about a run, and which half of the real data it plays."""

import hashlib

FIRST_OF_REPORT = 100
FIRST_OF_ALL = 200  # of real data: for comparing with what others measured on all of them, once the report is out


def reports(seed: int) -> bool:
    """Whether a run may be used for reporting only; else it may be used for choosing only."""
    return seed >= FIRST_OF_REPORT


def in_reporting_half(text: str) -> bool:
    """Which half a person or a question belongs to: its SHA-256 is odd."""
    return hashlib.sha256(text.encode()).digest()[-1] % 2 == 1


def plays(seed: int, in_reporting: bool) -> bool:
    """Whether a run with this seed has the people and questions of a half."""
    return in_reporting == reports(seed) or seed >= FIRST_OF_ALL
