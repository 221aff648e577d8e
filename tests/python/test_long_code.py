"""The check of `make lint` that functions and files are short, or say why they are not."""

import subprocess
import sys
from pathlib import Path

import pytest

from support import write

SCRIPT = Path(__file__).parents[1] / "lint" / "long_code.py"
LONG = "\n".join(f"  count += {i};" for i in range(60))
BRANCHES = "\n".join(f"  if (count > {i} && count < 9) {{ return {i}; }}" for i in range(13))
PYTHON_BRANCHES = "\n".join(f"    if count > {i} and count < 9:\n        return {i}" for i in range(13))
REASON = "// Long because it is one table."


def complaints(folder):
    run = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
    assert run.returncode == (1 if run.stdout else 0), run.stderr
    return run.stdout.replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("body", "what"),
    [(LONG, "has 62 lines and 0 branches"), (BRANCHES, "has 15 lines and 13 branches")],
    ids=["lines", "branches"],
)
def test_a_function_that_is_too_long_needs_a_reason(tmp_path, body, what):
    function = f"int sum(int count) {{\n{body}\n}}\n"
    write(tmp_path / "sum.cc", ["int other;\n", function])
    assert complaints(tmp_path).startswith(f"sum.cc:2: sum {what}; at most 60 and 12 without a reason\n")
    for text in (f"{REASON}\n{function}", function.replace("{\n", f"{{\n  {REASON}\n", 1)):
        write(tmp_path / "sum.cc", ["int other;\n", text])
        assert not complaints(tmp_path)


def test_lambdas_and_members_belong_to_the_function_around_them(tmp_path):
    write(
        tmp_path / "sum.h",
        [f"struct sums {{\n int all() const {{\n auto add = [](int count) {{\n{LONG}\n }};\n}}\n}};\n"],
    )
    assert complaints(tmp_path).startswith("sum.h:2: sums::all has 64 lines")


def test_a_file_that_is_too_long_needs_a_reason_at_its_beginning(tmp_path):
    lines = [f"int value{i};\n" for i in range(501)]
    write(tmp_path / "values.h", lines)
    assert complaints(tmp_path).startswith("values.h:1: the file has 501 lines; at most 500 without a reason\n")
    write(tmp_path / "values.h", [*lines, f"{REASON}\n"])
    assert complaints(tmp_path).count("values.h:") == 2
    write(tmp_path / "values.h", [f"{REASON}\n", *lines])
    assert not complaints(tmp_path)


def test_a_reason_that_is_not_needed_any_more_must_go(tmp_path):
    write(tmp_path / "short.cc", ["int a;\n", f"{REASON}\nint sum() {{ return 1; }}\n"])
    assert complaints(tmp_path).startswith("short.cc:2: a reason for long code stands where nothing is too long\n")


def test_python_is_measured_alike(tmp_path):
    function = f"def total(count):\n{PYTHON_BRANCHES}\n"
    write(tmp_path / "total.py", [function])
    assert complaints(tmp_path).startswith("total.py:1: total has 27 lines and 13 branches")
    write(tmp_path / "total.py", [f"{REASON.replace('//', '#')}\n{function}"])
    assert not complaints(tmp_path)


def test_a_folder_without_code_is_no_success(tmp_path):
    assert "there is nothing to look at" in complaints(tmp_path)
