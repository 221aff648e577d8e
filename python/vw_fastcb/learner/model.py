"""The learner's model: its engine, from the first use to the end, and its ways to disk and to other processes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from vw_fastcb import _engine
from vw_fastcb.engine.stock_modules import load_pylibvw
from vw_fastcb.engine.workspace import Workspace
from vw_fastcb.learner.flags import params_of
from vw_fastcb.learner.parameters import ACTION, CONTEXT, Parameters
from vw_fastcb.learner.rows import Space

_Self = TypeVar("_Self", bound="Model")

# Without the last, VW forgets how much a model has learned, which weighs it when it is merged with others.
_LOADING = ("--quiet", "--no_stdin", "--preserve_performance_counters")


class Engine:
    """An engine in use, and what it knows of its two namespaces."""

    def __init__(self, learner: _engine.ArrayLearner, kind: str, columns: dict[str, Any] | None = None) -> None:
        known = columns or {}
        self.learner = learner
        self.kind = kind
        self.contexts = Space(learner, CONTEXT, "contexts", known.get(CONTEXT))
        self.actions = Space(learner, ACTION, "actions", known.get(ACTION))

    def columns(self) -> dict[str, Any]:
        """The columns of both namespaces."""
        return {CONTEXT: self.contexts.columns, ACTION: self.actions.columns}


class Model(Parameters):
    """Starts an engine at the first use. Forks, threads, pickles and copies of it are safe."""

    _running: Engine | None = None
    _closed = False

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a VW model, which `vw-fastcb -i` reads too.

        Args:
            path: The file. One that is there is replaced.

        Raises:
            ValueError: The learner was closed.
            RuntimeError: The file cannot be written.

        Examples:
            >>> import os, tempfile
            >>> from vw_fastcb import FastCB
            >>> path = os.path.join(tempfile.mkdtemp(), "model.vw")
            >>> FastCB(3).partial_fit([[1.0]], [2], [0.5]).save(path)
            >>> FastCB.load(path).events_
            1
        """
        self._start().learner.save(os.fspath(path))

    @classmethod
    def load(cls: type[_Self], path: str | os.PathLike[str], *, rewards: bool = False, seed: int = 0) -> _Self:
        """Reads a model that `save` or `vw-fastcb --fastcb -f` wrote, with its parameters.

        A model does not know the names of columns: the first rows it is given fix them.

        Args:
            path: The model file.
            rewards: Whether to speak of rewards, the negatives of VW's costs.
            seed: Of the draws, which are not part of a model.

        Returns:
            A learner that goes on where the model stands.

        Raises:
            RuntimeError: The file cannot be read, is damaged, or was not made by FastCB.
        """
        # The engine is made twice: what a model keeps says how its predictions are to be read.
        found = _engine.ArrayLearner(["-i", os.fspath(path), *_LOADING])
        learner = cls(**{**params_of(found.kept_flags(), rewards), "bits": found.bits, "seed": seed})
        learner._read(path, learner.seed)
        return learner

    def close(self) -> None:
        """Gives the memory of the model back. The learner cannot be used again; its parameters can.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> with FastCB(3) as bandit:
            ...     action = bandit.decide([1.0]).action
            >>> bandit.decide([1.0])
            Traceback (most recent call last):
            ...
            ValueError: FastCB(n_actions=3) was closed; make a new learner, or load a saved one with FastCB.load.
        """
        self._closed = True
        self._running = None

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def to_workspace(self) -> Workspace:
        """The learner's VW workspace, not a copy: what one learns the other knows.

        Do not use the workspace and the learner from two threads at the same time.

        Returns:
            A workspace that takes VW's text, such as `|x 0:0.5 color=red`.

        Examples:
            >>> from vw_fastcb import FastCB
            >>> bandit = FastCB(2)
            >>> bandit.to_workspace().learn("1:0.5:0.5 |x 0:1")
            >>> bandit.events_
            1
        """
        load_pylibvw()
        return Workspace(_existing_vw=self._start().learner.workspace())

    @property
    def events_(self) -> int:
        """How many events were learned."""
        if self._running is None and not self._closed:
            return 0
        return self._start().learner.events

    @property
    def _used(self) -> bool:
        return self._running is not None or self._closed

    def _start(self) -> Engine:
        """The engine, made at the first use."""
        engine = self._running
        if engine is not None:
            return engine
        # Without a lock, which a fork might find held. Of two threads that come here at once, one wins.
        made = Engine(self._new_learner(self.seed), self._kind())
        return vars(self).setdefault("_running", made)  # type: ignore[no-any-return]

    def _new_learner(self, draws: int) -> _engine.ArrayLearner:
        if self._closed:
            raise ValueError(f"{self!r} was closed; make a new learner, or load a saved one with FastCB.load.")
        return _engine.ArrayLearner(self._arguments(), *self._units(), draws)

    def _read(self, path: str | os.PathLike[str], draws: int, columns: dict[str, Any] | None = None) -> None:
        arguments = ["-i", os.fspath(path), *_LOADING]
        self._running = Engine(_engine.ArrayLearner(arguments, *self._units(), draws), self._kind(), columns)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_running"}
        engine = self._running
        if engine is not None:
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch) / "model"
                engine.learner.save(os.fspath(path))
                state["_model"] = (path.read_bytes(), engine.learner.draws, engine.columns())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.pop("_model", None)
        vars(self).update(state)
        if model is not None:
            content, draws, columns = model
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch) / "model"
                path.write_bytes(content)
                self._read(path, draws, columns)
