"""How many cores this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path


def usable_cores(root: Path = Path("/")) -> int:
    """The number of cores the process can really use: those it may run on, up to its container's quota.

    `os.cpu_count()` counts all cores of the machine. Threads beyond the usable cores only wait for each other.

    Args:
        root: Where `/proc` and `/sys` are; for tests.

    Returns:
        A number, 1 or larger.

    Examples:
        >>> from vw_fastcb.cores import usable_cores
        >>> usable_cores() >= 1
        True
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _quota(root))))


def _quota(root: Path) -> float:
    """The smallest quota of the process's control groups and their parents, in cores; infinite if there is none."""
    quotas = [math.inf]
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            mount, read = root / "sys/fs/cgroup", _quota_v2
        elif "cpu" in controllers.split(","):
            mount, read = root / "sys/fs/cgroup" / controllers, _quota_v1
        else:
            continue
        here = mount / group.strip("/")
        # Inside a container, the group's path may be the host's, and only the mount exists.
        quotas += [read(folder) for folder in (here, *here.parents) if folder == mount or mount in folder.parents]
    return min(quotas)


def _quota_v2(folder: Path) -> float:
    words = " ".join(_lines(folder / "cpu.max")).split()
    return _ratio(*words) if len(words) == 2 else math.inf


def _quota_v1(folder: Path) -> float:
    quota, period = (_lines(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    return _ratio(quota[0], period[0]) if quota and period else math.inf


def _ratio(quota: str, period: str) -> float:
    """Infinite without a quota: version 2 writes `max`, version 1 writes -1."""
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) > 0 else math.inf


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
