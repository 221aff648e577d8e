"""benchmarks/science/never_behind.py: outcomes come as late as it says, rivals are what they claim, runs resume."""

import csv
import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

SCIENCE = Path(__file__).parents[2] / "benchmarks" / "science"
sys.path.insert(0, str(SCIENCE))

import linucb  # noqa: E402, behind the path
import never_behind  # noqa: E402
import real  # noqa: E402
import rivals  # noqa: E402
import stand_ins  # noqa: E402
import worlds  # noqa: E402
from configurations import read_configurations  # noqa: E402
from lines import Key, Lines  # noqa: E402
from problems import FastCBPlayer, Problem, play  # noqa: E402


class Diary:
    """A player that writes down what happens."""

    def __init__(self):
        self.events = []

    def decide(self, t):
        self.events.append(("decide", t))
        return t % 2

    def learn(self, t, action, outcome):
        self.events.append(("learn", t, action, outcome))


def small_problem(rounds=6, actions=2, columns=3, seed=0, noun="cost"):
    rng = np.random.default_rng(seed)
    expected = rng.random((rounds, actions))
    return Problem(rng.normal(size=(rounds, columns)), np.round(expected), expected, noun)


def offers(rounds=80, actions=4, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    expected = rng.random((rounds, actions))
    features = rng.normal(size=(rounds, actions, columns))
    return Problem(rng.normal(size=(rounds, columns)), np.round(expected), expected, "reward", features)


@pytest.mark.parametrize("delay", [0, 1, 4, 9])
def test_an_outcome_is_learned_once_as_many_further_rounds_are_decided(delay):
    problem, diary = small_problem(), Diary()
    play(problem, diary, delay)
    expected = []
    for t in range(problem.rounds):
        expected.append(("decide", t))
        if t >= delay:
            late = t - delay
            expected.append(("learn", late, late % 2, problem.outcomes[late, late % 2]))
    assert diary.events == expected


@pytest.mark.parametrize("noun", ["cost", "reward"])
def test_the_result_compares_what_was_chosen_with_the_best_and_with_all(noun):
    problem = small_problem(noun=noun)
    result = play(problem, Diary(), 0)
    chosen = problem.expected[np.arange(6), np.arange(6) % 2]
    best = problem.expected.min(axis=1) if noun == "cost" else problem.expected.max(axis=1)
    assert result["value"] == pytest.approx(chosen.mean())
    assert result["best"] == pytest.approx(best.mean())
    assert result["uniform"] == pytest.approx(problem.expected.mean())


def test_decisions_of_fastcb_wait_for_their_outcomes():
    problem = small_problem(rounds=50)
    player = FastCBPlayer(problem, 1)
    play(problem, player, 10)
    assert player._bandit.events_ == 40
    assert sorted(player._waiting) == [*range(40, 50)]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_regression_in_events_says_what_one_in_columns_says(sparse):
    problem = small_problem(rounds=120, actions=3, columns=4)
    by_columns = rivals.FixedActions(problem, logistic=False)
    contexts = [scipy.sparse.csr_array(row[None]) for row in problem.contexts] if sparse else problem.contexts
    by_events = rivals.FixedActionsByEvents(Problem(contexts, problem.outcomes, problem.expected, "cost"))
    rng = np.random.default_rng(3)
    for t in range(problem.rounds):
        for ours, theirs in zip(by_events.beliefs(t), by_columns.beliefs(t), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        action, target = int(rng.integers(3)), float(rng.random())
        by_columns.learn(t, action, target)
        by_events.learn(t, action, target)


def test_a_shared_regression_in_events_says_what_one_in_columns_says():
    problem = offers()
    by_columns = rivals.SharedEmbeddings(problem, logistic=False)
    by_events = rivals.SharedEmbeddingsByEvents(problem)
    rng = np.random.default_rng(3)
    for t in range(problem.rounds):
        (means, covariance), (other_means, variances) = by_columns.beliefs(t), by_events.beliefs(t)
        np.testing.assert_allclose(means, other_means, atol=1e-9)
        np.testing.assert_allclose(np.diag(covariance), np.diag(variances), atol=1e-9)
        action, target = int(rng.integers(4)), float(rng.random())
        by_columns.learn(t, action, target)
        by_events.learn(t, action, target)


def test_features_of_words_are_the_columns_that_they_stand_for():
    """The same regression, once on numbers and once on dictionaries of them."""
    problem = offers(rounds=60)
    contexts = [{f"c{k}": value for k, value in enumerate(row)} for row in problem.contexts]
    tables = [[{f"a{k}": v for k, v in enumerate(row)} for row in table] for table in problem.action_features]
    words = rivals.SharedWords(Problem(contexts, problem.outcomes, problem.expected, "reward", tables), logistic=True)
    numbers = rivals.SharedEmbeddings(problem, logistic=True)
    for t in range(problem.rounds):
        for ours, theirs in zip(words.beliefs(t), numbers.beliefs(t), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        words.learn(t, t % 4, float(t % 3 == 0))
        numbers.learn(t, t % 4, float(t % 3 == 0))


def test_linucb_takes_the_actions_of_the_one_that_was_compared_with_mabwiser():
    labels = np.random.default_rng(1).integers(3, size=200)
    contexts = np.random.default_rng(2).normal(size=(200, 4)) + np.eye(3, 4)[labels]
    costs = 1 - np.eye(3)[labels]
    player = rivals.LinUCB(Problem(contexts, costs, costs, "cost"), 0, alpha=0.5)
    actions = []
    for t in range(200):
        actions.append(player.decide(t))
        player.learn(t, actions[-1], costs[t, actions[-1]])
    rows = np.column_stack([contexts, np.ones(200)])
    assert actions == list(linucb.actions_of(rows, labels, 3, 0.5))


@pytest.mark.parametrize("player", [rivals.Thompson, rivals.SquareCB, rivals.LinUCB, FastCBPlayer])
@pytest.mark.parametrize("kind", ["fixed", "numbers", "words"])
def test_everybody_finds_the_best_of_two_actions(player, kind):
    rounds = 400
    expected = np.tile([0.1, 0.9], (rounds, 1))
    outcomes = (np.random.default_rng(0).random((rounds, 2)) < expected).astype(float)
    features = {
        "fixed": None,
        "numbers": np.tile(np.eye(2), (rounds, 1, 1)),
        "words": [[{"id": "p"}, {"id": "q"}]] * rounds,
    }
    contexts = [{"x": 1.0}] * rounds if kind == "words" else np.ones((rounds, 1))
    problem = Problem(contexts, outcomes, expected, "reward", features[kind])
    assert play(problem, player(problem, 0), 5)["value"] > 0.75


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_a_world_is_made_from_its_seed_and_holds_probabilities(name):
    problem, again, other = (worlds.world(name, seed) for seed in (3, 3, 4))
    assert problem.expected.min() >= 0
    assert problem.expected.max() <= 1
    assert set(np.unique(problem.outcomes)) == {0, 1}
    assert np.array_equal(problem.outcomes, again.outcomes)
    assert not np.array_equal(problem.outcomes, other.outcomes)
    assert len(problem.contexts) == problem.rounds
    # What happens is what is expected, up to luck.
    assert abs((problem.outcomes - problem.expected).mean()) < 4 / np.sqrt(problem.outcomes.size)


def data_folder(path):
    """A few readers, books and questions in the form of the real ones."""
    files = {
        "books_users": [("user", "country", "age"), *((u, "usa" if u % 2 else "", u + 10) for u in range(60))],
        "books_items": [("item", "author", "year", "publisher"), *((i, f"A{i % 3}", 1990 + i, "P") for i in range(12))],
        "books_ratings": [
            ("user", "item", "rating"),
            *((u, i, 1 + (u + i) % 10) for u in range(60) for i in range(12)),
        ],
        "banking77": [("text", "category"), *((f"number {k} card", f"c{k % 3}") for k in range(90))],
    }
    for name, rows in files.items():
        with gzip.open(path / f"{name}.csv.gz", "wt", newline="") as file:
            csv.writer(file).writerows(rows)


@pytest.fixture
def data(tmp_path, monkeypatch):
    data_folder(tmp_path)
    monkeypatch.setenv(real.FOLDER, str(tmp_path))
    real._books.cache_clear()
    real._questions.cache_clear()
    yield tmp_path
    real._books.cache_clear()
    real._questions.cache_clear()


def test_questions_that_choose_do_not_report(data):
    rows = {}
    for seed in (0, 1, 100, 200):
        problem = real.banking("banking, words", seed)
        rows[seed] = {tuple(row.indices) for row in problem.contexts}, problem.rounds
    assert rows[0][1] == rows[1][1]
    assert rows[0][1] + rows[100][1] == rows[200][1] == 90


def test_a_reward_is_a_rating_of_eight_and_more(data):
    problem = real.books(0, rounds=30)
    assert problem.expected.shape == (30, 10)
    readers = real._books()[2]
    for table, outcomes in zip(problem.action_features, problem.outcomes, strict=True):
        ids = [row["id"] for row in table]
        assert len(set(ids)) == 10
        assert any([dict(rated)[i] for i in ids] == list(outcomes) for rated in readers.values())


def test_people_whose_films_choose_do_not_report():
    films, _, later = stand_ins._films()
    liked = {person: dict(ratings) for person, ratings in later.items()}
    choosing = {person for person in later if not stand_ins.in_reporting_half(person)}
    for seed, people in ((0, choosing), (100, set(later) - choosing)):
        problem = stand_ins.films_offered("films, groups", seed, rounds=20)
        for table, outcomes in zip(problem.action_features, problem.outcomes, strict=True):
            ids = [row["id"] for row in table]
            assert set(ids) <= set(films)
            assert any([liked[person].get(i) for i in ids] == list(outcomes) for person in people)


def configurations_file(tmp_path, text):
    path = tmp_path / "configurations.toml"
    path.write_text(text)
    return path


def test_what_was_played_is_not_played_again(tmp_path, capsys):
    path = configurations_file(tmp_path, "[a]\noracle = 'gd'\nrival = true\n")
    words = [
        "run",
        "--file",
        str(path),
        "--games",
        "level 0.95/0.85, kinds",
        "--seeds",
        "0",
        "3",
        "--results",
        str(tmp_path),
    ]
    assert never_behind.run(never_behind.options_of(words)) == 0
    lines = tmp_path / "lines.jsonl"
    before = lines.read_text()
    assert before.count("\n") == 2
    path.write_text("[another-name]\noracle = 'gd'\n")
    assert never_behind.run(never_behind.options_of(words)) == 0
    assert lines.read_text() == before
    path.write_text("[a]\noracle = 'gd'\nrevision = 1\n")
    with lines.open("a") as file:
        file.write('{"key": "torn')
        file.write("\n")
    assert never_behind.run(never_behind.options_of(words)) == 0
    assert len(Lines(tmp_path).keys()) == 4
    key = read_configurations(path)[0].key
    assert Key(key, "worlds: level 0.95/0.85, kinds", 3, 0) in set(Lines(tmp_path).keys())


def test_a_failing_configuration_does_not_stop_the_others(tmp_path, capfd):
    path = configurations_file(tmp_path, "[wrong]\noracle = 'no such'\n[right]\noracle = 'gd'\n")
    words = [
        "run",
        "--file",
        str(path),
        "--games",
        "level 0.95/0.85, kinds",
        "--seeds",
        "0",
        "--results",
        str(tmp_path),
    ]
    assert never_behind.run(never_behind.options_of(words)) == 1
    assert [line["label"] for _, line in Lines(tmp_path)] == ["right"]
    assert "no such" in capfd.readouterr().err


def test_the_report_marks_a_candidate_that_is_behind(tmp_path, capsys):
    path = configurations_file(
        tmp_path, "[good]\nrival = true\n[bad]\ncandidate = true\nx = 1\n[near]\ncandidate = true\nx = 2\n"
    )
    lines = Lines(tmp_path)
    regrets = {"good": 0.1, "bad": 0.1285, "near": 0.1275}
    for configuration in read_configurations(path):
        for seed in (0, 1):
            result = {"value": 0.5 - regrets[configuration.label], "best": 0.5, "uniform": 0.2}
            lines.add(configuration, "worlds: clicks", seed, 100, result)
    words = ["report", "--file", str(path), "--seeds", "0-1", "--delays", "100", "--results", str(tmp_path)]
    assert never_behind.show(never_behind.options_of(words)) == 0
    text = capsys.readouterr().out
    assert "| clicks | 100 | 2 | .1000 ± .0000 | .1285 ± .0000 **<** | .1275 ± .0000 | .1280 |" in text
    assert "bad: behind in 1 of 1" in text
    assert "near: behind in 0 of 1" in text


@pytest.mark.parametrize(("regret", "mark"), [(0.032, ""), (0.034, " **<**")])
def test_beside_a_safe_action_a_candidate_must_have_a_third_of_what_0_3_has(tmp_path, capsys, regret, mark):
    path = configurations_file(tmp_path, "[newton]\n[new]\ncandidate = true\nx = 1\n")
    for configuration, value in zip(read_configurations(path), (0.1, regret), strict=True):
        result = {"value": value, "best": 0.0, "uniform": 0.4}
        Lines(tmp_path).add(configuration, "worlds: a safe action", 0, 0, result)
    words = ["report", "--file", str(path), "--seeds", "0", "--parts", "worlds", "real", "--results", str(tmp_path)]
    assert never_behind.show(never_behind.options_of(words)) == 0
    ratio = f"{10 * regret:.2f}"
    text = capsys.readouterr().out
    assert text.count(f"new: {ratio} times the regret of 0.3 in worlds: a safe action{mark}.") == 1


def test_seeds_are_read_from_ranges():
    assert never_behind.seeds_of(["3", "5-7"]) == [3, 5, 6, 7]
