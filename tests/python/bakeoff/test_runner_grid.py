import pytest

from vw_fastcb.bakeoff.grid import BUILT_IN, EXAMPLE, NO_STEP, Algorithm, BadGrid, find_grid


def test_the_papers_grid_has_108_configurations_of_each_igw_algorithm():
    grid = find_grid("paper")
    counts = {algorithm.name: len(algorithm.configurations()) for algorithm in grid.algorithms}
    assert counts == {
        "FastCB.L": 108,
        "SquareCB.L": 108,
        "SquareCB.S": 108,
        "RegCB.S": 27,
        "AdaCB.S": 108,
        "epsilon-greedy": 27,
        "Supervised.L": 9,
        "Supervised.S": 9,
    }


def test_the_default_grid_adds_the_greedy_rule_and_the_second_order_oracle_which_has_nothing_to_tune():
    added = {algorithm.name: algorithm for algorithm in find_grid("all").algorithms[8:]}
    assert find_grid("all").algorithms[:8] == find_grid("paper").algorithms
    assert {name: len(one.configurations()) for name, one in added.items()} == {
        "FastCB.N": 1,
        "SquareCB.N": 1,
        "greedy.N": 1,
        "greedy.L": 9,
        "Supervised.N": 1,
    }
    quick = {algorithm.name: algorithm for algorithm in find_grid("quick").algorithms}
    assert quick.keys() == BUILT_IN.keys()
    assert [len(quick[name].configurations()) for name in added] == [1, 1, 1, 3, 1]
    (shipped,) = added["SquareCB.N"].configurations()
    assert (shipped.text, shipped.step) == ("", NO_STEP)
    line = "--cbify 4 --cb_explore 4 --fastcb --fastcb_oracle newton --fastcb_allocation igw --bit_precision 9"
    assert " ".join(shipped.command_line(4, 9)) == line
    assert added["SquareCB.N"].description == added["SquareCB.N"].flags


def test_what_is_told_every_label_has_no_command_line_but_engine_flags():
    (shipped,) = BUILT_IN["Supervised.N"].configurations()
    with pytest.raises(ValueError, match=r"Supervised\.N learns the cost of every class.*Playable\.losses"):
        shipped.command_line(3, 9)
    assert " ".join(shipped.engine_flags(3, 9)) == "--cb_explore 3 --fastcb --fastcb_oracle newton --bit_precision 9"
    assert BUILT_IN["Supervised.N"].description.endswith("newton; every label seen")


def test_steps_for_all_are_not_for_algorithms_without_a_step(tmp_path):
    (tmp_path / "g.toml").write_text(
        "steps = [0.1, 1]\n"
        '[algorithms."FastCB.N"]\n'
        '[algorithms."FastCB.L"]\n'
        '[algorithms.sure]\nflags = "--cbify {K} --fastcb --fastcb_oracle=newton"\nfastcb_memory = [100, 1000]\n'
        '[algorithms.coin]\nflags = "--cbify {K} --coin"\nsteps = []\n'
    )
    of = {algorithm.name: algorithm for algorithm in find_grid(str(tmp_path / "g.toml")).algorithms}
    steps = {name: {one.step for one in algorithm.configurations()} for name, algorithm in of.items()}
    assert steps == {"FastCB.N": {NO_STEP}, "FastCB.L": {0.1, 1.0}, "sure": {NO_STEP}, "coin": {NO_STEP}}
    assert [one.text for one in of["sure"].configurations()] == ["fastcb_memory=100", "fastcb_memory=1000"]
    assert "--learning_rate" not in of["coin"].configurations()[0].command_line(3, 18)


def test_configurations_have_canonical_texts():
    configuration = BUILT_IN["FastCB.L"].configurations()[0]
    assert (configuration.text, configuration.step) == ("gamma_scale=10 gamma_exponent=0.25", 0.001)
    assert BUILT_IN["Supervised.L"].configurations()[0].text == ""


