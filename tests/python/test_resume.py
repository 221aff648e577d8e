"""Promise 4: N rounds, save, load, N rounds equals 2N rounds, bit for bit, from the command line and from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import Event, events, ok, write
from vw_fastcb import Workspace

# Without it VW sets its counters of loss and events to zero when it loads a model, and those are saved too.
KEEP_COUNTERS = "--preserve_performance_counters"


@dataclass(frozen=True)
class Door:
    """One of the two front doors: its flags, its text and its number of actions."""

    flags: tuple[str, ...]
    text: Callable[..., str]
    actions: int | tuple[int, int]


ADF = Door(("--cb_explore_adf", "--fastcb", "-q", "ua"), Event.adf, (2, 6))
FIXED = Door(("--cb_explore", "4", "--fastcb"), Event.fixed, 4)
LINEAR = Door(("--cb_explore_adf", "--fastcb"), Event.adf, (2, 6))  # without interactions scores take a shorter way


def conditional(event: Event) -> str:
    """Two slots: the logged action, and the next one at the other end of the costs."""
    actions = [f"ccb action |a a{a}" for a in range(event.actions)]
    choices = [(event.chosen, event.cost), ((event.chosen + 1) % event.actions, 1 - event.cost)]
    slots = [f"ccb slot {a}:{cost:.4f}:0.5 |s s{i}" for i, (a, cost) in enumerate(choices)]
    return "\n".join([f"ccb shared |u c{event.context} v:{event.value:.4f}", *actions, *slots]) + "\n\n"


def slate(event: Event) -> str:
    """Two slots of two actions each, one cost."""
    actions = [f"slates action {slot} |a a{slot}{a}" for slot in (0, 1) for a in (0, 1)]
    slots = [f"slates slot {a}:0.5 |s s{slot}" for slot, a in enumerate(divmod(event.chosen, 2))]
    return "\n".join([f"slates shared {event.cost:.4f} |u c{event.context}", *actions, *slots]) + "\n\n"


SLOTS = [Door(("--ccb_explore_adf", "--fastcb"), conditional, (2, 6)), Door(("--slates", "--fastcb"), slate, 4)]
DOORS = pytest.mark.parametrize("door", [ADF, LINEAR, FIXED], ids=["adf", "linear", "fixed"])

NEWTON = ["--fastcb_oracle newton", "--fastcb_oracle newton --fastcb_capacity 3 --fastcb_memory 30"]
EPOCHS = ["--fastcb_gamma epochs --fastcb_regret 0.1", "--fastcb_gamma epochs --fastcb_oracle newton"]
REGRESSORS = ["", "--sgd", "--coin", "--ftrl", "--nn 3", *NEWTON]
VARIANTS = [
    "--adaptive",
    "--normalized",
    "--invariant",
    "--adaptive --invariant",
    "--pistol",
    "--freegrad",
    "--lrq ua3",
    "--coin --nn 2",
    "--ftrl --nn 2",
    "--fastcb_objective reward",
    "--fastcb_objective both",
    "--fastcb_allocation igw",
    "--fastcb_objective reward --fastcb_allocation igw",
    *EPOCHS,
    "--epsilon 0.1",
    "--gamma_scale 50 --gamma_exponent 0.3",
    "--cb_min_cost -1 --cb_max_cost 3",
    "--cb_min_cost -1 --cb_max_cost 0 --fastcb_objective reward",
    "--random_seed 7 --random_weights -b 10",
    "--power_t 0.3 -l 2 --initial_t 5",
    "--ngram 2 --skips 1 --hash all",
    "--noconstant -b 12",
]


# Long enough for every state that a learner keeps to matter; the long version looks for what grows slowly.
LONG = 2000
SHORT = 110  # an even number of lines, after which VW can resume --lrq
EVERY_FLAG = pytest.mark.parametrize(
    ("flags", "rounds"),
    [
        *((flags, SHORT) for flags in [*REGRESSORS, *VARIANTS]),
        *(pytest.param(flags, LONG, marks=pytest.mark.slow) for flags in REGRESSORS),
    ],
)
# A model is one file, whoever wrote it: what a flag puts there is found out on the command line.
EVERY_REGRESSOR_AND_SLOWLY_EVERY_FLAG = pytest.mark.parametrize(
    ("flags", "rounds"),
    [
        *((flags, SHORT) for flags in REGRESSORS),
        *(pytest.param(flags, SHORT, marks=pytest.mark.slow) for flags in VARIANTS),
        *(pytest.param(flags, LONG, marks=pytest.mark.slow) for flags in REGRESSORS),
    ],
)
EVERY_REGRESSOR = pytest.mark.parametrize(
    ("flags", "rounds"),
    [(flags, SHORT) for flags in REGRESSORS]
    + [pytest.param(flags, LONG, marks=pytest.mark.slow) for flags in REGRESSORS],
)


def arguments_of(door: Door, flags: str, rounds: int) -> list[str]:
    """The flags, with few weights where the run is short: VW goes over all of them to save a model and to load one."""
    few = ["-b", "12"] if rounds == SHORT and "-b " not in flags else []
    return [*door.flags, *flags.split(), *few]


def log_for(door: Door, flags: str, count: int) -> list[Event]:
    words = flags.split()
    low, high = (
        float(words[words.index(flag) + 1]) if flag in words else default
        for flag, default in (("--cb_min_cost", 0.0), ("--cb_max_cost", 1.0))
    )
    return events(count, seed=3, actions=door.actions, costs=(low, high))


def on_the_command_line(
    folder: Path, name: str, log: Sequence[Event], door: Door, *arguments: object
) -> tuple[bytes, Path]:
    """Learns from a log; returns the bytes of the -p file, and the model."""
    data = write(folder / f"{name}.txt", map(door.text, log))
    printed, model = folder / f"{name}.predictions", folder / f"{name}.model"
    ok(*arguments, "--quiet", "-d", data, "-p", printed, "-f", model)
    return printed.read_bytes(), model


def learn(vw: Workspace, log: Sequence[Event], door: Door) -> list[str]:
    """Learns from a log; returns the predictions, every bit of them."""
    predictions = []
    for event in log:
        examples = vw.parse(door.text(event))
        vw.learn(examples)
        first = examples[0] if isinstance(examples, list) else examples
        predictions.append(repr(first.get_prediction(vw.get_prediction_type())))
        vw.finish_example(examples)
    return predictions


def in_python(folder: Path, name: str, log: Sequence[Event], door: Door, *arguments: object) -> tuple[list[str], Path]:
    model = folder / f"{name}.model"
    with Workspace(arg_list=[*map(str, arguments), "--quiet"]) as vw:
        predictions = learn(vw, log, door)
        vw.save(model)
    return predictions, model


def assert_same_but_for_the_passes(resumed: Path, whole: Path) -> None:
    """Both runs read all events, but the resumed one in two passes over data, and VW saves their number."""
    files = [resumed.read_bytes(), whole.read_bytes()]
    assert len(files[0]) == len(files[1])
    seal = files[0].index(b"fastcb0") + 56  # a hash of what follows, the number of passes included
    differences = [(a, b) for i, (a, b) in enumerate(zip(*files, strict=True)) if a != b and not seal <= i < seal + 8]
    assert differences == [(2, 1)]


@DOORS
@EVERY_FLAG
def test_resuming_on_the_command_line_changes_nothing(door: Door, flags: str, rounds: int, tmp_path: Path) -> None:
    log = log_for(door, flags, 2 * rounds)
    arguments = arguments_of(door, flags, rounds)
    expected, whole = on_the_command_line(tmp_path, "whole", log, door, *arguments)
    before, half = on_the_command_line(tmp_path, "half", log[:rounds], door, *arguments)
    after, resumed = on_the_command_line(tmp_path, "resumed", log[rounds:], door, "-i", half, KEEP_COUNTERS)
    assert len(set(expected.splitlines())) > 50
    assert before + after == expected
    assert_same_but_for_the_passes(resumed, whole)


@DOORS
@EVERY_REGRESSOR_AND_SLOWLY_EVERY_FLAG
def test_resuming_in_python_changes_nothing(door: Door, flags: str, rounds: int, tmp_path: Path) -> None:
    log = log_for(door, flags, 2 * rounds)
    arguments = arguments_of(door, flags, rounds)
    expected, whole = in_python(tmp_path, "whole", log, door, *arguments)
    before, half = in_python(tmp_path, "half", log[:rounds], door, *arguments)
    after, resumed = in_python(tmp_path, "resumed", log[rounds:], door, "-i", half, KEEP_COUNTERS)
    assert len(set(expected)) > 50
    assert before + after == expected
    assert resumed.read_bytes() == whole.read_bytes()


@DOORS
@EVERY_REGRESSOR
def test_python_goes_on_from_the_command_line(door: Door, flags: str, rounds: int, tmp_path: Path) -> None:
    log = log_for(door, flags, 2 * rounds)
    arguments = arguments_of(door, flags, rounds)
    expected, _ = in_python(tmp_path, "whole", log, door, *arguments)
    _, half = on_the_command_line(tmp_path, "half", log[:rounds], door, *arguments)
    after, _ = in_python(tmp_path, "resumed", log[rounds:], door, "-i", half)
    assert len(set(after)) > 50
    assert after == expected[rounds:]


@DOORS
@EVERY_REGRESSOR
def test_the_command_line_goes_on_from_python(door: Door, flags: str, rounds: int, tmp_path: Path) -> None:
    log = log_for(door, flags, 2 * rounds)
    arguments = arguments_of(door, flags, rounds)
    expected, whole = on_the_command_line(tmp_path, "whole", log, door, *arguments)
    _, half = in_python(tmp_path, "half", log[:rounds], door, *arguments)
    after, resumed = on_the_command_line(tmp_path, "resumed", log[rounds:], door, "-i", half, KEEP_COUNTERS)
    assert len(after.splitlines()) == len(expected.splitlines()) / 2
    assert expected.endswith(after)
    # Python has no passes over data: with the second half's one, both files say one.
    assert resumed.read_bytes() == whole.read_bytes()


@DOORS
def test_a_chain_of_saves_and_loads_changes_nothing(door: Door, tmp_path: Path) -> None:
    log = log_for(door, "", 1200)
    expected, whole = in_python(tmp_path, "whole", log, door, *door.flags)
    chained, model = in_python(tmp_path, "0", log[:200], door, *door.flags)
    for link in range(1, 6):
        part = log[200 * link : 200 * (link + 1)]
        predictions, model = in_python(tmp_path, str(link), part, door, "-i", model, KEEP_COUNTERS)
        chained += predictions
    assert chained == expected
    assert model.read_bytes() == whole.read_bytes()


@DOORS
def test_saving_and_loading_without_a_round_between_gives_the_same_file(door: Door, tmp_path: Path) -> None:
    _, saved = in_python(tmp_path, "saved", log_for(door, "", 200), door, *door.flags)
    _, again = in_python(tmp_path, "again", [], door, "-i", saved, KEEP_COUNTERS)
    assert again.read_bytes() == saved.read_bytes()


@DOORS
def test_saving_in_the_middle_does_not_disturb_the_run(door: Door, tmp_path: Path) -> None:
    log = log_for(door, "", 400)
    expected, whole = in_python(tmp_path, "whole", log, door, *door.flags)
    with Workspace(arg_list=[*door.flags, "--quiet"]) as vw:
        predictions = learn(vw, log[:200], door)
        vw.save(tmp_path / "middle.model")
        predictions += learn(vw, log[200:], door)
        vw.save(tmp_path / "end.model")
    assert predictions == expected
    assert (tmp_path / "end.model").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("flags", ["--cb_sample", "--cb_sample --random_seed 5", "--cb_sample --coin"])
def test_resumed_sampling_goes_on_with_the_same_draws(flags: str, tmp_path: Path) -> None:
    log = log_for(ADF, flags, 600)
    arguments = [*ADF.flags, *flags.split()]
    expected, whole = on_the_command_line(tmp_path, "whole", log, ADF, *arguments)
    before, half = on_the_command_line(tmp_path, "half", log[:300], ADF, *arguments)
    after, resumed = on_the_command_line(tmp_path, "resumed", log[300:], ADF, "-i", half, KEEP_COUNTERS)
    assert before + after == expected
    assert_same_but_for_the_passes(resumed, whole)


@DOORS
@pytest.mark.parametrize("flags", ["--l1 1e-4", "--l2 1e-4", "--ftrl --ftrl_alpha 0.1 --ftrl_beta 0.5"])
def test_flags_that_vw_does_not_keep_resume_when_they_are_repeated(door: Door, flags: str, tmp_path: Path) -> None:
    log = log_for(door, flags, 600)
    repeated = flags.removeprefix("--ftrl ").split()
    expected, _ = in_python(tmp_path, "whole", log, door, *door.flags, *flags.split())
    before, half = in_python(tmp_path, "half", log[:300], door, *door.flags, *flags.split())
    after, _ = in_python(tmp_path, "resumed", log[300:], door, "-i", half, *repeated)
    assert before + after == expected


@DOORS
def test_a_loaded_model_keeps_learning(door: Door, tmp_path: Path) -> None:
    log = log_for(door, "", 400)
    _, half = in_python(tmp_path, "half", log[:200], door, *door.flags)
    asked = door.text(log[0])
    with Workspace(arg_list=["-i", str(half), "--quiet"]) as vw:
        before = vw.predict(asked)
        learn(vw, log[200:], door)
        assert vw.predict(asked) != before


@pytest.mark.parametrize("door", SLOTS, ids=["ccb", "slates"])
def test_resuming_events_of_several_slots_changes_nothing(door: Door, tmp_path: Path) -> None:
    log = log_for(door, "", 600)
    whole, _ = on_the_command_line(tmp_path, "whole", log, door, *door.flags)
    first, model = on_the_command_line(tmp_path, "first", log[:300], door, *door.flags)
    second, _ = on_the_command_line(tmp_path, "second", log[300:], door, "-i", model)
    assert first + second == whole
    both, model = in_python(tmp_path, "python", log[:300], door, *door.flags)
    resumed, _ = in_python(tmp_path, "resumed", log[300:], door, "-i", model)
    undisturbed, _ = in_python(tmp_path, "undisturbed", log, door, *door.flags)
    assert both + resumed == undisturbed


@DOORS
@pytest.mark.parametrize("flags", ["", "--sgd", "--normalized", "--invariant", "--normalized --sgd"])
def test_resuming_a_log_in_which_some_events_have_no_label_changes_nothing(
    door: Door, flags: str, tmp_path: Path
) -> None:
    """VW's step sizes leave such events out, but it forgets how many they were when it loads a model."""
    log = [door.text(event, i % 5 != 0) for i, event in enumerate(log_for(door, "", 300))]
    parts = {"whole": log, "first": log[:150], "second": log[150:]}
    printed = {}
    for name, lines in parts.items():
        data = write(tmp_path / f"{name}.txt", lines)
        start = ["-i", tmp_path / "first.model"] if name == "second" else [*door.flags, *flags.split()]
        ok(*start, "--quiet", "-d", data, "-p", tmp_path / name, "-f", tmp_path / f"{name}.model")
        printed[name] = (tmp_path / name).read_bytes()
    assert printed["first"] + printed["second"] == printed["whole"]
