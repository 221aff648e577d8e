"""Cores are counted as the process may use them, and an engine is kept under the content of its source."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vw_fastcb.cores import usable_cores
from vw_fastcb.interrupts import no_interrupt

CMAKE = shutil.which("cmake")
FOLDER = Path(__file__).parents[2] / "cmake"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A machine of 8 cores, whose files are written by the test."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    return tmp_path


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def test_without_a_quota_the_affinity_counts(root):
    assert usable_cores(root) == 8
    put(root, "proc/self/cgroup", "0::/")
    put(root, "sys/fs/cgroup/cpu.max", "max 100000")
    assert usable_cores(root) == 8


def test_without_affinity_the_machines_cores_count(root, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert usable_cores(root) == 5


@pytest.mark.parametrize(("quota", "cores"), [(300000, 3), (250000, 3), (50000, 1), (1600000, 8)])
def test_a_quota_of_the_second_version_counts(root, quota, cores):
    put(root, "proc/self/cgroup", "0::/job")
    put(root, "sys/fs/cgroup/job/cpu.max", f"{quota} 100000")
    assert usable_cores(root) == cores


def test_the_smallest_quota_on_the_way_up_counts(root):
    put(root, "proc/self/cgroup", "0::/slice/job")
    put(root, "sys/fs/cgroup/slice/job/cpu.max", "600000 100000")
    put(root, "sys/fs/cgroup/slice/cpu.max", "200000 100000")
    assert usable_cores(root) == 2


def test_in_a_container_that_sees_only_the_mount_its_quota_counts(root):
    put(root, "proc/self/cgroup", "0::/docker/0123456789abcdef")
    put(root, "sys/fs/cgroup/cpu.max", "400000 100000")
    assert usable_cores(root) == 4


@pytest.mark.parametrize(("quota", "cores"), [(150000, 2), (-1, 8)])
def test_a_quota_of_the_first_version_counts(root, quota, cores):
    put(root, "proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n0::/")
    put(root, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", str(quota))
    put(root, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000")
    assert usable_cores(root) == cores


def test_a_process_that_may_run_on_one_core_counts_one():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    code += "from vw_fastcb.cores import usable_cores; print(usable_cores())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "1"


def cmake(tmp_path, *lines, prefix=(), **environment):
    """What a script that includes our functions prints."""
    script = tmp_path / "script.cmake"
    script.write_text("\n".join(["cmake_minimum_required(VERSION 3.24)", f"include({FOLDER}/Machine.cmake)", *lines]))
    command = [*prefix, CMAKE, f"-DPython_EXECUTABLE={sys.executable}", "-P", script]
    result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return result.stderr.strip()


@pytest.mark.skipif(CMAKE is None, reason="needs cmake: pip install cmake")
@pytest.mark.slow
def test_the_build_counts_the_cores_it_may_run_on(tmp_path):
    lines = ("usable_cores(n)", 'message("${n}")')
    assert cmake(tmp_path, *lines) == str(len(os.sched_getaffinity(0)))
    assert cmake(tmp_path, *lines, OMP_NUM_THREADS="1") == str(len(os.sched_getaffinity(0)))
    first = str(min(os.sched_getaffinity(0)))
    assert cmake(tmp_path, *lines, prefix=("taskset", "-c", first)) == "1"


@pytest.mark.skipif(CMAKE is None, reason="needs cmake: pip install cmake")
@pytest.mark.slow
def test_an_engine_is_kept_under_the_content_of_its_source(tmp_path):
    tree = tmp_path / "vw"
    for name, text in {
        "version.txt": "9.11.9",
        "CMakeLists.txt": "",
        "vowpalwabbit/core/src/gd.cc": "int step = 1;",
        "ext_libs/fmt/format.h": "",
        "ext_libs/vcpkg/port.json": "",
        "python/tests/test_pyvw.py": "",
    }.items():
        put(tree, name, text)

    def key(path):
        lines = ("local_tree_key(key)", 'message("${key}")')
        return cmake(tmp_path, *lines, VW_FASTCB_VW_SOURCE=str(path))

    before = key(tree)
    assert len(before) == 64
    assert key(shutil.copytree(tree, tmp_path / "elsewhere")) == before
    put(tree, "ext_libs/vcpkg/port.json", "{}")
    put(tree, "python/tests/test_pyvw.py", "pass")
    assert key(tree) == before  # nothing is built from these
    put(tree, "vowpalwabbit/core/src/gd.cc", "int step = 2;")
    after = key(tree)
    assert after != before
    (tree / "ext_libs/fmt/format.h").rename(tree / "ext_libs/fmt/core.h")
    assert key(tree) not in (before, after)
    assert key("") == ""


def test_an_interrupt_waits_until_work_is_handed_out():
    handed_out = []

    def hand_out():
        with no_interrupt():
            signal.raise_signal(signal.SIGINT)
            handed_out.append("all")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            hand_out()
        assert handed_out == ["all"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
