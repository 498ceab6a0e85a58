"""The folders of the runs below the rehearsal's root, and the runs that were kept up."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from typing import TYPE_CHECKING

from .processes import end_guard, is_guard

if TYPE_CHECKING:
    from pathlib import Path

RUNS_KEPT_FOR_READING = 5
_GUARDS_FILE = "guards.json"


def new_run(root: Path) -> Path:
    """A new folder for the logs and temporary files of one run. Only the latest few are kept."""
    folder = root / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    _forget_old_runs(folder)
    run = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    number = 0
    while True:
        try:
            run.mkdir()
            (run / "owner").write_text(str(os.getpid()))
            return run
        except FileExistsError:
            number += 1
            run = run.with_name(f"{run.name.partition('.')[0]}.{number}")


def remember(run: Path, guards: list[int]) -> None:
    """Note the guards of a run that stays up, for ``stop_kept``."""
    (run / _GUARDS_FILE).write_text(json.dumps(guards))


def kept_runs(root: Path) -> dict[Path, list[int]]:
    """The runs that are still up, each with its living guards."""
    found = {}
    for file in sorted((root / "runs").glob(f"*/{_GUARDS_FILE}")):
        with contextlib.suppress(OSError, ValueError):
            living = [pid for pid in json.loads(file.read_text()) if is_guard(pid)]
            if living:
                found[file.parent] = living
    return found


def stop_kept(root: Path) -> list[Path]:
    """End every run that was kept up; gives their folders."""
    stopped = []
    for run, guards in kept_runs(root).items():
        for pid in guards:
            end_guard(pid)
        (run / _GUARDS_FILE).unlink(missing_ok=True)
        stopped.append(run)
    return stopped


def _forget_old_runs(folder: Path) -> None:
    finished = [run for run in sorted(folder.iterdir()) if run.is_dir() and not _in_use(run)]
    for run in finished[: -RUNS_KEPT_FOR_READING or None]:
        shutil.rmtree(run, ignore_errors=True)


def _in_use(run: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        if (run / _GUARDS_FILE).exists() and any(map(is_guard, json.loads((run / _GUARDS_FILE).read_text()))):
            return True
    try:
        os.kill(int((run / "owner").read_text()), 0)
    except (OSError, ValueError):
        return False
    return True
