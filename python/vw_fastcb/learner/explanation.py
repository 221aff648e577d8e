"""What drives a prediction: how much each feature adds to it, for each action."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vw_fastcb.learner import rows
from vw_fastcb.learner.engine import ACTIONS_NOUN, Engine
from vw_fastcb.learner.frames import Columns, is_number
from vw_fastcb.learner.optional import as_label, import_for_results

_Floats = NDArray[np.float64]

INTERCEPT = "intercept"
_OWN = "action."  # before the names of action features, which a context may have, too
_BEST_DRAWN = 4  # actions in a picture


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What drives the predictions of one event.

    The logit of a prediction is a sum: the intercept, and a contribution of each feature. `predictions` are the logits
    after the sigmoid, from [0, 1] to the range of costs or rewards. A positive contribution makes the cost (or the
    reward, in a learner of rewards) of an action larger.

    Attributes:
        noun: "cost" or "reward".
        actions: The names of the actions, or their numbers as text.
        features: The names of the features. Products of an interaction are joined by " * "; features that share a
            weight by " + ".
        values: Of each feature in the event, for each action (F, A); 0 where an action does not have it.
        weights: What a feature with the value 1 adds (F, A).
        contributions: What each feature adds (F, A).
        intercepts: What is there without any feature (A,).
        logits: The sum of intercept and contributions (A,). Single precision is what the engine computes them in, so
            the predictions are those of `predict_cost` to about seven digits.
        predictions: The predicted costs, or rewards (A,).
    """

    noun: str
    actions: tuple[str, ...]
    features: tuple[str, ...]
    values: _Floats = field(repr=False)
    weights: _Floats = field(repr=False)
    contributions: _Floats = field(repr=False)
    intercepts: _Floats = field(repr=False)
    logits: _Floats = field(repr=False)
    predictions: _Floats = field(repr=False)

    def to_frame(self) -> Any:
        """One row for each feature of each action, as a pandas frame, the intercepts last.

        Returns:
            A frame with the columns action, feature, value, weight and contribution.
        """
        pd = import_for_results("pandas")
        names = [*self.features, INTERCEPT]
        ones = np.ones((1, len(self.actions)))
        intercepts = self.intercepts[None, :]
        table = {
            "value": np.vstack([self.values, ones]),
            "weight": np.vstack([self.weights, intercepts]),
            "contribution": np.vstack([self.contributions, intercepts]),
        }
        columns: dict[str, Any] = {"action": np.repeat(self.actions, len(names)), "feature": names * len(self.actions)}
        frame = pd.DataFrame(columns | {name: part.T.ravel() for name, part in table.items()})
        return frame[(frame["value"] != 0) | (frame["feature"] == INTERCEPT)].reset_index(drop=True)

    def plot(self, action: int | str | None = None, *, most: int = 12) -> Any:
        """Draws what each feature adds, the largest contributions on top.

        Args:
            action: The action, by name or number; the best ones side by side unless given.
            most: How many features are drawn.

        Returns:
            The matplotlib figure.
        """
        plt = import_for_results("matplotlib.pyplot")
        shown = self._best() if action is None else [self._number(action)]
        order = _largest(self.contributions[:, shown], most)[::-1]
        names = [INTERCEPT, *(self.features[i] for i in order)]
        figure, axes = plt.subplots(
            1,
            len(shown),
            sharex=True,
            sharey=True,
            squeeze=False,
            figsize=(3.0 + 2.6 * len(shown), 1.6 + 0.3 * len(names)),
            layout="constrained",
        )
        for ax, a in zip(axes[0], shown, strict=True):
            lengths = [self.intercepts[a], *(self.contributions[i, a] for i in order)]
            colours = ["0.6", *("#b1402f" if one < 0 else "#1f6f8b" for one in lengths[1:])]
            ax.barh(range(len(names)), lengths, color=colours)
            ax.axvline(0, color="0.3", lw=0.8)
            title = f"{self.actions[a]}: {self.noun} {self.predictions[a]:.3g}"
            ax.set_title(as_label(title), fontsize=10)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_xlabel("adds to the logit")
        axes[0][0].set_yticks(range(len(names)), map(as_label, names))
        return figure

    def __repr__(self) -> str:
        order = _largest(self.contributions, 15)
        lines = [[self.features[i], *(f"{one:+.3f}" for one in self.contributions[i])] for i in order]
        left = len(self.features) - len(order)
        if left:
            rest = self.contributions.sum(axis=0) - self.contributions[order].sum(axis=0)
            lines.append([f"{left} more", *(f"{one:+.3f}" for one in rest)])
        lines.append([INTERCEPT, *(f"{one:+.3f}" for one in self.intercepts)])
        lines.append(["logit", *(f"{one:+.3f}" for one in self.logits)])
        lines.append([f"predicted {self.noun}", *(f"{one:.4g}" for one in self.predictions)])
        return _aligned(["", *self.actions], lines)

    def _best(self) -> list[int]:
        order = np.argsort(self.predictions, kind="stable")
        best = order if self.noun == "cost" else order[::-1]
        return [int(one) for one in best[:_BEST_DRAWN]]

    def _number(self, action: int | str) -> int:
        if isinstance(action, str) and action in self.actions:
            return self.actions.index(action)
        if isinstance(action, int) and 0 <= action < len(self.actions):
            return action
        raise ValueError(f"action is {action!r}; expected one of {list(self.actions)}, or a number below that of them.")


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """The weights of a learner: what a feature with the value 1 adds to the logit of a prediction.

    Attributes:
        noun: "cost" or "reward": what a positive weight makes larger.
        actions: The names of fixed actions, or their numbers as text; one, "all", where actions have features.
        features: The names of the features.
        weights: Their weights (F, A).
        intercepts: What is there without any feature (A,).
    """

    noun: str
    actions: tuple[str, ...]
    features: tuple[str, ...]
    weights: _Floats = field(repr=False)
    intercepts: _Floats = field(repr=False)

    def to_frame(self) -> Any:
        """The weights as a pandas frame.

        Returns:
            A frame with a row for each feature, the intercept last, and a column for each action.
        """
        pd = import_for_results("pandas")
        table = np.vstack([self.weights, self.intercepts[None, :]])
        index = pd.Index([*self.features, INTERCEPT], name="feature")
        return pd.DataFrame(table, index=index, columns=list(self.actions))

    def plot(self, *, most: int = 20) -> Any:
        """Draws the largest weights, a row for each feature and a column for each action.

        Args:
            most: How many features are drawn.

        Returns:
            The matplotlib figure.
        """
        plt = import_for_results("matplotlib.pyplot")
        order = _largest(self.weights, most)
        names = [*(self.features[i] for i in order), INTERCEPT]
        table = np.vstack([self.weights[order], self.intercepts[None, :]])
        size = (2.5 + 0.8 * len(self.actions), 1.4 + 0.32 * len(names))
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        reach = max(float(np.abs(table).max()), 1e-12)
        picture = ax.imshow(table, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
        ax.set_yticks(range(len(names)), map(as_label, names))
        ax.set_xticks(range(len(self.actions)), map(as_label, self.actions), rotation=30, ha="right")
        for (row, column), one in np.ndenumerate(table):
            colour = "white" if abs(one) > 0.6 * reach else "black"
            ax.text(column, row, f"{one:.2g}", ha="center", va="center", fontsize=8, color=colour)
        figure.colorbar(picture, ax=ax, label=f"adds to the logit of the {self.noun}")
        return figure

    def __repr__(self) -> str:
        order = _largest(self.weights, 20)
        lines = [[self.features[i], *(f"{one:+.3f}" for one in self.weights[i])] for i in order]
        if len(order) < len(self.features):
            lines.append([f"and {len(self.features) - len(order)} more", *[""] * len(self.actions)])
        lines.append([INTERCEPT, *(f"{one:+.3f}" for one in self.intercepts)])
        return _aligned([f"weights of the {self.noun}", *self.actions], lines)


def explain(engine: Engine, context: Any, action_features: Any) -> Explanation:
    """What drives the predictions of one event. Neither engine nor learner remember anything of it."""
    terms = _Terms(engine)
    terms.add(context, action_features)
    settings = engine.settings
    # The sign of logits: the engine may predict costs where the learner has rewards, or the other way round.
    offset, slope = settings.units
    sign = 1.0 if slope > 0 else -1.0
    found = terms.parts(settings.n_actions)
    contributions, intercepts = sign * found.contributions, sign * found.intercepts
    logits = intercepts + contributions.sum(axis=0)
    unit = 1.0 / (1.0 + np.exp(-sign * np.clip(logits, -_LOGIT_BOUND, _LOGIT_BOUND)))
    names = settings.action_names or tuple(str(number) for number in range(len(logits)))
    return Explanation(
        settings.noun,
        tuple(names),
        found.features,
        found.values,
        sign * found.weights,
        contributions,
        intercepts,
        logits,
        offset + slope * unit,
    )


def weights_of(engine: Engine, contexts: Any, action_features: Any) -> Weights:
    """The weights of the features of some rows; of all columns that are numbers where no rows are given."""
    settings = engine.settings
    has_features = settings.n_actions is None
    terms = _Terms(engine)
    if contexts is None:
        table = [_ones(engine.learner.actions)] if has_features else None
        terms.add(_ones(engine.learner.contexts), table)
    else:
        events = rows.as_dicts(_tabular(rows.canonical(contexts, "contexts", False)), "contexts")
        tables: Sequence[Any] = [None] * len(events)
        if has_features:
            engine.check_presence(action_features)
            is_same = rows.is_table(action_features)
            tables = [action_features] * len(events) if is_same else list(action_features)
            if len(tables) != len(events):
                raise ValueError(f"action_features are of {len(tables)} events; expected {len(events)}, as contexts.")
        for context, table in zip(events, tables, strict=True):
            terms.add(context, table)
    sign = 1.0 if settings.units[1] > 0 else -1.0
    found = terms.parts(settings.n_actions, is_one=has_features)
    names = settings.action_names or tuple(str(number) for number in range(settings.n_actions or 0))
    return Weights(
        settings.noun,
        ("all",) if has_features else tuple(names),
        found.features,
        sign * found.weights,
        sign * found.intercepts,
    )


_LOGIT_BOUND = 50.0  # VW's own bound for logistic loss


@dataclass(frozen=True)
class _Parts:
    features: tuple[str, ...]
    values: _Floats
    weights: _Floats
    contributions: _Floats
    intercepts: _Floats


class _Terms:
    """Terms of logits, gathered by name."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._found: list[list[tuple[str, float, list[float], list[float]]]] = []  # for each action, or one for all
        self._names: dict[str, str] = {}  # of features, as the engine tells where they lie

    def add(self, context: Any, action_features: Any) -> None:
        """Takes one event."""
        learner = self._engine.learner
        self._engine.check_presence(action_features)
        row = rows.canonical(context, "the context", True)
        table = None if action_features is None else rows.canonical(action_features, ACTIONS_NOUN, False)
        self._found += learner.explain(row, table)
        self._name("x", learner.contexts, [_as_dict(row)], "")
        if table is not None:
            self._name("a", learner.actions, rows.as_dicts(_tabular(table), ACTIONS_NOUN), _OWN)

    def parts(self, fixed: int | None, *, is_one: bool = False) -> _Parts:
        """Everything in tables. Where `is_one`, all that was added has the same weights."""
        columns = fixed or (1 if is_one else len(self._found))
        found: dict[str, tuple[_Floats, ...]] = {}
        intercepts = np.zeros(columns)
        for number, terms in enumerate(self._found):
            where = slice(None) if fixed else slice(0, 1) if is_one else slice(number, number + 1)
            for name, value, weights, contributions in terms:
                if "" in name.split("+"):
                    intercepts[where] = contributions
                    continue
                values, own_weights, added = found.setdefault(name, tuple(np.zeros((3, columns))))
                values[where], own_weights[where], added[where] = value, weights, contributions
        tables = np.array(list(found.values())).reshape(len(found), 3, columns)
        names = tuple(self._called(name) for name in found)
        return _Parts(names, tables[:, 0], tables[:, 1], tables[:, 2], intercepts)

    def _name(self, space: str, reader: Any, given: Iterable[Mapping[Any, Any]], prefix: str) -> None:
        for row in given:
            for name in _feature_names(row):
                place = f"{space}{reader.place_of(name)}"
                shown = f"{prefix}{name}"
                known = self._names.setdefault(place, shown)
                if shown not in known.split(" + "):
                    self._names[place] = f"{known} + {shown}"

    def _called(self, term: str) -> str:
        """The name that users know a term by."""
        alternatives = [" * ".join(self._names.get(one, one) for one in each.split("*")) for each in term.split("+")]
        return " + ".join(dict.fromkeys(alternatives))


def _feature_names(row: Mapping[Any, Any]) -> Iterator[str]:
    """The names under which the engine knows what a row says; see `row_reader::add_named`."""
    for key, value in row.items():
        if isinstance(value, str):
            yield f"{key}={value}"
        elif value is None or (is_number(value) and np.isnan(float(value))):
            yield f"{key}=missing"
        elif value != 0:
            yield str(key)


def _as_dict(row: Any) -> Mapping[Any, Any]:
    if isinstance(row, Mapping):
        return row
    if isinstance(row, Columns):
        return row.row(0)
    values = row.toarray() if hasattr(row, "toarray") else row
    return dict(enumerate(np.asarray(values).reshape(-1).tolist()))


def _tabular(table: Any) -> Any:
    return [table.row(i) for i in range(len(table))] if isinstance(table, Columns) else table


def _ones(reader: Any) -> Any:
    """A row with all columns that are numbers."""
    columns = reader.columns
    if isinstance(columns, int):
        return np.ones(columns)
    return {name: 1.0 for name, kind in reader.kinds.items() if kind == "number"}


def _largest(table: _Floats, most: int) -> list[int]:
    """The rows with the largest entries."""
    if not table.size:
        return []
    return [int(one) for one in np.argsort(-np.abs(table).max(axis=1), kind="stable")[:most]]


def _aligned(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    texts = []
    for line in [head, *lines]:
        cells = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        texts.append("  ".join([line[0].ljust(widths[0]), *cells]).rstrip())
    return "\n".join(texts)
