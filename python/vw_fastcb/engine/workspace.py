"""`Workspace` and `Example` of `vowpalwabbit` on this package's engine, without the memory leaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vw_fastcb import _engine

if TYPE_CHECKING:  # the stock module is not typed
    _StockExample = Any
    _StockWorkspace = Any
else:  # the stock classes: pyvw is still loading
    from vw_fastcb.pyvw import Example as _StockExample
    from vw_fastcb.pyvw import Workspace as _StockWorkspace


class Example(_StockExample):  # type: ignore[misc]
    """A drop-in for `vowpalwabbit.Example`. One made by `Workspace.parse` returns to VW when nothing refers to it."""

    pooled = False

    def __del__(self) -> None:
        if self.pooled and not self.finished:
            _engine.release_examples(self.vw, [self])


class Workspace(_StockWorkspace):  # type: ignore[misc]
    """VW's engine with FastCB: a drop-in for `vowpalwabbit.Workspace`, with the same arguments and methods.

    If `learn` or `predict` raises, as it does for every bad event with `--fastcb`, the examples made for the call go
    back to VW, and the model stays as it was.

    Args:
        arg_str: VW's command line, for example "--cb_explore_adf --fastcb"; it is split at spaces.
        enable_logging: Keep VW's log for `get_log`.
        arg_list: The command line as a list of words, for words that contain spaces.
        **kw: Further flags: `quiet=True` is "--quiet", `bit_precision=20` is "--bit_precision 20".

    Examples:
        >>> from vw_fastcb import Workspace
        >>> with Workspace("--cb_explore 3 --fastcb --quiet") as vw:
        ...     vw.learn("2:0.5:0.33 | tall dark")
        ...     pmf = vw.predict("| tall dark")
        >>> abs(sum(pmf) - 1) < 1e-6
        True

    """

    def __init__(
        self,
        arg_str: str | None = None,
        enable_logging: bool = False,
        arg_list: list[str] | None = None,
        _existing_vw: Any = None,
        **kw: Any,
    ) -> None:
        with _engine.CLocale():
            super().__init__(arg_str, enable_logging, arg_list, _existing_vw, **kw)
        self._reads_strictly = any("fastcb" in learner for learner in self.get_enabled_learners())

    def _parse(self, text: str) -> list[Any]:
        """Called by `parse`. Unlike VW's own, it returns its examples to VW if the text cannot be parsed."""
        return _engine.parse_examples(self, text)

    def parse(self, str_ex: str | Sequence[str], labelType: int | None = None) -> Any:  # noqa: N803, VW's name
        """Parses text into an example, or into a list of examples if an event has several lines.

        With `--fastcb`, text is read exactly as the command line reads it.
        """
        if self._reads_strictly and _is_text(str_ex):
            examples = self._parse_as_given(str_ex, labelType)
        else:
            examples = super().parse(str_ex, labelType)
        for example in examples if isinstance(examples, list) else [examples]:
            example.pooled = True
        return examples

    def _parse_as_given(self, text: str | Sequence[str], label_type: int | None) -> Any:
        """What the stock `parse` does, but it would remove spaces and carriage returns first."""
        parsed = self._parse(text if isinstance(text, str) else "\n".join(text))
        examples = [Example(self, example, label_type) for example in parsed]
        for example in examples:
            example.setup_done = True
        return examples if self._is_multiline() else examples[0]

    def learn(self, ec: Any) -> None:
        """Learns from one event: text, lines of text, an `Example`, or a list of them."""
        if not _is_text(ec):
            super().learn(ec)
            return
        examples = self._parse_event(ec)
        try:
            super().learn(examples)
        except BaseException:
            self._release(examples)
            raise
        self.finish_example(examples)

    def predict(self, ec: Any, prediction_type: int | None = None) -> Any:
        """Predicts for one event: with `--fastcb` the probability of each action, in the order of the actions."""
        if not _is_text(ec):
            return super().predict(ec, prediction_type)
        examples = self._parse_event(ec)
        try:
            prediction = super().predict(examples, prediction_type)
        except BaseException:
            self._release(examples)
            raise
        self.finish_example(examples)
        return prediction

    def finish(self) -> None:
        """Saves what the flags ask for and closes the workspace. If that fails, it raises once."""
        try:
            super().finish()
        except BaseException:
            self.init, self.finished = False, True
            raise

    def _parse_event(self, text: str | list[str]) -> Any:
        if isinstance(text, list) and not self._is_multiline():
            raise TypeError(
                "Expecting a multiline learner: with --cb_explore K an event is one line of text, not a list."
            )
        return self.parse(text)

    def _release(self, examples: Any) -> None:
        released = examples if isinstance(examples, list) else [examples]
        _engine.release_examples(self, released)
        for example in released:
            example.finished = True


def _is_text(ec: Any) -> bool:
    return isinstance(ec, str) or (isinstance(ec, list) and len(ec) > 0 and isinstance(ec[0], str))
