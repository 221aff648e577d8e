"""Runs the fast part of the tests on the wheels in dist/: `python wheels/try_out.py`, or for some, `... aarch64-3.11`.

The wheel is installed in the release of Debian that has its Python, without a compiler and without this repository's
package; only the tests are read from here. For aarch64 all of that runs on qemu, and the tests compare with two builds
of VW's own code as well: its `vw` program linked from the very archives that the wheel is made of, bit for bit, and
VW's wheel for aarch64, whose fused multiply-adds round otherwise. What came of it goes to benchmarks/portability/.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from build import SOURCE, compilers
from fast_tests import NEEDS, fast_tests
from roots import check_tools
from targets import CACHE, Target, chosen, download, vw_release

REPORTS = SOURCE / "benchmarks/portability"
WORKERS = int(os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", os.cpu_count() or 1))


@dataclass
class Outcome:
    """How the tests of one wheel went."""

    wheel: Path
    python: str = ""
    seconds: float = 0
    files: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    differences: dict[str, float] = field(default_factory=dict)
    """Between our predictions and those of VW's own wheel, by flag set."""

    @property
    def total(self) -> Counter[str]:
        return sum(self.files.values(), Counter())


def wheel_of(target: Target) -> Path:
    wheels = sorted((SOURCE / "dist").glob(f"vw_fastcb-*-{target.tag}-*{target.machine}.whl"))
    if len(wheels) != 1:
        sys.exit(f"wheels: expected one wheel for {target.name} in dist, found {[wheel.name for wheel in wheels]}")
    return wheels[0]


def engine_of(target: Target) -> Path:
    """The folder of VW's core that the wheel was linked with."""
    rules = (SOURCE / "build/wheels" / target.machine / "build/build.ninja").read_text()
    (name,) = set(re.findall(r"/cache/vw-fastcb/(engine-[\w.-]+)/lib/libvw_core\.a", rules))
    return CACHE / name


def is_emulated(target: Target) -> bool:
    return target.machine != platform.machine()


def build_stock_program(target: Target, work: Path) -> Path:
    """VW's own `vw`, from VW's own main and the untouched archives, as the wheel's compiler makes it."""
    with tarfile.open(vw_release.tarball()) as tar:
        source = tar.extractfile(f"{vw_release.NAME}/vowpalwabbit/cli/src/main.cc")
        assert source is not None
        (work / "vw_main.cc").write_bytes(source.read())
    engine = engine_of(target)
    definitions = sorted({f"-D{name}" for name in (engine / "definitions.txt").read_text().split(";") if name})
    archives = [f"/engine/lib/{path.name}" for path in sorted((engine / "lib").glob("*.a"))]
    command = [f"{target.machine}-linux-gnu-g++", "-std=c++17", "-O3", "-DNDEBUG", "-ffp-contract=off", *definitions]
    command += ["-fno-strict-aliasing", "-w", "-isystem", "/engine/include", "/job/vw_main.cc", "-o", "/job/vw"]
    command += ["-Wl,--start-group", *archives, "-Wl,--end-group", "-pthread", "-ldl"]
    compilers().run(command, {"/engine": engine, "/job": work})
    return work / "vw"


