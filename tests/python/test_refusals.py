"""What makes no sense with --fastcb is refused at the start, with a sentence that says why; nothing is ignored."""

from __future__ import annotations

import pytest

from support import Event, events, refused, run, run_program, write
from vw_fastcb import Workspace

DOORS = ["--cb_explore_adf", "--cb_explore 4"]

EXPLORERS = [
    "--first 3",
    "--bag 3",
    "--cover 3",
    "--regcb",
    "--regcbopt",
    "--squarecb",
    "--rnd 3",
    "--softmax",
    "--synthcover",
    "--graph_feedback",
]

# What the sentence has to name, and a word of its reason.
REASONS = {
    **dict.fromkeys(EXPLORERS, "another exploration algorithm"),
    "--first_only": "epsilon-greedy",
    "--nounif": "--cover",
    "--psi 0.1": "--cover",
    "--elim": "SquareCB",
    "--mellowness 0.1": "RegCB",
    "--epsilon_decay": "epsilon-greedy",
    "--large_action_space": "squared-loss explorer",
    "--automl 2": "epsilon-greedy",
    "--aml 2": "epsilon-greedy",
    "--baseline_challenger_cb": "importance-weighted",
    "--cb_actions_mask": "hides actions",
    "--warm_cb 4": "cost-sensitive learner",
    "--warm_cb_cs": "cost-sensitive learner",
    "--ksvm": "log loss",
    "--bfgs": "batches",
    "--bfgs --passes 2 -c -k": "batches",
    "--conjugate_gradient": "batches",
    "--svrg": "stages",
    "--OjaNewton": "log loss",
    "--cb_adf": "regressor directly",
    "--cb_force_legacy": "one implementation",
    "--csoaa_ldf multiline": "regressor directly",
    "--wap_ldf multiline": "regressor directly",
    "--rank_all": "probability of every action",
    "--no_predict": "learns from predictions",
    "--eval": "no exploration",
    "--link logistic": "[0,1] itself",
    "--link identity": "[0,1] itself",
    "--min_prediction 0": "bounds of the logits",
    "--max_prediction 1": "bounds of the logits",
    "--binary": "not a sign",
    "--boosting 3": "not a sign",
    "--bootstrap 3": "one regressor",
    "--cats 4 --min_value 0 --max_value 1 --bandwidth 1": "separate actions",
    "--cats_pdf 4 --min_value 0 --max_value 1 --bandwidth 1": "separate actions",
    "--cats_tree 4": "separate actions",
    "--cb_explore_pdf --min_value 0 --max_value 1": "separate actions",
    "--sparse_weights": "sparse weights",
    "--cb_type ips": "unweighted regression",
    "--cb_type dr": "unweighted regression",
    "--cb_type dm": "unweighted regression",
    "--cb_type sm": "unweighted regression",
    "--loss_function squared": "log loss",
    "--loss_function hinge": "log loss",
    "--loss_function quantile": "log loss",
    "--logistic_min -1 --loss_function logistic": "--cb_min_cost",
    "--logistic_max 2 --loss_function logistic": "--cb_max_cost",
}


def data(tmp_path, door, log: list[Event] | None = None):
    log = log if log is not None else events(20)
    return write(tmp_path / "data", (e.adf() if door == "--cb_explore_adf" else e.fixed() for e in log))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", REASONS)
def test_nonsense_is_refused_at_the_start_with_the_reason(door, flags, tmp_path):
    model = tmp_path / "model"
    message = refused(*door.split(), "--fastcb", *flags.split(), "-d", data(tmp_path, door), "-f", model)
    assert "--fastcb" in message
    assert flags.split()[0] in message
    assert REASONS[flags] in message
    assert "average" not in message  # the table of progress: it did not start
    assert not model.exists()


# Refused, where VW's own checks or insertions come first on one of the doors: the sentence is still to be ours.
@pytest.mark.parametrize(
    ("door", "flags"),
    [
        ("--cb_explore_adf", "--cb 4"),
        ("--cb_explore 4", "--cb 4"),
        ("--cb_explore_adf", "--experimental_igl --coin"),
        ("--cb_explore 4", "--experimental_igl --coin"),
        ("--cb_explore_adf", "--cb_dro"),
        ("--cb_explore 4", "--cb_dro"),
        ("--cb_explore 4", "--cb_sample"),
        ("--cb_explore 4", "--explore_eval"),
        ("--cb_explore 4", "--cbify_ldf"),
        ("--cb_explore 4", "--ccb_explore_adf"),
        ("--cb_explore 4", "--slates"),
    ],
)
def test_the_refusal_names_the_flag_that_the_user_gave(door, flags, tmp_path):
    message = refused(*door.split(), "--fastcb", *flags.split(), "-d", data(tmp_path, door))
    assert "--fastcb" in message
    assert flags.split()[0] in message.replace("--cb_explore_adf and --cb_explore.", "")


