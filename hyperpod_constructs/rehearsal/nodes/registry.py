"""Which beds run on this machine, and the removal of what killed ones left behind."""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes import cgroup
from hyperpod_constructs.rehearsal.nodes.errors import BedError
from hyperpod_constructs.rehearsal.nodes.paths import RUNTIME_DIR, bed_dir

INOTIFY_LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
# Every node's systemd, journald and dbus hold some, and the usual limit of 128 for all of root's processes is
# reached by about twenty nodes.
INOTIFY_WANTED = 8192
_INOTIFY_BEFORE = "inotify_max_user_instances"


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    """What is known of a running bed.

    Attributes:
        bed_id: its name on this machine.
        supervisor: process id of the process that owns it.
        supervisor_started: that process's start time in clock ticks since boot, since process ids are used again.
        cgroup: folder of its control group.
    """

    bed_id: str
    supervisor: int
    supervisor_started: int
    cgroup: str

    def is_alive(self) -> bool:
        return start_time(self.supervisor) == self.supervisor_started


def start_time(process_id: int) -> int | None:
    """When that process started, in clock ticks since boot; None when there is no such process."""
    try:
        text = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


@contextlib.contextmanager
def registry_lock() -> Iterator[None]:
    """Hold the lock of all beds of this machine: for short changes only."""
    RUNTIME_DIR.mkdir(parents=True, exist_ok=True)
    with (RUNTIME_DIR / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def register() -> Registration:
    """Register a new bed that belongs to the calling process, sweeping what dead ones left.

    Raises:
        BedUnavailable: control groups cannot be made here.
    """
    with registry_lock():
        sweep_locked()
        bed_id = f"{os.getpid()}-{secrets.token_hex(3)}"
        group = cgroup.create_bed_cgroup(bed_id)
        started = start_time(os.getpid()) or 0
        found = Registration(bed_id=bed_id, supervisor=os.getpid(), supervisor_started=started, cgroup=str(group))
        folder = bed_dir(bed_id)
        folder.mkdir(mode=0o700)
        (folder / "bed.json").write_text(json.dumps(asdict(found)))
        _raise_inotify_limit()
    return found


def unregister(registration: Registration) -> None:
    """Take a bed off the register with all that is left of it.

    Raises:
        BedError: processes of it are still there.
    """
    with registry_lock():
        gone = _remove(registration)
        if not any(other.is_alive() for other in registrations()):
            _restore_inotify_limit()
    if not gone:
        raise BedError(f"processes of bed {registration.bed_id} are left in {registration.cgroup}; end them by hand")


def registrations() -> list[Registration]:
    """Every bed on the register, running or dead."""
    found = []
    for file in sorted(RUNTIME_DIR.glob("*/bed.json")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            found.append(Registration(**json.loads(file.read_text())))
    return found


def running_beds() -> list[Registration]:
    """The beds that run now on this machine."""
    return [bed for bed in registrations() if bed.is_alive()]


def sweep() -> list[str]:
    """Remove what beds left behind that were killed; the ids of these beds."""
    with registry_lock():
        swept = sweep_locked()
        if not running_beds():
            _restore_inotify_limit()
    return swept


def sweep_locked() -> list[str]:
    """As ``sweep``, by a caller that holds the lock."""
    known = registrations()
    dead = [bed for bed in known if not bed.is_alive()]
    for bed in dead:
        _remove(bed)
    names = {bed.bed_id for bed in known}
    for folder in RUNTIME_DIR.iterdir():
        if folder.is_dir() and folder.name not in names:  # killed before it was written down
            shutil.rmtree(folder, ignore_errors=True)
    return [bed.bed_id for bed in dead]


def _remove(bed: Registration) -> bool:
    group = Path(bed.cgroup)
    cgroup.kill_all(group)
    gone = cgroup.remove(group)
    if gone:
        shutil.rmtree(bed_dir(bed.bed_id), ignore_errors=True)
    return gone


def _raise_inotify_limit() -> None:
    now = int(INOTIFY_LIMIT.read_text())
    if now >= INOTIFY_WANTED:
        return
    with contextlib.suppress(OSError):  # read-only in some containers: then about twenty nodes are the limit
        INOTIFY_LIMIT.write_text(str(INOTIFY_WANTED))
        (RUNTIME_DIR / _INOTIFY_BEFORE).write_text(str(now))


def _restore_inotify_limit() -> None:
    before = RUNTIME_DIR / _INOTIFY_BEFORE
    if before.exists():
        with contextlib.suppress(OSError):
            INOTIFY_LIMIT.write_text(before.read_text())
        before.unlink()
