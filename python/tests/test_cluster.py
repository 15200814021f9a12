"""Sweeps on a cluster of processes: the rows of a local one, whatever happens to workers."""

import os
import pickle
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clockhand import ClockhandError, UsageError, _engine
from clockhand.datasets.layout import LAYOUTS
from clockhand.sweep import Dataset, Sweep, compute, read_experiment, run_sweep, tasks_of
from clockhand.sweep import cluster as on_cluster
from conftest import Clockhand, assert_one_sentence, os_course

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")

EXPERIMENT = """
question = "q"
expected = "e"
traces = ["*.trace"]
policies = ["lru", "clock", "craw"]
memory = "1%..20%"
devices = ["slc-nand", "scm:ratio=10"]
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """An experiment of 2 traces, 2 settings, 20 memory sizes and 3 policies."""
    numbers = random.Random(23)
    for name, references, pages in (("one", 20_000, 2_000), ("two", 10_000, 500)):
        course = (int(pages * numbers.random() ** 3) for _ in range(references))
        (tmp_path / f"{name}.trace").write_text(os_course(course))
    path = tmp_path / "which.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """Three processes with a thread each, which are started again when they are killed."""
    with distributed.LocalCluster(
        n_workers=3,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs="CRITICAL",
    ) as cluster:
        yield cluster


def cell_of(row: dict[str, Any]) -> tuple[str, int, float]:
    return row["policy_resolved"], row["frames"], row["io_time_us"]


def assert_as_local(experiment: Path, sweep: Sweep, tmp_path: Path) -> None:
    """Compare with a sweep of this process, row for row, and find no cell twice."""
    layout = sweep.layout
    local = run_sweep(read_experiment(experiment), dataset=tmp_path / "local")
    assert sweep.rows.equals(local.rows)
    assert sweep.facts["policies"] == local.facts["policies"]
    assert sweep.facts["traces"] == local.facts["traces"]
    kept = Dataset(read_experiment(experiment).dataset, layout)
    stored = pl.concat([pl.read_parquet(part) for part in kept.parts()], how="diagonal")
    assert stored.height == stored.unique(layout.key).height == kept.cells().height


def test_a_cluster_gives_the_rows_of_this_process_when_a_worker_is_killed(
    experiment: Path, tmp_path: Path, workers: Any
) -> None:
    killed: list[int] = []

    def kill_one(trace: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        if done and not killed:
            killed.append(workers.workers[1].pid)
            os.kill(killed[0], signal.SIGKILL)

    sweep = run_sweep(
        read_experiment(experiment), cluster=workers.scheduler_address, watch=kill_one
    )
    assert killed and sweep.computed == sweep.rows.height == 240
    assert_as_local(experiment, sweep, tmp_path)
    again = run_sweep(read_experiment(experiment), cluster=workers.scheduler_address)
    assert again.computed == 0 and again.rows.equals(sweep.rows)


def test_what_a_local_sweep_kept_is_not_computed_on_the_cluster(
    experiment: Path, tmp_path: Path, workers: Any
) -> None:
    whole = experiment.read_text()
    experiment.write_text(whole.replace("1%..20%", "1%..5%"))
    first = run_sweep(read_experiment(experiment))
    experiment.write_text(whole)
    sweep = run_sweep(read_experiment(experiment), cluster=workers.scheduler_address)
    assert sweep.computed == 240 - first.computed
    assert_as_local(experiment, sweep, tmp_path)


def test_other_studies_run_on_a_cluster_too(experiment: Path, tmp_path: Path, workers: Any) -> None:
    experiment.write_text(
        'question = "q"\nexpected = "e"\ntraces = "*.trace"\n[translate]\nmemory = "10%,50%"\n'
        'tlb = ["16", "64"]\nratio = ["1", "100"]\n'
    )
    sweep = run_sweep(read_experiment(experiment), cluster=workers.scheduler_address)
    assert sweep.computed == sweep.rows.height > 0
    assert_as_local(experiment, sweep, tmp_path)


def test_an_error_of_a_worker_is_the_sentence_that_this_process_would_say(
    experiment: Path, workers: Any
) -> None:
    (experiment.parent / "bad.trace").write_text("this is no trace\n" * 40)
    said = []
    for cluster in (None, workers.scheduler_address):
        with pytest.raises(ClockhandError) as refused:
            run_sweep(read_experiment(experiment), cluster=cluster)
        said.append(str(refused.value))
    assert said[0] == said[1] and "bad.trace" in said[0]


def test_an_interrupted_sweep_keeps_what_arrived_and_goes_on(
    experiment: Path, tmp_path: Path, workers: Any
) -> None:
    def interrupt(trace: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(ClockhandError, match=r"interrupted; .* are kept"):
        run_sweep(read_experiment(experiment), cluster=workers.scheduler_address, watch=interrupt)
    kept = Dataset(read_experiment(experiment).dataset, LAYOUTS["pages"]).cells().height
    assert 0 < kept < 240
    sweep = run_sweep(read_experiment(experiment), cluster=workers.scheduler_address)
    assert sweep.computed == 240 - kept
    assert_as_local(experiment, sweep, tmp_path)


def test_the_command_starts_workers_of_its_own(experiment: Path, clockhand: Clockhand) -> None:
    experiment.write_text(experiment.read_text().replace("1%..20%", "5%"))
    run = clockhand("sweep", str(experiment), "--cluster", "local:1", timeout=300)
    assert "12 rows, 12 cells computed now" in run.err
    assert run_sweep(read_experiment(experiment)).computed == 0


def certified(folder: Path, name: str) -> dict[str, str]:
    """Make a throw-away authority that certifies itself; how Dask's configuration names it."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         f"/CN={name}", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    files = {"ca-file": str(certificate)}
    for role in ("client", "scheduler", "worker"):
        files |= {f"{role}.cert": str(certificate), f"{role}.key": str(key)}
    return {f"distributed.comm.tls.{name}": file for name, file in files.items()}


