"""Instructions of a program, counted by valgrind's callgrind: they do not depend on what else the machine does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence


def count_instructions(command: Sequence[object]) -> int:
    words = [str(word) for word in command]
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": "0"},  # or Python would start with other instructions each time
        )
    counted = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or counted is None:
        sys.exit(f"callgrind failed on {' '.join(words)}:\n{result.stdout}{result.stderr}")
    return int(counted[1])
