"""One node of a bed: a systemd-nspawn machine with its own root file system, network, control group and systemd."""

import contextlib
import os
import secrets
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes import cgroup, network
from hyperpod_constructs.rehearsal.nodes.errors import NodeError
from hyperpod_constructs.rehearsal.nodes.execution import entered

BOOT_TIMEOUT_SECONDS = 60.0
DEFAULT_DISK_MIB = 2048  # in memory, as far as it is used; bounds what a script that runs wild can take
REBOOT_EXIT_CODE = 133  # what systemd-nspawn ends with when its machine asked for a reboot
# Where a secondary EBS volume and the local NVMe disks are mounted on the image (FACTS 7.3, section 10).
VOLUMES = ("/opt/sagemaker", "/opt/dlami/nvme")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """What a bed gives all its machines.

    Attributes:
        lower: folders below each machine's own files, the highest first.
        folder: for the machines' own files.
        shared: seen by every machine, read-only, at /run/rehearsal.
        cgroups: the bed's own control group.
        nspawn: the program that boots machines.
        environment: what that program is started with.
    """

    lower: tuple[Path, ...]
    folder: Path
    shared: Path
    cgroups: Path
    nspawn: Path
    environment: dict[str, str]


@dataclass(kw_only=True)
class Machine:
    """One node.

    Attributes:
        name: host name.
        address: IPv4 address.
        labels: what the one who added it wants to remember (role, instance id); never looked at.
        volumes: which of VOLUMES it has.
        link: its network link's end on the bridge.
        disk_mib: size of its root and volumes together.
    """

    name: str
    address: str
    place: Place
    link: str
    disk_mib: int = DEFAULT_DISK_MIB
    labels: dict[str, str] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    connected: bool = True
    boots: int = 0
    _ending: bool = False
    _nspawn: "subprocess.Popen[bytes] | None" = None
    _leader: int = 0

    @property
    def folder(self) -> Path:
        return self.place.folder / self.name

    @property
    def console(self) -> Path:
        return self.place.folder / f"{self.name}.console"

    @property
    def leader(self) -> int:
        """Process id of the machine's systemd, as the bed sees it.

        Raises:
            NodeError: it is not running.
        """
        if self.is_running():
            return self._leader
        raise NodeError(f"node {self.name} is not running; its console says: {self.console_tail()}")

    def is_running(self) -> bool:
        """Whether its systemd runs; it is found anew after the machine rebooted by itself."""
        return bool(self._leader and Path(f"/proc/{self._leader}").exists()) or self._find_leader()

    def console_tail(self, lines: int = 3) -> str:
        with contextlib.suppress(OSError):
            return " | ".join(self.console.read_text(errors="replace").splitlines()[-lines:])
        return "nothing"

    def start(self) -> None:
        """Lay the machine's files and network, boot it and wait until its systemd is up.

        Raises:
            NodeError: it did not come up in a minute; it is removed again.
        """
        try:
            self._lay_files()
            network.attach(self.name, self.link, self.address)
            group = self.place.cgroups / self.name
            group.mkdir()
            threading.Thread(target=self._run, args=(group,), daemon=True).start()
            self.wait_until_up(boots=1)
        except BaseException:
            self.remove()
            raise

    def _lay_files(self) -> None:
        self.folder.mkdir(parents=True)
        _mount(self.name, "tmpfs", f"mode=755,size={self.disk_mib}m", self.folder)
        for name in ("own/etc", "work", "root"):
            (self.folder / name).mkdir(parents=True)
        own = self.folder / "own"
        (own / "etc/hostname").write_text(f"{self.name}\n")
        (own / "etc/machine-id").write_text(f"{secrets.token_hex(16)}\n")
        resolver = f"nameserver {network.RESOLVER_ADDRESS}\nsearch ec2.internal\noptions timeout:2 attempts:2\n"
        (own / "etc/resolv.conf").write_text(resolver)
        lower = ":".join(str(folder) for folder in self.place.lower)
        options = f"lowerdir={lower},upperdir={own},workdir={self.folder / 'work'}"
        _mount(self.name, "overlay", options, self.folder / "root")

    def _command(self) -> list[str]:
        binds = []
        for volume in self.volumes:
            folder = self.folder / "volumes" / volume.strip("/").replace("/", "-")
            folder.mkdir(parents=True, exist_ok=True)
            binds.append(f"--bind={folder}:{volume}")
        if Path("/dev/autofs").exists():
            binds.append("--bind=/dev/autofs")
        return [
            *(str(self.place.nspawn), "--quiet", "--register=no", "--keep-unit", "--console=pipe", "--boot"),
            *(f"--directory={self.folder / 'root'}", f"--machine={self.name}"),
            *(f"--network-namespace-path=/run/netns/{self.name}", "--resolv-conf=off", "--timezone=off"),
            *("--link-journal=no", f"--bind-ro={self.place.shared}:/run/rehearsal", *binds),
        ]

    def _run(self, group: Path) -> None:
        """Boot the machine, and again each time it asks for a reboot."""
        while not self._ending:
            self.boots += 1
            with self.console.open("ab") as console:
                # A shell enters the group first: systemd-nspawn makes the machine's groups below its own.
                self._nspawn = subprocess.Popen(
                    ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group), *self._command()],
                    env=self.place.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=console,
                )
                code = self._nspawn.wait()
            self._leader = 0
            if code != REBOOT_EXIT_CODE:
                return

    def wait_until_up(self, *, boots: int, timeout_seconds: float = BOOT_TIMEOUT_SECONDS) -> None:
        """Wait until systemd has come up in that boot.

        Args:
            boots: how many boots there must have been.
            timeout_seconds: bound of the wait.

        Raises:
            NodeError: it has not in that time, or it ended.
        """
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            if self.boots >= boots and self._find_leader() and self._has_private_bus():
                self._wait_for_systemd(deadline)
                return
            if self._has_ended():
                break
            time.sleep(0.05)
        raise NodeError(f"node {self.name} did not come up; its console says: {self.console_tail(8)}")

    def _has_ended(self) -> bool:
        return self._nspawn is not None and self._nspawn.poll() not in (None, REBOOT_EXIT_CODE)

    def _find_leader(self) -> bool:
        running = self._nspawn is not None and self._nspawn.poll() is None
        parent = self._nspawn.pid if running and self._nspawn else 0
        self._leader = next((child for child in children(parent) if is_init(child)), 0) if parent else 0
        return self._leader != 0

    def _has_private_bus(self) -> bool:
        return os.path.lexists(f"/proc/{self._leader}/root/run/systemd/private")

    def _wait_for_systemd(self, deadline: float) -> None:
        command = entered(self._leader, ["systemctl", "is-system-running", "--wait"])
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=max(1.0, deadline - time.monotonic()), check=False)

    def reboot(self) -> None:
        """Reboot the machine and wait until it is up again: its files stay, what is in memory goes."""
        wanted = self.boots + 1
        subprocess.run(entered(self.leader, ["systemctl", "reboot"]), capture_output=True, timeout=30, check=False)
        self.wait_until_up(boots=wanted)

    def set_connected(self, *, connected: bool) -> None:
        """Cut the machine off the network, or connect it again."""
        network.set_connected(self.link, connected=connected)
        self.connected = connected

    def remove(self) -> None:
        """End the machine at once and remove everything of it."""
        self._ending = True
        for process in (self._leader, self._nspawn.pid if self._nspawn else 0):
            with contextlib.suppress(ProcessLookupError):
                if process:
                    os.kill(process, 9)
        group = self.place.cgroups / self.name
        cgroup.kill_all(group)
        cgroup.remove(group)
        network.detach(self.name, self.link)
        for mounted in (self.folder / "root", self.folder):
            subprocess.run(["umount", "-l", mounted], capture_output=True, timeout=30, check=False)
        with contextlib.suppress(OSError):
            self.folder.rmdir()
            self.console.unlink()

    def describe(self) -> dict[str, object]:
        return {
            "name": self.name,
            "address": self.address,
            "running": self.is_running(),
            "connected": self.connected,
            "boots": self.boots,
            "volumes": list(self.volumes),
            "labels": self.labels,
        }


def _mount(node: str, kind: str, options: str, target: Path) -> None:
    command = ["mount", "-i", "-t", kind, "-o", options, kind, str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise NodeError(f"the file system of {node} cannot be mounted: {done.stderr.strip()}")


def children(parent: int) -> list[int]:
    """Process ids of a process's children."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(entry.name))
    return found


def is_init(process_id: int) -> bool:
    """Whether a process is the first of a process id namespace of its own."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                numbers = line.split()[1:]
                return len(numbers) > 1 and numbers[-1] == "1"
    return False
