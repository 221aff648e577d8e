"""Azure Personalizer's two clients, as they come from PyPI, with another address and nothing else."""

from __future__ import annotations

import threading
import time
import warnings

import pytest
from azure.ai.personalizer import PersonalizerClient as BetaClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError
from msrest.authentication import CognitiveServicesCredentials
from msrest.exceptions import HttpOperationError

from loop.support import Clock, open_loop
from serve.servers import ARTICLES, serving, start, threaded
from vw_fastcb import Loop
from vw_fastcb.loop.replay import replay
from vw_fastcb.loop.sqlite import SqliteJournal

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from azure.cognitiveservices.personalizer import PersonalizerClient as OldClient
    from azure.cognitiveservices.personalizer.models import ErrorResponseException, RankableAction, RankRequest

MEALS = {
    "pasta": [{"taste": "salty", "spice": 1}, {"nutrition": {"level": 5, "cuisine": "italian"}}],
    "salad": [{"taste": "salty", "spice": 0}, {"nutrition": {"level": 2}}],
    "cake": [{"taste": "sweet", "spice": 0}, {"nutrition": {"level": 9}}],
}
MORNING = [{"time": "morning"}, {"user": {"age": 31, "diets": ["vegan", "raw"]}}]


class Old:
    """The client of version 1.0."""

    conflict = ErrorResponseException
    error = HttpOperationError

    def __init__(self, url, key="none", **_):
        self.client = OldClient(url, CognitiveServicesCredentials(key))
        self.client.config.retry_policy.policy.total = 0  # it says to repeat gets, and means everything

    def rank(self, context=MORNING, actions=MEALS, excluded=None, event_id=None, defer=False):
        listed = [RankableAction(id=name, features=features) for name, features in actions.items()]
        asked = RankRequest(
            actions=listed,
            context_features=context,
            excluded_actions=excluded,
            event_id=event_id,
            defer_activation=defer,
        )
        found = self.client.rank(asked)
        return [(one.id, one.probability) for one in found.ranking], found.event_id, found.reward_action_id

    def reward(self, event_id, value):
        self.client.events.reward(event_id, value)

    def activate(self, event_id):
        self.client.events.activate(event_id)


class Beta:
    """The client of the beta."""

    conflict = ResourceExistsError
    error = HttpResponseError

    def __init__(self, url, key="none", **options):
        self.client = BetaClient(url, AzureKeyCredential(key), **options)

    def rank(self, context=MORNING, actions=MEALS, excluded=None, event_id=None, defer=False):
        asked = {
            "actions": [{"id": name, "features": features} for name, features in actions.items()],
            "contextFeatures": context,
            "excludedActions": excluded or [],
            "deferActivation": defer,
        }
        found = self.client.rank(asked if event_id is None else {**asked, "eventId": event_id})
        ranking = [(one["id"], one["probability"]) for one in found["ranking"]]
        return ranking, found["eventId"], found["rewardActionId"]

    def reward(self, event_id, value):
        self.client.reward(event_id, {"value": value})

    def activate(self, event_id):
        self.client.activate(event_id)


@pytest.fixture
def loop(tmp_path):
    with open_loop(tmp_path, actions=None, reward_range=(-1, 1)) as opened:
        yield opened


@pytest.fixture(params=[Old, Beta])
def client(request, loop):
    with threaded(loop) as server:
        yield request.param(server.url)


def test_rank_reward_and_learning(client, loop):
    for number in range(60):
        ranking, event_id, chosen = client.rank(event_id=f"meal {number}/7 ä")
        assert (event_id, ranking[0][0]) == (f"meal {number}/7 ä", chosen)
        assert {name for name, _ in ranking} == set(MEALS)
        assert [p for _, p in ranking[1:]] == sorted((p for _, p in ranking[1:]), reverse=True)
        assert sum(p for _, p in ranking) == pytest.approx(1)
        client.reward(event_id, 1.0 if chosen == "cake" else -0.5)
    counts = loop.status().counts
    assert (counts["decisions"], counts["learned"], counts["orphans"]) == (60, 60, 0)
    assert dict(client.rank()[0])["cake"] > 0.8


