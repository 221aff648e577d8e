"""What `mypy --strict` says of a user's programs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ERROR = re.compile(r"^(\w+)\.py:(\d+): error: (.*)$", re.MULTILINE)


def type_errors(folder: Path, **programs: str) -> dict[str, list[tuple[int, str]]]:
    """The errors of each program, as lines and messages. All are checked in one run.

    The cache of `make lint` serves again: mypy needs seconds for numpy alone, and a user's options are the same.
    """
    for name, code in programs.items():
        (folder / f"{name}.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache")]
    files = [f"{name}.py" for name in programs]
    checked = subprocess.run([*command, *files], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert checked.returncode in (0, 1), checked.stdout + checked.stderr
    errors: dict[str, list[tuple[int, str]]] = {name: [] for name in programs}
    for name, line, message in ERROR.findall(checked.stdout):
        errors[name].append((int(line), message))
    assert checked.stdout.count(": error: ") == sum(map(len, errors.values())), checked.stdout
    return errors
