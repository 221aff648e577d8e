"""Without --fastcb nothing of VW changes: every file these command lines write is the stock wheel's, byte for byte."""

from __future__ import annotations

import json
import os
import platform
import random
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import vowpalwabbit

from support import Event, events, ok, write

STOCK_PROGRAM = os.environ.get("VW_FASTCB_STOCK")

ADF = "--cb_explore_adf -d {data}/adf.txt -p {out}/p.txt -f {out}/model "
FIXED = "-d {data}/fixed.txt -p {out}/p.txt -f {out}/model "
CLASSES = "-d {data}/classes.txt -p {out}/p.txt -f {out}/model "
NUMBERS = "-d {data}/numbers.txt -p {out}/p.txt -f {out}/model "
SIGNS = "-d {data}/signs.txt -p {out}/p.txt -f {out}/model "

# The name of a case, and its command lines, run in order in one folder.
COMMANDS: dict[str, list[str]] = {
    # Exploration over actions with features of their own
    "greedy": [ADF + "--epsilon 0.2 -q ua"],
    "greedy first_only": [ADF + "--epsilon 0.2 --first_only"],
    "greedy, ips": [ADF + "--cb_type ips"],
    "greedy, dr": [ADF + "--cb_type dr"],
    "greedy, epsilon_decay": [ADF + "--epsilon_decay --model_count 2 --min_scope 20"],
    "first": [ADF + "--first 20"],
    "bag": [ADF + "--bag 5 -q ua"],
    "bag greedify": [ADF + "--bag 3 --greedify --epsilon 0.1"],
    "cover": [ADF + "--cover 3 -q ua"],
    "cover nounif": [ADF + "--cover 4 --nounif --psi 0.5 --cb_type dr"],
    "regcb": [ADF + "--regcb --mellowness 0.01"],
    "regcbopt": [ADF + "--regcbopt --cb_min_cost -1 --cb_max_cost 2"],
    "squarecb": [ADF + "--squarecb -q ua"],
    "squarecb, its flags": [ADF + "--squarecb --gamma_scale 50 --gamma_exponent 0.4 --epsilon 0.1"],
    "squarecb, resumed with its gamma": [
        ADF + "--squarecb --gamma_scale 50",
        "-i {out}/model --gamma_scale 50 --gamma_exponent 0.4 -d {data}/adf.txt -p {out}/p2.txt -f {out}/model2",
    ],
    "squarecb elim": [ADF + "--squarecb --elim --cb_min_cost 0 --cb_max_cost 1"],
    "softmax": [ADF + "--softmax --lambda 5"],
    "rnd": [ADF + "--rnd 2 --rnd_alpha 0.2 --rnd_invlambda 0.3 --epsilon 0.05"],
    "synthcover": [ADF + "--synthcover --synthcoverpsi 0.2 --synthcoversize 40"],
    "graph_feedback": ["--cb_explore_adf --graph_feedback -d {data}/graph.txt -p {out}/p.txt -f {out}/model"],
    "large_action_space": [ADF + "--large_action_space --max_actions 3 --squarecb"],
    "cb_dro": [ADF + "--cb_dro --cb_dro_alpha 0.05"],
    "cb_sample": [ADF + "--cb_sample --random_seed 7"],
    "baseline_challenger_cb": [ADF + "--baseline_challenger_cb"],
    "explore_eval": [ADF + "--explore_eval --epsilon 0.1"],
    "explore_eval squarecb": [ADF + "--explore_eval --squarecb"],
    "automl": [ADF + "--automl 3 --priority_type none --default_lease 20 --oracle_type one_diff"],
    "changing action sets": [
        "--cb_explore_adf --squarecb -d {data}/changing.txt -p {out}/p.txt -f {out}/model",
        "-t -i {out}/model -d {data}/changing.txt -p {out}/p2.txt",
    ],
    "adf coin": [ADF + "--squarecb --coin"],
    "adf nn": [ADF + "--epsilon 0.1 --nn 3"],
    # Exploration over fixed actions
    "cb_explore": ["--cb_explore 4 --epsilon 0.1 " + FIXED],
    "cb_explore first": ["--cb_explore 4 --first 10 " + FIXED],
    "cb_explore bag": ["--cb_explore 4 --bag 3 " + FIXED],
    "cb_explore cover": ["--cb_explore 4 --cover 3 " + FIXED],
    "cb_explore squarecb": ["--cb_explore 4 --squarecb " + FIXED],
    "cb_explore legacy": ["--cb_explore 4 --cb_force_legacy " + FIXED],
    "cb_explore legacy, softmax of bags": ["--cb_explore 4 --cb_force_legacy --bag 4 --greedify " + FIXED],
    "cb_explore legacy cover": ["--cb_explore 4 --cb_force_legacy --cover 3 --nounif " + FIXED],
    "cb_explore legacy first": ["--cb_explore 4 --cb_force_legacy --first 9 " + FIXED],
    # Contextual bandits without exploration
    "cb dr": ["--cb 4 --cb_type dr " + FIXED],
    "cb legacy ips": ["--cb 4 --cb_type ips --cb_force_legacy " + FIXED],
    "cb eval": ["--cb 4 --eval -d {data}/evaluated.txt -p {out}/p.txt -f {out}/model"],
    "cb_adf": ["--cb_adf -d {data}/adf.txt -p {out}/p.txt -r {out}/r.txt -f {out}/model"],
    "cb_adf rank_all": ["--cb_adf --rank_all --cb_type sm -d {data}/adf.txt -p {out}/p.txt -f {out}/model"],
    # Several slots, and actions on a line
    "ccb": ["--ccb_explore_adf -d {data}/ccb.txt -p {out}/p.txt -f {out}/model"],
    "ccb squarecb": ["--ccb_explore_adf --squarecb --all_slots_loss -d {data}/ccb.txt -p {out}/p.txt -f {out}/model"],
    "slates": ["--slates --epsilon 0.2 -d {data}/slates.txt -p {out}/p.txt -f {out}/model"],
    "slates softmax": ["--slates --softmax --lambda 2 -d {data}/slates.txt -p {out}/p.txt -f {out}/model"],
    "cats": [
        "--cats 4 --bandwidth 2 --min_value 0 --max_value 16 --chain_hash "
        "-d {data}/line.txt -p {out}/p.txt -f {out}/model"
    ],
    "cats_pdf": ["--cats_pdf 4 --bandwidth 2 --min_value 0 --max_value 16 -d {data}/line.txt -p {out}/p.txt"],
    # A bandit made of a supervised set
    "cbify": ["--cbify 5 --hash all --epsilon 0.1 " + CLASSES],
    "cbify adf squarecb": ["--cbify 5 --cb_explore_adf --squarecb --hash all " + CLASSES],
    "cbify adf regcbopt": ["--cbify 5 --cb_explore_adf --regcbopt --hash all " + CLASSES],
    "cbify adf cover": ["--cbify 5 --cb_explore_adf --cover 3 --hash all --flip_loss_sign " + CLASSES],
    "cbify_cs": ["--cbify 4 --cbify_cs --cb_explore_adf -d {data}/costs.txt -p {out}/p.txt -f {out}/model"],
    "cbify_ldf": ["--cbify_ldf --cb_explore_adf --squarecb -d {data}/ldf.txt -p {out}/p.txt -f {out}/model"],
    "warm_cb": ["--warm_cb 5 --warm_start 20 --interaction 80 --cb_explore_adf --epsilon 0.1 " + CLASSES],
    # Many classes
    "oaa": ["--oaa 5 -r {out}/r.txt " + CLASSES],
    "oaa probabilities": ["--oaa 5 --probabilities --loss_function logistic " + CLASSES],
    "ect": ["--ect 5 " + CLASSES],
    "log_multi": ["--log_multi 5 " + CLASSES],
    "recall_tree": ["--recall_tree 5 " + CLASSES],
    "csoaa": ["--csoaa 4 -d {data}/costs.txt -p {out}/p.txt -r {out}/r.txt -f {out}/model"],
    "csoaa_ldf": ["--csoaa_ldf m -d {data}/ldf.txt -p {out}/p.txt -r {out}/r.txt -f {out}/model"],
    "wap_ldf": ["--wap_ldf m -d {data}/ldf.txt -p {out}/p.txt -f {out}/model"],
    "search": ["--search 5 --search_task multiclasstask " + CLASSES],
    # Regression and classification
    "squared": [NUMBERS + "-r {out}/r.txt --readable_model {out}/readable.txt --invert_hash {out}/inverted.txt"],
    "quantile": [NUMBERS + "--loss_function quantile --quantile_tau 0.7"],
    "poisson": [NUMBERS + "--loss_function poisson --link poisson"],
    "interactions": [NUMBERS + "-q :: --cubic abb --interactions abab --ignore_linear b"],
    "adaptive, normalized, invariant off": [NUMBERS + "--sgd -l 0.1 --power_t 0.3 --l1 1e-4 --l2 1e-4"],
    "ftrl": [NUMBERS + "--ftrl --ftrl_alpha 0.1"],
    "coin": [NUMBERS + "--coin"],
    "freegrad": [NUMBERS + "--freegrad"],
    "nn": [NUMBERS + "--nn 4 --inpass"],
    "lrq": [NUMBERS + "--lrq ab3 --bit_precision 20"],
    "bfgs": [NUMBERS + "--bfgs --passes 4 --cache_file {out}/scratch.cache --l2 0.1 --predict_only_model"],
    "logistic": [SIGNS + "--loss_function logistic --link logistic -r {out}/r.txt"],
    "hinge": [SIGNS + "--loss_function hinge --binary"],
    "boosting": [SIGNS + "--boosting 4 --alg BBM"],
    "ksvm": [SIGNS + "--ksvm --kernel rbf --l2 1"],
    # Formats, passes, saving and loading
    "json": ["--cb_explore_adf --squarecb --json -d {data}/adf.json -p {out}/p.txt -f {out}/model"],
    "dsjson": ["--cb_explore_adf --squarecb --dsjson -d {data}/adf.dsjson -p {out}/p.txt -f {out}/model -q ua"],
    "dsjson ccb": ["--ccb_explore_adf --dsjson --chain_hash -d {data}/ccb.dsjson -p {out}/p.txt -f {out}/model"],
    "csv": ["--csv -d {data}/numbers.csv -p {out}/p.txt -f {out}/model"],
    "cache, several passes": [NUMBERS + "--passes 5 --cache_file {out}/scratch.cache -k"],
    "cache, several passes, explorer": [ADF + "--squarecb --passes 3 --cache_file {out}/scratch.cache -k"],
    "save and load": [
        ADF + "--squarecb --save_resume -q ua",
        "-i {out}/model -d {data}/more.txt -p {out}/p2.txt -f {out}/model2 --save_resume",
        "-t -i {out}/model2 -d {data}/adf.txt -p {out}/p3.txt",
    ],
    "save and load, fixed actions": [
        "--cb_explore 4 --cover 3 " + FIXED,
        "-i {out}/model -d {data}/fixed.txt -p {out}/p2.txt -f {out}/model2 --preserve_performance_counters",
    ],
    "save and load, classes": ["--oaa 5 " + CLASSES, "-i {out}/model -t -d {data}/classes.txt -p {out}/p2.txt"],
    "predict_only_model": [ADF + "--bag 3 --predict_only_model", "-i {out}/model -t -d {data}/adf.txt -p {out}/p2.txt"],
}


