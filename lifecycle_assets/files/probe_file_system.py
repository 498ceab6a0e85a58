"""Write, read and remove a file of this host's own in a folder: exit code 0 if all of it works.

A process of its own, because a call into a file system whose server is gone cannot be interrupted.
"""

import os
import socket
import sys
from pathlib import Path


def main(folder: str) -> int:
    """Probe; print the cause on failure."""
    probe = Path(folder) / f".hyperpod-probe-{socket.gethostname()}-{os.getpid()}"
    text = f"written by {probe.name}"
    try:
        probe.write_text(text, encoding="ascii")
        back = probe.read_text(encoding="ascii")
        probe.unlink()
    except OSError as error:
        sys.stderr.write(f"{error.strerror}\n")
        return 1
    if back != text:
        sys.stderr.write("read something else than was written\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
