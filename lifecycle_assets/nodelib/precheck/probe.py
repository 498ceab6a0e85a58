"""A look into a file system, made in a process of its own: a call whose server is gone never returns."""

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any


def probe(path: str, home: str) -> dict[str, Any]:
    """Write, read and remove a file where this user may, and measure what is free.

    Args:
        path: where the file system is mounted.
        home: the user's home; written to where the mount point itself is not the user's.
    """
    folder = next((one for one in (path, home) if _is_below(one, path) and os.access(one, os.W_OK)), "")
    answer: dict[str, Any] = {"written": folder, "error": ""}
    try:
        room = os.statvfs(path)
        answer["free_bytes"] = room.f_bavail * room.f_frsize
        answer["free_share"] = room.f_bavail / room.f_blocks if room.f_blocks else 1.0
        if folder:
            _write(Path(folder))
        else:
            next(Path(path).iterdir(), None)
    except OSError as error:
        answer["error"] = error.strerror or type(error).__name__
    return answer


def _is_below(folder: str, path: str) -> bool:
    return folder == path or folder.startswith(f"{path.rstrip('/')}/")


def _write(folder: Path) -> None:
    file = folder / f".hyperpod-precheck-{socket.gethostname()}-{os.getpid()}"
    text = f"written by {file.name}"
    try:
        file.write_text(text, encoding="ascii")
        if file.read_text(encoding="ascii") != text:
            raise OSError(5, "read something else than was written")
    finally:
        file.unlink(missing_ok=True)


def main(path: str, home: str) -> int:
    """Print what was found as one line of JSON."""
    sys.stdout.write(json.dumps(probe(path, home)) + "\n")
    return 0
