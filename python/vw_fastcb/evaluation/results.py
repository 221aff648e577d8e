"""What an estimate says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["valid", "asymptotic"]


@dataclass(frozen=True)
class Interval:
    """An interval for the value of a policy.

    Attributes:
        low: Its lower end.
        high: Its upper end.
        level: How likely it holds.
        kind: "valid" where that is so at any n; "asymptotic" where it is so in the end, at a large n.
    """

    low: float
    high: float
    level: float
    kind: Kind

    @property
    def width(self) -> float:
        """How wide it is."""
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """The value of a policy, as a log tells it.

    Attributes:
        method: "ips", "snips", "dr" or "replay".
        value: The estimate: what the policy would have earned per event. NaN where the log cannot answer.
        n: How many events there were.
        effective_n: How many events collected by the policy itself they are worth.
        largest_weight: The largest weight that one event had.
        intervals: By name: "anytime" and "empirical_bernstein" are valid, "gaussian" and "cressie_read" asymptotic.
            `replay` has valid ones where it knows whole pmfs.
        warnings: What to know before the estimate is trusted.
        refused: Why the log cannot answer; None where it can. Valid intervals are valid all the same.
    """

    method: str
    value: float
    n: int
    effective_n: float
    largest_weight: float
    intervals: Mapping[str, Interval]
    warnings: tuple[str, ...] = ()
    refused: str | None = None

    @property
    def interval(self) -> Interval:
        """The interval that holds at every n at once; the Gaussian one where there is none."""
        return self.intervals["anytime"] if "anytime" in self.intervals else self.intervals["gaussian"]

    def __str__(self) -> str:
        """The estimate, its interval, what it rests on, and why not to trust it."""
        held = self.interval
        value = f"{self.value:.4f}" if self.refused is None else "unknown"
        words = f"{value}, {held.kind} {held.level:.0%} interval {held.low:.4f} to {held.high:.4f}"
        words += f", effective sample size {self.effective_n:,.0f}"
        why = [] if self.refused is None else [self.refused[0].upper() + self.refused[1:]]
        return "\n".join([words, *self.warnings, *why])

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "method": self.method,
            "value": self.value if self.refused is None else None,
            "n": self.n,
            "effective_n": self.effective_n,
            "largest_weight": self.largest_weight,
            "intervals": {
                name: {"low": one.low, "high": one.high, "level": one.level, "kind": one.kind}
                for name, one in self.intervals.items()
            },
            "warnings": list(self.warnings),
            "refused": self.refused,
        }


def unsettled_words(count: int) -> str:
    """What is said of decisions that came after the first one that still waits."""
    return (
        f"{count:,} decisions came after the first one that still waits for its outcome and do not count: those whose "
        "outcome is known already are no fair sample."
    )
