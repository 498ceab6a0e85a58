"""What this machine has of what a bed needs, and the installing of what it lacks."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes.errors import BedUnavailable

Say = Callable[[str], None]

BUILD_SPACE_MIB = 2500  # a tree is 650 MiB; its packages and the unpacking need as much again while it is built
RUN_MEMORY_MIB = 700  # four nodes with Slurm and MariaDB take 440 MiB (measured)
APT_TIMEOUT_SECONDS = 600

PROGRAM_PACKAGES = {
    "ip": "iproute2",
    "mount": "mount",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "tar": "tar",
    "dpkg-deb": "dpkg",
}
BUILD_PROGRAM_PACKAGES = {"mmdebstrap": "mmdebstrap"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing looked at: ``problem`` is empty when it is as it should be."""

    subject: str
    found: str
    problem: str = ""


def is_root() -> bool:
    return os.geteuid() == 0


def check_system() -> Finding:
    found = sys.platform
    problem = "" if found == "linux" else f"got {found}; Slurm nodes need Linux; use a Linux machine for this part"
    return Finding(subject="system", found=found, problem=problem)


def check_root() -> Finding:
    found = f"user id {os.geteuid()}"
    problem = "" if is_root() else f"got {found}; namespaces and mounts need root; run the same command as root"
    return Finding(subject="root", found=found, problem=problem)


def check_apt() -> Finding:
    found = shutil.which("apt-get") or "no apt-get"
    problem = (
        ""
        if found != "no apt-get"
        else "no apt-get here; the nodes are made of Debian packages; use a machine with Debian"
    )
    return Finding(subject="Debian", found=found, problem=problem)


def check_space(folder: Path, needed_mib: int = BUILD_SPACE_MIB) -> Finding:
    place = folder
    while not place.exists():
        place = place.parent
    free_mib = shutil.disk_usage(place).free // 2**20
    problem = ""
    if free_mib < needed_mib:
        problem = (
            f"{free_mib} MiB free at {place}; building a tree needs {needed_mib} MiB; "
            "free some, or set HYPERPOD_REHEARSAL_DIR to a folder on a larger file system"
        )
    return Finding(subject="space", found=f"{free_mib} MiB at {place}", problem=problem)


def available_memory_mib() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 0


def check_memory() -> Finding:
    free_mib = available_memory_mib()
    problem = (
        ""
        if free_mib >= RUN_MEMORY_MIB
        else f"{free_mib} MiB of memory free; a small bed needs {RUN_MEMORY_MIB} MiB; end something first"
    )
    return Finding(subject="memory", found=f"{free_mib} MiB", problem=problem)


def missing_packages(*, build: bool) -> list[str]:
    """The Debian packages whose programs are not on this machine.

    Args:
        build: also look for what only the building of a tree needs.
    """
    wanted = PROGRAM_PACKAGES | (BUILD_PROGRAM_PACKAGES if build else {})
    return sorted({package for program, package in wanted.items() if shutil.which(program) is None})


def apt_forbidden() -> bool:
    """Whether NO_APT is set to anything but 0."""
    return os.environ.get("NO_APT", "0") not in ("", "0")


def run_apt(arguments: Sequence[str], *, folder: Path | None = None) -> None:
    """Run apt-get; when it fails, update its lists and try once more, since a fresh machine may have none.

    Raises:
        BedUnavailable: it failed twice, with the last line of what it said.
    """
    failure = _apt_failure(arguments, folder)
    if failure and not _apt_failure(["update"], None):
        failure = _apt_failure(arguments, folder)
    if failure:
        raise BedUnavailable(f"apt-get {arguments[0]} failed: {failure}; repair apt on this machine and run again")


def _apt_failure(arguments: Sequence[str], folder: Path | None) -> str:
    command = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=APT_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {APT_TIMEOUT_SECONDS} s"
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return "" if done.returncode == 0 else (lines[-1] if lines else f"exit code {done.returncode}")


def require_host(*, build: bool, folder: Path, say: Say) -> None:
    """See to it that this machine can carry a bed, and install what it lacks.

    Args:
        build: a tree is still to be built: then mmdebstrap and space for it are needed too.
        folder: where the tree is kept.
        say: is told before packages are installed.

    Raises:
        BedUnavailable: something is missing that cannot be installed, or NO_APT forbids it.
    """
    checks = [check_system(), check_root(), check_apt()]
    if not any(check.problem for check in checks):
        checks += [check_memory(), *([check_space(folder)] if build else [])]
    problem = next((check.problem for check in checks if check.problem), "")
    if problem:
        raise BedUnavailable(problem)
    missing = missing_packages(build=build)
    if not missing:
        return
    if apt_forbidden():
        raise BedUnavailable(f"packages missing: {', '.join(missing)}; NO_APT forbids installing them; do it yourself")
    say(f"installing {', '.join(missing)} by apt-get (NO_APT=1 forbids this)")
    run_apt(["install", "--no-install-recommends", *missing])
