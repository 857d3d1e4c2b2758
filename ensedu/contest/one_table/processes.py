"""Many calls at once, each in a process of one thread that ends with the program."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from ensedu.common.checks import optional

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Seconds that a process waits for more to do.
IDLE_SECONDS = 60


def in_processes(
    call: Callable[..., Any], cases: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Any]:
    """Yield what a function returns of each case, as they are done; one worker is this process.

    Raises ``RuntimeError`` if a worker is killed.
    """
    if workers == 1:
        with optional("threadpoolctl", "sklearn").threadpool_limits(1):
            yield from (call(*case) for case in cases)
        return
    loky = optional("joblib.externals.loky", "sklearn")
    pool = loky.get_reusable_executor(
        workers,
        timeout=IDLE_SECONDS,
        initializer=_start_worker,
        initargs=(os.getpid(),),
        env=ONE_THREAD,
    )
    # Not all at once: loky stumbles if it is killed while some wait for a place in its queue.
    waiting = iter(cases)
    running = {pool.submit(call, *case) for case in islice(waiting, 2 * workers)}
    try:
        while running:
            done, running = loky.wait(running, return_when=loky.FIRST_COMPLETED)
            running |= {pool.submit(call, *case) for case in islice(waiting, len(done))}
            yield from (one.result() for one in done)
    except BaseException as error:
        pool.shutdown(kill_workers=True)
        if isinstance(error, loky.process_executor.BrokenProcessPool):
            raise RuntimeError(
                "a worker process was killed, for want of memory if nobody did it; what was done "
                "is kept in the output folder, if there is one, and the same call goes on"
            ) from error
        raise


def _start_worker(parent: int) -> None:
    """Let this process end when the one that started it has ended, were it killed."""
    # Each training has a bar, if a hidden one, and a lock of processes outlives a killed one.
    optional("tqdm", "sklearn").tqdm.set_lock(threading.RLock())

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
