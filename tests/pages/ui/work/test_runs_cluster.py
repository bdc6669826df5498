"""Runs of the lab on a Dask cluster of this machine, two workers, one of them killed in the middle of a run."""

import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

import pytest
from distributed import Client

from pages.ui.work import run_settings, workers
from pages.ui.work.run_records import Limits
from pages.ui.work.runs import Runs
from tests.nightly import nightly
from tests.pages.waiting import until
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import train_slice

ROOT = Path(__file__).parents[4]
SPEC = LabSpec(task="copy", symbols=4, length=3, d_model=8, n_heads=1, n_layers=1, rows=2, steps=200)


@contextmanager
def cluster():
    """A scheduler and two workers, as processes of their own: (address, the workers)."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])}

    def started(*command):
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            env=environment,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    scheduler = started("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    line = next(line for line in scheduler.stderr if "Scheduler at:" in line)
    address = line.split()[-1]
    quiet = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
    pair = [started("distributed.cli.dask_worker", address, *quiet) for _ in range(2)]
    try:
        yield address, pair
    finally:
        for process in (*pair, scheduler):
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()
            process.stderr.close()


@nightly
@pytest.mark.filterwarnings("default")  # of the cluster's own
def test_a_run_goes_on_from_its_last_state_when_a_worker_is_killed(monkeypatch):
    with cluster() as (address, pair):
        monkeypatch.setenv("TFCORE_SCHEDULER", address)
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2)
            client.run(import_module, "tfcore.training.lab.train")  # so that no run is done before the other has begun
        runs = Runs(lambda: workers.connect(run_settings.read()), Limits(slice=0.1, pulse=0.1))
        names = [runs.start(SPEC, visitor) for visitor in "ab"]
        # as many at once as it has threads
        until(lambda: all(runs.look(name).state == "running" and runs.look(name).step > 0 for name in names))
        pair[0].kill()
        until(lambda: not any(runs.look(name).active for name in names))
        assert [(runs.look(name).state, runs.look(name).problem) for name in names] == [("done", "")] * 2
        assert runs.book.records[names[0]].kept == train_slice(SPEC, 0, None, most=SPEC.steps, seconds=1e9).state
        runs.close()


def test_a_cluster_that_is_not_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    monkeypatch.setenv("TFCORE_SCHEDULER", "tcp://127.0.0.1:9")
    runs = Runs(lambda: workers.connect(run_settings.read()), Limits(pulse=0.05))
    name = runs.start(SPEC, "a")
    until(lambda: runs.look(name).state == "failed")
    assert "The machines that train cannot be reached" in runs.look(name).problem
    runs.close()
