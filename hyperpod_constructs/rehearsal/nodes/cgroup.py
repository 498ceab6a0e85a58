"""The control group of a bed: one below our own in the unified (v2) hierarchy, and one in it for each node.

Only that hierarchy is used, wherever the controllers are: systemd as old as 2024 demands it, and a bed that sees
nothing else behaves the same on hosts with v2 alone and on hosts that still have v1 beside it.
"""

import contextlib
import os
import time
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes.errors import BedUnavailable
from hyperpod_constructs.rehearsal.nodes.paths import CGROUP_PREFIX


def own_cgroup(mountinfo: str, membership: str) -> Path | None:
    """The folder of this process's own v2 control group, or None where that hierarchy is not mounted.

    Args:
        mountinfo: text of /proc/self/mountinfo.
        membership: text of /proc/self/cgroup.
    """
    path = next((line[3:] for line in membership.splitlines() if line.startswith("0::")), None)
    if path is None:
        return None
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        if fields[fields.index("-") + 1] != "cgroup2":
            continue
        mount_root, mount_point = fields[3], fields[4]
        if path == mount_root or path.startswith(mount_root.rstrip("/") + "/"):
            return Path(mount_point) / path[len(mount_root) :].lstrip("/")
    return None


def create_bed_cgroup(bed_id: str) -> Path:
    """Make the control group of a bed.

    Raises:
        BedUnavailable: there is no v2 hierarchy here, or it cannot be written to.
    """
    parent = own_cgroup(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    if parent is None:
        raise BedUnavailable("no cgroup2 file system is mounted here; the nodes' systemd needs one; mount it first")
    group = parent / f"{CGROUP_PREFIX}{bed_id}"
    try:
        group.mkdir()
    except OSError as error:
        raise BedUnavailable(
            f"cgroups are not writable: {group}: {error.strerror}; run where root may make control groups "
            "(a container needs --privileged)"
        ) from None
    return group


def enter(group: Path, process_id: int) -> None:
    """Move a process into a control group."""
    (group / "cgroup.procs").write_text(str(process_id))


def is_populated(group: Path) -> bool:
    """Whether any process is left in the group or below it."""
    try:
        return "populated 1" in (group / "cgroup.events").read_text()
    except FileNotFoundError:
        return False


def kill_all(group: Path) -> None:
    """End every process in the group and below it."""
    with contextlib.suppress(OSError):
        (group / "cgroup.kill").write_text("1")


def remove(group: Path, *, timeout_seconds: float = 10.0) -> bool:
    """Remove the group with everything below it, once its processes are gone.

    Returns:
        Whether it is gone; False when processes were left until the time was over.
    """
    deadline = time.monotonic() + timeout_seconds
    while group.exists():
        if not is_populated(group):
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        if group.exists():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
    return True
