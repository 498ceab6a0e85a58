"""Builds folders beside their place and renames them into it when they are complete, several at once."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .failures import RehearsalError
from .processes import GuardedProcess

if TYPE_CHECKING:
    from pathlib import Path

ROOT_VARIABLE = "HYPERPOD_REHEARSAL_DIR"
STEP_TIMEOUT_SECONDS = 900.0
_SPACE_NEEDED_BYTES = 700 * 1024 * 1024
_POLL_SECONDS = 0.05

Tell = Callable[[str], None]
Command = list[str]


@dataclass(frozen=True)
class Part:
    """One folder to build, after the parts of all earlier waves.

    ``commands`` gets the folder in which to build and yields what to run there, one after the other.
    """

    name: str
    title: str
    lock_texts: tuple[str, ...]
    commands: Callable[[Path], Iterator[Command]]
    wave: int = 1

    def place(self, root: Path) -> Path:
        python = f"{sys.implementation.cache_tag} {sys.base_prefix} {sys.platform} {platform.machine()}"
        digest = hashlib.sha256("\0".join((python, *self.lock_texts)).encode()).hexdigest()
        return root / f"{self.name}-{digest[:12]}"


@dataclass
class _Build:
    part: Part
    folder: Path
    log: Path
    remaining: Iterator[Command]
    process: GuardedProcess | None = None
    started: float = field(default_factory=time.monotonic)


def build_missing(root: Path, parts: list[Part], tell: Tell) -> None:
    """Build the parts that are not in their place yet, one set-up of a folder at a time.

    Raises RehearsalError in one sentence, with the log's path, if a registry cannot be reached, space or a tool is
    missing, or a step takes more than 15 minutes.
    """
    if all(part.place(root).is_dir() for part in parts):
        return
    with _locked(root, tell):
        missing = [part for part in parts if not part.place(root).is_dir()]
        if missing:
            _require_space(root)
            _build_all(root, missing, tell)


@contextlib.contextmanager
def _locked(root: Path, tell: Tell) -> Iterator[None]:
    """One set-up of a folder at a time; the lock goes with the process that holds it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / "set-up.lock").open("w")
    except OSError as error:
        raise RehearsalError(
            f"the folder {root} cannot be written to ({error.strerror}): give another with --dir or ${ROOT_VARIABLE}"
        ) from error
    with lock:
        deadline = time.monotonic() + STEP_TIMEOUT_SECONDS
        told = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RehearsalError(
                        f"another set-up of {root} has been running for 15 minutes: end it first"
                    ) from None
                if not told:
                    tell("waiting for another set-up of this folder")
                told = True
                time.sleep(0.2)
        yield


def _require_space(root: Path) -> None:
    free = shutil.disk_usage(root).free
    if free < _SPACE_NEEDED_BYTES:
        raise RehearsalError(
            f"{root} has {free // 2**20} MiB free, the rehearsal's tools need {_SPACE_NEEDED_BYTES // 2**20} MiB: "
            f"free some, or give another folder with --dir or ${ROOT_VARIABLE}"
        )


def _build_all(root: Path, parts: list[Part], tell: Tell) -> None:
    """All parts at once, but npm after Node, if that is to be fetched, and the CDK's template after the CDK."""
    building = root / "building"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    tell("installing " + ", ".join(part.title for part in parts) + " (the first time only)")
    for wave in range(3):
        _build_wave(root, building, [part for part in parts if part.wave == wave], tell)
    shutil.rmtree(building, ignore_errors=True)


def _build_wave(root: Path, building: Path, parts: list[Part], tell: Tell) -> None:
    builds: list[_Build] = []
    try:
        for part in parts:
            folder = building / part.name
            folder.mkdir()
            log = root / "logs" / f"set-up-{part.name}.log"
            log.parent.mkdir(exist_ok=True)
            log.write_text("")
            builds.append(_Build(part, folder, log, part.commands(folder)))
        while builds:
            builds = [build for build in builds if not _advanced_to_end(build, root, tell)]
            time.sleep(_POLL_SECONDS)
    finally:
        for build in builds:
            if build.process:
                build.process.stop()


def _advanced_to_end(build: _Build, root: Path, tell: Tell) -> bool:
    """Look at one build once: start its next command if there is none, put the folder in its place after the last."""
    if build.process:
        code = build.process.poll()
        if code is None:
            if time.monotonic() - build.started > STEP_TIMEOUT_SECONDS:
                raise RehearsalError(f"installing {build.part.title} took more than 15 minutes: see {build.log}")
            return False
        build.process.stop()
        build.process = None
        if code:
            raise RehearsalError(
                explain_failure(build.part.title, code, build.log.read_text(errors="replace"), build.log)
            )
    command = next(build.remaining, None)
    if command is None:
        build.folder.rename(build.part.place(root))
        tell(f"{build.part.title}: installed in {time.monotonic() - build.started:.0f} s")
        return True
    build.process = GuardedProcess(
        build.part.title, command, env=_installer_environment(root), cwd=build.folder, log=build.log
    )
    return False


def _installer_environment(root: Path) -> dict[str, str]:
    """The user's own settings (where packages come from), with temporary files in our folder."""
    temporary = root / "building"
    own = {"TMPDIR": str(temporary), "PYTHONNOUSERSITE": "1", "CDK_DISABLE_CLI_TELEMETRY": "true"}
    return {**os.environ, **own, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}


_CAUSES = (
    (
        r"No space left on device|ENOSPC|Disk quota exceeded",
        "there is no space left on the disk: free some and run it again",
    ),
    (
        r"No module named (venv|ensurepip)|ensurepip is not available",
        "this Python lacks the venv module: install it (Debian: python3-venv) and run it again",
    ),
    (
        r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|ConnectTimeout|Read timed out"
        r"|ProxyError|Failed to establish a new connection|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ECONNRESET"
        r"|ENETUNREACH",
        "the package registry could not be reached: check the network and the package client's settings, then run it "
        "again",
    ),
    (
        r"No matching distribution found|ETARGET|E404|Could not find a version",
        "the package registry does not have a pinned version: check the package client's settings",
    ),
    (r"Permission denied|EACCES", "a file could not be written: check who owns the folder"),
)


def explain_failure(title: str, code: int, log_text: str, log: Path) -> str:
    """One sentence for a failed installation: the cause if the log shows a known one, else its last line, and where
    to read on.
    """
    for pattern, cause in _CAUSES:
        if re.search(pattern, log_text):
            return f"installing {title} failed: {cause} (log: {log})"
    last = next((line.strip() for line in reversed(log_text.splitlines()) if line.strip()), "it printed nothing")
    return f"installing {title} failed with exit code {code}: {last} (log: {log})"
