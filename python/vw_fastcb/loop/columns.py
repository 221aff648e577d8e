"""The columns of a journal: which features there are, and whether each one is a number or text.

Columns are declared, or the first value of a name fixes its kind. A value that does not fit is refused, or it is left
out of the decision and counts as missing. What is left out depends on the records of the journal alone.

Where values are left out, a list is a dictionary of its positions, counted from 0: no form of a context is wrong, so
nobody who sends the first one can shut the others out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from vw_fastcb.learner.settings import is_whole
from vw_fastcb.loop.contexts import Features, shown
from vw_fastcb.refusals import RefusedValue

Declared: TypeAlias = "int | Mapping[str, str] | None"
Kind = Literal["number", "text", "any"]
Mismatch = Literal["leave_out", "refuse"]

KINDS: tuple[str, ...] = get_args(Kind)
MISMATCHES: tuple[str, ...] = get_args(Mismatch)

_EXPECTED = "expected a dictionary of names and kinds (number, text, any), or the length of a list of numbers"
_MOST_COLUMNS = 100_000
_MOST_KINDS = 4096  # names of which the engine remembers the kind
_MOST_NAMED = 100  # columns that are counted by name
_LONGEST_NAME = 256
OTHERS = ""  # stands for the columns beyond, in counts


def checked_columns(what: str, columns: Any) -> Declared:
    """A declaration, with flat names. Raises where it is none."""
    if columns is None:
        return None
    if is_whole(columns):
        if not 1 <= columns <= _MOST_COLUMNS:
            raise ValueError(f"{what} is {columns}; expected a list of 1 to {_MOST_COLUMNS:,} numbers.")
        return int(columns)
    if not isinstance(columns, Mapping):
        raise TypeError(f"{what} is {shown(columns)}; {_EXPECTED}.")
    if not columns:
        raise ValueError(f"{what} is {{}}; {_EXPECTED}.")
    flat: dict[str, str] = {}
    _flatten(what, columns, "", flat)
    return flat


def _flatten(what: str, columns: Mapping[Any, Any], prefix: str, flat: dict[str, str]) -> None:
    for name, kind in columns.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"{what} has the name {shown(name)}; expected text.")
        if isinstance(kind, Mapping):
            _flatten(what, kind, f"{prefix}{name}.", flat)
            continue
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"{what} has {shown(kind)} for {name!r}; expected one of {', '.join(KINDS)}.")
        if prefix + name in flat:
            raise ValueError(f"{what} has the name {prefix + name!r} twice, once it is flat; expected each name once.")
        flat[prefix + name] = kind


class Fitted(NamedTuple):
    """The features of a decision that fit.

    Attributes:
        context: The context.
        action_features: The features of the actions.
        left_out: The columns whose values were left out, those of actions with `action_features.` before their name; a
            name for each value.
    """

    context: Features
    action_features: list[Features] | None
    left_out: tuple[str, ...] = ()


class ColumnRule:
    """What features there may be, of contexts or of actions.

    Args:
        declared: The kinds by name, a width, or None where the first values fix the kinds. A name that ends in `*`
            stands for all that begin like it.
        leaves_out: Whether values that do not fit are left out. Otherwise they are refused.
    """

    def __init__(self, declared: Declared, *, leaves_out: bool) -> None:
        self.declared = declared
        self.leaves_out = leaves_out
        kinds = declared if isinstance(declared, Mapping) else {}
        self._exact = {name: kind for name, kind in kinds.items() if not name.endswith("*")}
        starts = sorted((name[:-1] for name in kinds if name.endswith("*")), key=len, reverse=True)
        self._starts = [(start, kinds[f"{start}*"]) for start in starts]

    def kind_of(self, name: str) -> str | None:
        """The declared kind of a name; None where it is not declared."""
        if isinstance(self.declared, int):
            return "number" if _is_position(name, self.declared) else None
        kind = self._exact.get(name)
        if kind is not None:
            return kind
        head, is_word, _ = name.partition("=")
        if is_word and self.kind_of(head) == "text":
            return "number"  # a word of a list: `tags=sports` is the text `sports` for `tags`
        return next((kind for start, kind in self._starts if name.startswith(start)), None)

    def fit(self, row: Features, what: str) -> tuple[Features, list[str]]:
        """A row that fits the declaration, and the columns that were left out. Raises where they are refused."""
        if isinstance(row, list):
            if self.declared == len(row) or (self.declared is None and not self.leaves_out):
                return row, []
            if not self.leaves_out:
                raise self._wrong_list(row, what)
            row = by_position(row)
        if self.declared is None:
            return row, []
        left_out, fitting = [], row
        for name, value in row.items():
            kind = self.kind_of(name)
            if kind == "any" or (kind is not None and (value is None or (kind == "text") == isinstance(value, str))):
                continue
            if not self.leaves_out:
                raise self._wrong_value(name, value, kind, what)
            fitting = dict(row) if fitting is row else fitting
            left_out.append(name)
            if kind is None:
                del fitting[name]
            else:
                fitting[name] = None
        return fitting, left_out

    def settled(self, columns: Any, kinds: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        """What a model knows of columns, once it follows this rule: a model may be older than the rule."""
        if self.declared is None:
            if not self.leaves_out or columns is None:
                return columns, dict(kinds)
            positions = range(min(columns, _MOST_KINDS)) if isinstance(columns, int) else ()
            return None, {**{str(position): "number" for position in positions}, **kinds}
        known = {name: self.kind_of(name) for name in kinds}
        settled = {name: kinds[name] if kind == "any" else kind for name, kind in known.items() if kind is not None}
        return (self.declared if isinstance(self.declared, int) else None), settled

    def _wrong_list(self, row: list[Any], what: str) -> RefusedValue:
        if isinstance(self.declared, int):
            return RefusedValue(f"{what} is a list of {len(row)} numbers; expected {self._shown()}, as declared.")
        return RefusedValue(f"{what} is a list of {len(row)} numbers; expected a dictionary with {self._shown()}.")

    def _wrong_value(self, name: str, value: Any, kind: str | None, what: str) -> RefusedValue:
        if isinstance(self.declared, int):
            return RefusedValue(f"{what} has {shown(value)} for {shown(name)}; expected {self._shown()}, as declared.")
        if kind is None:
            return RefusedValue(
                f"{what} has the column {shown(name)}, which is not declared; expected {self._shown()}. To declare it: "
                "fastcb column set."
            )
        return RefusedValue(
            f"{what} has {shown(value)} for {shown(name)}, which is declared as {kind}; expected "
            f"{'text' if kind == 'text' else 'a number'}. To declare another kind: fastcb column set."
        )

    def _shown(self) -> str:
        if isinstance(self.declared, int):
            return f"a list of {self.declared} numbers"
        names = sorted(self.declared or ())
        return f"the columns {shown(names[:30])}{f' and {len(names) - 30} more' if len(names) > 30 else ''}"


class ColumnRules(NamedTuple):
    """Those of contexts, and those of the features of actions."""

    contexts: ColumnRule = ColumnRule(None, leaves_out=False)
    actions: ColumnRule = ColumnRule(None, leaves_out=False)

    def fit(self, context: Features, action_features: list[Features] | None) -> Fitted:
        """What fits of a decision's features. Raises where something is refused."""
        fitting, left_out = self.contexts.fit(context, "the context")
        if action_features is None:
            return Fitted(fitting, None, tuple(left_out))
        rows = []
        for number, row in enumerate(action_features):
            fitting_row, names = self.actions.fit(row, f"action {number}")
            rows.append(fitting_row)
            left_out += [f"action_features.{name}" for name in names]
        if len({type(row) for row in rows}) > 1:  # some lists have the declared length, others have not
            rows = [by_position(row) if isinstance(row, list) else row for row in rows]
        return Fitted(fitting, rows, tuple(left_out))


