"""Files on the node: written only when they differ, in one move, with explicit modes (the platform's umask is 077)."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from nodelib.errors import StepError

Owner = tuple[int, int]
NOT_SHIPPED = ("__pycache__", ".pyc")


class Ownership(Protocol):
    """User and group ids of files; tests replace it, because only root may change them."""

    def get(self, path: Path) -> Owner:
        """User and group id."""

    def set(self, path: Path, owner: Owner) -> None:
        """Change user and group id."""

    def acting_as(self, owner: Owner) -> AbstractContextManager[None]:
        """Touch files with another user's rights only, for as long as the block lasts."""


class SystemOwnership:
    """The file system's own record."""

    def get(self, path: Path) -> Owner:
        """User and group id."""
        status = path.lstat()
        return status.st_uid, status.st_gid

    def set(self, path: Path, owner: Owner) -> None:
        """Change user and group id, of a link itself rather than of what it points to."""
        os.chown(path, *owner, follow_symlinks=False)

    @contextmanager
    def acting_as(self, owner: Owner) -> Iterator[None]:
        """Touch files with another user's rights only, for as long as the block lasts."""
        before = (os.geteuid(), os.getegid())
        _become(owner)
        try:
            yield
        finally:
            _become(before)


class NodeFiles:
    """Reads and writes below a root (``/`` on a node) and remembers in ``changed`` what it altered."""

    def __init__(self, root: Path, ownership: Ownership | None = None) -> None:
        self.root = root
        self.ownership = ownership or SystemOwnership()
        self.changed: list[str] = []

    def path(self, path: str) -> Path:
        """Where an absolute path of the node is below the root."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str:
        """Text of a file, empty if there is none."""
        try:
            return self.path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def exists(self, path: str) -> bool:
        """Whether there is something at the path."""
        return self.path(path).exists()

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644, owner: Owner | None = None) -> bool:
        """Make the file hold this content with this mode and owner; return whether anything changed.

        Raises:
            StepError: it cannot be written, because the disk is full for example.
        """
        data = content.encode() if isinstance(content, str) else content
        # A link (/opt/slurm/etc/slurm.conf on some images) keeps being one.
        target = self.path(path).resolve()
        if self._is_right(target, data, mode, owner):
            return False
        with _reported(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._replace(target, data, mode, owner)
        self.changed.append(path)
        return True

    def edit(self, path: str, change: Callable[[str], str], *, mode: int = 0o644) -> bool:
        """Rewrite a file by a function of its text; mode and owner stay, ``mode`` is for a file that is new."""
        before = self.read(path)
        after = change(before)
        if after == before:
            return False
        target = self.path(path)
        if not target.exists():
            return self.write(path, after, mode=mode)
        return self.write(path, after, mode=target.stat().st_mode & 0o7777, owner=self.ownership.get(target.resolve()))

    def edit_account_file(self, path: str, change: Callable[[str], str]) -> bool:
        """Rewrite /etc/passwd or its like while holding the lock that the system's own tools take (lckpwdf)."""
        with self.path("/etc/.pwd.lock").open("w", encoding="ascii") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            return self.edit(path, change)

    def folder(self, path: str, *, mode: int = 0o755, owner: Owner | None = None) -> bool:
        """Make a folder; one that exists keeps its mode and owner."""
        target = self.path(path)
        if target.is_dir():
            return False
        with _reported(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                target.mkdir()
            except FileExistsError:  # another node was faster
                return False
            target.chmod(mode)
            if owner is not None:
                self.ownership.set(target, owner)
        self.changed.append(path)
        return True

    def remove(self, path: str) -> bool:
        """Remove a file if it is there."""
        try:
            self.path(path).unlink()
        except FileNotFoundError:
            return False
        self.changed.append(path)
        return True

    def copy_tree(self, source: Path, path: str) -> bool:
        """Make a folder of the node equal to a source folder: what differs is written, what is not in it removed."""
        wanted = {item.relative_to(source): item for item in sorted(source.rglob("*")) if _is_shipped(item)}
        target = self.path(path)
        present = {item.relative_to(target) for item in target.rglob("*") if item.is_file()}
        written = [self.write(f"{path}/{name}", item.read_bytes()) for name, item in wanted.items()]
        removed = [self.remove(f"{path}/{name}") for name in sorted(present - wanted.keys())]
        return any(written + removed)

    def _is_right(self, target: Path, data: bytes, mode: int, owner: Owner | None) -> bool:
        try:
            return (
                target.read_bytes() == data
                and target.stat().st_mode & 0o7777 == mode
                and owner in (None, self.ownership.get(target))
            )
        except OSError:
            return False

    def _replace(self, target: Path, data: bytes, mode: int, owner: Owner | None) -> None:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fchmod(stream.fileno(), mode)
            if owner is not None:
                self.ownership.set(Path(name), owner)
            Path(name).replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(name).unlink()
            raise


def _become(owner: Owner) -> None:
    os.seteuid(0)  # only root may change to others
    os.setegid(owner[1])
    os.seteuid(owner[0])


@contextmanager
def _reported(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StepError(f"{path}: cannot be written: {error.strerror}") from error


def _is_shipped(item: Path) -> bool:
    return item.is_file() and not any(mark in str(item) for mark in NOT_SHIPPED)
