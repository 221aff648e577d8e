"""How many products interactions may make of one decision: a small request could ask for billions of them."""

import pytest

from loop.support import open_loop
from vw_fastcb.loop import products


def features(count):
    return {f"f{number}": 1 for number in range(count)}


@pytest.mark.parametrize(
    ("settings", "context", "actions", "count"),
    [
        ({"interactions": ("xx",)}, 5, None, 25),
        ({"interactions": ("xx", "xxx")}, 5, None, 25 + 125),
        ({"vw_args": "-q xx --cubic xxx"}, 5, None, 25 + 125),
        ({"vw_args": "-qxx"}, 5, None, 25),
        ({"vw_args": "--quadratic=::"}, 5, None, 25),
        ({"vw_args": "--interactions xxxx"}, 3, None, 81),
        ({"interactions": ("xa",)}, 5, (2, 3, 3), 5 * 8),
        ({"interactions": ("aa",)}, 5, (2, 3, 3), 4 + 9 + 9),
        ({"interactions": (), "vw_args": "-q :a"}, 5, (2, 3), 7 * 2 + 8 * 3),
        ({"interactions": ()}, 5, (2, 3), 0),
    ],
)
def test_a_decision_has_as_many_products_as_allowed_and_not_one_more(
    home, monkeypatch, settings, context, actions, count
):
    table = None if actions is None else [features(one) for one in actions]
    with open_loop(home, actions=3 if table is None else None, **settings) as loop:
        monkeypatch.setattr(products, "_MOST", count)
        loop.decide(features(context), table)
        if count:
            monkeypatch.setattr(products, "_MOST", count - 1)
            before = loop.status().position
            with pytest.raises(ValueError, match=f"make up to {count} products of the features of this decision"):
                loop.decide(features(context), table)
            assert loop.status().position == before


@pytest.mark.parametrize("oracle", ["newton", "gd"])
def test_newton_reads_as_many_features_as_allowed_and_not_one_more(home, monkeypatch, oracle):
    """30,000 features of the context and 20,000 actions, in 609 kB, once held all others up for 10 seconds."""
    with open_loop(home, actions=None, oracle=oracle) as loop:
        monkeypatch.setattr(products, "_MOST_READ", 15)
        loop.decide(features(5), [{}] * 3)
        monkeypatch.setattr(products, "_MOST_READ", 14)
        if oracle == "gd":  # reads them once
            loop.decide(features(5), [{}] * 3)
            return
        with pytest.raises(ValueError, match="has 5 features, which newton reads for each of 3 actions; expected 14 "):
            loop.decide(features(5), [{}] * 3)


@pytest.mark.parametrize("oracle", ["newton", "gd"])
def test_a_body_of_a_megabyte_does_not_take_minutes(home, oracle):
    """It took as many gigabytes as the machine has, too."""
    with open_loop(home, interactions=("xx",), oracle=oracle) as loop:
        with pytest.raises(ValueError, match=r"10,000,000,000 products .* expected 16,777,216 at most"):
            loop.decide(features(100_000))
        loop.decide(features(100), event_id="e1")
        loop.reward("e1", 1)
        assert loop.status().learned == 1
