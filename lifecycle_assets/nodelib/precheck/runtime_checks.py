"""Slurm, containers, accelerators and versions of a node."""

import json
import os
import platform
import re

from nodelib.mounts import MOUNT_TABLE, mounted_at
from nodelib.precheck.findings import Finding, absent, failed, ok
from nodelib.precheck.machine import NOT_FOUND, Machine

SLURM_FOLDERS = ("/opt/slurm/etc", "/var/spool/slurmd/conf-cache", "/run/slurm/conf")
LARGE_DISKS = ("/opt/sagemaker", "/opt/dlami/nvme")
_PYXIS = "spank_pyxis.so"
_EFA_FAMILIES = re.compile(r"ml\.(p4d|p4de|p5|p5e|p5en|p6-b200|p6-b300|p6e-gb200|trn1|trn1n|trn2)\.")
_CONTAINER_STEP = "sudo python3 -B /opt/hyperpod-constructs/lifecycle_script.py --only configure_containers"


def slurmd(machine: Machine) -> Finding:
    """The node's daemon."""
    if "slurmd" in machine.processes():
        return ok("slurmd")
    if "slurmctld" in machine.processes():
        return absent("slurmd", "controller")
    return failed("slurmd", "not running", "sudo systemctl restart slurmd; then journalctl -u slurmd")


def controller(machine: Machine) -> Finding:
    """The controller answers this node."""
    answer = machine.run("scontrol", "ping")
    if re.search(r"\bis UP\b", answer.text):
        return ok("controller")
    said = " ".join(answer.text.split())[:120] or "no answer"
    remedy = "on the controller: sudo systemctl status slurmctld; else check that port 6817 is open between nodes"
    return failed("controller", said, remedy)


def munge(machine: Machine) -> Finding:
    """A credential of this node is taken by it."""
    made = machine.run("munge", "-n")
    if made.code == NOT_FOUND:
        return absent("munge")
    if made.code == 0 and machine.run("unmunge", text=made.text).code == 0:
        return ok("munge")
    said = " ".join(made.text.split())[:120]
    return failed("munge", said or "no credential", "sudo systemctl restart munge; check the clock and munge.key")


def containers(machine: Machine) -> Finding:
    """Docker, Enroot and Pyxis: what is there has its data on the large disk, and Slurm knows Pyxis."""
    there = [
        name for name in ("docker", "enroot") if machine.run(name, "version", timeout_seconds=10).code != NOT_FOUND
    ]
    pyxis = _pyxis(machine)
    if not there and not pyxis:
        return absent("containers")
    disks = [path for path in LARGE_DISKS if mounted_at(machine.read(MOUNT_TABLE), path) is not None]
    problems = [*(_docker(machine, disks) if "docker" in there else [])]
    if "enroot" in there:
        problems += _enroot(machine, disks)
        problems += [] if pyxis else ["Enroot is there, but Slurm's plugstack.conf does not name Pyxis"]
    elif pyxis:
        problems.append("Slurm's plugstack.conf names Pyxis, but Enroot is not there")
    if problems:
        return failed("containers", "; ".join(problems), _CONTAINER_STEP)
    return ok("containers", " ".join([*there, *(["pyxis"] if pyxis else [])]))


def _pyxis(machine: Machine) -> bool:
    text = machine.first(*(f"{folder}/plugstack.conf" for folder in SLURM_FOLDERS))
    return any(_PYXIS in line for line in text.splitlines() if not line.lstrip().startswith("#"))


def _docker(machine: Machine, disks: "list[str]") -> "list[str]":
    problems = [] if "dockerd" in machine.processes() else ["dockerd does not run"]
    try:
        settings = json.loads(machine.read("/etc/docker/daemon.json") or "{}")
    except ValueError:
        return [*problems, "/etc/docker/daemon.json is not JSON"]
    root = str(settings.get("data-root", "/var/lib/docker")) if isinstance(settings, dict) else ""
    if disks and not root.startswith(tuple(disks)):
        problems.append(f"Docker's data is in {root}, on the small disk, not on {disks[0]}")
    return problems


def _enroot(machine: Machine, disks: "list[str]") -> "list[str]":
    match = re.search(r"^\s*ENROOT_DATA_PATH\s+(\S+)", machine.read("/etc/enroot/enroot.conf"), re.M)
    where = match[1] if match else "each user's home"
    return [f"Enroot's data is in {where}, not on {disks[-1]}"] if disks and not where.startswith(tuple(disks)) else []


def gpus(machine: Machine) -> Finding:
    """As many as Slurm has configured for this node."""
    shown = machine.run("scontrol", "--oneliner", "show", "node", machine.host).text
    wanted = sum(int(count) for count in re.findall(r"\bgpu(?::[A-Za-z][\w.-]*)?:(\d+)", _gres(shown)))
    found = sum(re.fullmatch(r"nvidia\d+", name) is not None for name in machine.names("/dev"))
    if not wanted and not found:
        return absent("gpus")
    listed = machine.run("nvidia-smi", "-L")
    working = len(re.findall(r"^GPU \d+:", listed.text, re.M)) if listed.code != NOT_FOUND else found
    remedy = 'replace the node: scontrol update node=NODE state=fail reason="Action:Replace"'
    if min(found, working) < wanted:
        problem = f"{min(found, working)} of {wanted} are there"
        return failed("gpus", problem, remedy.replace("NODE", machine.host), str(min(found, working)))
    return ok("gpus", str(found))


def _gres(shown: str) -> str:
    match = re.search(r"\bGres=(\S+)", shown)
    return match[1] if match else ""


def efa(machine: Machine, instance_type: str) -> Finding:
    """The fabric's devices, on types that have them."""
    devices = [name for name in machine.names("/sys/class/infiniband") if name.startswith(("efa", "rdmap"))]
    if devices:
        return ok("efa", str(len(devices)))
    if _EFA_FAMILIES.match(instance_type):
        remedy = "check that the security group allows all traffic from and to itself, then replace the node"
        return failed("efa", f"{instance_type} shows no EFA device", remedy)
    return absent("efa")


def versions(machine: Machine) -> "list[Finding]":
    """What should be the same on all nodes of a job."""
    slurm = next((word for word in machine.run("srun", "--version").text.split() if word[:1].isdigit()), "")
    driver = re.search(r"Kernel Module\D*([\d.]+)", machine.read("/proc/driver/nvidia/version"))
    lustre = machine.read("/sys/fs/lustre/version").split()
    found = {
        "slurm": slurm,
        "kernel": os.uname().release,
        "driver": driver[1] if driver else "",
        "lustre": lustre[-1] if lustre else "",
        "python": platform.python_version(),
    }
    return [ok(name, value) if value else absent(name) for name, value in found.items()]
