"""The layer between the Debian tree and a node's own files: what makes the tree look like the HyperPod image."""

import os
import shutil
import stat
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes import image_units
from hyperpod_constructs.rehearsal.nodes.errors import BedError

_STANDINS = Path(__file__).parent / "standins"
_PROGRAMS = {
    "mount_file_system.py": ("usr/sbin/mount.lustre", "usr/sbin/mount.nfs", "usr/sbin/mount.nfs4"),
    "list_mounts.py": ("usr/bin/findmnt",),
    "lustre_tools.py": ("usr/sbin/modprobe", "usr/sbin/lctl", "usr/sbin/lnetctl", "usr/bin/lfs"),
}
_SLURM_FOLDERS = ("var/log/slurm", "var/spool/slurmctld")
_FOLDERS = (
    *("opt/ml/config", "opt/sagemaker", "opt/dlami/nvme", "opt/slurm/etc", "opt/slurm/lib", "fsx"),
    *("var/log/provision", "var/log/aws/clusters", "var/spool/slurmd", "var/spool/slurmctld", "var/log/slurm"),
)


def build_layer(tree: Path, layer: Path) -> None:
    """Fill an empty folder with the layer for that tree.

    Args:
        tree: root of the Debian tree; only read.
        layer: the folder, on a file system that can hold device nodes (removals are written as such).
    """
    for folder in _FOLDERS:
        (layer / folder).mkdir(parents=True)
    for name, text in image_units.FILES.items():
        _write(layer / name, text)
    (layer / "etc/sudoers.d/90-ubuntu").chmod(0o440)
    _add_slurm_paths(tree, layer)
    _add_units(tree, layer)
    _add_programs(tree, layer)
    _remove_secrets(tree, layer)
    for name in ("etc/init.d",):  # with SysV scripts there, `systemctl enable` runs perl for a second each time
        for script in (tree / name).iterdir():
            _remove(layer, f"{name}/{script.name}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)


def _remove(layer: Path, name: str) -> None:
    """Make a file of the tree invisible: overlay's own way is a character device 0:0 of the same name."""
    path = layer / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))


def _user_ids(tree: Path, name: str) -> tuple[int, int]:
    for line in (tree / "etc/passwd").read_text().splitlines():
        fields = line.split(":")
        if fields[0] == name:
            return int(fields[2]), int(fields[3])
    raise BedError(f"the tree {tree} has no account {name}; remove that folder and build it again")


def _add_slurm_paths(tree: Path, layer: Path) -> None:
    """/opt/slurm as on the image: its etc is the real folder and Debian's /etc/slurm a link to it."""
    (layer / "etc/slurm").symlink_to("/opt/slurm/etc")
    (layer / "opt/slurm/bin").symlink_to("/usr/bin")
    (layer / "opt/slurm/sbin").symlink_to("/usr/sbin")
    plugins = next(tree.glob("usr/lib/*/slurm-wlm"))
    (layer / "opt/slurm/lib/slurm").symlink_to(f"/{plugins.relative_to(tree)}")
    user_id, group_id = _user_ids(tree, "slurm")
    for folder in _SLURM_FOLDERS:
        os.chown(layer / folder, user_id, group_id)


def _add_units(tree: Path, layer: Path) -> None:
    units = layer / "etc/systemd/system"
    wants = "etc/systemd/system/multi-user.target.wants"
    for unit in image_units.NOT_ENABLED_UNITS:
        if (tree / wants / f"{unit}.service").is_symlink():
            _remove(layer, f"{wants}/{unit}.service")
    for unit in image_units.MASKED_UNITS:
        (units / unit).symlink_to("/dev/null")
    started = units / "sysinit.target.wants/rehearsal-sysctl.service"
    started.parent.mkdir(exist_ok=True)
    started.symlink_to("../rehearsal-sysctl.service")


def _add_programs(tree: Path, layer: Path) -> None:
    real = layer / "usr/lib/rehearsal"
    real.mkdir(parents=True)
    shutil.copy2(tree / "usr/bin/findmnt", real / "findmnt")
    # kmod looks at the name it is called by
    (real / "modprobe").symlink_to("/usr/bin/kmod")
    for source, targets in _PROGRAMS.items():
        for target in targets:
            (layer / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_STANDINS / source, layer / target)
            (layer / target).chmod(0o755)


def _remove_secrets(tree: Path, layer: Path) -> None:
    """No key may be the same on all nodes because they share a tree: the platform hands out munge's, sshd makes its."""
    if (tree / "etc/munge/munge.key").exists():
        folder = layer / "etc/munge"
        folder.mkdir(mode=0o700)
        os.chown(folder, *_user_ids(tree, "munge"))
        _remove(layer, "etc/munge/munge.key")
    for key in (tree / "etc/ssh").glob("ssh_host_*"):
        _remove(layer, f"etc/ssh/{key.name}")
