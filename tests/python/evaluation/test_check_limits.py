"""The checks of a log flip where their formulas say: honest logs hardly ever come near, so none would notice."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp, rel_entr

from evaluation import naive
from evaluation.worlds import line
from vw_fastcb.evaluation import FrameLog, check, open_log
from vw_fastcb.evaluation.checks import FALSE_ALARMS

BINS, ACTIONS = 14, 64  # of probabilities, and the actions that are looked at one by one
EVENTS = 4000


def p_value(played, expected, variance):
    """Bennett's supermartingale with 16 bets, a half of the wealth on each side (too many, and too few)."""
    distance = abs(played - expected)
    bets = [2.0**-k for k in range(16)]
    exponents = [bet * distance - variance * (math.exp(bet) - 1 - bet) for bet in bets]
    return min(1.0, math.exp(-(logsumexp(exponents) - math.log(len(bets)) - math.log(2))))


def first_flagged(of, start, end, limit):
    """The first count whose p-value is at the limit or below."""
    return next(count for count in range(start, end) if of(count) <= limit)


def of_check(found, name):
    (one,) = (one for one in found.findings if one.check == name)
    return one


# Probabilities


def uniform_frame(played):
    """Uniform choices of two actions, of which the first is played so often."""
    actions = (np.arange(EVENTS) * 7919 % EVENTS >= played).astype(int)  # spread over the log
    assert (actions == 0).sum() == played
    return FrameLog({"reward": np.zeros(EVENTS), "action": actions, "pmf": [[0.5, 0.5]] * EVENTS}, pmf="pmf")


