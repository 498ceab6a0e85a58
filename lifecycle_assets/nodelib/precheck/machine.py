"""This node: its files, and programs with a time limit."""

import os
import pwd
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NOT_FOUND, TIMED_OUT = 127, 124
SCRIPTS = Path(__file__).resolve().parents[2]
LAUNCHER = SCRIPTS / "hyperpod-precheck"


@dataclass(frozen=True)
class Answer:
    """What a program said, both streams together."""

    code: int
    text: str


class Machine:
    """The node that this runs on.

    Args:
        root: of its files; tests use another.
        scripts: folder of the lifecycle scripts.
    """

    def __init__(self, root: Path = Path("/"), scripts: Path = SCRIPTS) -> None:
        self.root, self.scripts = root, scripts

    @property
    def host(self) -> str:
        """Its name, without a domain."""
        return socket.gethostname().partition(".")[0]

    @property
    def user(self) -> pwd.struct_passwd:
        """Who runs this."""
        return pwd.getpwuid(os.getuid())

    def path(self, path: str) -> Path:
        """Where an absolute path is below the root."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str:
        """Text of a file; empty if there is none or it may not be read."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def first(self, *paths: str) -> str:
        """Text of the first of these files that holds any."""
        return next((text for text in map(self.read, paths) if text), "")

    def names(self, folder: str) -> list[str]:
        """Names in a folder; none if there is none."""
        try:
            return sorted(entry.name for entry in self.path(folder).iterdir())
        except OSError:
            return []

    def processes(self) -> set[str]:
        """Names of all processes."""
        return {self.read(f"/proc/{name}/comm").strip() for name in self.names("/proc") if name.isdigit()} - {""}

    def run(self, *words: str, timeout_seconds: float = 20.0, text: str = "") -> Answer:
        """Run a program; 127 if there is none, 124 if it did not end in time."""
        return run(words, timeout_seconds=timeout_seconds, text=text)


def run(words: Sequence[str], *, timeout_seconds: float, text: str = "") -> Answer:
    """Run a program.

    One that hangs in a file system cannot even be killed: it is left behind rather than waited for.
    """
    try:
        process = subprocess.Popen(
            [*words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError:
        return Answer(NOT_FOUND, "")
    try:
        output, _ = process.communicate(text, timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        return Answer(TIMED_OUT, "")
    return Answer(process.returncode, output)
