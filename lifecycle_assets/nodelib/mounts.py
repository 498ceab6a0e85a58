"""The mount table and what belongs into it. Pure functions."""

import re
from dataclasses import dataclass

from nodelib.node_config import Mount

MOUNT_TABLE = "/proc/self/mountinfo"
# Lustre: locks that hold across nodes (Slurm, databases and our own key set-up want them), no write for each read.
LUSTRE_OPTIONS = "noatime,flock"
# OpenZFS: as the FSx guide advises for Linux clients (FACTS 4.3).
OPEN_ZFS_OPTIONS = "noatime,nfsvers=4.2,nconnect=16,rsize=1048576,wsize=1048576"
# nofail: a file server that is away must not keep a node from booting; slurmd's unit mounts what is missing.
FSTAB_OPTIONS = "_netdev,nofail"


@dataclass(frozen=True)
class Mounted:
    """One line of the mount table."""

    path: str
    kind: str
    source: str


def parse_mount_table(text: str) -> list[Mounted]:
    """Lines of /proc/self/mountinfo, the last mount of a path last."""
    found = []
    for line in text.splitlines():
        head, _, tail = line.partition(" - ")
        fields, rest = head.split(), tail.split()
        if len(fields) >= 5 and len(rest) >= 2:
            found.append(Mounted(_unescape(fields[4]), rest[0], _unescape(rest[1])))
    return found


def mounted_at(text: str, path: str) -> Mounted | None:
    """What is mounted at a path: the topmost of several."""
    here = [mounted for mounted in parse_mount_table(text) if mounted.path == path.rstrip("/")]
    return here[-1] if here else None


def source_of(mount: Mount) -> str:
    """What is given to mount(8)."""
    if mount.type == "lustre":
        return f"{mount.dns_name}@tcp:/{mount.mount_name}"
    return f"{mount.dns_name}:/fsx"


def kind_of(mount: Mount) -> str:
    """File system type for mount(8)."""
    return "lustre" if mount.type == "lustre" else "nfs"


def options_of(mount: Mount) -> str:
    """Mount options."""
    return LUSTRE_OPTIONS if mount.type == "lustre" else OPEN_ZFS_OPTIONS


def is_same(mount: Mount, mounted: Mounted) -> bool:
    """Whether what is mounted is this file system. Lustre shows the server's address instead of its name."""
    return mounted.source.rpartition(":/")[2] == source_of(mount).rpartition(":/")[2]


def fstab_line(mount: Mount) -> str:
    """The line that mounts it again after a reboot."""
    return f"{source_of(mount)} {mount.path} {kind_of(mount)} {options_of(mount)},{FSTAB_OPTIONS} 0 0"


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
