"""Everything the report says, computed once from the frames of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from vw_fastcb.bakeoff.analysis import paper
from vw_fastcb.bakeoff.analysis.comparison import (
    CRITICAL,
    SMALL_LSTAR,
    USUAL,
    fresh_head_to_head,
    head_to_head,
    optimism,
    verdict,
    where_it_wins,
    wins_and_losses,
)
from vw_fastcb.bakeoff.analysis.held_out import choose_configuration, held_out_sets, over_draws
from vw_fastcb.bakeoff.analysis.losses import (
    fixed_losses,
    incomplete_sets,
    lstar_of,
    mean_losses,
    mean_over_orders,
    orders_of,
    rounds_of,
    sensitivity,
    tuned_losses,
)
from vw_fastcb.bakeoff.analysis.paper import FASTCB, PAPER_TRIO, SUPERVISED, bandits, rivals
from vw_fastcb.bakeoff.analysis.untuned import Untuned, without_tuning

ONE_CLASS_RULES = 0.2
"""Below this majority error a set is easy only because one class rules."""

LARGE_SOURCE = 0.2
"""From this share of the sets on, results are also told with and without the sets of a source."""


@dataclass(frozen=True)
class Findings:
    """The analysis of one bake-off. Tables are frames; those that the results do not allow are empty."""

    results: pd.DataFrame
    """The results on complete sets, all fresh shuffles."""
    datasets: pd.DataFrame
    """The complete sets."""
    incomplete: list[str]
    orders: int
    """On how many orders of the rows the grid ran; its losses are their means."""
    losses: pd.DataFrame
    """Tuned loss of each algorithm (columns) on each set."""
    rounds: pd.Series
    lstar: pd.Series
    bandits: list[str]
    held_out: list[str]
    chosen: dict[str, str]
    """The one configuration of each algorithm, where sets could be held out."""
    fixed: pd.DataFrame
    """Loss of the chosen configuration of each algorithm on each set."""
    per_set: pd.DataFrame
    per_set_base: pd.DataFrame
    """As `per_set`, without the sets that are subsets of another."""
    one_configuration: pd.DataFrame
    one_configuration_base: pd.DataFrame
    over_draws: pd.DataFrame
    """As `one_configuration`, FastCB.L against each rival, means over several draws of the held-out sets."""
    untuned: Untuned
    everyone: pd.DataFrame
    everyone_base: pd.DataFrame
    scopes: pd.DataFrame
    """Wins and losses of FastCB.L against each rival, counted in several ways."""
    wins: pd.DataFrame
    means: pd.DataFrame
    sensitivity: pd.DataFrame
    fresh: pd.DataFrame
    optimism: pd.DataFrame

    @property
    def rivals(self) -> list[str]:
        """The bandits that FastCB.L is compared with; none where FastCB.L did not run."""
        return rivals(self.bandits)

    @property
    def subsets(self) -> int:
        """How many of the sets are subsets of another."""
        return int(self.datasets["subset_of"].notna().sum())


def analyse(results: pd.DataFrame, datasets: pd.DataFrame, seed: int = 0) -> Findings:
    """Analyses the results of a bake-off; `seed` draws the held-out sets. Sets that are not complete are left out."""
    incomplete, orders = incomplete_sets(results), orders_of(results)
    results = mean_over_orders(results[~results["dataset"].isin(incomplete)])
    datasets = datasets[datasets["name"].isin(results["dataset"])].sort_values("name").reset_index(drop=True)
    losses, rounds = tuned_losses(results), rounds_of(results)
    players = bandits(losses.columns)
    held_out = held_out_sets(datasets, seed) if len(datasets) > 1 else []
    chosen = {name: choose_configuration(results, name, held_out) for name in players} if held_out else {}
    fixed = fixed_losses(results, chosen)
    against = rivals(players)
    lstar = lstar_of(losses)
    base = set(datasets.loc[datasets["subset_of"].isna(), "name"])
    trio = [name for name in PAPER_TRIO if name in players]
    unseen = fixed[~fixed.index.isin(held_out)]

    def table(of: pd.DataFrame, names: list[str], numbers: Mapping[tuple[str, str], int]) -> pd.DataFrame:
        return head_to_head(of, rounds, [name for name in names if name in of], paper=numbers)

    def without_subsets(of: pd.DataFrame) -> pd.DataFrame:
        return of[of.index.isin(base)]

    return Findings(
        results=results,
        datasets=datasets,
        incomplete=incomplete,
        orders=orders,
        losses=losses,
        rounds=rounds,
        lstar=lstar,
        bandits=players,
        held_out=held_out,
        chosen=chosen,
        fixed=fixed,
        per_set=table(losses, trio, paper.TUNED_PER_SET),
        per_set_base=table(without_subsets(losses), trio, paper.TUNED_PER_SET),
        one_configuration=table(unseen, trio, paper.ONE_CONFIGURATION),
        one_configuration_base=table(without_subsets(unseen), trio, paper.ONE_CONFIGURATION),
        over_draws=over_draws(results, datasets, FASTCB, against),
        untuned=without_tuning(results),
        everyone=table(losses, players, paper.TUNED_PER_SET),
        everyone_base=table(without_subsets(losses), players, paper.TUNED_PER_SET),
        scopes=_scopes(losses, fixed, held_out, rounds, datasets) if against else pd.DataFrame(),
        wins=where_it_wins(losses, rounds, FASTCB, against, lstar),
        means=mean_losses(losses),
        sensitivity=sensitivity(results),
        fresh=fresh_head_to_head(results, FASTCB, against),
        optimism=optimism(results),
    )


def _scopes(
    losses: pd.DataFrame, fixed: pd.DataFrame, held_out: list[str], rounds: pd.Series, datasets: pd.DataFrame
) -> pd.DataFrame:
    """FastCB.L against each rival, counted on other sets, with another test, with another way of tuning."""
    unseen = fixed[~fixed.index.isin(held_out)]
    facts = datasets.set_index("name")
    base = facts.index[facts["subset_of"].isna()]
    open_race = facts.index[facts["majority_error"] >= ONE_CLASS_RULES]
    learnable = learnable_sets(losses, rounds, facts["majority_error"])
    ways = [
        ("tuned per set, all sets", losses, CRITICAL),
        ("… without subsets", losses[losses.index.isin(base)], CRITICAL),
        (f"… majority error at least {ONE_CLASS_RULES}", losses[losses.index.isin(open_race)], CRITICAL),
        (f"… {SUPERVISED} beats the majority class", losses[losses.index.isin(learnable)], CRITICAL),
        *((way, values, CRITICAL) for way, values in _by_source(losses)),
        ("… a gap of 1.96 standard errors", losses, USUAL),
        ("one configuration, sets not chosen on", unseen, CRITICAL),
        ("… without subsets", unseen[unseen.index.isin(base)], CRITICAL),
        ("… all sets, also those chosen on", fixed, CRITICAL),
    ]
    rows = []
    for order, (way, values, critical) in enumerate(ways):
        for rival in rivals(losses.columns) if len(values) else []:
            wins, lost, sets = wins_and_losses(values, rounds, FASTCB, rival, critical)
            rows.append((order, way, rival, wins, lost, wins - lost, sets))
    return pd.DataFrame(rows, columns=["order", "way", "rival", "wins", "losses", "difference", "sets"])


def _by_source(losses: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The losses on the sets of each large source alone, and on all others."""
    source = losses.index.str.partition("/").get_level_values(0)
    shares = source.value_counts(normalize=True, sort=False)
    for name in shares.index[(shares >= LARGE_SOURCE) & (shares < 1)]:
        yield f"… only {name}/", losses[source == name]
        yield f"… without {name}/", losses[source != name]


def learnable_sets(losses: pd.DataFrame, rounds: pd.Series, majority_error: pd.Series) -> pd.Index:
    """The sets whose rows tell a linear learner that sees every label more than which class is the most frequent.

    On the others there is nothing for a bandit to find in the contexts.
    """
    lstar = lstar_of(losses)
    beaten = verdict(lstar, majority_error.reindex(lstar.index), rounds.reindex(lstar.index)) > 0
    return lstar.index[beaten]


__all__ = ["ONE_CLASS_RULES", "SMALL_LSTAR", "Findings", "analyse", "learnable_sets"]