def test_features_are_flattened_as_contexts_are(client, loop):
    client.rank([*MORNING, {"user": {"city": "Rome"}, "time": "weekend"}, {"count": 3}, {"count": 4}], event_id="e1")
    (record,) = loop._worker.journal.find("e1")
    assert record.body["context"] == {
        "time=morning": 1,
        "time=weekend": 1,
        "user.age": 31,
        "user.diets=vegan": 1,
        "user.diets=raw": 1,
        "user.city": "Rome",
        "count.0": 3,
        "count.1": 4,
    }
    assert record.body["action_features"][0] == {
        "id": "pasta",
        "taste": "salty",
        "spice": 1,
        "nutrition.level": 5,
        "nutrition.cuisine": "italian",
    }


def test_the_same_event_gets_the_same_answer_and_another_one_is_a_conflict(client):
    first = client.rank(event_id="e1")
    client.reward("e1", 1)
    assert client.rank(event_id="e1") == first
    with pytest.raises(client.conflict, match="'e1' was decided before, about something else"):
        client.rank([{"time": "evening"}], event_id="e1")


def test_events_without_an_id_get_one(client):
    assert client.rank()[1] != client.rank()[1]


def test_excluded_actions_keep_their_places_and_are_never_chosen(client):
    for number in range(20):
        ranking, _, chosen = client.rank(excluded=["pasta"], event_id=f"e{number}")
        assert ranking[0] == ("pasta", 0.0)
        assert (ranking[1][0], chosen in ("salad", "cake")) == (chosen, True)
        assert ranking[1][1] + ranking[2][1] == pytest.approx(1)


@pytest.mark.parametrize("kind", [Old, Beta])
def test_deferred_events_are_learned_once_they_are_activated(kind, tmp_path):
    clock = Clock()
    with (
        open_loop(tmp_path, actions=None, reward_range=(-1, 1), wait="1min", default_reward=-1, clock=clock) as loop,
        threaded(loop) as server,
    ):
        client = kind(server.url)
        for name in ("seen", "unseen"):
            client.rank(event_id=name, defer=True)
            client.reward(name, 1)
        client.rank(event_id="silent", defer=True)
        client.activate("seen")
        client.activate("silent")
        clock.now += 61_000
        loop.tick()
        counts = loop.status().counts
    assert (counts["learned"], counts["learned_defaults"], counts["unactivated"]) == (1, 1, 1)


def test_errors_have_personalizers_shape(client):
    many = {f"action-{number}": [{"a": 1}] for number in range(51)}
    with pytest.raises(client.error) as problem:
        client.rank(actions=many)
    assert problem.value.response.status_code == 400
    if isinstance(client, Old):
        assert (problem.value.error.error.code, "length <= 50" in problem.value.error.error.message) == (
            "BadRequest",
            True,
        )
    else:
        assert problem.value.error.code == "BadRequest"
        assert "length <= 50" in problem.value.error.message
    for value in (1.5, -1.01):
        with pytest.raises(client.error):
            client.reward("e1", value)
    with pytest.raises(client.error):
        client.rank(excluded=list(MEALS))
    with pytest.raises(client.error):
        client.rank(excluded=["soup"])


def test_event_ids_in_paths_may_be_any_text(client, loop):
    names = ["a/b", "line\nbreak", "50%", "Zürich"]
    for name in names:
        client.rank(event_id=name)
        client.reward(name, 1)
    assert loop.status().counts["learned"] == len(names)


def test_multi_slot_calls_are_refused_in_words(loop):
    with threaded(loop) as server:
        client = BetaClient(server.url, AzureKeyCredential("none"))
        for call in (
            lambda: client.rank_multi_slot({"actions": [], "slots": []}),
            lambda: client.reward_multi_slot("e1", {"reward": []}),
            lambda: client.activate_multi_slot("e1"),
        ):
            with pytest.raises(HttpResponseError, match="multi-slot calls are not served"):
                call()


def test_a_journal_of_fixed_actions_says_what_it_needs(tmp_path):
    with (
        open_loop(tmp_path) as loop,
        threaded(loop) as server,
        pytest.raises(HttpResponseError, match="expected a journal made with --actions none"),
    ):
        Beta(server.url).rank()