def test_the_table_has_every_explorer_and_many_cases() -> None:
    everything = " ".join(line for lines in COMMANDS.values() for line in lines)
    explorers = ["epsilon", "first", "bag", "cover", "regcb", "regcbopt", "squarecb", "elim", "softmax", "rnd"]
    explorers += ["synthcover", "graph_feedback", "cb_explore", "ccb_explore_adf", "slates", "cats", "cbify"]
    assert all(f"--{flag} " in everything for flag in explorers)
    assert len(COMMANDS) >= 45
    assert "fastcb" not in everything


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, make in DATA.items():
        write(folder / name, make(random.Random(name)))
    return folder


def arguments_of(case: str, data: Path, out: Path) -> list[list[str]]:
    return [[*shlex.split(line.format(data=data, out=out)), "--quiet"] for line in COMMANDS[case]]


def wheel_output(case: str, data: Path, folder: Path) -> Path:
    """The folder of what a case writes on VW's own wheel."""
    out = folder / "stock"
    out.mkdir()
    for arguments in arguments_of(case, data, out):
        vowpalwabbit.Workspace(arg_list=arguments).finish()
    return out


def stock_output(case: str, data: Path, folder: Path) -> Path:
    """The folder of what a case writes on stock VW: its wheel, or the program that VW_FASTCB_STOCK names.

    The wheel for aarch64 is compiled otherwise than ours, so that the tests of our wheel bring a program
    (wheels/try_out.py).
    """
    if STOCK_PROGRAM is None:
        return wheel_output(case, data, folder)
    out = folder / "stock"
    out.mkdir()
    for arguments in arguments_of(case, data, out):
        subprocess.run([STOCK_PROGRAM, *arguments], capture_output=True, check=True, timeout=600)
    return out


