"""Places on the shared file system, and how 20 nodes that start at once do not get into each other's way."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from nodelib.errors import StepError, StepTimeoutError
from nodelib.step import Context
from nodelib.waiting import wait_for

LOCK_TIMEOUT_SECONDS = 120.0


def shared_root(context: Context) -> str:
    """Where the first shared file system is mounted; empty if the group has none."""
    return context.group.mounts[0].path.rstrip("/") if context.group.mounts else ""


def cluster_folder(context: Context, *, create: bool = True) -> str:
    """A folder of this cluster's own on the shared file system, for root alone; empty without a file system.

    File systems outlive clusters and may serve several: hence the cluster's name in it.
    """
    root = shared_root(context)
    if not root:
        return ""
    path = f"{root}/.hyperpod/{context.config.cluster_name}"
    if create:
        context.files.folder(f"{root}/.hyperpod", mode=0o755)
        context.files.folder(path, mode=0o755)
    return path


def home_base(context: Context) -> str:
    """Folder of the homes: as configured; else /home where OpenZFS is mounted there; else on the first file system."""
    if not context.config.enabled("home_directories"):
        return "/home"
    if context.config.home_path:
        return context.config.home_path.rstrip("/")
    if any(mount.path.rstrip("/") == "/home" for mount in context.group.mounts):
        return "/home"
    root = shared_root(context)
    return f"{root}/home" if root else "/home"


@contextmanager
def node_lock(context: Context, path: str, timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold a lock that counts on all nodes; it ends with its holder, however that dies.

    POSIX record locks: Lustre (mounted with ``flock``) and NFS 4 carry them between nodes.

    Raises:
        StepError: the file system has no locks, or another node held it all the time.
    """
    descriptor = os.open(context.files.path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _acquire(context, descriptor, path, timeout_seconds)
        yield
    finally:
        os.close(descriptor)


def _acquire(context: Context, descriptor: int, path: str, timeout_seconds: float) -> None:
    def attempt() -> bool | None:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return None
        except OSError as error:
            raise StepError(f"{path}: locks do not work ({error.strerror}): mount Lustre with flock") from error
        return True

    try:
        wait_for(
            attempt,
            what=f"the lock {path}",
            timeout_seconds=timeout_seconds,
            clock=context.clock,
            first_pause_seconds=0.02,
            longest_pause_seconds=1,
        )
    except StepTimeoutError as error:
        raise StepTimeoutError(f"{error}, which another node holds") from error
