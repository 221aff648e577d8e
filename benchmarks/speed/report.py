"""What the speed benchmarks share: tables, and results that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def write_result(name: str, title: str, parts: list[str]) -> None:
    RESULTS.mkdir(exist_ok=True)
    temporary = RESULTS / f"{name}.new"
    temporary.write_text(f"{title}\n\n" + "\n".join(parts))
    os.replace(temporary, RESULTS / f"{name}.md")