def test_the_example_file_is_a_grid_in_toml_and_in_yaml(tmp_path):
    (tmp_path / "g.toml").write_text(EXAMPLE)
    (tmp_path / "g.yaml").write_text(
        "steps: [0.01, 0.1, 1]\n"
        "algorithms:\n"
        "  FastCB.L: {gamma_scale: [10, 100, 1000]}\n"
        "  FastCB.N:\n"
        "  bagging: {flags: '--cbify {K} --cb_explore_adf --bag 5', epsilon: [0.02, 0.1]}\n"
    )
    toml, yaml = find_grid(str(tmp_path / "g.toml")), find_grid(str(tmp_path / "g.yaml"))
    assert toml.algorithms == yaml.algorithms
    fastcb, shipped, bagging = toml.algorithms
    assert len(shipped.configurations()) == 1
    assert len(fastcb.configurations()) == 3 * 2 * 3
    line = " ".join(bagging.configurations()[-1].command_line(4, 18))
    assert line == "--cbify 4 --cb_explore_adf --bag 5 --epsilon 0.1 --learning_rate 1 --bit_precision 18"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stepz = [1]", "but has stepz"),
        ("steps = [1]", "must have the table 'algorithms'"),
        ("[algorithms.mine]\nepsilon = [1]", "has no 'flags'"),
        ('[algorithms.mine]\nflags = "--oaa 3"', "{K} for the number of classes"),
        ('[algorithms."FastCB.L"]\ngamma_scale = ["big"]', "must be a list of numbers"),
        ('[algorithms."FastCB.L"]\ngamma_scale = []', "must be a list of numbers"),
        ('steps = [0.1, -1]\n[algorithms."FastCB.L"]', "steps must be above 0, not -1"),
        ('[algorithms."FastCB.L"]\ngamma_scale = [nan]', "must be a list of numbers"),
        ('[algorithms."FastCB.L"]\ncb_explore = [3]', "set cb_explore"),
        ('[algorithms.mine]\nflags = "--cbify {K} --epsilon 0.3"\nepsilon = [0.1]', "set epsilon"),
        ('[algorithms.mine]\nflags = "--cbify {K} --epsilon=0.3"\nepsilon = [0.1]', "set epsilon"),
        ('steps = [1]\n[algorithms.mine]\nflags = "--cbify {K} -l 0.3"', "set learning_rate,"),
        ("[algorithms.mine]\nflags = '--cbify {K} \"'", "No closing quotation"),
        ("[algorithms]\nmine = 5", "must be a table of flags with the values to try, not 5"),
        ("steps = [", "is not a TOML file"),
        ('steps = []\n[algorithms."FastCB.L"]', "must be a list of numbers"),
        ('[algorithms."FastCB.N"]\nsteps = [1]', "FastCB.N has no step size to set"),
        ('[algorithms.mine]\nflags = "--cbify {K} --fastcb --fastcb_oracle newton"\nsteps = 1', "has no step size"),
        ('[algorithms."greedy.L"]\ngamma_scale = [1]', "set gamma_scale"),
    ],
)
def test_a_wrong_grid_file_is_refused_with_what_is_wrong(tmp_path, text, message):
    (tmp_path / "g.toml").write_text(text)
    with pytest.raises(BadGrid) as refusal:
        find_grid(str(tmp_path / "g.toml"))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    "text", ["algorithms: {1: {steps: 1}}", "algorithms: {FastCB.L: [1, 2]}", "algorithms: {FastCB.L: a}"]
)
def test_a_wrong_yaml_file_is_refused_too(tmp_path, text):
    (tmp_path / "g.yaml").write_text(text)
    with pytest.raises(BadGrid, match="must be"):
        find_grid(str(tmp_path / "g.yaml"))


def test_values_are_given_to_vw_as_they_are_written():
    tried = (1_000_000.0, 0.12345678, 0.12345679, 1e-7, 0.1)
    configurations = Algorithm("own", "--cbify {K}", {"seed": tried}, steps=(2.0,)).configurations()
    assert [one.text for one in configurations] == [
        *("seed=1000000", "seed=0.12345678", "seed=0.12345679", "seed=1e-07", "seed=0.1"),
    ]
    assert configurations[0].command_line(3, 18)[2:6] == ["--seed", "1000000", "--learning_rate", "2"]


def test_an_unknown_grid_is_refused_with_an_example():
    with pytest.raises(BadGrid, match="neither 'all' nor 'paper' nor 'quick' nor a file"):
        find_grid("papr")


def test_an_unknown_algorithm_is_refused_with_the_known_ones():
    with pytest.raises(BadGrid, match=r"no algorithm called FastCB; it has FastCB\.L, SquareCB\.L"):
        find_grid("paper").only(["FastCB"])


def test_the_papers_values_are_tried():
    igw = {"gamma_scale": (10, 50, 100, 400, 700, 1000), "gamma_exponent": (0.25, 0.5)}
    tried = {one.name: dict(one.parameters) for one in find_grid("paper").algorithms}
    assert tried["FastCB.L"] == tried["SquareCB.L"] == tried["SquareCB.S"] == igw
    for algorithm in find_grid("paper").algorithms:
        assert algorithm.steps == (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
