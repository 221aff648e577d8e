"""Our own ways to a linear model's scores give what VW's learner stack gives.

VW's own way, for comparison: an interaction of three namespaces that never occur adds no feature, but only VW computes
such interactions for actions with features; with --audit, VW predicts each weight slot of fixed actions by itself.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import vw_fastcb
from support import events, ok, predictions, write

NOT_SPLIT = "--interactions XYZ"
CALM = "--gamma_scale 1 --gamma_exponent 0"  # the larger gamma, the more a pmf makes of rounding
ROUNDING = 2e-6  # a pmf is printed with six digits


def names(kind: str, count: int, draw: random.Random) -> str:
    return " ".join(f"{kind}{k}={draw.randrange(4)}:{draw.uniform(-1, 1):.3f}" for k in range(count))


def rich_events(count: int, shared: bool = True, label: bool = True, seed: int = 0) -> list[str]:
    """Events whose namespaces stand on the shared line (u, s, m), on the actions (a, b, m), on both, or on neither."""
    draw = random.Random(seed)
    log = []
    for _ in range(count):
        lines = [f"shared |u {names('u', 11, draw)} |s {names('s', draw.randrange(3), draw)} |m {names('m', 2, draw)}"]
        actions = draw.randint(1, 6)
        chosen = draw.randrange(actions)
        for a in range(actions):
            mark = f"0:{draw.random():.3f}:{1 / actions:.3f} " if a == chosen else ""
            own = "" if draw.random() < 0.1 else f"|a {names('a', 5, draw)} |b {names('b', draw.randrange(20), draw)}"
            lines.append(f"{mark if label else ''}{own} |m {names('n', draw.randrange(2), draw)}")
        log.append("\n".join(lines if shared else lines[1:]) + "\n\n")
    return log


def weights_in(model: Path) -> list[str]:
    return re.findall(r"^\d+:.*$", model.read_text(), re.MULTILINE)


def few_weights(flags: str) -> str:
    """VW goes over all weights to write a readable model."""
    return "" if "-b " in flags else "-b 14"


def compare_with_vw(tmp_path: Path, flags: str, log: list[str], rounding: float) -> None:
    data = write(tmp_path / "log", log)
    features, weights = [], []
    for name, extra in (("ours", ""), ("vw", NOT_SPLIT)):
        out = [tmp_path / f"{name}.{kind}" for kind in ("pmf", "model")]
        command = f"--cb_explore_adf --fastcb {CALM} {flags} {extra} {few_weights(flags)}"
        printed = ok(*command.split(), "-d", data, "-p", out[0], "--readable_model", out[1])
        features.append(re.findall(r"total feature number = (\d+)", printed))
        weights.append(weights_in(out[1]))
    ours, vw = (predictions(tmp_path / f"{name}.pmf") for name in ("ours", "vw"))
    assert len(ours) == len(vw) == len(log)
    for pmf, expected in zip(ours, vw, strict=True):
        assert pmf == pytest.approx(expected, abs=rounding, rel=0)
    assert len(weights[0]) > 20
    assert weights[0] == weights[1]
    assert features[0] == features[1]


BASE_FLAGS = [
    "",
    "--sgd",
    "--adaptive",
    "--noconstant",
    "-b 10",
    "--initial_weight 0.1 -b 12",
    "--power_t 0.3",
    "--l2 0.001",
]


@pytest.mark.parametrize("flags", BASE_FLAGS)
def test_without_shared_features_and_interactions_scores_are_those_of_vw_bit_for_bit(tmp_path, flags):
    compare_with_vw(tmp_path, flags, rich_events(150, shared=False), rounding=0)


@pytest.mark.parametrize("flags", BASE_FLAGS)
def test_shared_features_change_scores_by_rounding_only(tmp_path, flags):
    compare_with_vw(tmp_path, flags, rich_events(150), ROUNDING)


@pytest.mark.parametrize(
    "flags",
    [
        "-q ua",
        "-q au",
        "-q us",  # within the shared line
        "-q ab",  # within the action
        "-q am",  # with a namespace on both
        "-q um -q bm -q ua -q sb",
        "-q qr",  # of nothing
        "-q ua -b 6",
        "-q ua --sgd --noconstant",
        "-q ua --ignore s",
        "-q ua --l2 0.001",
        "-q aa -q uu",  # from here on left to VW, one action at a time
        "-q ::",
        "--cubic uab",
        "-q ua --ignore_linear u",
        "-q ua --permutations",
        "-q ua --l1 0.001",
        "-q ua --coin",
        "--experimental_full_name_interactions u|a",
        "-q ua --nn 2",
    ],
)
@pytest.mark.parametrize("shared", [True, False])
def test_interactions_change_scores_by_rounding_only(tmp_path, flags, shared):
    compare_with_vw(tmp_path, flags, rich_events(80, shared), ROUNDING)


@pytest.mark.parametrize("flags", ["", "-q ua", "-q um -q am", "-q uu"])
def test_a_prediction_does_not_depend_on_the_label(flags):
    workspace = vw_fastcb.Workspace(f"--cb_explore_adf --fastcb {flags} --quiet")
    for event in rich_events(50):
        workspace.learn(event)
    for event, unlabelled in zip(rich_events(50, seed=1), rich_events(50, seed=1, label=False), strict=True):
        assert workspace.predict(event) == workspace.predict(unlabelled)


@pytest.mark.parametrize("flags", ["", "-q ua", "-q um -q am", "-q uu", "--cubic uab"])
def test_events_give_back_their_features_as_they_were(flags):
    """Merging the chosen action must be undone: the same examples, again and again, as a twin that reads them anew."""
    command = f"--cb_explore_adf --fastcb {flags} --quiet"
    reused, fresh = vw_fastcb.Workspace(command), vw_fastcb.Workspace(command)
    event = rich_events(1)[0]
    examples = reused.parse(event)
    for _ in range(10):
        reused.learn(examples)
        fresh.learn(event)
        assert reused.predict(examples) == fresh.predict(event)


def test_learners_between_the_explorer_and_vws_merger_see_merged_events(tmp_path):
    data = write(tmp_path / "log", rich_events(50))
    for flags in ("--cb_sample", "--explore_eval"):
        weights = []
        for extra in ("", NOT_SPLIT):
            command = f"--cb_explore_adf --fastcb {CALM} -q ua {flags} {extra}"
            ok(*command.split(), "-d", data, "--readable_model", tmp_path / "model")
            weights.append(weights_in(tmp_path / "model"))
        assert weights[0] == weights[1]


# Fixed actions

FIXED_FLAGS = [
    *BASE_FLAGS,
    "-q uu",
    "--cubic uuu",
    "-q us --permutations",
    "--ignore_linear u -q us",
    "-q ::",
    "--coin",
]


@pytest.mark.parametrize("flags", [*FIXED_FLAGS, "--ftrl", "--l1 0.001", "--nn 2"])
def test_slots_score_as_in_vw_bit_for_bit_and_audit_changes_nothing(tmp_path, flags):
    draw = random.Random(0)
    log = [
        f"{draw.randint(1, 5)}:{draw.random():.3f}:0.2 |u {names('u', 5, draw)} |s {names('s', 2, draw)}\n"
        for _ in range(80)
    ]
    compare_audited(tmp_path, f"--cb_explore 5 --fastcb {flags}", log)


def compare_audited(tmp_path: Path, command: str, log: list[str]) -> None:
    data = write(tmp_path / "log", log)
    for name, extra in (("plain", []), ("audited", ["--audit"])):
        out = [tmp_path / f"{name}.{kind}" for kind in ("pmf", "model")]
        ok(
            *command.split(),
            *few_weights(command).split(),
            *extra,
            "-d",
            data,
            "-p",
            out[0],
            "--readable_model",
            out[1],
        )
    assert (tmp_path / "plain.pmf").read_bytes() == (tmp_path / "audited.pmf").read_bytes()
    assert weights_in(tmp_path / "plain.model") == weights_in(tmp_path / "audited.model")


@pytest.mark.parametrize("flags", ["", "-q ua", "-q um -q am", "--cubic uab", "-q uu", "-q ::"])
def test_audit_does_not_change_the_pmf_of_actions_with_features(tmp_path, flags):
    compare_audited(tmp_path, f"--cb_explore_adf --fastcb {flags}", rich_events(20))


def test_slots_wrap_around_the_end_of_the_weights_as_in_the_stack(tmp_path):
    """Many actions on few weights: the slots of most features run over the end."""
    for flags in ("", "-q uu"):
        compare_audited(
            tmp_path, f"--cb_explore 100 --fastcb -b 9 {flags}", [e.fixed() for e in events(100, actions=100)]
        )


# Tiny features and products: VW's multipredict leaves out what is below 1e-10, learning does not

TINY = [
    ("", "|u x:1e-11"),
    ("-q us --ignore_linear u --ignore_linear s", "|u x:1e-6 |s y:1e-6"),
    ("--cubic usu --ignore_linear u --ignore_linear s", "|u x:1e-4 |s y:1e-4"),
    ("-q :: --ignore_linear u --ignore_linear s", "|u x:1e-6 |s y:1e-6"),
    ("--coin", "|u x:1e-11"),
    ("--ftrl --ftrl_alpha 1e22", "|u x:1e-11"),
]


@pytest.mark.parametrize("audit", ["", "--audit"])
@pytest.mark.parametrize(("flags", "features"), TINY)
def test_tiny_features_count_in_the_pmf_of_fixed_actions_as_in_learning(tmp_path, flags, features, audit):
    """The rate is so high, and unscaled by the features, that tiny ones get weights that matter."""
    rate = "--noconstant" if "coin" in flags or "ftrl" in flags else "--noconstant -l 1e24 --sgd --power_t 0"
    data = write(tmp_path / "log", [f"1:1:0.5 {features}\n"] * 5)
    ok(*f"--cb_explore 2 --fastcb {rate} {flags} {audit} -p {tmp_path / 'p'}".split(), "-d", data)
    learned = predictions(tmp_path / "p")
    assert learned[0] == pytest.approx({0: 0.5, 1: 0.5})
    # The first action cost all it could: it must lose probability.
    assert learned[-1][0] < 0.45


@pytest.mark.parametrize(("flags", "features"), TINY)
def test_audit_does_not_change_the_pmf_of_tiny_features(tmp_path, flags, features):
    log = [f"{1 + i % 2}:{i % 3 / 2}:0.5 {features}\n" for i in range(20)]
    compare_audited(tmp_path, f"--cb_explore 2 --fastcb --noconstant {flags}", log)


# What throws leaves the caller's event as it was


@pytest.mark.parametrize("flags", ["", "-q ua", "-q uu", "--nn 2"])
@pytest.mark.parametrize("bad", ["shared |u x:1e39\n0:0.25:0.5 |a y\n|a z", "shared |u x\n0:0.25:0.5 |a y:1e39\n|a z"])
def test_a_score_that_throws_leaves_the_label_and_the_features(flags, bad):
    workspace = vw_fastcb.Workspace(f"--cb_explore_adf --fastcb {flags} --quiet")
    workspace.learn("shared |u x\n0:0.5:0.5 |a y\n|a z")
    examples = workspace.parse(bad)
    features = [sum(1 for _ in e.iter_features()) for e in examples]
    for act in (workspace.predict, workspace.learn):
        with pytest.raises(RuntimeError, match="finite"):
            act(examples)
        label = examples[1].get_label()
        assert label.costs[0].cost == pytest.approx(0.25)
        assert label.costs[0].probability == pytest.approx(0.5)
        assert [sum(1 for _ in e.iter_features()) for e in examples] == features