BETWEEN = [
    "--oaa 4",
    "--ect 4",
    "--csoaa 4",
    "--log_multi 4",
    "--recall_tree 4",
    "--plt 4",
    "--interact ua",
    "--classweight 1:2",
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", BETWEEN)
def test_nothing_may_stand_between_fastcb_and_its_regressor(door, flags, tmp_path):
    message = refused(*door.split(), "--fastcb", *flags.split(), "-d", data(tmp_path, door))
    assert "--fastcb needs VW's regressor directly below it" in message
    assert flags.split()[0].lstrip("-") in message


# Accepted by VW in silence, and without any effect on FastCB, or with one that takes its sense away.
WITHOUT_EFFECT = [
    # of other explorers and of the learners that FastCB does without
    "--greedify",
    "--lambda 2",
    "--rnd_alpha 0.5",
    "--rnd_invlambda 0.5",
    "--synthcoverpsi 0.5",
    "--synthcoversize 5",
    "--max_actions 3",
    "--clip_p 0.1",
    "--csoaa_rank",
    "--probabilities",
    "--cb_dro_alpha 0.1",
    "--constant_epsilon",
    # of cbify, without it
    "--loss0 0.5",
    "--flip_loss_sign",
    "--cbify_cs",
    # of the regressor
    "--confidence",
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", WITHOUT_EFFECT)
def test_a_flag_without_effect_is_refused(door, flags, tmp_path):
    message = refused(*door.split(), "--fastcb", *flags.split(), "-d", data(tmp_path, door))
    assert "--fastcb" in message
    assert flags.split()[0] in message


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("flags", ["--noop", "--print", "--active_cover", "--replay_b 10"])
def test_a_base_that_does_not_learn_each_event_once_is_refused(door, flags, tmp_path):
    message = refused(*door.split(), "--fastcb", *flags.split(), "-d", data(tmp_path, door))
    assert "--fastcb" in message
    assert flags.split()[0] in message


@pytest.mark.parametrize("door", DOORS)
def test_active_learning_is_refused_instead_of_waiting_for_a_connection(door, tmp_path):
    result = run_program(*door.split(), "--fastcb", "--active", "--dry_run", "-d", data(tmp_path, door))
    assert result.returncode == 1
    assert "--fastcb cannot be combined with --active" in result.stdout + result.stderr


def test_flipped_costs_are_refused_where_cbify_cannot_flip_them(tmp_path):
    ldf = write(tmp_path / "ldf", ("1:0 |x a\n2:1 |x b\n\n" for _ in range(5)))
    message = refused("--cbify_ldf", "--cb_explore_adf", "--fastcb", "--flip_loss_sign", "-d", ldf)
    assert "--flip_loss_sign" in message
    cs = write(tmp_path / "cs", ("1:0 2:1 |x a\n" for _ in range(5)))
    message = refused("--cbify", 2, "--cbify_cs", "--cb_explore_adf", "--fastcb", "--flip_loss_sign", "-d", cs)
    assert "--flip_loss_sign" in message


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--fastcb", "add --cb_explore_adf (actions with their own features) or --cb_explore K"),
        ("--fastcb --oaa 4", "add --cb_explore_adf"),
        ("--fastcb_oracle newton --cb_explore 2", "--fastcb_oracle was given without --fastcb"),
        ("--fastcb_memory 5 --cb_explore 2", "--fastcb_memory was given without --fastcb"),
        ("--fastcb_capacity 5 --cb_explore 2", "--fastcb_capacity was given without --fastcb"),
        ("--fastcb_objective reward", "--fastcb_objective was given without --fastcb"),
        ("--fastcb_allocation igw --cb_explore_adf", "--fastcb_allocation was given without --fastcb"),
        ("--fastcb_allocation igw --cb_explore_adf --squarecb", "--fastcb_allocation was given without --fastcb"),
        ("--fastcb_gamma power --cb_explore 4", "--fastcb_gamma was given without --fastcb"),
        ("--fastcb --cb_explore 4 --cb_explore_adf", "both --cb_explore_adf and --cb_explore"),
    ],
)
def test_a_flag_without_what_it_belongs_to_is_refused(flags, sentence):
    assert sentence in refused(*flags.split(), "--no_stdin")