def test_a_cluster_with_certificates_takes_only_who_has_one(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    dask = pytest.importorskip("dask")
    mine, strange = certified(tmp_path, "mine"), certified(tmp_path, "strange")
    read = read_experiment(experiment)
    with dask.config.set({**mine, "distributed.comm.require-encryption": True}):
        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, host="tls://127.0.0.1",
            security=distributed.Security(), dashboard_address=None, silence_logs="CRITICAL",
        )  # fmt: skip
    with cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        absent = {name: f"{file}.absent" for name, file in mine.items()}
        for configuration, words in (
            (strange, "no Dask scheduler answers"),
            (absent, "the certificates that Dask's configuration names cannot be read"),
            ({}, "needs certificates, and Dask's configuration names none"),
        ):
            with monkeypatch.context() as patched, dask.config.set(configuration):
                patched.setattr(on_cluster, "SECONDS_TO_CONNECT", 0.5)
                with pytest.raises(ClockhandError, match=words):
                    run_sweep(read, cluster=address)
        with dask.config.set(mine):
            assert run_sweep(read, cluster=address).computed == 240


def test_a_part_of_a_task_is_a_part_of_its_cells(experiment: Path) -> None:
    task = next(tasks_of(read_experiment(experiment)))
    whole = compute(task).rows
    parts = [
        compute(pickle.loads(pickle.dumps(on_cluster.replace(task, part=(it, 7)))))
        for it in range(7)
    ]
    assert sorted(map(cell_of, (row for part in parts for row in part.rows))) == sorted(
        map(cell_of, whole)
    )
    assert all(part.rows for part in parts)
    assert {part.numbers for part in parts} == {_engine.NUMBERS_VERSION}


def test_what_is_no_cluster_is_refused(experiment: Path, clockhand: Clockhand) -> None:
    for address in ("local:0", "local:x", "local:1000", "somewhere", "tcp://", "http://a:1", ""):
        with pytest.raises(UsageError, match="is not a cluster; give tcp://HOST:PORT"):
            run_sweep(read_experiment(experiment), cluster=address)
    with pytest.raises(UsageError, match="have threads of their own; leave out"):
        run_sweep(read_experiment(experiment), cluster="local:2", jobs=2)
    run = clockhand("sweep", str(experiment), "--cluster", "nowhere")
    assert run.code == 2
    assert_one_sentence(run)


def test_a_scheduler_that_does_not_answer_is_said(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cluster, "SECONDS_TO_CONNECT", 0.2)
    with pytest.raises(ClockhandError, match=r"tcp://127.0.0.1:9: no Dask scheduler answers"):
        run_sweep(read_experiment(experiment), cluster="tcp://127.0.0.1:9")
