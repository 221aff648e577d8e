import pytest

from vw_fastcb.bakeoff.grid import BUILT_IN, EXAMPLE, Algorithm, BadGrid, find_grid


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
        "  bagging: {flags: '--cbify {K} --cb_explore_adf --bag 5', epsilon: [0.02, 0.1]}\n"
    )
    toml, yaml = find_grid(str(tmp_path / "g.toml")), find_grid(str(tmp_path / "g.yaml"))
    assert toml.algorithms == yaml.algorithms
    fastcb, bagging = toml.algorithms
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
        ('steps = [1]\n[algorithms.mine]\nflags = "--cbify {K} -l 0.3"', "set l,"),
        ("[algorithms.mine]\nflags = '--cbify {K} \"'", "No closing quotation"),
        ("[algorithms]\nmine = 5", "must be a table of flags with the values to try, not 5"),
        ("steps = [", "is not a TOML file"),
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
    with pytest.raises(BadGrid, match="neither 'paper' nor 'quick' nor a file"):
        find_grid("papr")


def test_an_unknown_algorithm_is_refused_with_the_known_ones():
    with pytest.raises(BadGrid, match=r"no algorithm called FastCB; it has FastCB\.L, SquareCB\.L"):
        find_grid("paper").only(["FastCB"])
