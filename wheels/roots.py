"""Folders with another Debian, and commands run in them, for the wheels and their tests.

A root is unpacked from a release's packages, nothing of it is configured, and it is kept in the user's cache. What runs
in it sees the root, /proc, /dev and the folders it is told of, in namespaces of its own: nothing changes outside. A
root for arm64 runs on qemu, which the kernel is told of for that namespace alone (Linux 6.7 and later).
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MIRROR = os.environ.get("VW_FASTCB_DEBIAN", "http://deb.debian.org/debian")
TOOLS = {"mmdebstrap": "mmdebstrap", "unshare": "util-linux", "qemu-aarch64-static": "qemu-user-static"}
BASE = (
    "base-files",
    "ca-certificates",
    "coreutils",
    "dash",
    "findutils",
    "grep",
    "hostname",
    "libc-bin",
    "libstdc++6",
    "procps",
    "sed",
)
IS_AARCH64 = (
    rb"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    rb":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
).decode()


@dataclass(frozen=True)
class Root:
    """A release of Debian for one kind of processor, in a folder."""

    folder: Path
    arch: str

    def command(
        self,
        words: Sequence[str | Path],
        folders: Mapping[str, Path],
        environment: Mapping[str, str],
        others: Sequence[tuple[Root, Mapping[str, Path]]] = (),
    ) -> list[str]:
        """The command line that runs `words` here. `others` are roots that it enters itself, with their folders."""
        steps = ["set -e"]
        if self.arch == "arm64":
            register = f":qemu-aarch64:M::{IS_AARCH64}:{shutil.which('qemu-aarch64-static')}:OCF"
            steps += ["mount -t binfmt_misc none /proc/sys/fs/binfmt_misc"]
            steps += [f"printf %s {shlex.quote(register)} > /proc/sys/fs/binfmt_misc/register"]
        for root, inside in [*others, (self, folders)]:
            for name, folder in {**inside, "/proc": Path("/proc"), "/dev": Path("/dev")}.items():
                place = root.folder / name.lstrip("/")
                place.mkdir(parents=True, exist_ok=True)
                steps.append(f"mount --rbind {shlex.quote(str(folder))} {shlex.quote(str(place))}")
        inner = " ".join(shlex.quote(f"{name}={value}") for name, value in environment.items())
        path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        run = f"env -i HOME=/root LANG=C.UTF-8 PATH={path} {inner} {shlex.join(map(str, words))}"
        steps.append(f"exec chroot {shlex.quote(str(self.folder))} /bin/sh -c {shlex.quote('cd /job && exec ' + run)}")
        return ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", "\n".join(steps)]

    def run(self, words: Sequence[str | Path], folders: Mapping[str, Path], **more: object) -> None:
        """Runs a command here; what it prints is shown."""
        environment = more.pop("environment", {})
        subprocess.run(self.command(words, folders, environment, **more), check=True)  # type: ignore[arg-type]


def check_tools() -> None:
    """Ends the process where this machine lacks a tool, with what to install."""
    packages = sorted(package for tool, package in TOOLS.items() if shutil.which(tool) is None)
    if packages:
        sys.exit(f"wheels: other Debians are unpacked and entered here. apt-get install {' '.join(packages)}")
    if os.geteuid() != 0:
        sys.exit(
            "wheels: Debian's packages are unpacked with their owners. Run it as root, in a container for example."
        )


def root(cache: Path, suite: str, arch: str, packages: Sequence[str]) -> Root:
    """The root of a release with these packages and what they need, unpacked if it is not in the cache."""
    wanted = sorted({*BASE, *packages})
    key = hashlib.sha256(" ".join([MIRROR, *wanted]).encode()).hexdigest()[:8]
    folder = cache / "roots" / f"{suite}-{arch}-{key}"
    if not folder.exists():
        print(f"wheels: unpacking Debian {suite} for {arch}", flush=True)
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        command = ["mmdebstrap", "--quiet", "--variant=extract", "--mode=root", f"--architectures={arch}"]
        # A mirror of unstable that stands still is as good as any.
        command += ['--aptopt=Acquire::Check-Valid-Until "false"', f"--include={','.join(wanted)}"]
        subprocess.run([*command, suite, str(part), MIRROR], check=True)
        _make_usable(part)
        part.rename(folder)
    return Root(folder, arch)


def _make_usable(folder: Path) -> None:
    """What the packages' own scripts would have done, as far as it is needed here."""
    for name in ("proc", "dev", "tmp", "root", "work"):
        (folder / name).mkdir(exist_ok=True)
    shell = folder / "bin/sh"
    if not shell.exists():
        shell.symlink_to("dash")
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    if certificates.exists():
        (folder / "etc/ssl/certs").mkdir(parents=True, exist_ok=True)
        shutil.copy(certificates, folder / "etc/ssl/certs")
