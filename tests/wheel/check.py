"""What `make wheel` made, tried as a user would: `python tests/wheel/check.py dist`.

The wheel goes into a fresh virtual environment whose PATH holds nothing but that environment: no compiler, no CMake,
and no cache with a built engine. The sdist is unpacked elsewhere; every file of the repository must be in it, and its
tests must be found. (That it builds is shown already: the wheel was made from it.)
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT_OUT = (".ci/", ".github/")

LOOP = """
import numpy as np
import vw_fastcb
bandit = vw_fastcb.FastCB(3, learning_rate=2, seed=1)
for context in np.random.default_rng(0).random((300, 3)):
    decision = bandit.decide(context)
    bandit.learn(decision, cost=float(decision.action != context.argmax()))
assert bandit.predict_proba(np.eye(3)).argmax(axis=1).tolist() == [0, 1, 2]
workspace = vw_fastcb.Workspace("--cb_explore 2 --fastcb --quiet")
workspace.learn("2:0:0.5 |x a")
assert workspace.predict("|x a")[1] > 0.5
bandit.save("model.vw")
with vw_fastcb.Loop.open("shop.db", actions=["sale", "gifts"], reward_range=(0, 1), wait="1h", seed=1) as loop:
    loop.decide({"search": "gifts"}, event_id="visit-1")
    loop.reward("visit-1", 1)
    assert loop.status().learned == 1
"""


def check(condition: bool, problem: str) -> None:
    if not condition:
        sys.exit(f"wheel check: {problem}")


def only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    check(len(found) == 1, f"expected one {pattern} in {folder}, found {[path.name for path in found]}")
    return found[0]


class Bare:
    """A virtual environment that is alone in the world: its PATH is its own folder, its cache empty."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder, folder / "venv" / "bin"
        venv.create(folder / "venv", with_pip=True)
        hidden = {"CC", "CXX", "PYTHONPATH", "VIRTUAL_ENV"}
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        self.environment = {**kept, "PATH": str(self.bin), "XDG_CACHE_HOME": str(folder / "cache")}
        for tool in ("cc", "c++", "gcc", "g++", "clang", "cmake", "ninja"):
            check(shutil.which(tool, path=str(self.bin)) is None, f"{tool} is in the clean environment")

    def run(self, program: str, *arguments: str | Path, code: int = 0) -> str:
        result = subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        said = result.stdout + result.stderr
        check(result.returncode == code, f"{program} {' '.join(map(str, arguments))} gave {result.returncode}:\n{said}")
        return said


def check_wheel(wheel: Path, version: str) -> None:
    check("manylinux" in wheel.name, f"{wheel.name} is not a manylinux wheel")
    with zipfile.ZipFile(wheel) as archive:
        engines = [name for name in archive.namelist() if name.endswith(".so") and "_bakeoff" in name]
    check(not engines, f"{wheel.name} holds the bake-off's engine, {engines}")
    with tempfile.TemporaryDirectory() as folder:
        bare = Bare(Path(folder))
        bare.run("python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel)
        bare.run("python", "-m", "pip", "check")
        for program in (("vw-fastcb",), ("python", "-m", "vw_fastcb")):
            said = bare.run(*program, "--version")
            check(f"vw-fastcb {version}" in said, f"{program} --version said {said!r}")
        bare.run("python", "-W", "error", "-c", LOOP)
        (Path(folder) / "ask.txt").write_text("|x 0:1\n")
        bare.run("vw-fastcb", "-i", "model.vw", "-t", "-d", "ask.txt", "-p", "pmf.txt", "--quiet")
        pmf = [float(pair.split(":")[1]) for pair in (Path(folder) / "pmf.txt").read_text().split(",")]
        check(pmf.index(max(pmf)) == 0, f"the model of Python gave {pmf} on the command line")
        said = bare.run("fastcb", code=1)
        check("pip install 'vw-fastcb[bench]'" in said, f"fastcb without its libraries said {said!r}")


def check_sdist(sdist: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        unpacked = Path(folder) / sdist.name.removesuffix(".tar.gz")
        if (ROOT / ".git").exists():
            tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
            names = [name for name in tracked.stdout.splitlines() if not name.startswith(LEFT_OUT)]
            missing = [name for name in names if (ROOT / name).exists() and not (unpacked / name).exists()]
            check(not missing, f"{sdist.name} lacks {missing}")
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", "slow or not slow"]
        collected = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, timeout=300, check=False)
        check(collected.returncode == 0, f"the tests of {sdist.name} cannot be collected:\n{collected.stdout[-3000:]}")
        print(f"{sdist.name}: {collected.stdout.strip().splitlines()[-1]}")


def main(folder: Path) -> None:
    wheel, sdist = only(folder, "*.whl"), only(folder, "*.tar.gz")
    version = wheel.name.split("-")[1]
    check_wheel(wheel, version)
    print(f"{wheel.name}: works without a compiler")
    check_sdist(sdist)
    for path in (wheel, sdist):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    told = re.search(r"([\d.]+) MB, in dist/", (ROOT / "README.md").read_text())
    check(told is not None, "the README does not tell the size of the wheel")
    megabytes = wheel.stat().st_size / 1e6
    check(abs(float(told[1]) / megabytes - 1) < 0.1, f"the README says {told[1]} MB, the wheel has {megabytes:.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
