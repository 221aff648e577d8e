"""Builds wheels: `python wheels/build.py` all, `python wheels/build.py aarch64-3.11` one. They come into dist/.

The compiler is gcc 10 of Debian 11, whose glibc is 2.31, for x86-64 and, as a cross compiler, for aarch64. pip, CMake
and ninja run in the root of the release that has the wheel's Python, and their compiler is a script that enters
Debian 11. VW's core is built once for each processor, and kept in the user's cache like any other.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import tomllib

from roots import Root, check_tools, root
from targets import CACHE, SOURCE, Target, chosen, vw_release

PROGRAMS = ("gcc", "g++", "ar", "ranlib", "nm", "ld", "strip", "objcopy", "objdump", "readelf")
ENTER = '#!/bin/sh\nexec chroot /compilers /bin/sh -c \'cd "$0" && exec {program} "$@"\' "$PWD" "$@"\n'


def compilers() -> Root:
    return root(CACHE, "bullseye", "amd64", ["g++", "g++-aarch64-linux-gnu"])


def write_entrances(folder: Path) -> Path:
    """Programs that run their namesakes of Debian 11."""
    folder.mkdir(parents=True, exist_ok=True)
    for machine in ("x86_64", "aarch64"):
        for program in PROGRAMS:
            path = folder / f"{machine}-linux-gnu-{program}"
            path.write_text(ENTER.format(program=path.name))
            path.chmod(0o755)
    return folder


def tools() -> Path:
    """What builds wheels, for any Python: pip, scikit-build-core, pybind11, CMake and ninja in one folder."""
    with (SOURCE / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    requirements = [*settings["build-system"]["requires"]]
    requirements.append(f"cmake{settings['tool']['scikit-build']['cmake']['version']}")
    folder = SOURCE / "build/wheels/tools"
    note = folder / "requirements.txt"
    if not note.exists() or note.read_text() != "\n".join(requirements):
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder]
        subprocess.run([*command, "--only-binary=:all:", *requirements], check=True)
        note.write_text("\n".join(requirements))
    return folder


def build(target: Target) -> Path:
    """Builds the wheel of one target, as it comes from the compiler. What does not know of Python is compiled once."""
    work = SOURCE / "build" / "wheels" / target.machine
    builder, gcc = target.home("x86_64"), compilers()
    shutil.rmtree(work / "out", ignore_errors=True)
    for folder in ("out", "tmp"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    (work / "build/CMakeCache.txt").unlink(missing_ok=True)  # it knows where the last Python was
    folders = {"/source": SOURCE, "/job": work, "/tmp": work / "tmp", "/cache": CACHE.parent, "/tools": tools()}
    inside = {**folders, "/compilers": gcc.folder}
    inside["/entrances"] = write_entrances(SOURCE / "build/wheels/entrances")
    suffix = f".cpython-{target.tag[2:]}-{target.machine}-linux-gnu.so"
    environment = {
        "CC": f"/entrances/{target.machine}-linux-gnu-gcc",
        "CXX": f"/entrances/{target.machine}-linux-gnu-g++",
        "PATH": "/tools/bin:/entrances:/usr/bin:/bin:/usr/sbin:/sbin",
        "PYTHONPATH": "/tools",
        "XDG_CACHE_HOME": "/cache",
    }
    if target.machine != "x86_64":
        environment |= {
            "CMAKE_TOOLCHAIN_FILE": f"/source/wheels/{target.machine}.cmake",
            "SETUPTOOLS_EXT_SUFFIX": suffix,
            "_PYTHON_HOST_PLATFORM": f"linux-{target.machine}",
        }
    # The compiler sees the headers of Python where Python says that they are.
    headers = {f"/usr/include/python{target.python}": builder.folder / f"usr/include/python{target.python}"}
    name = f"/usr/include/{target.machine}-linux-gnu/python{target.python}"
    headers[name] = target.home().folder / name.lstrip("/")
    # And ninja, which would compile again what it cannot find, sees the compiler's.
    for name in ("/usr/include", "/usr/lib/gcc", "/usr/lib/gcc-cross", "/usr/aarch64-linux-gnu"):
        inside[name] = gcc.folder / name.lstrip("/")
    command = [f"python{target.python}", "-m", "pip", "wheel", "--verbose", "--no-deps", "--no-index", "/source"]
    command += ["--no-build-isolation", "--wheel-dir=out", "--config-settings=build-dir=/job/build"]
    command += [f"--config-settings=cmake.define.PYTHON_MODULE_EXTENSION={suffix}"]
    builder.run(command, inside, environment=environment, others=[(gcc, {**folders, **headers})])
    (wheel,) = (work / "out").glob("*.whl")
    return wheel


def main(names: list[str]) -> None:
    check_tools()
    targets = chosen(names)
    vw_release.tarball()  # by this machine's pip: the roots know no package index
    for target in targets:
        wheel = build(target)
        dist = SOURCE / "dist"
        for old in dist.glob(f"*-{target.tag}-*{target.machine}.whl"):
            old.unlink()
        before = set(dist.glob("*.whl"))
        command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", dist, wheel]
        subprocess.run(command, check=True)
        (made,) = set(dist.glob("*.whl")) - before
        print(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
