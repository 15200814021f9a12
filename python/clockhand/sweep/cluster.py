"""Tasks of a sweep on a Dask cluster: workers compute, and the sweep itself keeps what they give.

A worker runs nothing of ours but :func:`clockhand.sweep.task.compute`, and writes no file.
"""

import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from clockhand import _engine
from clockhand.study.errors import ClockhandError, UsageError, option
from clockhand.sweep.task import Computed, Task, compute

LOCAL = "local:"
MOST_LOCAL_WORKERS = 256
PARTS_PER_THREAD = 4
"""Parts of a trace's cells for each thread of a worker: more balance better, and plan more."""

SECONDS_TO_CONNECT = 15
SECONDS_WITHOUT_WORKERS = 60
SECONDS_BETWEEN_LOOKS = 1.0

Take = Callable[[Task, Computed], None]
"""Is given a task with what it gave, once for each task, in the thread that called."""


def check_address(address: str) -> None:
    """Refuse text that is not the address of a cluster.

    Raises:
        UsageError: it is neither a scheduler's address nor a number of local workers.
    """
    if address.startswith(LOCAL):
        number = address.removeprefix(LOCAL)
        if number.isdecimal() and 1 <= int(number) <= MOST_LOCAL_WORKERS:
            return
    elif re.fullmatch(r"(tcp|tls|ws|wss)://[^/\s]+:\d{1,5}", address):
        return
    raise UsageError(
        option("cluster") + f" {address!r} is not a cluster",
        "give tcp://HOST:PORT or tls://HOST:PORT of a Dask scheduler, or local:N for 1 "
        f"to {MOST_LOCAL_WORKERS} processes of this machine",
    )


def run_tasks(address: str, tasks: Sequence[tuple[Task, int]], take: Take) -> None:
    """Have a cluster compute tasks, and take what each gives as it comes.

    The parts of a trace go to as few workers as keep all of them busy, so that few read it. A task
    whose worker is lost is computed by another one. Tasks that have not begun are cancelled if this
    ends early.

    Args:
        address: The scheduler's address, or ``local:N``.
        tasks: Tasks, each of one setting, with about how many cells they have.
        take: Is given each task's result.

    Raises:
        UsageError: the address is none.
        ClockhandError: there is no such cluster, it has no workers, or a task failed.
    """
    check_address(address)
    with _connected(address) as client:
        threads = client.nthreads()
        submitted = {
            _submitted(client, part, homes): part
            for part, homes in _placed(tasks, sorted(threads), sum(threads.values()))
        }
        try:
            _collect(client, submitted, take)
        finally:
            with suppress(Exception):
                client.cancel(list(submitted), force=True)


# Dask is typed in parts only, and not always installed: its objects are Any here.


def _imported() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ClockhandError(
            option("cluster") + " needs Dask, which is not installed",
            "run: pip install 'clockhand[cluster]'",
        ) from error
    return distributed


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    distributed = _imported()
    if address.startswith(LOCAL):
        with (
            distributed.LocalCluster(
                n_workers=int(address.removeprefix(LOCAL)),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs="ERROR",
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    _check_certificates(distributed, address)
    try:
        client = distributed.Client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ClockhandError(
            f"{address}: no Dask scheduler answers ({reason}); check the address, or start one "
            "with: dask scheduler"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=SECONDS_WITHOUT_WORKERS)
        except TimeoutError as error:
            raise _without_workers(address) from error
        yield client


def _check_certificates(distributed: Any, address: str) -> None:
    """Say what an address with TLS lacks before Dask fails at it."""
    if not address.startswith(("tls://", "wss://")):
        return
    try:
        context = distributed.Security().get_connection_args("client").get("ssl_context")
    except OSError as error:
        raise ClockhandError(
            f"{address}: the certificates that Dask's configuration names cannot be read "
            f"({error.strerror or error}); correct distributed.comm.tls there"
        ) from error
    if context is None:
        raise ClockhandError(
            f"{address} needs certificates, and Dask's configuration names none; give them there "
            "under distributed.comm.tls, as docs/sweeps.md shows"
        )


def _without_workers(address: str) -> ClockhandError:
    return ClockhandError(
        f"{address}: the cluster has had no worker for {SECONDS_WITHOUT_WORKERS} seconds; start "
        "some and run the command again"
    )


def _placed(
    tasks: Sequence[tuple[Task, int]], workers: Sequence[str], threads: int
) -> Iterator[tuple[Task, list[str]]]:
    """Give parts of tasks with the workers that are to compute them."""
    traces = list(dict.fromkeys((task.trace, task.view) for task, _ in tasks))
    cells = sum(number for _, number in tasks)
    for task, number in tasks:
        place = traces.index((task.trace, task.view))
        share = max(1, len(workers) // len(traces))
        homes = [workers[(place * share + next_one) % len(workers)] for next_one in range(share)]
        # Other studies read the trace again for each part, and so do samples.
        is_kept = task.layout.depends_on_footprint and task.options["sample"] is None
        per_thread = PARTS_PER_THREAD if is_kept else 1
        wanted = -(-per_thread * threads * number // max(1, cells))
        parts = max(1, min(number, wanted))
        for part in range(parts):
            home = homes[part % share : part % share + 1]
            yield replace(task, part=(part, parts)), home


def _submitted(client: Any, task: Task, homes: list[str]) -> Any:
    """Hand a task to a worker; another one may have it if that one is lost or busy."""
    return client.submit(
        compute,
        task,
        key=f"clockhand-{secrets.token_hex(8)}",
        pure=False,
        workers=homes,
        allow_other_workers=True,
    )


def _collect(client: Any, submitted: dict[Any, Task], take: Take) -> None:
    """Take results as they come, each once."""
    wait = _imported().wait
    pending = set(submitted)
    seen_s = time.monotonic()
    while pending:
        try:
            finished = wait(pending, timeout=SECONDS_BETWEEN_LOOKS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            if client.nthreads():
                seen_s = time.monotonic()
            elif time.monotonic() - seen_s > SECONDS_WITHOUT_WORKERS:
                raise _without_workers(client.scheduler.address) from None
            continue
        for future in finished.done:
            take(submitted[future], _result(future, submitted[future]))
        pending = set(finished.not_done)
        seen_s = time.monotonic()


def _result(future: Any, task: Task) -> Computed:
    distributed = _imported()
    try:
        computed = future.result()
    except ClockhandError:
        raise
    except distributed.KilledWorker as error:
        raise ClockhandError(
            f"{task.trace}: several workers died while they computed its cells; give them more "
            "memory, and see their logs"
        ) from error
    except distributed.CancelledError as error:
        raise ClockhandError(
            "the cluster ended or was restarted; run the command again for the rest"
        ) from error
    except Exception as error:
        said = (str(error).splitlines() or [""])[0]
        raise ClockhandError(
            f"a worker failed with {type(error).__name__} ({said}); install Clockhand "
            f"{_engine.__version__} on all workers"
        ) from error
    if not isinstance(computed, Computed) or computed.numbers != _engine.NUMBERS_VERSION:
        raise ClockhandError(
            "a worker has another version of Clockhand, with other numbers; install "
            f"{_engine.__version__} on all workers"
        )
    return computed
