"""How the tasks of one srun bring their reports together: all send to the first one, which prints.

srun mixes what tasks print; a table needs one writer. The port follows from job and step, so that nothing has to be
agreed on. Nothing secret travels, and a false line from another user could only mislead the reader.
"""

import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodelib.precheck.findings import NodeReport, report_from_json
from nodelib.precheck.machine import Machine

FIRST_PORT, PORTS = 20000, 20000
TRIES = 8
"""Ports that are tried one after the other: the first may be somebody else's."""

PAUSE_SECONDS = 0.2
_LONGEST_BYTES = 256 * 1024


@dataclass(frozen=True)
class Step:
    """The srun step that this task belongs to.

    Attributes:
        job, step: its numbers.
        rank: of this task.
        tasks: how many there are.
        node_list: in Slurm's short form.
    """

    job: str
    step: str
    rank: int
    tasks: int
    node_list: str

    @property
    def ports(self) -> "list[int]":
        """Those that are tried, in order."""
        seed = sum(ord(char) * 31**index for index, char in enumerate(f"{self.job}.{self.step}"))
        return [FIRST_PORT + (seed + index * 977) % PORTS for index in range(TRIES)]

    @property
    def greeting(self) -> str:
        """The first line of a connection, by which the right listener is known."""
        return f"hyperpod-precheck {self.job}.{self.step}"


def step_of(environment: Mapping[str, str] = os.environ) -> "Step | None":
    """The step that this task is one of several of; None outside of one."""
    try:
        rank, tasks = int(environment["SLURM_PROCID"]), int(environment["SLURM_NTASKS"])
    except (KeyError, ValueError):
        return None
    if tasks < 2 or "SLURM_STEP_ID" not in environment:
        return None
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST", "")
    return Step(environment.get("SLURM_JOB_ID", "0"), environment["SLURM_STEP_ID"], rank, tasks, nodes)


def hosts_of(machine: Machine, node_list: str) -> "list[str]":
    """The host names of a list in Slurm's short form."""
    answer = machine.run("scontrol", "show", "hostnames", node_list)
    names = answer.text.split()
    return names if answer.code == 0 and names else expanded(node_list)


def expanded(node_list: str) -> "list[str]":
    """The same by ourselves, for one range at the end of a name: ``ip-10-1-0-[1-3,7]``."""
    found: list[str] = []
    for name in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", node_list):
        prefix, _, ranges = name.partition("[")
        if not ranges:
            found.append(prefix)
        for part in ranges.rstrip("]").split(",") if ranges else ():
            first, _, last = part.partition("-")
            numbers = range(int(first), int(last or first) + 1)
            found += [f"{prefix}{str(number).zfill(len(first))}" for number in numbers]
    return found


def send(step: Step, report: NodeReport, host: str, wait_seconds: float) -> str:
    """Send a report to the first task; what went wrong, "" if nothing did."""
    deadline, problem = time.monotonic() + wait_seconds, "no listener"
    while time.monotonic() < deadline:
        for port in step.ports:
            problem = _send_once(step, report, (host, port))
            if not problem:
                return ""
        # Its own checks may still be running on that node before it listens to anybody.
        _pause()
    return problem


def _pause() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        nobody.settimeout(PAUSE_SECONDS)
        try:
            nobody.recv(1)
        except OSError:
            return


def _send_once(step: Step, report: NodeReport, address: "tuple[str, int]") -> str:
    try:
        with socket.create_connection(address, timeout=5) as connection, connection.makefile("rw") as stream:
            stream.write(f"{step.greeting}\n")
            stream.flush()
            if stream.readline().strip() != step.greeting:
                return "somebody else listens there"
            # Stamped right before it goes, since clocks are compared by it.
            stream.write(NodeReport(report.host, time.time(), report.findings).to_json() + "\n")
            stream.flush()
            return "" if stream.readline().strip() == "thanks" else "the report was not taken"
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__


class Collector:
    """The first task's ear.

    Args:
        step: its step.

    Raises:
        OSError: no port can be had.
    """

    def __init__(self, step: Step, address: str = "") -> None:
        self._step = step
        self._socket = _listening(step, address)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    def collect(self, expected: int, wait_seconds: float) -> "list[NodeReport]":
        """So many reports, or those that came in time."""
        found: dict[str, NodeReport] = {}
        deadline = time.monotonic() + wait_seconds
        with self._socket:
            while len(found) < expected and (left := deadline - time.monotonic()) > 0:
                self._socket.settimeout(left)
                try:
                    connection, _ = self._socket.accept()
                except OSError:
                    break
                report = self._take(connection)
                if report is not None:
                    found[report.host] = report
        return list(found.values())

    def _take(self, connection: socket.socket) -> "NodeReport | None":
        try:
            with connection, connection.makefile("rw") as stream:
                connection.settimeout(5)
                if stream.readline(200).strip() != self._step.greeting:
                    return None
                stream.write(f"{self._step.greeting}\n")
                stream.flush()
                report = report_from_json(stream.readline(_LONGEST_BYTES), time.time())
                if report is not None:
                    stream.write("thanks\n")
                    stream.flush()
                return report
        except (OSError, ValueError):
            return None


def _listening(step: Step, address: str) -> socket.socket:
    for port in step.ports:
        try:
            return socket.create_server((address, port), backlog=1024)
        except OSError:
            continue
    raise OSError(98, f"none of the ports {', '.join(map(str, step.ports))} is free")


def missing_hosts(hosts: Sequence[str], reports: Sequence[NodeReport]) -> "list[str]":
    """Those that did not report."""
    there = {report.host for report in reports}
    return [host for host in hosts if host.partition(".")[0] not in there]