def test_an_action_that_is_played_too_often_is_wrong_from_its_limit_on():
    limit = FALSE_ALARMS / 3 / (BINS + ACTIONS)
    first = first_flagged(lambda count: p_value(count, EVENTS / 2, EVENTS / 4), EVENTS // 2, EVENTS, limit)
    assert p_value(first - 1, EVENTS / 2, EVENTS / 4) < 1.5 * limit  # what is twice as large is seen
    below, at = (of_check(check(uniform_frame(count)), "probabilities") for count in (first - 1, first))
    assert (below.is_problem, below.details) == (False, {"questions": BINS + ACTIONS})
    assert at.is_problem
    for one in at.details["wrong"]:
        assert one["p_value"] == pytest.approx(p_value(first, EVENTS / 2, EVENTS / 4), rel=1e-9)
    assert {one["what"] for one in at.details["wrong"]} == {"action 0", "action 1"}  # too often, and too seldom


def test_a_bin_of_probabilities_is_wrong_from_its_limit_on():
    """Two groups of actions share a bin each, so that no single action is played too often."""
    limit = FALSE_ALARMS / 3 / (BINS + ACTIONS)
    n, rare = 6000, 0.15
    expected, variance = n * rare, n * rare * (1 - rare)
    first = first_flagged(lambda count: p_value(count, expected, variance), int(expected), n, limit)

    def flagged(played):
        likely = np.arange(n) % 2  # the action that is likely in each event; the other one is rare
        actions = np.where(np.arange(n) // 2 * 2 % n < 2 * (played // 2), 1 - likely, likely)
        if played % 2:
            actions[-1] = 1 - actions[-1]
        assert (actions != likely).sum() == played
        pmfs = [[1 - rare, rare] if one == 0 else [rare, 1 - rare] for one in likely]
        return of_check(
            check(FrameLog({"reward": np.zeros(n), "action": actions, "pmf": pmfs}, pmf="pmf")), "probabilities"
        )

    assert not flagged(first - 1).is_problem
    found = flagged(first)
    assert found.is_problem
    assert {one["what"] for one in found.details["wrong"]} == {
        "actions with a probability from 0.1 to 0.2",
        "actions with a probability from 0.8 to 0.9",
    }
    assert found.details["wrong"][0]["p_value"] == pytest.approx(p_value(first, expected, variance), rel=1e-9)


def write(path, rows):
    """A log of uniform choices of two actions: rows of context, action and reward."""
    with path.open("w") as file:
        for number, (context, action, reward) in enumerate(rows):
            one = line({"user": "u", "age": 0.0}, action, np.array([0.5, 0.5]), reward, f"e{number}")
            one["c"]["x"] = context
            file.write(json.dumps(one) + "\n")
    return open_log(path, reward_range=(0, 1))


def test_questions_about_contexts_share_the_error_with_all_others(tmp_path):
    """Where v is A, action 0 is played too often, and elsewhere as much too seldom. The first 500 only ask."""
    first_events, n = 500, 2500
    has_a = np.arange(n) % 2 == 0
    asked = (n - first_events) // 2  # events in which v is A, and as many in which it is B
    # There are two questions, v is A and v is B, and two actions for each.
    limit = FALSE_ALARMS / 3 / (BINS + ACTIONS + 2 * 2)
    first = first_flagged(lambda count: p_value(count, asked / 2, asked / 4), asked // 2, asked, limit)

    def found(played):
        seen = {True: 0, False: 0}
        rows = []
        for number in range(n):
            is_a = bool(has_a[number])
            if number < first_events:
                action = number // 2 % 2
            else:
                seen[is_a] += 1
                # Spread evenly, so that nothing drifts; B is the mirror of A.
                before, after = ((k * played) // asked for k in (seen[is_a] - 1, seen[is_a]))
                action = int((after > before) != is_a)
            rows.append(({"v=": "A" if is_a else "B"}, action, 0.0))
        return of_check(check(write(tmp_path / "log.dsjson", rows)), "probabilities")

    below, at = found(first - 1), found(first)
    assert (below.is_problem, below.details) == (False, {"questions": BINS + ACTIONS + 4})
    assert at.is_problem
    assert {one["what"] for one in at.details["wrong"]} == {
        f"action {a} where x.v is {v}" for a in (0, 1) for v in ("A", "B")
    }
    assert at.details["wrong"][0]["played"] in (first, asked - first)
    assert at.details["wrong"][0]["p_value"] == pytest.approx(p_value(first, asked / 2, asked / 4), rel=1e-9)


# Contexts


def chernoff(count, n, error):
    """The two probabilities of a coin at which such a share is just as unlikely as the error."""
    share = count / n

    def excess(p):
        return n * (rel_entr(share, p) + rel_entr(1 - share, 1 - p)) - math.log(1 / error)

    return brentq(excess, 1e-12, share), brentq(excess, share, 1 - 1e-12)


@pytest.mark.parametrize("further", [0, 3], ids=["two questions", "eight questions"])
def test_contexts_drift_where_the_bounds_of_both_halves_part(tmp_path, further):
    """Each of m shares has two ends in two halves: the error of an end is a 4m-th of what the checks share."""
    n, first_events = 3000, 500
    halves = (n // 2 - first_events, n // 2)
    error = FALSE_ALARMS / 3 / (4 * (2 + 2 * further))
    before = halves[0] // 2

    def is_apart(count):
        return chernoff(before, halves[0], error)[1] < chernoff(count, halves[1], error)[0]

    first = next(count for count in range(halves[1] // 2, halves[1]) if is_apart(count))

    def found(count):
        rows = []
        for number in range(n):
            late = number >= n // 2
            many = count if late else before
            place, size = (number - n // 2, halves[1]) if late else (number - first_events, halves[0])
            is_a = number % 2 == 0 if place < 0 else (place + 1) * many // size > place * many // size
            context = {"v=": "A" if is_a else "B"}
            context |= {f"w{k}=": "C" if (number + k) % 2 else "D" for k in range(further)}
            rows.append((context, number % 2 if number % 4 < 2 else 1 - number % 2, 0.0))
        return of_check(check(write(tmp_path / "log.dsjson", rows)), "contexts")

    below, at = found(first - 1), found(first)
    assert (below.is_problem, below.words) == (False, f"Contexts do not drift ({2 + 2 * further} features).")
    assert at.is_problem
    shares = {what: (before, after) for what, before, after in at.details["moved"]}
    assert shares["x.v is A"] == (before / halves[0], first / halves[1])
    assert shares.keys() == {"x.v is A", "x.v is B"}


@pytest.mark.parametrize(("count", "is_drift"), [(49, False), (50, True)])
def test_a_feature_that_comes_later_is_drift_from_a_tenth_of_the_events_on(tmp_path, count, is_drift):
    """New names are looked for in the last 500 events, when there are 1000."""
    rows = []
    for number in range(2000):
        context = {"v=": "A" if number // 2 % 2 else "B"}
        if 500 <= number < 500 + count:
            context["late="] = "C"
        rows.append((context, number % 2, 0.0))
    found = of_check(check(write(tmp_path / "log.dsjson", rows)), "contexts")
    assert found.is_problem == is_drift
    assert [what for what, *_ in found.details.get("moved", [])] == ["x.late is there"] * is_drift


# Rewards


def test_the_halves_of_rewards_have_the_intervals_of_their_share_of_the_error():
    """Two halves, each with half of the share; and the event in the middle is of the second half."""
    n = 81
    rng = np.random.default_rng(4)
    pmfs = rng.dirichlet(np.full(3, 2.0), n)
    actions, rewards = rng.integers(3, size=n), rng.random(n)
    found = of_check(
        check(FrameLog({"reward": rewards, "action": actions, "pmf": pmfs.tolist()}, pmf="pmf")), "rewards"
    )
    weights = (1 / 3) / pmfs[np.arange(n), actions]
    beyond = [[sum(1 / 3 for p in row if bound * p < 1 / 3) for bound in naive.BOUNDS] for row in pmfs.tolist()]
    for name, rows in (("first", slice(0, 40)), ("second", slice(40, 81))):
        variables = naive.ips_variables(weights[rows].tolist(), rewards[rows].tolist(), beyond[rows])
        assert found.details[name] == pytest.approx(list(naive.interval(variables, 1.0 - FALSE_ALARMS / 6)), abs=1e-6)


def test_rewards_drift_where_the_intervals_of_both_halves_part():
    """All of the second half earns 1; of the first one, fewer and fewer."""
    n, verdicts = 400, []
    for lost in range(20, 200, 3):
        rewards = np.ones(n)
        rewards[:lost] = 0.0
        frame = {"reward": rewards, "action": np.arange(n) % 2, "pmf": [[0.5, 0.5]] * n}
        found = of_check(check(FrameLog(frame, pmf="pmf")), "rewards")
        (_, high), (low, _) = found.details["first"], found.details["second"]
        assert found.is_problem == (high < low)
        verdicts.append(found.is_problem)
    assert verdicts == sorted(verdicts)
    assert 0 < sum(verdicts) < len(verdicts)
