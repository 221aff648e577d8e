import json
import subprocess
import sys
import time

import pytest

from bakeoff.killing import command, contents, run_alone

_WORK = ("--grid", "quick", "--datasets", "iris,wine,tae,sonar")


def test_a_dask_cluster_of_other_processes_gives_the_same_store(tmp_path):
    distributed = pytest.importorskip("distributed")
    run_alone(tmp_path / "here", *_WORK)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    try:
        with distributed.Client(cluster, set_as_default=False) as client:
            before = client.run(time.process_time)
            run_alone(tmp_path / "dask", *_WORK, "--backend", "dask", "--address", cluster.scheduler_address)
            used = {worker: seconds - before[worker] for worker, seconds in client.run(time.process_time).items()}
    finally:
        cluster.close()
    assert contents(tmp_path / "dask") == contents(tmp_path / "here")
    assert len(used) == 2
    assert min(used.values()) > 0.1, "each worker did some of the work"


def test_a_cluster_of_its_own_is_started_where_none_is_named(tmp_path):
    pytest.importorskip("distributed")
    options = command(tmp_path, *_WORK, "--backend", "dask", "--jobs", "2", "--json")
    result = subprocess.run(options, capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(result.stdout)["datasets"] == 4


def test_a_ray_cluster_gives_the_same_store(tmp_path):
    pytest.importorskip("ray")
    run_alone(tmp_path / "here", *_WORK)
    run_alone(tmp_path / "ray", *_WORK, "--backend", "ray", "--jobs", "2")
    assert contents(tmp_path / "ray") == contents(tmp_path / "here")


def test_a_missing_package_of_a_cluster_is_named_with_what_to_install():
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from vw_fastcb.bakeoff.backends import BadBackend, Workers\n"
        "try:\n    Workers('ray').__enter__()\nexcept BadBackend as problem:\n    print(problem)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'vw-fastcb[cluster]'" in result.stdout