BAD_VALUES = [
    ("--epsilon 2", "--epsilon is 2"),
    ("--epsilon -0.1", "--epsilon is -0.1"),
    ("--gamma_scale -1", "--gamma_scale is -1"),
    ("--gamma_exponent -0.5", "--gamma_exponent is -0.5"),
    ("--cb_min_cost 1 --cb_max_cost 0", "--cb_min_cost is 1"),
    ("--cb_min_cost 1", "--cb_max_cost is 1"),
    ("--cb_max_cost -3", "--cb_max_cost is -3"),
    ("--fastcb_objective profit", "--fastcb_objective. Please select from {both, loss, reward}"),
    ("--fastcb_allocation softmax", "--fastcb_allocation. Please select from {igw, reweighted}"),
    ("--fastcb_gamma linear", "--fastcb_gamma. Please select from {epochs, power}"),
    # VW reads numbers before a reduction sees them; its message names the value.
    ("--gamma_scale nan", "nan"),
    ("--gamma_scale inf", "inf"),
    ("--epsilon nan", "nan"),
    ("--cb_max_cost inf", "inf"),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("flags", "sentence"), BAD_VALUES)
def test_a_bad_value_is_refused(door, flags, sentence):
    assert sentence in refused(*door.split(), "--fastcb", *flags.split(), "--no_stdin")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--cb_explore 0 --fastcb", "--cb_explore is 0"),
        ("--cbify 26 --cb_explore 10 --fastcb", "--cbify makes 26 actions and --cb_explore expects 10"),
        ("--cbify 10 --cb_explore 10 --cb_explore_adf --fastcb", "both --cb_explore_adf and --cb_explore"),
        ("--cbify 4 --cbify_reg --min_value 0 --max_value 1 --fastcb", "--fastcb"),
    ],
)
def test_numbers_of_actions_that_cannot_be_are_refused(flags, sentence):
    assert sentence in refused(*flags.split(), "--no_stdin")


@pytest.mark.parametrize(
    "flags", ["--squarecb", "--loss_function squared", "--link logistic", "--cb_type ips", "--ksvm"]
)
def test_a_loaded_model_refuses_what_a_new_one_refuses(flags, tmp_path):
    model = tmp_path / "model"
    with Workspace("--cb_explore_adf --fastcb --quiet") as vw:
        vw.save(str(model))
    message = refused("-i", model, *flags.split(), "--no_stdin")
    assert "--fastcb" in message


@pytest.mark.parametrize(
    "flags",
    [
        "--fastcb",
        "--cb_explore_adf --fastcb --squarecb",
        "--cb_explore 4 --fastcb --cover 3",
        "--cb_explore_adf --fastcb --loss_function squared",
        "--cb_explore 4 --fastcb --link logistic",
        "--cb_explore_adf --fastcb --cb_type ips",
        "--cb_explore_adf --fastcb --oaa 4",
        "--cb_explore 4 --cb_explore_adf --fastcb",
        "--fastcb_objective reward --quiet",
    ],
)
def test_python_raises_the_same_sentence(flags):
    sentence = next(line for line in refused(*flags.split(), "--no_stdin").splitlines() if "--fastcb" in line)
    with pytest.raises(RuntimeError) as raised:
        Workspace(f"{flags} --quiet")
    assert "--fastcb" in str(raised.value)
    assert str(raised.value).split(": ")[-1] in sentence


def test_the_list_of_refusals_does_not_reach_stock_command_lines(tmp_path):
    # The same flags without --fastcb are VW's own business.
    for flags in (
        "--cb_explore_adf --squarecb --elim",
        "--cb_explore_adf --softmax --lambda 2",
        "--cb_explore 4 --cover 3",
    ):
        door = "--cb_explore_adf" if "adf" in flags else "--cb_explore 4"
        assert run(*flags.split(), "-d", data(tmp_path, door), "--quiet").returncode == 0
