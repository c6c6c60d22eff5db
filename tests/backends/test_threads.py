import threading

import pytest

from quiltwork.backends.threads import Threads, n_threads
from quiltwork.errors import ParameterError


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_task_runs_once(n):
    done = []
    with Threads(n) as threads:
        threads.run(done.append, 20)
    assert sorted(done) == list(range(20))


def test_an_error_in_a_task_reaches_the_caller():
    with pytest.raises(ZeroDivisionError), Threads(2) as threads:
        threads.run(lambda i: 1 // (i - 3), 5)


def test_no_thread_outlives_the_context():
    with Threads(3) as threads:
        threads.run(lambda i: None, 9)
    assert not [t for t in threading.enumerate() if t.name.startswith("quiltwork")]


def test_n_jobs_means_what_it_means_in_scikit_learn():
    cores = n_threads(None)
    assert n_threads(-1) == cores and n_threads(3) == 3 and n_threads(-100) == 1
    with pytest.raises(ParameterError):
        n_threads(0)
