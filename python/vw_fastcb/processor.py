"""A kind word where the processor cannot run the engine, instead of SIGILL."""

from __future__ import annotations

import platform
from pathlib import Path


def require_avx2(machine: str = platform.machine(), cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Raises ImportError on an x86 processor without AVX2. Where nobody says what it can do, it is given a try.

    Examples:
        >>> require_avx2()
    """
    if machine != "x86_64" or not cpuinfo.exists():
        return
    with cpuinfo.open() as lines:
        flags = next((line for line in lines if line.startswith("flags")), None)
    if flags is not None and "avx2" not in flags.split():
        raise ImportError(
            "this processor has no AVX2 instructions, and vw-fastcb's engine needs them, as VW's own wheel does. "
            "Run it on a processor that has them: Intel's since 2013 (Haswell), AMD's since 2015 (Excavator)."
        )
