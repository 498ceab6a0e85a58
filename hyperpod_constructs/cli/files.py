"""Files that are there whole or not at all, whatever interrupts the writing."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def write_file(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file; one that exists keeps its mode, and a link goes on pointing to it.

    Args:
        path: of the file.
        text: all of it.
        mode: of a new file; by default as the umask says.

    Raises:
        CommandError: it cannot be written.
    """
    real = Path(os.path.realpath(path))
    try:
        kept = real.stat().st_mode & 0o777 if real.exists() else mode
        handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        draft = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.chmod(_default_mode() if kept is None else kept)
            draft.replace(real)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from None


def _default_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_folder(target: Path, files: Mapping[str, bytes], *, replace: bool) -> None:
    """Write a folder of files.

    Args:
        target: of the folder.
        files: content by path inside it; scripts (``*.sh`` and files that start with ``#!``) become executable.
        replace: whether a folder that is there goes; otherwise it is refused unless it is empty.

    Raises:
        CommandError: it cannot be written, or holds something.
    """
    try:
        if target.exists() and not target.is_dir():
            raise CommandError(f"{target}: is a file; give a folder")
        if not replace and target.is_dir() and any(target.iterdir()):
            raise CommandError(f"{target}: is not empty; give another folder, or --force to replace it")
        target.parent.mkdir(parents=True, exist_ok=True)
        with _draft_of(target) as draft:
            for name, content in files.items():
                path = draft / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(0o755 if content.startswith(b"#!") else 0o644)
            _exchange(draft, target)
    except OSError as error:
        raise CommandError(f"{target}: cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def _draft_of(target: Path) -> Iterator[Path]:
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    draft.chmod(0o755)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _exchange(draft: Path, target: Path) -> None:
    """Put the draft in the target's place; what was there comes back if that fails."""
    old = draft.with_name(f"{draft.name}.old")
    if target.exists():
        target.rename(old)
    try:
        draft.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