def without_conflicts(rows: Sequence[Features], kinds: Mapping[str, str]) -> tuple[list[Features], list[str]]:
    """Rows without the values whose kind is another than before: than the known one, or than that of the first row."""
    known = dict(kinds)
    fitting: list[Features] = []
    left_out: list[str] = []
    for row in rows:
        if isinstance(row, list):
            fitting.append(row)
            continue
        wrong = []
        for name, value in row.items():
            if value is None:
                continue
            kind = "text" if isinstance(value, str) else "number"
            if known.get(name, kind) != kind:
                wrong.append(name)
            elif len(known) < _MOST_KINDS:
                known[name] = kind
        fitting.append({**row, **dict.fromkeys(wrong)} if wrong else row)
        left_out += wrong
    return fitting, left_out


def by_position(row: list[Any]) -> dict[str, Any]:
    """A list as a dictionary of its positions."""
    return {str(position): value for position, value in enumerate(row)}


def count_left_out(counts: dict[str, int], names: Sequence[str]) -> None:
    """Adds columns that were left out to their counts: by name, and together where there are too many of them."""
    for name in names:
        key = name[:_LONGEST_NAME]
        if key not in counts and len(counts) - (OTHERS in counts) >= _MOST_NAMED:
            key = OTHERS
        counts[key] = counts.get(key, 0) + 1


def warning_of(counts: Mapping[str, int]) -> str | None:
    """What to say of values that were left out; None where there were none."""
    if not counts:
        return None
    most = sorted(counts, key=lambda name: (-counts[name], name))[:5]
    named = ", ".join(f"{'other columns' if name == OTHERS else shown(name)} ({counts[name]:,})" for name in most)
    more = f" and {len(counts) - len(most)} more columns" if len(counts) > len(most) else ""
    total = sum(counts.values())
    return (
        f"{total:,} value{'s' if total != 1 else ''} did not fit the column and {'were' if total != 1 else 'was'} left "
        f"out of the decision: {named}{more}. Let the clients send one kind; where the column has the wrong kind, mend "
        "it: fastcb column set JOURNAL NAME number, or text."
    )


def _is_position(name: str, width: int) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 19 and int(name) < width
