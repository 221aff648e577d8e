"""A best action that changes, with a memory and without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from vw_fastcb import FastCB
from vw_fastcb.lab import picture
from vw_fastcb.lab.experiment import Experiment, Table
from vw_fastcb.lab.games import Array, standard_error

ACTIONS = 4
_GOOD, _BAD = 0.05, 0.80  # what the best action costs on average, and the others


@dataclass(frozen=True, eq=False)
class Changes:
    """What each round cost, by memory (0 forgets nothing), (runs, rounds)."""

    memory: int  # what is claimed to help
    costs: dict[int, Array]
    still: dict[int, Array]  # the same without a change

    @property
    def rounds(self) -> int:
        """How many, with the change in the middle."""
        return len(self.costs[0][0])

    def after(self, memory: int) -> Array:
        """The mean cost of each run after the change."""
        return np.asarray(self.costs[memory][:, self.rounds // 2 :].mean(axis=1))

    def price(self, memory: int) -> Array:
        """How much more each run costs where nothing changes."""
        return np.asarray((self.still[memory] - self.still[0]).mean(axis=1))

    def claims(self) -> dict[str, bool]:
        """What a memory is for, and what it costs."""
        saved = self.after(0) - self.after(self.memory)
        price = self.price(self.memory)
        return {
            "after a change, a memory saves more than two standard errors": saved.mean() > 2 * standard_error(saved),
            "where nothing changes it costs something, and less than it saves": 2 * standard_error(price)
            < price.mean()
            < saved.mean(),
        }

    def title(self) -> str:
        """The finding."""
        return "With a memory, FastCB finds the new best action much sooner"

    def words(self) -> str:
        """What is seen."""
        others = [memory for memory in self.costs if memory not in {0, self.memory}]
        more = " ".join(
            f"With a memory of {memory:,} it pays {self.after(memory).mean():.3f}, and {self.price(memory).mean():.3f} "
            "where nothing changes."
            for memory in others
        )
        return (
            f"{ACTIONS} actions, one of them good in each context (it costs {_GOOD}, the others {_BAD}), and after "
            f"{self.rounds // 2:,} of {self.rounds:,} rounds another one is. "
            "The theory is about a fixed truth; this is what happens when it is not. FastCB with the second-order "
            f"oracle pays {self.after(0).mean():.3f} per round after the change, "
            f"because it has learned to be sure. With `--fastcb_memory {self.memory}`, under which an event's weight "
            f"falls to about a third (1/e) after {self.memory} more events, "
            f"it pays {self.after(self.memory).mean():.3f}. "
            f"Where nothing changes, that memory costs {self.price(self.memory).mean():.3f} per round more "
            f"(standard error {standard_error(self.price(self.memory)):.4f}). {more}".strip()
        )

    def table(self) -> Table:
        """One row for each memory."""
        half = self.rounds // 2
        rows = [
            (
                memory or "none",
                costs[:, :half].mean(),
                self.after(memory).mean(),
                standard_error(self.after(memory)),
                self.still[memory].mean(),
                self.price(memory).mean(),
            )
            for memory, costs in self.costs.items()
        ]
        return Table(
            (
                "memory",
                "before the change",
                "after it",
                "standard error",
                "where nothing changes",
                "more than without a memory",
            ),
            rows,
        )

    def draw(self) -> Figure:
        """Recent cost over time."""
        window = self.rounds // 40
        figure, (axes,) = picture.blank(
            self.title(),
            f"{ACTIONS} actions, one of them good in each context; half-way, without notice, another one is",
            f"Mean of {len(self.costs[0])} runs, bands of two standard errors. FastCB with its second-order oracle "
            "and default settings.",
            (f"Mean cost of the last {window:,} rounds",),
        )
        colours = {0: picture.SQUARECB, self.memory: picture.FASTCB}
        for line, (memory, costs) in enumerate(sorted(self.costs.items())):
            color = colours.get(memory, picture.FIFTH)
            totals = np.cumsum(np.pad(costs, ((0, 0), (1, 0))), axis=1)
            recent = (totals[:, window:] - totals[:, :-window])[:, :: window // 10] / window
            t = np.arange(window, self.rounds + 1)[:: window // 10]
            means, errors = recent.mean(axis=0), recent.std(axis=0, ddof=1) / np.sqrt(len(recent))
            axes.fill_between(t, means - 2 * errors, means + 2 * errors, color=color, alpha=0.16, linewidth=0)
            axes.plot(t, means, color=color, linewidth=2.4)
            name = f"memory of {memory:,}" if memory else "no memory"
            picture.label(axes, name, (0.06 * self.rounds, 0.6 - 0.07 * line), color, shift=(0, 0))
        axes.axvline(self.rounds / 2, color=picture.GREY, linewidth=1.2, linestyle=":")
        picture.label(axes, "the change", (self.rounds / 2, 0.78), picture.GREY, shift=(-6, 0), ha="right")
        axes.axhline(_GOOD, color=picture.GREY, linewidth=1.6, linestyle=(0, (4, 2)))
        picture.label(axes, "the best policy", (self.rounds, _GOOD), picture.GREY, shift=(0, -10), ha="right")
        axes.set(xlim=(0, self.rounds), ylim=(0, 0.85))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        picture.name_axes(axes, "rounds")
        return figure


def compute(seed: int = 0, quick: bool = False, *, memory: int = 500) -> Changes:
    """Plays the world with and without a change.

    Args:
        seed: Of the worlds and the draws.
        quick: Fewer rounds and runs.
        memory: The memory that is claimed to help; 0 shows that the claims depend on it.
    """
    rounds, runs = (8_000, 5) if quick else (20_000, 20)
    memories = dict.fromkeys((0, memory) if quick else (0, memory, 4 * memory))
    costs, still = (
        {
            one: np.array(
                [_played(np.random.default_rng([seed, run]), rounds, change, one, run) for run in range(runs)]
            )
            for one in memories
        }
        for change in (True, False)
    )
    return Changes(memory, costs, still)


def _played(rng: np.random.Generator, rounds: int, change: bool, memory: int, seed: int) -> Array:
    contexts = rng.random((rounds, ACTIONS))
    best = (contexts.argmax(axis=1) + change * (np.arange(rounds) >= rounds // 2)) % ACTIONS
    chance = np.where(np.arange(ACTIONS) == best[:, None], _GOOD, _BAD)
    outcomes = (rng.random(chance.shape) < chance).astype(float)
    played = FastCB(ACTIONS, vw_args=f"--fastcb_memory {memory}", seed=seed).simulate(contexts, outcomes).actions[0]
    return np.asarray(chance[np.arange(rounds), played])


EXPERIMENT = Experiment(
    "changes",
    "a best action that changes, with a memory and without",
    "Beyond the paper, whose truth is fixed",
    compute,
)
