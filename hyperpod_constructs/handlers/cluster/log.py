"""Log lines: one JSON object a step. Only what is passed is written, so an event with its pre-signed URL never is."""

import contextlib
import json
import sys
from typing import Any


def log(step: str, **fields: Any) -> None:
    """Write one line; never raises, because after CreateCluster nothing may."""
    with contextlib.suppress(Exception):
        sys.stdout.write(json.dumps({"step": step, **fields}, default=str) + "\n")
        sys.stdout.flush()