@pytest.mark.parametrize("prefix", ["/personalizer", "/personalizer/v1.0"])
def test_a_journal_of_costs_takes_no_rewards(prefix, tmp_path):
    rank = {"eventId": "e1", "actions": [{"id": "pasta", "features": []}, {"id": "cake", "features": []}]}
    with Loop.open(tmp_path / "loop.db", actions=None, cost_range=(0, 1)) as loop, threaded(loop) as server:
        for path, body in (("rank", rank), ("events/e1/reward", {"value": 1})):
            answer = server.post(f"{prefix}/{path}", body)
            assert answer.status == 400
            assert "expected a journal made with --reward-range" in answer.error
        assert loop.status().position == 1


@pytest.mark.parametrize("kind", [Old, Beta])
def test_the_key_is_the_token(kind, loop):
    with threaded(loop, tokens=[b"a-token-of-some-length"]) as server:
        assert kind(server.url, "a-token-of-some-length").rank()[2] in MEALS
        with pytest.raises(kind.error) as problem:
            kind(server.url, "another-token-of-that-length").rank()
    assert problem.value.response.status_code == 401


def test_a_reward_that_the_client_repeats_counts_once(loop):
    """The answer to the first try is lost on its way: the client cannot know that the reward was stored."""
    with threaded(loop) as server:
        tries = []

        def lose_the_first(response):
            tries.append(response.http_request.headers["x-ms-client-request-id"])
            if len(tries) == 1:
                response.http_response.status_code = 503

        client = BetaClient(server.url, AzureKeyCredential("none"), retry_backoff_factor=0.01)
        ranking = client.rank({"actions": [{"id": "a", "features": [{"x": 1}]}], "eventId": "e1"})
        client.reward(ranking["eventId"], {"value": 1.0}, raw_response_hook=lose_the_first)
    assert (len(tries), len(set(tries))) == (2, 1)
    assert loop.status().counts["rewards"] == 1


@pytest.mark.slow
def test_under_overload_the_beta_client_tries_again(loop):
    with threaded(loop, most_requests=1) as server:
        client = Beta(server.url, retry_backoff_factor=0.02, retry_total=20, retry_status=20)
        errors = []

        def visit(first):
            try:
                for number in range(first, first + 5):
                    client.rank(event_id=f"e{number}")
            except HttpResponseError as problem:
                errors.append(problem)

        threads = [threading.Thread(target=visit, args=(100 * k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    assert loop.status().counts["decisions"] == 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Old, Beta])
def test_a_thousand_calls_survive_two_kills(kind, tmp_path):
    path = tmp_path / "loop.db"
    server = start(path, *ARTICLES, "--checkpoint-every", "500ms")
    port, done, acknowledged = server.port, threading.Event(), []

    def patiently(call):
        while True:
            try:
                return call()
            except Exception as problem:  # whatever a client makes of a server that is not there
                if getattr(getattr(problem, "response", None), "status_code", 503) != 503:
                    raise
                time.sleep(0.05)

    def visit():
        client = kind(server.url, retry_total=2, retry_backoff_factor=0.05)
        for number in range(1000):
            ranking, event_id, chosen = patiently(lambda n=number: client.rank(event_id=f"e{n}"))
            patiently(lambda e=event_id, c=chosen: client.reward(e, 1.0 if c == "cake" else -0.5))
            acknowledged.append((event_id, chosen, ranking))
        done.set()

    thread = threading.Thread(target=visit)
    thread.start()
    for target in (300, 600):
        while len(acknowledged) < target and thread.is_alive():
            time.sleep(0.01)
        server.kill()
        server = start(path, "--checkpoint-every", "500ms", port=port)
    thread.join()
    assert done.is_set()
    assert server.stop()[0] == 0
    with Loop.open(path) as loop:
        counts = loop.status().counts
        assert (counts["decisions"], counts["orphans"], loop.status().learned) == (1000, 0, 1000)
        for event_id, chosen, ranking in acknowledged:
            (record,) = loop._worker.journal.find(event_id)
            ids, pmf = record.body["action_ids"], record.body["pmf"]
            assert (ids[record.body["action"]], dict(zip(ids, pmf, strict=True))) == (chosen, dict(ranking))
    journal = SqliteJournal(path)
    assert replay(journal).agrees
    journal.close()


@pytest.mark.slow
def test_both_clients_work_with_a_process_of_its_own(tmp_path):
    with serving(tmp_path / "loop.db", *ARTICLES) as server:
        for kind in (Old, Beta):
            ranking, event_id, _ = kind(server.url).rank()
            assert len(ranking) == 3
            kind(server.url).reward(event_id, 1)
