"""The short way to a linear model's scores gives what VW's learner stack gives, bit for bit.

An interaction of a namespace that never occurs adds no feature but sends every score through VW's stack.
"""

import pytest

from support import events, ok, write

THE_LONG_WAY = ["-q", "YZ"]


@pytest.mark.parametrize(
    "flags", ["", "--sgd", "--adaptive", "--noconstant", "-b 10", "--initial_weight 0.1", "--power_t 0.3"]
)
@pytest.mark.parametrize("front_door", ["--cb_explore_adf", "--cb_explore 5"])
def test_predictions_and_model_are_those_of_the_stack(tmp_path, front_door, flags):
    log = events(400, actions=5)
    data = write(tmp_path / "log", (e.adf() if front_door == "--cb_explore_adf" else e.fixed() for e in log))
    weights = []
    for name, extra in (("short", []), ("long", THE_LONG_WAY)):
        out = [tmp_path / f"{name}.{kind}" for kind in ("predictions", "txt")]
        ok(
            *front_door.split(),
            "--fastcb",
            *flags.split(),
            *extra,
            "-d",
            data,
            "-p",
            out[0],
            "--readable_model",
            out[1],
        )
        weights.append(out[1].read_text().partition("Checksum")[2].partition("\n")[2])
    assert (tmp_path / "short.predictions").read_bytes() == (tmp_path / "long.predictions").read_bytes()
    assert weights[0] == weights[1]
    assert len(weights[0].splitlines()) > 20


def test_slots_wrap_around_the_end_of_the_weights_as_in_the_stack(tmp_path):
    """Many actions on few weights: the slots of most features run over the end."""
    data = write(tmp_path / "log", (e.fixed() for e in events(300, actions=100)))
    for name, extra in (("short", []), ("long", THE_LONG_WAY)):
        ok("--cb_explore", 100, "--fastcb", "-b", 9, *extra, "-d", data, "-p", tmp_path / name)
    assert (tmp_path / "short").read_bytes() == (tmp_path / "long").read_bytes()
