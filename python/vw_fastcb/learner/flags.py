"""From the flags that a VW model keeps to the learner's parameters."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import numpy as np


def params_of(flags: str, rewards: bool) -> dict[str, Any]:
    """The constructor's arguments from the flags that a model keeps."""
    words = shlex.split(flags)
    kept: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            name, _, value = word.removeprefix("--").partition("=")
            kept.setdefault(name, []).extend([value] if value else [])
        else:
            kept[name].append(word)
    low, high = _as_written(kept.pop("cb_min_cost")[0]), _as_written(kept.pop("cb_max_cost")[0])
    params: dict[str, Any] = {"reward_range": (-high, -low)} if rewards else {"cost_range": (low, high)}
    if "cb_explore" in kept:
        params["n_actions"] = int(kept.pop("cb_explore")[0])
    interactions = kept.pop("interactions", []) + kept.pop("quadratic", [])
    params["interactions"] = tuple(interactions)
    names: dict[str, tuple[str, Callable[[str], Any]]] = {
        "fastcb_objective": ("objective", str),
        "fastcb_allocation": ("allocation", str),
        "bit_precision": ("bits", int),
    }
    for name in ("gamma_scale", "gamma_exponent", "learning_rate", "epsilon"):
        names[name] = (name, _as_written)
    for flag, (name, kind) in names.items():
        if flag in kept:
            params[name] = kind(kept.pop(flag)[0])
    for flag in ("cb_explore_adf", "fastcb", "per_model_save_load", "cb_type", "random_seed"):
        kept.pop(flag, None)
    params["vw_args"] = " ".join(shlex.join([f"--{name}", *values]) for name, values in kept.items())
    return params


def _as_written(number: str) -> float:
    """VW keeps float32 with the digits of float64: 0.1 as 0.100000001490116."""
    return float(str(np.float32(number)))
