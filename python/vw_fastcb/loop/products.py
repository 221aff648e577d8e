"""How much a model has to do for one decision, by the features that it has."""

from __future__ import annotations

from collections import Counter

from vw_fastcb.engine.flags import Flags
from vw_fastcb.learner.settings import Settings
from vw_fastcb.loop.contexts import Features
from vw_fastcb.refusals import RefusedValue

_MOST = 1 << 24  # in one decision: half a second, and some hundred megabytes while it lasts
_MOST_READ = 1 << 26  # features that newton reads: a second
_FLAGS = ("interactions", "quadratic", "cubic")
_ALL = ":"  # of VW, for any namespace
_CONTEXT, _ACTION = "x", "a"


class Products:
    """Refuses decisions that would take too long, and too much memory.

    With `xx`, 100,000 features are 10,000,000,000 products. And newton reads the context's features for each action.

    Args:
        settings: Those of the learner.
    """

    def __init__(self, settings: Settings) -> None:
        self._oracle = settings.oracle
        self._terms = list(settings.interactions)
        if settings.vw_args:
            flags = Flags.read(list(settings.vw_args))
            self._terms += [terms for name in _FLAGS for terms in flags.values(name)]

    def count(self, context: Features, action_features: list[Features] | None) -> int:
        """How many a decision has, at most: a pair counts twice where features are multiplied with themselves."""
        if not self._terms:
            return 0
        rows = {0: 1} if action_features is None else Counter(map(len, action_features))
        return sum(self._of(len(context), features) * actions for features, actions in rows.items())

    def features(self, context: Features, action_features: list[Features] | None) -> int:
        """How many features all actions have together, at most, products included. Fixed actions share theirs."""
        rows = [()] if action_features is None else action_features
        own = len(context) * len(rows) + sum(map(len, rows))
        return own + self.count(context, action_features)

    def check(self, context: Features, action_features: list[Features] | None) -> None:
        """Raises where a decision is too large."""
        actions = len(action_features or ())
        read = 0 if self._oracle == "gd" else len(context) * actions  # gd adds them up once
        if read > _MOST_READ:
            raise RefusedValue(
                f"the context has {len(context):,} features, which {self._oracle} reads for each of {actions:,} "
                f"actions; expected {_MOST_READ:,} of both multiplied at most. Send fewer, or take oracle='gd'."
            )
        count = self.count(context, action_features)
        if count > _MOST:
            raise RefusedValue(
                f"the interactions {', '.join(self._terms)} make up to {count:,} products of the features of this "
                f"decision; expected {_MOST:,} at most. Send fewer features, or leave interactions out."
            )

    def _of(self, context: int, action: int) -> int:
        sizes = {_CONTEXT: context, _ACTION: action, _ALL: context + action}
        total = 0
        for terms in self._terms:
            product = 1
            for term in terms:
                product *= sizes.get(term, 0)
            total += product
        return total
