"""The policies that can be judged, as they are written on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from vw_fastcb.engine.flags import Flags
from vw_fastcb.evaluation.dsjson import with_allowed_actions, without_actions
from vw_fastcb.evaluation.logs import Batch, LinesLog, Log, per_event
from vw_fastcb.evaluation.progressive import Progressive
from vw_fastcb.evaluation.tally import Tally

if TYPE_CHECKING:
    from vw_fastcb import FastCB

_Floats = NDArray[np.float64]


class PolicyRefused(ValueError):
    """A policy that cannot be judged on such a log, and why."""


class Policy(Protocol):
    """A policy while it is judged.

    Attributes:
        label: What to call it.
        learns: Whether it learns on the way.
    """

    label: str
    learns: bool

    def give(self, batch: Batch) -> None:
        """Takes further events."""

    def finish(self) -> None:
        """Waits until all of them are counted."""

    def close(self) -> None:
        """Ends it, finished or not."""


class Take(Protocol):
    """Called with each batch, and the probabilities that the policy gives to all its actions."""

    def __call__(self, batch: Batch, policy: _Floats, /) -> None: ...  # noqa: D102


class Logged:
    """What the log's own policy did."""

    learns = False

    def __init__(self, label: str, take: Take) -> None:
        self.label, self._take = label, take

    def give(self, batch: Batch) -> None:
        """Takes further events."""
        self._take(batch, batch.logged)

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        """Nothing is open."""


class Constant:
    """Always the same action."""

    learns = False

    def __init__(self, label: str, name: str, take: Take) -> None:
        self.label, self._name, self._take = label, name, take
        self._has_met = False

    def give(self, batch: Batch) -> None:
        """Takes further events. Where the action is not there, the policy has nothing to play."""
        numbers = batch.numbers_of(self._name)
        there = numbers >= 0
        self._has_met = self._has_met or bool(there.any())
        policy = np.zeros(len(batch.logged))
        policy[(batch.first[:-1] + numbers)[there]] = 1.0
        self._take(batch, policy)

    def finish(self) -> None:
        """Raises where no event had this action."""
        if not self._has_met:
            raise PolicyRefused(
                f"no event has an action {self._name!r}; expected its number, from 0, or a text among its features."
            )

    def close(self) -> None:
        """Nothing is open."""


class Vw:
    """A policy of VW's: it learns on the log, or it is a saved model and does not."""

    def __init__(
        self, label: str, words: Sequence[str], take: Take, *, learns: bool, is_adf: bool, model: str | None = None
    ) -> None:
        self.label, self.learns = label, learns
        self._pass_on = take
        # VW cannot be told that a fixed action is left out, but `FastCB` can ask a saved model again.
        self._fixed = None if is_adf else _FixedActions(model)
        self._engine = Progressive(words, as_dsjson if is_adf else self._as_json, self._normal, is_adf=is_adf)

    def _as_json(self, batch: Batch) -> bytes:
        if batch.excluded is not None and self._fixed is not None:
            self._fixed.load()
        return _as_json(batch)

    def _normal(self, batch: Batch, numbers: _Floats) -> None:
        """VW rounds what it prints, so probabilities sum to 1 only almost."""
        sums = np.add.reduceat(numbers, batch.first[:-1])
        if not np.all(np.abs(sums - 1) < 1e-3):
            raise PolicyRefused("VW's predictions are no probabilities; expected flags with --cb_explore_adf.")
        policy = numbers / np.repeat(sums, np.diff(batch.first))
        if batch.excluded is not None and self._fixed is not None:
            self._fixed.ask_again(batch, policy)
        self._pass_on(batch, policy)

    def give(self, batch: Batch) -> None:
        """Takes further events."""
        self._engine.give(batch)

    def finish(self) -> None:
        """Waits until all of them are counted."""
        self._engine.finish()

    def close(self) -> None:
        """Ends the engine."""
        self._engine.close()


