import pickle
import subprocess
import sys
import time
from importlib import import_module

import numpy as np
import pytest

from bakeoff.openml_server import Answer, description, error, file, serving
from vw_fastcb.bakeoff.data import BrokenDataset, Manners, openml

pytest.importorskip("openml")
client = import_module("vw_fastcb.bakeoff.data.openml")  # its name in the package is the function's

HASTY = Manners(pause=0, tries=3, first_wait=0.01)
ARFF = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute class {no,yes}\n@data\n"
ARFF += "".join(f"{i % 5},{'xy'[i % 2]},{('no', 'yes')[i % 3 == 0]}\n" for i in range(30))


def load(server, cache, number=31, manners=HASTY):
    (entry,) = openml(number, cache, server.url, manners)
    return pickle.loads(pickle.dumps(entry)).load()


def test_a_set_is_fetched_once_and_then_comes_from_the_cache(server, tmp_path):
    server.add(31, ARFF)
    first = load(server, tmp_path)
    asked = len(server.requests)
    second = load(server, tmp_path)

    assert (first.name, first.source) == ("openml/31", "OpenML 31 (set31, version 1)")
    assert (first.rows, first.columns, first.classes) == (30, 3, ("no", "yes"))
    np.testing.assert_array_equal(first.features[:2], [[0, 1, 0], [1, 0, 1]])
    assert first.notes == ("the class is the column 'class' (no, yes)",)
    assert second.fingerprint == first.fingerprint
    assert len(server.requests) == asked == 2  # the description and the file, no Parquet


def test_columns_to_ignore_and_row_ids_are_left_out(server, tmp_path):
    extra = "<oml:ignore_attribute>b</oml:ignore_attribute><oml:row_id_attribute>id</oml:row_id_attribute>"
    rows = "".join(f"{i},{i % 5},x,{'ny'[i % 2]}\n" for i in range(20))
    head = "@relation r\n@attribute id integer\n@attribute a real\n@attribute b {x,y}\n@attribute k {n,y}\n@data\n"
    server.add(5, head + rows, extra=extra, target="k")
    sparse = "".join(f"{{0 {i}, 1 {i % 5 + 1}, 3 y}}\n{{0 {i}, 2 y}}\n" for i in range(20))
    server.add(6, head + sparse, extra=extra, target="k")

    assert (load(server, tmp_path, 5).columns, load(server, tmp_path, 6).columns) == (1, 1)


@pytest.mark.parametrize("trouble", [Answer("Service Unavailable", 503), Answer("slow down", 429), error(107, "no db")])
@pytest.mark.parametrize("where", [description, file])
def test_a_server_in_trouble_is_asked_again(server, tmp_path, trouble, where):
    server.add(31, ARFF)
    server.first[where(31)] = [trouble, trouble]

    assert load(server, tmp_path).rows == 30
    assert server.asked_for(where(31)) == 3


def test_waits_grow_between_the_tries(server, tmp_path):
    server.add(31, ARFF)
    server.first[description(31)] = [Answer("busy", 503)] * 3
    load(server, tmp_path, manners=Manners(pause=0, tries=4, first_wait=0.03))

    times = [when for when, path in server.requests if path == description(31)]
    waits = np.diff(times)
    assert waits[0] >= 0.03
    assert waits[1] >= 0.06
    assert waits[2] >= 0.12


def test_a_server_that_stays_in_trouble_breaks_the_set_and_no_more(server, tmp_path):
    server.add(31, ARFF)
    server.add(32, ARFF)
    server.first[description(31)] = [Answer("<html>busy</html>", 503)] * 100
    broken, whole = openml("31,32", tmp_path, server.url, HASTY)

    with pytest.raises(BrokenDataset, match=r"openml/31: .* did not deliver it in 3 tries"):
        broken.load()
    assert whole.load().rows == 30
    assert server.asked_for(description(31)) == 3


def test_a_download_that_breaks_off_is_repeated(server, tmp_path):
    server.add(31, ARFF)
    server.first[file(31)] = [Answer(ARFF, cut=100)]

    assert load(server, tmp_path).rows == 30
    assert server.asked_for(file(31)) == 2


def test_a_file_that_does_not_fit_its_checksum_is_fetched_again(server, tmp_path):
    server.add(31, ARFF)
    server.first[file(31)] = [Answer(ARFF[:-20])]

    assert load(server, tmp_path).rows == 30
    assert server.asked_for(file(31)) == 2


def test_a_file_that_is_cut_off_on_the_server_breaks_the_set(server, tmp_path):
    server.add(31, ARFF[:-5], checksum=False)
    with pytest.raises(BrokenDataset, match=r"openml/31: .* is cut off or damaged: row 30 after `@data`"):
        load(server, tmp_path)


@pytest.mark.parametrize("checksum", [True, False])
def test_a_file_cut_off_in_the_cache_when_a_run_was_killed_is_fetched_again(server, tmp_path, checksum):
    server.add(31, ARFF, checksum=checksum)
    whole = load(server, tmp_path).fingerprint
    (kept,) = tmp_path.rglob("dataset.arff")
    kept.write_text(ARFF[:-4])

    assert load(server, tmp_path).fingerprint == whole
    assert server.asked_for(file(31)) == 2


def test_an_unknown_id_is_refused_at_once(server, tmp_path):
    with pytest.raises(BrokenDataset, match=r"openml/404: http://127.0.0.1:\d+ says: .* code 111: Unknown dataset"):
        load(server, tmp_path, 404)
    assert len(server.requests) == 1


