"""The command line, ``hyperpod-slurm``. Each command is a module of its own.

Nothing heavy is imported before it is used.
"""

from __future__ import annotations

import importlib.util
import sys

_EXTRA_MODULES = ("typer", "rich")


def main() -> int:
    """Entry point of the console script. Gives the exit code."""
    missing = [name for name in _EXTRA_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"hyperpod-slurm: the command line needs {' and '.join(missing)}, which the extra [cli] brings: "
            "pip install 'hyperpod-constructs[cli]'\n"
        )
        return 1
    from .application import run

    return run()
