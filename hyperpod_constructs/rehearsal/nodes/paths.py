"""Where the bed keeps its files.

Two places: a cache that is worth keeping (the Debian trees), and a folder for each running bed, which goes with it.
"""

import os
from pathlib import Path

import hyperpod_constructs

REHEARSAL_DIR_VARIABLE = "HYPERPOD_REHEARSAL_DIR"

# In /run because a Unix socket's path may have 107 characters at most, and a checkout can lie deeper than that;
# and because what a killed bed leaves in it is found by the next one, whatever folder that one was started in.
RUNTIME_DIR = Path("/run/hyperpod-rehearsal")

CGROUP_PREFIX = "hyperpod-bed-"


def rehearsal_dir() -> Path:
    """The folder for everything a rehearsal keeps: HYPERPOD_REHEARSAL_DIR, or ``.rehearsal`` in the current folder."""
    return Path(os.environ.get(REHEARSAL_DIR_VARIABLE) or ".rehearsal").absolute()


def nodes_cache_dir() -> Path:
    """The folder for the Debian trees of all suites."""
    return rehearsal_dir() / "nodes"


def bed_dir(bed_id: str) -> Path:
    """The folder of one running bed: its control socket, its log and who it belongs to."""
    return RUNTIME_DIR / bed_id


def python_environment() -> dict[str, str]:
    """This process's environment, with this package on Python's path wherever it was imported from."""
    package_parent = str(Path(hyperpod_constructs.__file__).parents[1])
    paths = [package_parent, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
