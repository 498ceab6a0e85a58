"""Starts the emulator with everything of this package installed.

Called inside the emulator's own Python by ../emulator.py.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import buckets, custom_resources, file_systems, network, seams, secrets


def main() -> None:
    """Serve until SIGTERM. Everything comes from the environment (see ../emulator.py)."""
    network.install()
    buckets.install()
    file_systems.install()
    secrets.install()
    custom_resources.install()
    # Only the workers are to see these: they inherit this process's environment.
    os.environ["PYTHONPATH"] = str(Path(__file__).parent / "worker")
    os.environ["NODE_PATH"] = os.environ["HYPERPOD_REHEARSAL_NODE_MODULES"]
    sys.argv = sys.argv[:1]
    seams.serve()
