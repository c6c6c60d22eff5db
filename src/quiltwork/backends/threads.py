"""Work in threads of this process: kernels let go of Python's lock, so they run side by side.

Results never depend on the number of threads: each task writes its own part of the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from quiltwork.errors import ParameterError


def n_threads(n_jobs: int | None) -> int:
    """Threads meant by scikit-learn's `n_jobs`: None or -1 for all cores, -2 for all but one.

    >>> n_threads(1)
    1
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ParameterError("'n_jobs' must be None or an integer other than 0. Got 0 instead.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class Threads:
    """Runs numbered tasks; used as a context, so that no thread outlives the work.

    >>> done = []
    >>> with Threads(2) as threads:
    ...     threads.run(done.append, 3)
    >>> sorted(done)
    [0, 1, 2]
    """

    def __init__(self, n: int):
        self.n = n
        self._pool: ThreadPoolExecutor | None = None

    def run(self, task: Callable[[int], object], n: int) -> None:
        """Call task(i) for each i < n; the first error is raised here."""
        if self.n == 1 or n <= 1:
            for i in range(n):
                task(i)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n, thread_name_prefix="quiltwork")
        for future in [self._pool.submit(task, i) for i in range(n)]:
            future.result()

    def __enter__(self) -> Threads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
