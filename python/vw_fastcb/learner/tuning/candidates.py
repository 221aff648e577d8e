"""What is tried: stage by stage, changes to the settings that were left open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ORACLE, INTERACTIONS, GAMMA, OBJECTIVE = "oracle", "interactions", "gamma", "objective"
STAGES = (ORACLE, INTERACTIONS, GAMMA, OBJECTIVE)

Changes = dict[str, Any]

_STEPS = (0.1, 0.5, 1.0, 3.0, 10.0)
_GAMMAS = ((10.0, 0.5), (50.0, 0.4), (100.0, 0.25), (100.0, 0.5), (400.0, 0.25), (1000.0, 0.5))
_WIDEST = 64  # columns whose products are tried: beyond, a round takes too long


def candidates(stage: str, params: Mapping[str, Any], widths: tuple[float, float]) -> list[Changes]:
    """What to try beside the settings at hand. What the user has set stays as it is.

    Args:
        stage: One of `STAGES`.
        params: The learner's parameters, as they were given.
        widths: How many columns contexts have, and the features of actions.
    """
    tried = {ORACLE: _oracles, INTERACTIONS: _interactions, GAMMA: _gammas, OBJECTIVE: _objectives}
    return tried[stage](params, widths)


def _oracles(params: Mapping[str, Any], _: Any) -> list[Changes]:
    if params["learning_rate"] is not None or params["oracle"] == "newton":
        return []
    return [{"oracle": "gd", "learning_rate": step} for step in _STEPS]


def _interactions(params: Mapping[str, Any], widths: tuple[float, float]) -> list[Changes]:
    if params["interactions"] is not None:
        return []
    contexts, actions = widths
    if params["n_actions"] is not None or params["action_names"] is not None:
        tried: list[Sequence[str]] = [("xx",)] if contexts <= _WIDEST else []
    else:
        tried = [(), *([("xa", "aa")] if actions <= _WIDEST else [])]
    return [{"interactions": products} for products in tried]


def _gammas(params: Mapping[str, Any], _: Any) -> list[Changes]:
    given = params["gamma_scale"] is not None or params["gamma_exponent"] is not None
    if given or "--fastcb_gamma" in params["vw_args"]:
        return []
    return [{"gamma_scale": scale, "gamma_exponent": exponent} for scale, exponent in _GAMMAS]


def _objectives(params: Mapping[str, Any], _: Any) -> list[Changes]:
    if params["objective"] is not None or "--fastcb_gamma" in params["vw_args"]:
        return []
    default = "both" if params["reward_range"] is not None else "loss"
    return [{"objective": objective} for objective in ("loss", "both", "reward") if objective != default]
