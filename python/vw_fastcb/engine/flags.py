"""VW's command line, read as VW reads it."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

# What C's strtof takes for a number although it begins with a dash: no flag of one letter.
_NEGATIVE = re.compile(
    r"-((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|0x([\da-f]+\.?[\da-f]*|\.[\da-f]+)(p[+-]?\d+)?|inf(inity)?|nan(\(\w*\))?)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Flag:
    """One flag of a command line.

    Attributes:
        name: VW's long name, without dashes: `final_regressor` for `-f`.
        values: What VW takes for its values. Empty for a switch, and for a last flag that lacks its value.
        dashed: The name as it was written, with dashes and without a value: `-f` for `-fmodel`.
        words: The words of the command line that it is made of.
    """

    name: str
    values: tuple[str, ...]
    dashed: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Flags:
    """A command line of VW. `Flags.read` makes one.

    Attributes:
        flags: In the order of the command line; one that is repeated is here as often.
        others: Words that belong to no flag: files that VW would read, and flags that VW does not have.
    """

    flags: tuple[Flag, ...]
    others: tuple[str, ...]

    @classmethod
    def read(cls, line: str | Sequence[str]) -> Flags:
        """Reads a line as a shell would split it, or its words. Raises ValueError if quotation marks do not match."""
        words = shlex.split(line) if isinstance(line, str) else list(line)
        flags: list[Flag] = []
        others: list[str] = []
        at = 0
        while at < len(words):
            dashed, value = _parts(words[at])
            name = _known().names.get(dashed)
            if name is None:
                others.append(words[at])
                at += 1
                continue
            end = _end(words, at + 1, _known().kinds[name], has_value=value is not None)
            values = (*([] if value is None else [value]), *words[at + 1 : end])
            flags.append(Flag(name, values, dashed, tuple(words[at:end])))
            at = end
        return cls(tuple(flags), tuple(others))

    @property
    def words(self) -> list[str]:
        """The words of all flags, as they were written."""
        return _words(self.flags)

    @property
    def names(self) -> set[str]:
        """VW's long names of the flags, without dashes."""
        return {flag.name for flag in self.flags}

    def value(self, name: str) -> str | None:
        """The first value of a flag, which is the one that counts; None without one."""
        return next((value for flag in self.flags if flag.name == name for value in flag.values), None)

    def values(self, name: str) -> tuple[str, ...]:
        """All values of a flag that may be repeated."""
        return tuple(value for flag in self.flags if flag.name == name for value in flag.values)

    def without(self, names: Collection[str]) -> list[str]:
        """The words of all other flags, as they were written."""
        return _words(flag for flag in self.flags if flag.name not in names)


def _words(flags: Iterable[Flag]) -> list[str]:
    return [word for flag in flags for word in flag.words]


def _parts(word: str) -> tuple[str, str | None]:
    """The name with its dashes, and the value that stands in the same word."""
    if word.startswith("--") and len(word) > 2:
        name, equals, value = word.partition("=")
        return name, value if equals else None
    if _is_short(word):
        return word[:2], word[2:] or None
    return "", None


def _is_short(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and word[1] != "-" and not _NEGATIVE.fullmatch(word)


def _end(words: Sequence[str], at: int, kind: type, *, has_value: bool) -> int:
    """Where the values of a flag end that begin here."""
    if kind is bool:
        return at
    if not has_value and at < len(words):
        at += 1  # whatever it is, a flag included
    while kind is list and at < len(words) and not words[at].startswith("--") and not _is_short(words[at]):
        at += 1
    return at


@dataclass(frozen=True)
class _Known:
    names: dict[str, str]  # the long name of each, by what is written
    kinds: dict[str, type]


@functools.cache
def _known() -> _Known:
    """What VW says that it takes."""
    from vw_fastcb.engine.workspace import Workspace  # noqa: PLC0415, without a command line no engine is needed

    names: dict[str, str] = {}
    kinds: dict[str, type] = {}
    with Workspace(arg_list=["--bit_precision", "1", "--quiet", "--no_stdin"]) as vw:
        config: dict[str, Any] = vw.get_config(filtered_enabled_reductions_only=False)
    for groups in config.values():
        for _, options in groups:
            for option in options:
                kinds[option.name] = type(option.default_value)
                names[f"--{option.name}"] = option.name
                if option.short_name:
                    names[f"-{option.short_name}"] = option.name
    return _Known(names, kinds)
