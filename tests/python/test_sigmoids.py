"""The engine's own sigmoid, against numpy in extended precision."""

import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sigmoids(tmp_path_factory):
    library = tmp_path_factory.mktemp("sigmoids") / "sigmoids.so"
    sources = [ROOT / "tests/cpp/sigmoids.cc", ROOT / "cpp/allocation/allocation.cc"]
    compiler = os.environ.get("CXX", "c++")
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'cpp'}"]
    subprocess.run([compiler, *flags, *sources, "-o", library], check=True)
    function = ctypes.CDLL(str(library)).sigmoids

    def call(logits):
        logits = np.ascontiguousarray(logits, np.float32)
        result = np.full(len(logits) + 1, -1.0)
        function(
            logits.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(logits)), ctypes.c_void_p(result.ctypes.data)
        )
        assert result[-1] == -1.0  # what lies behind is left alone
        return result[:-1]

    return call


def test_a_million_logits_are_within_four_units_of_the_last_place(sigmoids):
    chance = np.random.default_rng(0)
    logits = np.concatenate([chance.uniform(-50, 50, 500_000), chance.normal(0, 2, 500_000)]).astype(np.float32)
    exact = 1 / (1 + np.exp(-logits.astype(np.longdouble)))
    error = np.abs(sigmoids(logits) - exact) / np.spacing(exact.astype(np.float64))
    assert error.max() <= 4


def test_extremes_neither_overflow_nor_leave_the_unit_interval(sigmoids):
    values = sigmoids([0.0, -0.0, 50, -50, 1e30, -1e30, np.inf, -np.inf])
    assert (values[:2] == 0.5).all()
    assert values[2:4] == pytest.approx([1 / (1 + np.exp(-50)), np.exp(-50) / (1 + np.exp(-50))], rel=1e-15)
    assert (values[[4, 6]] == 1).all()
    assert (values[[5, 7]] >= 0).all()
    assert (values[[5, 7]] < 1e-300).all()


def test_a_logit_becomes_the_same_in_any_place(sigmoids):
    logits = np.random.default_rng(1).normal(0, 5, 37)
    together = sigmoids(logits)
    for count in range(1, 37):
        np.testing.assert_array_equal(sigmoids(logits[:count]), together[:count])
        np.testing.assert_array_equal(sigmoids(logits[count:]), together[count:])


def test_a_larger_logit_never_becomes_less(sigmoids):
    logits = np.sort(np.random.default_rng(2).uniform(-50, 50, 100_000))
    assert (np.diff(sigmoids(logits)) >= 0).all()