def test_nobody_at_the_address_breaks_the_set(tmp_path):
    (entry,) = openml(31, tmp_path, "http://127.0.0.1:9", HASTY)
    with pytest.raises(BrokenDataset, match=r"openml/31: http://127.0.0.1:9 did not deliver it in 3 tries"):
        entry.load()


def test_where_nobody_can_be_reached_only_the_first_set_waits_and_the_cache_is_used(tmp_path, monkeypatch):
    with serving() as gone:
        gone.add(31, ARFF)
        load(gone, tmp_path)
    monkeypatch.setattr(client, "_answered", set())  # as in another process
    cached, first, *others = openml("31,32,33,34", tmp_path, gone.url, Manners(pause=0, tries=3, first_wait=0.1))
    start = time.monotonic()
    with pytest.raises(BrokenDataset, match=r"openml/32: .* did not deliver it in 3 tries"):
        first.load()
    waited = time.monotonic() - start
    slept = []
    monkeypatch.setattr(client.time, "sleep", slept.append)
    for entry in others:
        with pytest.raises(BrokenDataset, match=f"{entry.name}: {gone.url} cannot be reached .* refused") as caught:
            entry.load()
        assert "api/v1" not in str(caught.value)  # of the first set

    assert waited >= 0.1 + 0.2
    assert sum(slept) == 0
    assert cached.load().rows == 30


def test_a_server_that_could_not_be_reached_is_tried_again_after_a_while_and_then_patiently(
    server, tmp_path, monkeypatch
):
    server.add(31, ARFF)
    server.first[description(31)] = [Answer("busy", 503)]
    monkeypatch.setitem(client._unreachable, server.url, (time.monotonic(), "no network"))
    with pytest.raises(BrokenDataset, match=r"openml/31: .* cannot be reached \(no network\)"):
        load(server, tmp_path)
    assert not server.requests

    long_ago = time.monotonic() - client.UNREACHABLE_SECONDS
    monkeypatch.setitem(client._unreachable, server.url, (long_ago, "no network"))
    assert load(server, tmp_path).rows == 30
    assert server.url not in client._unreachable


def test_a_server_that_answered_before_and_is_gone_is_asked_as_patiently_as_ever(tmp_path):
    with serving() as gone:
        gone.add(31, ARFF)
        load(gone, tmp_path)
    for number in (32, 33):
        with pytest.raises(BrokenDataset, match=f"openml/{number}: .* did not deliver it in 3 tries"):
            load(gone, tmp_path, number)


@pytest.mark.parametrize("target", ["", "a,b"])
def test_a_set_without_one_target_is_refused(server, tmp_path, target):
    server.add(31, ARFF, target=target)
    with pytest.raises(BrokenDataset, match=r"openml/31: OpenML names .* as the target; expected one column"):
        load(server, tmp_path)


def test_a_suite_is_listed_by_its_name_and_remembered(server, tmp_path):
    server.add_suite("OpenML-CC18", [3, 6, 11])
    names = [entry.name for entry in openml("OpenML-CC18", tmp_path, server.url, HASTY)]
    again = [entry.name for entry in openml("OpenML-CC18", tmp_path, server.url, HASTY)]

    assert names == again == ["openml/3", "openml/6", "openml/11"]
    assert len(server.requests) == 1


def test_an_unknown_suite_is_refused(server, tmp_path):
    with pytest.raises(BrokenDataset, match=r"the OpenML suite 'no-such': .* Unknown dataset"):
        openml("no-such", tmp_path, server.url, HASTY)


@pytest.mark.slow
def test_requests_of_two_processes_keep_their_distance(server, tmp_path):
    for number in (1, 2):
        server.add(number, ARFF)
    script = (
        "import sys; from vw_fastcb.bakeoff.data import Manners, openml\n"
        "openml(1, sys.argv[1], sys.argv[2], Manners(pause=1.5))[0].load()"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path), server.url]) as other:
        while not server.requests and other.poll() is None:
            time.sleep(0.001)
        load(server, tmp_path, 2, Manners(pause=1.5))

    assert other.returncode == 0
    first, second = (next(when for when, path in server.requests if path == description(n)) for n in (1, 2))
    assert second - first >= 1.5


def test_ids_come_from_numbers_texts_files_and_the_suite_of_the_bake_off(tmp_path):
    (tmp_path / "ids.txt").write_text("# mine\n3, 6\n3 # again\n")

    def ids(wanted):
        return [int(entry.name.partition("/")[2]) for entry in openml(wanted, tmp_path / "cache")]

    assert ids([31, 3, 31]) == [31, 3]
    assert ids("31, 3") == [31, 3]
    assert ids(str(tmp_path / "ids.txt")) == [3, 6]
    assert len(ids("bakeoff")) == 525
    assert {3, 6, 1041, 1590} <= set(ids("bakeoff"))


def test_words_among_ids_are_no_suite(tmp_path):
    with pytest.raises(ValueError, match="must be numbers separated by commas, such as '6,32'; 'abc' is not one"):
        openml("abc,1", tmp_path)


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "ids.txt").write_text("3 six\n")
    with pytest.raises(ValueError, match="numbers separated by blanks or commas; it has 'six'"):
        openml(str(tmp_path / "ids.txt"), tmp_path)
