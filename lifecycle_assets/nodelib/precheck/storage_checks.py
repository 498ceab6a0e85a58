"""File systems, home and disks of a node."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from nodelib.mounts import MOUNT_TABLE, Mounted, is_same, mounted_at, parse_mount_table, source_of
from nodelib.node_config import Mount
from nodelib.precheck.findings import Finding, absent, failed, ok
from nodelib.precheck.machine import LAUNCHER, TIMED_OUT, Machine

SHARED_KINDS = ("lustre", "nfs", "nfs4")
PROBE_TIMEOUT_SECONDS = 15.0
LOCAL_PATHS = ("/", "/tmp", "/var/log")  # noqa: S108 - measured, not used
_FEWEST_BYTES = 512 * 1024**2
_LEAST_SHARE = 0.02
_MOUNT_STEP = "sudo python3 -B /opt/hyperpod-constructs/lifecycle_script.py --only mount_file_systems"


def file_systems(machine: Machine, wanted: Sequence[Mount], paths: Sequence[str]) -> list[Finding]:
    """Each file system: mounted, the right one, answering, writable, not full.

    Args:
        machine: this node.
        wanted: as the deployment configured them.
        paths: mount points to look at beside these.
    """
    table = machine.read(MOUNT_TABLE)
    mounts = {mount.path.rstrip("/"): mount for mount in wanted}
    others = [path.rstrip("/") for path in paths if path.rstrip("/") not in mounts]
    if not mounts and not others:
        others = sorted({one.path for one in parse_mount_table(table) if one.kind in SHARED_KINDS})
    found = [_file_system(machine, table, path, mounts.get(path)) for path in (*mounts, *others)]
    return found or [absent("file systems")]


def _file_system(machine: Machine, table: str, path: str, wanted: "Mount | None") -> Finding:
    mounted = mounted_at(table, path)
    if mounted is None:
        return failed(path, "not mounted", f"mount it: {_MOUNT_STEP}")
    if wanted is not None and not is_same(wanted, mounted):
        problem = f"{mounted.source} is mounted instead of {source_of(wanted)}"
        return failed(path, problem, f"unmount it, then {_MOUNT_STEP}", _identity(mounted))
    looked = look_into(machine, path)
    if looked is None:
        remedy = "check the file system in the FSx console and the security groups; reboot the node if only it hangs"
        return failed(path, f"does not answer within {PROBE_TIMEOUT_SECONDS:.0f} s", remedy, _identity(mounted))
    if looked.get("error"):
        remedy = (
            "free space on it" if "space" in str(looked["error"]) else f"check its owner and mode, or {_MOUNT_STEP}"
        )
        where = looked.get("written") or path
        return failed(path, f"cannot be written in {where}: {looked['error']}", remedy, _identity(mounted))
    if is_full(looked):
        return failed(path, f"is full: {_free(looked)} left", "free space on it, or enlarge it", _identity(mounted))
    return ok(path, _identity(mounted))


def _identity(mounted: Mounted) -> str:
    return f"{mounted.kind} {mounted.source}"


def look_into(machine: Machine, path: str) -> "dict[str, Any] | None":
    """What the probe says of a path; None if it does not answer."""
    home = machine.user.pw_dir
    words = (sys.executable, "-B", str(LAUNCHER), "--probe", str(machine.path(path)), home)
    answer = machine.run(*words, timeout_seconds=PROBE_TIMEOUT_SECONDS)
    if answer.code == TIMED_OUT:
        return None
    try:
        value = json.loads(answer.text)
    except ValueError:
        return {"error": answer.text.strip()[-200:] or f"exit code {answer.code}"}
    return value if isinstance(value, dict) else {"error": "no answer"}


def is_full(looked: "dict[str, Any]") -> bool:
    """Whether so little is left that jobs fail."""
    free, share = float(looked.get("free_bytes", _FEWEST_BYTES)), float(looked.get("free_share", 1.0))
    return free < _FEWEST_BYTES and share < _LEAST_SHARE


def _free(looked: "dict[str, Any]") -> str:
    return f"{looked.get('free_bytes', 0) / 1024**2:.0f} MiB"


def home(machine: Machine, shared: Sequence[Mount] = ()) -> Finding:
    """The user's home: there, the user's own, on a shared file system.

    Args:
        machine: this node.
        shared: file systems of the node's group.
    """
    user = machine.user
    if user.pw_uid == 0:
        return absent("home", "root")
    path = machine.path(user.pw_dir)
    remedy = "run the steps create_users and set_up_homes of /opt/hyperpod-constructs/lifecycle_script.py with --only"
    if not path.is_dir():
        return failed("home", f"{user.pw_dir} is not there", remedy, user.pw_dir)
    if path.stat().st_uid != user.pw_uid:
        problem = f"{user.pw_dir} belongs to uid {path.stat().st_uid}, {user.pw_name} is {user.pw_uid}"
        return failed("home", problem, "the same user must have the same uid on every node", user.pw_dir)
    holder = holding(machine.read(MOUNT_TABLE), user.pw_dir)
    places = {mount.path.rstrip("/") for mount in shared}
    if holder is None or (holder.kind not in SHARED_KINDS and holder.path not in places):
        problem = f"{user.pw_dir} is on this node's own disk, which no other node sees and a replacement loses"
        return failed("home", problem, remedy, user.pw_dir)
    return ok("home", user.pw_dir)


def holding(table: str, path: str) -> "Mounted | None":
    """The mount that a path lies in: the longest; of several there, the last."""
    above = [one for one in parse_mount_table(table) if f"{path}/".startswith(f"{one.path.rstrip('/')}/")]
    return max(above, key=lambda one: len(one.path), default=None) if above else None


def disks(machine: Machine) -> Finding:
    """The node's own disks have room."""
    full = [*_full(machine)]
    if full:
        remedy = "remove what is not needed; scratch data belongs on /opt/dlami/nvme or the shared file system"
        return failed("disk", "; ".join(full), remedy)
    return ok("disk")


def _full(machine: Machine) -> Iterator[str]:
    seen = set()
    for path in LOCAL_PATHS:
        try:
            room = os.statvfs(machine.path(path))
        except OSError:
            continue
        share = room.f_bavail / room.f_blocks if room.f_blocks else 1.0
        looked = {"free_bytes": room.f_bavail * room.f_frsize, "free_share": share}
        no_files = bool(room.f_files) and room.f_favail == 0
        key = (room.f_fsid, room.f_blocks, room.f_bavail)
        if (is_full(looked) or no_files) and key not in seen:
            seen.add(key)
            yield f"{path} is full: {_free(looked)} left{', no file can be made' if no_files else ''}"
