"""Who does the work: threads of this process, or a Dask or Ray cluster, all through joblib."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import joblib

from vw_fastcb.bakeoff.passes import Outcome, Unit, run_unit
from vw_fastcb.cores import usable_cores

BACKENDS = ("local", "dask", "ray")
_RAY_UNITS = 16  # per worker
_CONNECT_SECONDS = 10


class BadBackend(ValueError):
    """Why the asked-for backend cannot be used, and what to do."""


class Workers(AbstractContextManager["Workers"]):
    """The workers of a backend, while the context lasts.

    `address` is that of a running cluster; without it Dask and Ray start one on this machine.
    """

    def __init__(self, backend: str = "local", jobs: int | None = None, address: str | None = None) -> None:
        if backend not in BACKENDS:
            raise BadBackend(f"there is no backend '{backend}'; choose one of {', '.join(BACKENDS)}.")
        if address and backend == "local":
            raise BadBackend("--address names a Dask or Ray cluster: add --backend dask or --backend ray.")
        self.backend = backend
        self.jobs = jobs or usable_cores()
        self._address = address
        self._stack = ExitStack()
        self._options: dict[str, Any] = {"backend": "threading"}

    def __enter__(self) -> Workers:
        if self.backend == "dask":
            self._connect_dask()
        elif self.backend == "ray":
            self._connect_ray()
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def run(self, units: Iterable[Unit]) -> Iterator[Outcome]:
        """Runs units and yields what became of them, in the order in which they end."""
        if self.backend != "ray":
            yield from self._parallel("generator_unordered")(joblib.delayed(run_unit)(unit) for unit in units)
            return
        # Ray's joblib backend gives results only once it has all that were asked for: ask for some at a time.
        waiting = iter(units)
        with self._parallel("list") as parallel:
            while some := list(itertools.islice(waiting, _RAY_UNITS * self.jobs)):
                yield from parallel(joblib.delayed(run_unit)(unit) for unit in some)

    def _parallel(self, return_as: str) -> joblib.Parallel:
        with joblib.parallel_config(**self._options):
            return joblib.Parallel(n_jobs=self.jobs, batch_size=1, pre_dispatch="2*n_jobs", return_as=return_as)

    def _connect_dask(self) -> None:
        distributed = _needed("distributed", "dask")
        if self._address:
            try:
                client = distributed.Client(self._address, timeout=_CONNECT_SECONDS)
            except OSError as problem:
                raise BadBackend(f"no Dask scheduler answers at {self._address}: {problem}") from problem
        else:
            client = distributed.Client(
                n_workers=self.jobs, threads_per_worker=1, dashboard_address=None, set_as_default=False
            )
        self._stack.enter_context(client)
        if self._address:
            self.jobs = max(1, sum(client.nthreads().values()))
        self._options = {"backend": "dask", "client": client}

    def _connect_ray(self) -> None:
        ray = _needed("ray", "ray")
        if self._address:
            try:
                ray.init(address=self._address, log_to_driver=False)
            except ConnectionError as problem:
                raise BadBackend(
                    f"no Ray cluster lets us in at {self._address}: {problem}. If it asks for a token, set "
                    "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as on the cluster."
                ) from problem
            self.jobs = max(1, int(ray.cluster_resources().get("CPU", 1)))
        else:
            ray.init(
                address="local",  # not one that happens to run on this machine
                num_cpus=self.jobs,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="error",
            )
        self._stack.callback(ray.shutdown)
        importlib.import_module("ray.util.joblib").register_ray()
        self._options = {"backend": "ray"}


def _needed(module: str, backend: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise BadBackend(f"--backend {backend} needs a package: pip install 'vw-fastcb[cluster]'") from problem
