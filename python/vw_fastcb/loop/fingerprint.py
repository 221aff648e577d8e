"""Which engine computed a probability: the same one computes it again bit for bit."""

from __future__ import annotations

import functools
import hashlib
import platform
from pathlib import Path

from vw_fastcb import _engine

_FEATURES = ("avx2", "avx512f", "fma")  # of processors: those for which libm and our code have paths of their own


@functools.cache
def fingerprint() -> str:
    """Of the engine's build, the C library, and what the processor can do."""
    build = hashlib.sha256(Path(_engine.__file__).read_bytes()).hexdigest()
    said = f"{build} {' '.join(platform.libc_ver())} {' '.join(_processor())}"
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _processor() -> list[str]:
    try:
        flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        return [platform.machine()]
    return sorted(set(_FEATURES) & set(flags.split()))