class _FixedActions:
    """What a saved model of fixed actions says where some of them could not be played.

    Args:
        path: The model; None where the policy learns.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._model: FastCB | None = None

    def load(self) -> None:
        """Reads the model, once."""
        if self._model is not None:
            return
        why = "decisions of this log had actions excluded or retired, which VW cannot be told where actions are fixed"
        if self._path is None:
            raise PolicyRefused(f"{why}; expected flags with --cb_explore_adf.")
        from vw_fastcb import FastCB  # noqa: PLC0415, constant policies need no engine

        try:
            self._model = FastCB.load(self._path)
        except (RuntimeError, ValueError) as problem:
            raise PolicyRefused(f"{why}; expected a model of FastCB or of the loop ({problem})") from problem

    def ask_again(self, batch: Batch, policy: _Floats) -> None:
        """Puts in what the model says of the actions that were left."""
        from vw_fastcb.loop.dsjson import context_of  # noqa: PLC0415, who has no journal does not wait for it

        assert self._model is not None
        asked = [i for i, line in enumerate(batch.parsed) if line.excluded]
        contexts = [context_of(msgspec.json.decode(batch.parsed[i].c)) for i in asked]
        try:
            pmfs = self._model.predict_proba(contexts, exclude=[batch.parsed[i].excluded or [] for i in asked])
        except (TypeError, ValueError) as problem:
            raise PolicyRefused(f"the model {self._path!r} cannot take this log: {problem}") from problem
        for i, pmf in zip(asked, pmfs, strict=True):
            policy[batch.first[i] : batch.first[i + 1]] = pmf


def as_dsjson(batch: Batch) -> bytes:
    """Events as they are in the log, each with the actions that could be played."""
    lines = batch.lines
    if batch.excluded is not None:
        lines = [
            with_allowed_actions(line, parsed.excluded) if parsed.excluded else line
            for line, parsed in zip(lines, batch.parsed, strict=True)
        ]
    return b"\n".join(lines) + b"\n"


def _as_json(batch: Batch) -> bytes:
    """Events of fixed actions: the context alone, with a label."""
    made = []
    for line, action, reward, chance in zip(
        batch.parsed, batch.actions.tolist(), batch.rewards.tolist(), batch.probabilities.tolist(), strict=True
    ):
        label = {"_label_Action": action + 1, "_label_Cost": 0.0 - reward, "_label_Probability": chance}
        made.append(msgspec.json.encode({**label, **without_actions(line.c)}))
    return b"\n".join(made) + b"\n"


# Flags


def policy_of(text: str, log: Log, take: Take) -> Policy:
    """The policy that a text says, ready to take events.

    Args:
        text: `logged`, `constant:NAME`, `model:FILE`, or flags of VW, each optionally after a label, as in
            `new=--cb_explore_adf --fastcb`.
        log: The log that it is judged on.
        take: What is called with its probabilities.

    Raises:
        PolicyRefused: It cannot be judged; says why.
    """
    label, given = _labelled(text)
    if given == "logged":
        return Logged(label, take)
    kind, _, rest = given.partition(":")
    if kind == "constant" and rest:
        return Constant(label, rest, take)
    if kind == "model" and rest:
        _need_lines(log)
        words, is_adf = _of_model(rest)
        return Vw(label, words, take, learns=False, is_adf=is_adf, model=rest)
    if given.startswith("-"):
        _need_lines(log)
        words, is_adf = _of_flags(given, log)
        return Vw(label, words, take, learns=True, is_adf=is_adf)
    raise PolicyRefused(
        f"the policy is {text!r}; expected logged, constant:NAME, model:FILE, or flags of VW such as '--cb_explore_adf "
        "--fastcb'."
    )


def _need_lines(log: Log) -> None:
    if not isinstance(log, LinesLog):
        raise PolicyRefused(f"{log.name} has no features, and VW needs them: judge it on a journal or a dsjson file.")


def _labelled(text: str) -> tuple[str, str]:
    found = re.match(r"^([^-:=\s][^:=]*)=(\S.*)$", text.strip())
    return (found[1].strip(), found[2].strip()) if found else (text.strip(), text.strip())


_INPUT_AND_OUTPUT = "input and output are ours to name"
_WRITES = "it would write a file"
_OTHERWISE = "it would do something else than predict and learn"
_REFUSED_EVERYWHERE = {
    **dict.fromkeys(("data", "cache", "cache_file", "kill_cache"), _INPUT_AND_OUTPUT),
    **dict.fromkeys(("predictions", "raw_predictions", "daemon", "port"), _INPUT_AND_OUTPUT),
    **dict.fromkeys(("final_regressor", "json", "dsjson", "chain_hash_json"), _INPUT_AND_OUTPUT),
    **dict.fromkeys(("csv", "flatbuffer", "no_stdin", "foreground", "num_children"), _INPUT_AND_OUTPUT),
    **dict.fromkeys(("readable_model", "invert_hash", "save_per_pass", "extra_metrics"), _WRITES),
    **dict.fromkeys(("dump_json_weights_experimental", "pid_file", "port_file"), _WRITES),
    **dict.fromkeys(("output_feature_regularizer_binary", "output_feature_regularizer_text"), _WRITES),
    **dict.fromkeys(("active", "active_cover", "simulation", "sendto", "span_server"), _OTHERWISE),
    **dict.fromkeys(("audit", "audit_regressor", "help", "version"), _OTHERWISE),
    **dict.fromkeys(("passes",), "after the first pass it would be judged on events that it has learned"),
    **dict.fromkeys(("holdout_off", "holdout_period", "testonly"), "it would not learn from every event"),
}
_NO_SINGLE_PMF = "it makes several decisions per event, or none, and the log has one"
_REASONS = {
    **_REFUSED_EVERYWHERE,
    **dict.fromkeys(("initial_regressor",), "to judge a saved model, write model:FILE"),
    **dict.fromkeys(("cbify", "cbify_ldf", "cbify_cs", "cbify_reg", "warm_cb"), "it makes its own bandit data"),
    **dict.fromkeys(("ccb_explore_adf", "slates", "cats", "cats_pdf", "cats_tree"), _NO_SINGLE_PMF),
    **dict.fromkeys(("explore_eval",), "it draws its own events from the log, which is judged here already"),
    **dict.fromkeys(("cb_adf", "cb"), "it gives costs, not probabilities: write --cb_explore_adf --epsilon 0"),
    **dict.fromkeys(
        ("cb_sample",), "it swaps its draw to the front, so that nothing tells how likely the logged action was"
    ),
}


def _of_flags(text: str, log: Log) -> tuple[list[str], bool]:
    """The words for VW, and whether actions have features of their own; raises where it cannot be judged."""
    given = _checked(text, _REASONS)
    words, names = [*given.words, *given.others], given.names
    if given.value("fastcb_gamma") == "epochs":
        raise PolicyRefused(
            "--fastcb_gamma epochs cannot be judged on a log: its epochs follow the learner's own loss, and the losses "
            "in a log are those of another policy. Live it would explore differently."
        )
    is_adf, is_fixed = "cb_explore_adf" in names, "cb_explore" in names
    if not is_adf and not is_fixed:
        raise PolicyRefused(
            f"the flags {text!r} say no exploration; expected --cb_explore_adf, or --cb_explore K for fixed actions."
        )
    low, high = log.reward_range
    if {"fastcb", "squarecb", "regcb", "regcbopt"} & names:
        # Before the others: a flag at the end that lacks its value must not take ours.
        words = [*([] if "cb_max_cost" in names else ["--cb_max_cost", repr(0.0 - low)]), *words]
        words = [*([] if "cb_min_cost" in names else ["--cb_min_cost", repr(0.0 - high)]), *words]
    return ["--dsjson" if is_adf else "--json", *words], is_adf


def words_of_control(text: str) -> list[str]:
    """The flags of a model of costs; raises where they would do more than that."""
    given = _checked(text, _REFUSED_EVERYWHERE)
    return ["--dsjson", "--cb_adf", "--rank_all", "--cb_type", "mtr", *given.words, *given.others]


def _checked(text: str, reasons: Mapping[str, str]) -> Flags:
    """A line of flags; raises where they would do what is not to be done here."""
    try:
        given = Flags.read(text)
    except ValueError as problem:
        raise PolicyRefused(f"the flags are {text!r}; expected flags of VW ({problem}).") from problem
    for flag in given.flags:
        if flag.name in reasons:
            raise PolicyRefused(f"{flag.dashed} cannot be judged on a log: {reasons[flag.name]}.")
    for word in given.others:
        if Path(word).exists():  # VW would read it in place of the log
            raise PolicyRefused(f"the flags name the file {word!r}: {_INPUT_AND_OUTPUT}.")
    return given


def _of_model(path: str) -> tuple[list[str], bool]:
    from vw_fastcb import Workspace  # noqa: PLC0415, constant policies need no engine

    if not Path(path).is_file():
        raise PolicyRefused(f"there is no model {path!r}.")
    try:
        with Workspace(arg_list=["-i", path, "-t", "--quiet", "--no_stdin"]) as vw:
            flags = vw.get_arguments().split()
    except RuntimeError as problem:
        raise PolicyRefused(f"the model {path!r} cannot be loaded: {problem}") from problem
    if "--cb_explore_adf" not in flags and "--cb_explore" not in flags:
        raise PolicyRefused(f"the model {path!r} gives no probabilities; expected one made with --cb_explore_adf.")
    is_adf = "--cb_explore_adf" in flags
    return ["--dsjson" if is_adf else "--json", "-i", path, "-t"], is_adf


def tallied(tally: Tally) -> Take:
    """Counts what a policy gives."""

    def take(batch: Batch, policy: _Floats, /) -> None:
        tally.update(**per_event(batch, policy))

    return take