def our_output(case: str, data: Path, folder: Path) -> Path:
    out = folder / "ours"
    out.mkdir()
    for arguments in arguments_of(case, data, out):
        ok(*arguments)
    return out


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".cache"}


@pytest.mark.parametrize("case", COMMANDS)
def test_writes_what_the_stock_wheel_writes(case: str, data: Path, tmp_path: Path) -> None:
    ours, stock = written(our_output(case, data, tmp_path)), written(stock_output(case, data, tmp_path))
    assert ours["p.txt"].strip(), "nothing was predicted"
    assert sorted(ours) == sorted(stock)
    assert [name for name in ours if ours[name] != stock[name]] == []


# What VW itself makes of another rounding: an optimizer that stops near its goal, and a network of neurons.
MAGNIFIED = {"graph_feedback": 2e-2, "nn": 2e-5}


@pytest.mark.skipif(platform.machine() == "x86_64", reason="equal to the wheel here, byte for byte")
@pytest.mark.parametrize("case", COMMANDS)
def test_predicts_what_the_wheel_predicts_but_for_its_rounding(
    case: str, data: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    ours = numbers_of(our_output(case, data, tmp_path) / "p.txt")
    wheel = numbers_of(wheel_output(case, data, tmp_path) / "p.txt")
    assert [sorted(line) for line in ours] == [sorted(line) for line in wheel]
    difference = max(map(apart, ours, wheel))
    record_property("difference from VW's wheel", difference)
    assert difference <= MAGNIFIED.get(case, 1e-5)


def apart(ours: dict[int, float], wheel: dict[int, float]) -> float:
    """The largest difference in a line. Of actions that are equally good, rounding decides which is the best."""

    def largest(pairs: Iterable[tuple[float, float]]) -> float:
        return max((abs(mine - other) / max(1, abs(other)) for mine, other in pairs), default=0)

    by_place = largest((ours[place], wheel[place]) for place in wheel)
    by_rank = largest(zip(sorted(ours.values()), sorted(wheel.values()), strict=True))
    return min(by_place, by_rank)


def numbers_of(path: Path) -> list[dict[int, float]]:
    """The numbers in each line of predictions, by action where it is a pmf, else by place."""
    lines = []
    for line in path.read_text().splitlines():
        pairs = re.findall(r"(\d+):([-+.\de]+)", line)
        plain = re.findall(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", line)
        lines.append({int(a): float(p) for a, p in pairs} if pairs else {i: float(p) for i, p in enumerate(plain)})
    return lines


def test_a_model_crosses_over_between_the_stock_wheel_and_ours(data: Path, tmp_path: Path) -> None:
    """Ours goes on from a model of the stock wheel as the wheel itself does."""
    stock = stock_output("save and load", data, tmp_path)
    ours = tmp_path / "ours"
    ours.mkdir()
    arguments = arguments_of("save and load", data, ours)[1]
    ok(*(stock / "model" if word == str(ours / "model") else word for word in arguments))
    assert (ours / "p2.txt").read_bytes() == (stock / "p2.txt").read_bytes()
    assert (ours / "model2").read_bytes() == (stock / "model2").read_bytes()


# The data: small, and the same on every machine.


def logged(
    seed: int, form: Callable[[Event], str], count: int = 150, **shape: int | tuple[int, int]
) -> Callable[[random.Random], list[str]]:
    return lambda _: [form(event) for event in events(count, seed=seed, **shape)]  # type: ignore[arg-type]


def with_graph(event: Event) -> str:
    graph = " ".join(f"{a},{a},1" for a in range(event.actions)) + " 0,1,0.5"
    return event.adf().replace("shared ", f"shared graph {graph} ", 1)


def evaluated(event: Event) -> str:
    return f"{event.context % event.actions + 1} {event.fixed()}"


def ccb(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(60):
        user, first, second = rng.randrange(4), *rng.sample(range(4), 2)
        lines += [f"ccb shared |u user{user}\n"] + [f"ccb action |a item{a} w:{a / 4}\n" for a in range(4)]
        for slot, chosen in enumerate((first, second)):
            cost = rng.choice([0, -1]) if chosen == user else 0
            others = ",".join(f"{a}:0.25" for a in range(4) if a != chosen)
            lines.append(f"ccb slot {chosen}:{cost}:0.25,{others} |s slot{slot}\n")
        lines.append("\n")
    return lines


def ccb_dsjson(rng: random.Random) -> list[str]:
    lines = []
    for i in range(60):
        user, chosen = rng.randrange(4), rng.sample(range(4), 2)
        outcomes = [
            {"_label_cost": -1.0 if a == user else 0.0, "_a": [a, *(b for b in range(4) if b != a)], "_p": [0.25] * 4}
            for a in chosen
        ]
        context = {"u": {f"user{user}": 1}, "_multi": [{"a": {f"item{a}": 1}} for a in range(4)]}
        context["_slots"] = [{"s": {"first": 1}}, {"s": {"second": 1}}]
        lines.append(json.dumps({"EventId": str(i), "c": context, "_outcomes": outcomes, "VWState": {"m": "m"}}) + "\n")
    return lines


def slates(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(60):
        user, first, second = rng.randrange(2), rng.randrange(2), rng.randrange(4)
        cost = -1 if first == user else 0
        lines.append(f"slates shared {cost} |u user{user}\n")
        lines += [f"slates action 0 |a a{a}\n" for a in range(2)] + [f"slates action 1 |b b{b}\n" for b in range(4)]
        for size, chosen in ((2, first), (4, second)):
            others = ",".join(f"{a}:{1 / size}" for a in range(size) if a != chosen)
            lines.append(f"slates slot {chosen}:{1 / size},{others} |s size{size}\n")
        lines.append("\n")
    return lines


def on_a_line(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(120):
        place, chosen = rng.randrange(16), rng.uniform(0, 16)
        lines.append(f"ca {chosen:.3f}:{abs(place - chosen) / 16:.3f}:0.0625 |x p{place} v:{rng.random():.3f}\n")
    return lines


def classes(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(200):
        k = rng.randrange(5)
        noise = rng.randrange(8)
        lines.append(f"{k + 1} |x f{k} g{noise} v:{rng.random():.3f}\n")
    return lines


def costs(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(120):
        k = rng.randrange(4)
        label = " ".join(f"{a + 1}:{0.1 if a == k else round(rng.uniform(0.4, 1), 3)}" for a in range(4))
        lines.append(f"{label} |x f{k} v:{rng.random():.3f}\n")
    return lines


def ldf(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(100):
        k = rng.randrange(3)
        lines += [f"{a + 1}:{0 if a == k else 1} |x f{k}_{a} v:{rng.random():.3f}\n" for a in range(3)] + ["\n"]
    return lines


def numbers(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(150):
        x, y, word = rng.uniform(-1, 1), rng.uniform(-1, 1), rng.randrange(10)
        lines.append(f"{2 * x - y + 0.1 * word:.4f} |a x:{x:.4f} w{word} |b y:{y:.4f}\n")
    return lines


def numbers_csv(rng: random.Random) -> list[str]:
    rows = [(rng.uniform(-1, 1), rng.uniform(-1, 1)) for _ in range(100)]
    return ["a|x,b|y,_label\n"] + [f"{x:.4f},{y:.4f},{2 * x - y:.4f}\n" for x, y in rows]


def signs(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(150):
        x, y = rng.uniform(-1, 1), rng.uniform(-1, 1)
        lines.append(f"{1 if x - y + rng.gauss(0, 0.2) > 0 else -1} |a x:{x:.4f} |b y:{y:.4f} w{rng.randrange(5)}\n")
    return lines


DATA: dict[str, Callable[[random.Random], list[str]]] = {
    "adf.txt": logged(1, Event.adf),
    "more.txt": logged(2, Event.adf),
    "changing.txt": logged(3, Event.adf, actions=(1, 7)),
    "graph.txt": logged(4, with_graph, count=30),  # VW solves an optimization problem for each
    "fixed.txt": logged(5, Event.fixed),
    "evaluated.txt": logged(5, evaluated),
    "adf.json": logged(6, Event.json),
    "adf.dsjson": logged(7, Event.dsjson),
    "ccb.txt": ccb,
    "ccb.dsjson": ccb_dsjson,
    "slates.txt": slates,
    "line.txt": on_a_line,
    "classes.txt": classes,
    "costs.txt": costs,
    "ldf.txt": ldf,
    "numbers.txt": numbers,
    "numbers.csv": numbers_csv,
    "signs.txt": signs,
}
