"""The backends of the bake-off, each with real workers in other processes."""

import re
import secrets
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from bakeoff.cli import bakeoff, refused
from bakeoff.killing import command, contents, run_alone
from vw_fastcb.bakeoff.store import FILE, Store

_WORK = (
    *("--grid", "quick", "--datasets", "iris,wine,tae,sonar"),
    *("--algorithms", "FastCB.L,SquareCB.L,Supervised.L", "--shuffles", "2"),
)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The same work by threads of this process."""
    out = tmp_path_factory.mktemp("here")
    bakeoff(out, *_WORK)
    return contents(out)


@pytest.mark.slow
def test_a_dask_cluster_of_other_processes_gives_the_same_store(here, tmp_path):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    try:
        with distributed.Client(cluster, set_as_default=False) as client:
            before = client.run(time.process_time)
            bakeoff(tmp_path, *_WORK, "--backend", "dask", "--address", cluster.scheduler_address)
            used = {worker: seconds - before[worker] for worker, seconds in client.run(time.process_time).items()}
    finally:
        cluster.close()
    assert contents(tmp_path) == here
    assert len(used) == 2
    assert min(used.values()) > 0.05, "each worker did some of the work"


@pytest.fixture
def token(monkeypatch):
    """A token of the test's own for its Ray cluster; otherwise newer versions of Ray keep one in the user's home."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))


@pytest.mark.slow
@pytest.mark.usefixtures("token")
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_of_its_own_is_started_where_none_is_named_and_gives_the_same_store(here, tmp_path, backend):
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[backend])
    # A process of its own: Ray leaves threads and open files in the one that started it until it ends.
    run_alone(tmp_path, *_WORK, "--backend", backend, "--jobs", "2")
    assert contents(tmp_path) == here
    with Store(tmp_path / FILE) as store:
        assert (store.meta()["backend"], store.meta()["workers"]) == (backend, "2")


@pytest.mark.slow
@pytest.mark.usefixtures("token")
def test_a_running_ray_cluster_is_used_by_its_address_and_token(here, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    ray = str(Path(sysconfig.get_path("scripts")) / "ray")
    start = [ray, "start", "--head", "--num-cpus", "2", "--port", "0", "--include-dashboard", "false", "--block"]
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as cluster:
        try:
            address = next(found[1] for line in cluster.stdout if (found := re.search(r"--address='([^']+)'", line)))
            run_alone(tmp_path / "in", *_WORK, "--backend", "ray", "--address", address)
            monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # not the cluster's
            words = command(tmp_path / "out", *_WORK, "--backend", "ray", "--address", address)
            stranger = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        finally:
            cluster.terminate()
    assert contents(tmp_path / "in") == here
    assert stranger.returncode == 1
    assert f"fastcb bakeoff: no Ray cluster lets us in at {address}" in stranger.stderr
    assert "Traceback" not in stranger.stderr


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named(tmp_path):
    pytest.importorskip("distributed")
    why = refused(tmp_path, *_WORK, "--backend", "dask", "--address", "tcp://127.0.0.1:9")
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in why


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_of_a_cluster_is_named_with_what_to_install(backend, module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)  # what an import finds where it is not installed
    why = refused(tmp_path, *_WORK, "--backend", backend)
    assert f"--backend {backend} needs a package: pip install 'vw-fastcb[cluster]'" in why
