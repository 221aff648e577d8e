"""A processor without AVX2 gets a sentence instead of SIGILL."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support import PROGRAM
from vw_fastcb.processor import require_avx2

EMULATOR = shutil.which("qemu-x86_64")


def cpuinfo(folder: Path, text: str) -> Path:
    path = folder / "cpuinfo"
    path.write_text(text)
    return path


def test_python_says_what_is_missing(tmp_path):
    old = cpuinfo(tmp_path, "processor\t: 0\nflags\t\t: fpu sse2 avx\n")
    with pytest.raises(ImportError, match="no AVX2 instructions"):
        require_avx2("x86_64", old)


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        ("x86_64", "processor\t: 0\nflags\t\t: fpu sse2 avx avx2\n"),
        ("aarch64", "processor\t: 0\nflags\t\t: fp asimd\n"),
        ("x86_64", "processor\t: 0\n"),  # a machine that does not tell
    ],
)
def test_python_goes_on_where_nothing_is_known_to_be_missing(machine, text, tmp_path):
    require_avx2(machine, cpuinfo(tmp_path, text))


@pytest.mark.skipif(EMULATOR is None, reason="needs qemu-x86_64: apt-get install qemu-user")
@pytest.mark.parametrize(("processor", "code"), [("Nehalem", 1), ("max", 0)])
def test_the_program_says_what_is_missing(processor, code):
    command = [str(EMULATOR), "-cpu", processor, str(PROGRAM), "--version"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == code, result.stderr
    assert ("no AVX2 instructions" in result.stderr) == bool(code)
