"""Applies `patches/*.patch` to VW's released sources, and prints which files of the build were made.

`vw_patches.py ENGINE INTO PATCH... --again FILE...` reads sources from the engine's folder and writes them, changed,
below `INTO`. `--again` names files that change nothing themselves, but include a changed header. Each patch is a
unified diff against the release. Every line that it takes from the release is checked. The programs `patch` and
`git apply` do the same, but are not on every machine.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class PatchDoesNotFit(Exception):
    """A patch, or the place it changes, is not what it must be; the message names both."""


@dataclass
class Hunk:
    """One change: the lines that stand in the release from `line` on, and those that take their place."""

    patch: str
    line: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


def read_patch(name: str, text: str) -> dict[str, list[Hunk]]:
    """The hunks of a unified diff by the file of the release that they change. Text between them is for readers."""
    hunks: dict[str, list[Hunk]] = defaultdict(list)
    lines = iter(text.splitlines())
    file = ""
    for line in lines:
        if line.startswith("--- "):
            file, target = line.removeprefix("--- a/"), next(lines, "")
            if target != f"+++ b/{file}":
                raise PatchDoesNotFit(f"{name}: expected '--- a/FILE' and '+++ b/FILE', got {line!r} and {target!r}.")
        elif line.startswith("@@"):
            header = _HUNK.match(line)
            if header is None or not file:
                raise PatchDoesNotFit(f"{name}: expected '@@ -LINE,COUNT +LINE,COUNT @@' below a file, got {line!r}.")
            olds, news = (int(header[group] or 1) for group in (2, 4))
            if olds == 0:
                raise PatchDoesNotFit(f"{name}: {line!r} has no line of VW to be known by; expected at least one.")
            hunk = Hunk(name, int(header[1]))
            while len(hunk.old) < olds or len(hunk.new) < news:
                change = next(lines, None)
                if change is None or change[:1] not in {"", " ", "-", "+"}:
                    raise PatchDoesNotFit(f"{name}: the lines below {line!r} are not as many as it says.")
                if change[:1] != "+":
                    hunk.old.append(change[1:])
                if change[:1] != "-":
                    hunk.new.append(change[1:])
            if (len(hunk.old), len(hunk.new)) != (olds, news):
                raise PatchDoesNotFit(f"{name}: the lines below {line!r} are not as many as it says.")
            hunks[file].append(hunk)
    if not hunks:
        raise PatchDoesNotFit(f"{name} changes nothing; expected a unified diff.")
    return hunks


def apply(hunks: list[Hunk], file: str, text: str) -> str:
    """The text of a file with all its hunks, which must fit where they say, and not overlap."""
    lines = text.split("\n")
    changed: list[str] = []
    done = 0
    for hunk in sorted(hunks, key=lambda hunk: hunk.line):
        start = hunk.line - 1
        if start < done:
            raise PatchDoesNotFit(f"{hunk.patch}: another patch changes {file} at line {hunk.line}, too.")
        for i, expected in enumerate(hunk.old, start):
            present = lines[i] if i < len(lines) else "the end of the file"
            if present != expected:
                raise PatchDoesNotFit(
                    f"{hunk.patch} does not fit VW's {file}: line {i + 1} is\n  {present}\nand must be\n  {expected}\n"
                    "Is it the released source? After a new release of VW, look at this place again, and at the patch."
                )
        changed += lines[done:start] + hunk.new
        done = start + len(hunk.old)
    return "\n".join(changed + lines[done:])


def in_engine(file: str) -> Path:
    """Where a file of the release lies in the engine's folder."""
    if file.startswith("python/"):
        return Path(file).relative_to("python")
    path = Path(file).relative_to("vowpalwabbit")
    return path.relative_to(path.parts[0]) if path.parts[1] == "include" else path


def write(path: Path, text: str) -> None:
    """Leaves alone what has not changed, so that it is not compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def patch_all(engine: Path, into: Path, patches: list[Path], again: list[str]) -> list[Path]:
    """Writes all changed files below `into`, and nothing else stays there."""
    hunks: dict[str, list[Hunk]] = {file: [] for file in again}
    for patch in sorted(patches):
        for file, changes in read_patch(f"patches/{patch.name}", patch.read_text(encoding="utf-8")).items():
            hunks.setdefault(file, []).extend(changes)
    texts = {}
    for file, changes in hunks.items():
        source = engine / in_engine(file)
        if not source.is_file():
            raise PatchDoesNotFit(f"{changes[0].patch if changes else '--again'}: VW has no file {file}.")
        texts[into / in_engine(file)] = apply(changes, file, source.read_text(encoding="utf-8"))
    for path in into.rglob("*"):
        if path.is_file() and path not in texts:
            path.unlink()
    for path, text in texts.items():
        write(path, text)
    return sorted(texts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    parser.add_argument("into", type=Path)
    parser.add_argument("patches", type=Path, nargs="+")
    parser.add_argument("--again", nargs="*", default=[], metavar="FILE")
    asked = parser.parse_args()
    try:
        made = patch_all(asked.engine, asked.into, asked.patches, asked.again)
    except PatchDoesNotFit as problem:
        sys.exit(f"vw-fastcb: {problem}")
    print(*(path.as_posix() for path in made if path.suffix == ".cc"), sep=";")
