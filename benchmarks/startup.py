"""How long until the first answer: importing, asking for help, and the first fit in a new process?

Every measurement is a fresh process, the fastest of five. CPU seconds are those of the whole process, the
interpreter's own start included (shown in the first row). For the first fit the kernels are cached on disk
already: they are compiled once after an installation.

Wanted: `import quiltwork` under 0.3 s CPU, and without numba, scikit-learn or scipy.optimize; `quiltwork --help` under
0.5 s; the first fit of ALARM with 1,000 rows under 1.5 s.

Last result: 2026-11-16, 2 cores AMD EPYC: an empty interpreter 0.017 s CPU, `import quiltwork` 0.024 s, loading none of
the heavy packages; `quiltwork --help` 0.16 s; the first fit of ALARM, import included, 0.63 s, 0.77 s CPU.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

HEAVY = ("numpy", "numba", "sklearn", "scipy.optimize", "pandas", "polars")

IMPORT = "import quiltwork, sys, json; print(json.dumps([m for m in sys.argv[1:] if m in sys.modules]))"

FIRST_FIT = """
import sys, time
import numpy as np
table = dict(np.load(sys.argv[1]))
wall, cpu = time.perf_counter(), time.process_time()
import quiltwork as qw
qw.BayesianNetwork(search="climb", n_jobs=1).fit(table)
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


def main() -> None:
    print(common.machine())
    rows = [_row("python -c pass", ["-c", "pass"]), _row("import quiltwork", ["-c", "import quiltwork"])]
    rows.append(_row("quiltwork --help", ["-m", "quiltwork", "--help"]))
    common.print_rows("A new process, fastest of 5", ["process", "wall s", "CPU s"], rows)
    loaded = json.loads(_run(["-c", IMPORT, *HEAVY])[0])
    print(f"\n`import quiltwork` loads {', '.join(loaded) if loaded else 'none'} of {', '.join(HEAVY)}.")
    wall, cpu = first_fit(seed=0)
    print(f"\nFirst fit of {alarm_or_like(0)[0]}, import included: {wall:.2f} s, {cpu:.2f} s CPU.")


def first_fit(seed: int, repeat: int = 5) -> tuple[float, float]:
    """Wall and CPU seconds of `import quiltwork` and a plain climb on ALARM, 1,000 rows, kernels cached."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "table.npz")
        common.np.savez(path, **alarm_or_like(seed)[1].columns())
        runs = [_run(["-c", FIRST_FIT, path])[0] for _ in range(repeat + 1)][1:]  # the first may compile
    times = [tuple(map(float, run.split())) for run in runs]
    return min(wall for wall, _ in times), min(cpu for _, cpu in times)


def alarm_or_like(seed: int) -> tuple[str, common.Table]:
    """ALARM where the public data is there, else a random network with as many variables."""
    if common.data_folder():
        return "ALARM, 1,000 rows", common.sampled_network("alarm", 1000, seed)
    return "a random binary network of 37 variables, 1,000 rows", common.random_network(37, 1000, seed)


def _row(name: str, arguments: list[str]) -> list[str]:
    runs = [_run(arguments) for _ in range(6)][1:]  # the first finds cold caches
    return [name, common.seconds(min(wall for _, wall, _ in runs)), common.seconds(min(cpu for _, _, cpu in runs))]


def _run(arguments: list[str]) -> tuple[str, float, float]:
    """Output, wall and CPU seconds of a new interpreter."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ran.stdout, wall, cpu


if __name__ == "__main__":
    main()
