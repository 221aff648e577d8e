"""What wheels there are, and where each is built and tried."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from roots import Root, root

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "cmake"))
import vw_release  # noqa: E402

CACHE = vw_release.cache_dir()
GLIBC = range(17, 32)  # Debian 11 has 2.31; wheels for any older one are as good


@dataclass(frozen=True)
class Target:
    """One wheel: the processor, the Python, and the release of Debian that has this Python."""

    machine: str
    python: str
    suite: str

    @property
    def name(self) -> str:
        return f"{self.machine}-{self.python}"

    @property
    def arch(self) -> str:
        return {"x86_64": "amd64", "aarch64": "arm64"}[self.machine]

    @property
    def tag(self) -> str:
        return f"cp{self.python.replace('.', '')}"

    def home(self, machine: str | None = None) -> Root:
        """The root with this Python, for its own processor or another."""
        packages = [f"python{self.python}", f"python{self.python}-venv", f"libpython{self.python}-dev"]
        arch = self.arch if machine is None else Target(machine, self.python, self.suite).arch
        return root(CACHE, self.suite, arch, packages)


TARGETS = (
    Target("x86_64", "3.11", "bookworm"),
    Target("x86_64", "3.13", "trixie"),
    Target("x86_64", "3.14", "sid"),
    Target("aarch64", "3.11", "bookworm"),
)


def chosen(names: Iterable[str]) -> list[Target]:
    """The targets of these names, all if there is none."""
    names = list(names)
    unknown = set(names) - {target.name for target in TARGETS}
    if unknown:
        sys.exit(f"wheels: {sorted(unknown)} are none of {[target.name for target in TARGETS]}")
    return [target for target in TARGETS if not names or target.name in names]


def download(requirements: Iterable[str], machine: str, python: str, into: Path) -> Path:
    """Brings wheels for another processor and Python by this machine's pip, which knows its package index."""
    wanted = "\n".join(sorted(requirements))
    note = into / "requirements.txt"
    if not note.exists() or note.read_text() != wanted:
        into.mkdir(parents=True, exist_ok=True)
        platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in GLIBC]
        platforms.append(f"--platform=manylinux2014_{machine}")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", into]
        command += ["--only-binary=:all:", f"--python-version={python}", *platforms, *wanted.splitlines()]
        subprocess.run(command, check=True)
        note.write_text(wanted)
    return into
