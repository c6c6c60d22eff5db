"""Which compiled kernels are out of date: Numba's disk cache sees a change in a kernel's own file only."""

from importlib.util import find_spec
from pathlib import Path

# Kernels of these files are called from kernels of others.
KERNEL_LIBRARIES = {
    "quiltwork.data.bits",
    "quiltwork.scores.gaussian",
    "quiltwork.search.moves",
    "quiltwork.search.steps",
    "quiltwork.stats.partial",
}


def forget_stale_kernels() -> None:
    """Forget compiled kernels that are older than a file whose kernels they may have taken in."""
    source = Path(find_spec("quiltwork").origin).parent
    changed = max((source.parent / (name.replace(".", "/") + ".py")).stat().st_mtime for name in KERNEL_LIBRARIES)
    for path in source.rglob("*.py"):
        if any(f"from {name} import" in path.read_text("utf-8") for name in KERNEL_LIBRARIES):
            for index in (path.parent / "__pycache__").glob(f"{path.stem}.*.nbi"):
                if index.stat().st_mtime < changed:
                    index.unlink(missing_ok=True)