def try_out(target: Target) -> Outcome:
    wheel = wheel_of(target)
    work = SOURCE / "build/wheels" / f"try-{target.name}"
    for folder in ("tmp", "tests"):  # the environment with what the tests need is kept
        shutil.rmtree(work / folder, ignore_errors=True)
        (work / folder).mkdir(parents=True)
    for name in ("report.xml", "python"):
        (work / name).unlink(missing_ok=True)
    needs = [*NEEDS, "numpy", f"vowpalwabbit=={vw_release.VERSION}"]
    wheelhouse = download(needs, target.machine, target.python, SOURCE / f"build/wheels/needs-{target.name}")
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    if is_emulated(target):
        build_stock_program(target, work)
        environment["VW_FASTCB_STOCK"] = "/job/vw"
    # The tests and what they read, but not the package: what is imported is the wheel.
    for name in (
        "pyproject.toml",
        "tests",
        "cmake",
        "docs",
        "README.md",
        "benchmarks",
        "cpp",
        "patches",
        "CHANGELOG.md",
    ):
        path = SOURCE / name
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, work / "tests" / name)
    python = "/job/venv/bin/python"
    says = "print(platform.python_version(), platform.machine(), *platform.libc_ver())"
    install = "venv/bin/python -m pip install -q --no-index --no-compile --find-links /wheels"
    script = f"""set -e
test -x venv/bin/python || python{target.python} -m venv venv
{install} {" ".join(needs)}
{install} --no-deps --force-reinstall /dist/{wheel.name}
venv/bin/python -m pip check
cd tests
{python} -c 'import vw_fastcb; assert "site-packages" in vw_fastcb.__file__'
{python} -c 'import platform; {says}' > /job/python
exec {python} -m pytest -q -p no:cacheprovider -n {WORKERS} --dist load --junitxml=/job/report.xml \\
  {" ".join(fast_tests(on_qemu=is_emulated(target)))}
"""
    folders = {"/job": work, "/tmp": work / "tmp", "/wheels": wheelhouse, "/dist": wheel.parent}
    begin = time.monotonic()
    command = target.home().command(["/bin/sh", "-c", script], folders, environment)
    subprocess.run(command, check=False)
    outcome = Outcome(wheel, (work / "python").read_text().strip(), time.monotonic() - begin)
    for case in ElementTree.parse(work / "report.xml").iter("testcase"):
        # A file that cannot be imported has no class, and what interrupts the run has neither.
        where = f"{case.get('classname')}.{case.get('name')}"
        file = next((part for part in where.split(".") if part.startswith("test_")), "the run")
        kinds = {child.tag for child in case}
        state = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        outcome.files.setdefault(file, Counter())[state] += 1
        if state == "failed":
            outcome.failures.append(f"{file}::{case.get('name')}")
        for note in case.iter("property"):
            if note.get("name") == "difference from VW's wheel":
                outcome.differences[str(case.get("name")).partition("[")[2].rstrip("]")] = float(str(note.get("value")))
    return outcome


def report(target: Target, outcome: Outcome) -> str:
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, cwd=SOURCE, capture_output=True, text=True, check=True)
    command = "make arm64" if is_emulated(target) else f"python wheels/try_out.py {target.name}"
    total = outcome.total
    lines = [
        f"# {target.machine}, Python {target.python}",
        "",
        f"Written by `{command}` at commit {commit.stdout.strip()}, {time.strftime('%Y-%m-%d')}. Do not edit.",
        "",
        "| | |",
        "|---|---|",
        f"| wheel | `{outcome.wheel.name}`, {outcome.wheel.stat().st_size / 1e6:.1f} MB |",
        "| compiler | gcc 10.2.1 of Debian 11 |",
        f"| tried on | Debian {target.suite}, Python {outcome.python}{', qemu-user' if is_emulated(target) else ''} |",
        f"| tests | {total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped |",
        f"| time | {outcome.seconds:.0f} s, {WORKERS} at a time |",
        "",
    ]
    if outcome.differences:
        lines += [stock_comparison(outcome)]
    lines += ["", "| file | passed | failed | skipped |", "|---|---|---|---|"]
    for file, counts in sorted(outcome.files.items()):
        lines.append(f"| {file} | {counts['passed']} | {counts['failed']} | {counts['skipped']} |")
    lines += [""] + [f"Failed: {name}" for name in outcome.failures]
    return "\n".join(lines).strip() + "\n"


def stock_comparison(outcome: Outcome) -> str:
    """What the tests of stock identity found, in sentences."""
    stock = [name for name in outcome.failures if "test_writes_what_the_stock_wheel_writes" in name]
    identical = len(outcome.differences) - len(stock)
    unequal = sorted((difference, name) for name, difference in outcome.differences.items() if difference > 0)
    largest = ", ".join(f"{difference:.1e} ({name})" for difference, name in reversed(unequal[-4:]))
    count = len(outcome.differences)
    return (
        f"Without `--fastcb`, {identical} of {count} flag sets write the same bytes, models included, as stock VW "
        f"built by the same compiler with the same flags. Their predictions differ from those of VW's own wheel, which "
        f"fuses products and sums, in {len(unequal)} flag sets. The largest differences: {largest}. An optimizer of "
        f"VW's (`graph_feedback`) and its neural network (`nn`) magnify rounding, between two builds of stock VW too."
    )


def main(names: list[str]) -> None:
    check_tools()
    failed = False
    for target in chosen(names):
        outcome = try_out(target)
        REPORTS.mkdir(parents=True, exist_ok=True)
        (REPORTS / f"{target.name}.md").write_text(report(target, outcome))
        print(f"{outcome.wheel.name} on Python {outcome.python}: {dict(outcome.total)}", flush=True)
        failed |= outcome.total["failed"] > 0 or outcome.total["passed"] == 0
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
