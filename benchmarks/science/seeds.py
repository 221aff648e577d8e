"""What a seed says about a run."""

FIRST_OF_REPORT = 100
FIRST_OF_ALL = 200  # of real data: for comparing with what others measured on all of them, once the report is out


def reports(seed: int) -> bool:
    """Whether a run may be used for reporting only; else it may be used for choosing only."""
    return seed >= FIRST_OF_REPORT
