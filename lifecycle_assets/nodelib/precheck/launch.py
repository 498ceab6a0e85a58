"""One command for a whole partition: srun is started from here, and nodes that cannot take part are named too."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from nodelib.precheck.findings import NodeReport, failed, report_from_json
from nodelib.precheck.machine import LAUNCHER, Machine

_USABLE = ("idle", "mixed", "allocated", "completing")
_GRACE_SECONDS = 5.0
_ONE_BY_ONE = 32
"""So many nodes are asked by themselves when the step of all of them failed."""


@dataclass(frozen=True)
class Wanted:
    """What shall be checked.

    Attributes:
        partition: "" for the default one.
        nodes: how many; None for all that can be used.
        options: for the check on each node.
        wait_seconds: after this a node counts as silent.
    """

    partition: str
    nodes: "int | None"
    options: "tuple[str, ...]"
    wait_seconds: float


def check_partition(machine: Machine, wanted: Wanted) -> "tuple[list[NodeReport], list[str], str]":
    """Reports, the nodes that sent none, and why nothing could be done ("" if it could)."""
    states = node_states(machine, wanted.partition)
    if not states:
        return [], [], f"no node in partition {wanted.partition or '(default)'}; sinfo lists partitions"
    usable = [host for host, state in states.items() if state.rstrip("*~#!%$@^-") in _USABLE and "*" not in state]
    unusable = [] if wanted.nodes is not None else [host for host in states if host not in usable]
    chosen = usable if wanted.nodes is None else usable[: wanted.nodes]
    if wanted.nodes is not None and len(usable) < wanted.nodes:
        return [], [], f"{wanted.nodes} nodes are wanted, {len(usable)} can be used; sinfo -R says why not more"
    reports = run_step(wanted, chosen)
    silent = [host for host in chosen if host not in {report.host for report in reports}]
    reports += _one_by_one(wanted, silent[:_ONE_BY_ONE])
    silent = [host for host in chosen if host not in {report.host for report in reports}]
    return [*reports, *(_unusable(host, states[host]) for host in unusable)], silent, ""


def _unusable(host: str, state: str) -> NodeReport:
    problem = f"Slurm has it as {state}"
    finding = failed(
        "slurmd", problem, f"see why: scontrol show node {host}; then scontrol update node={host} state=resume"
    )
    return NodeReport(host, time.time(), (finding,), time.time())


def node_states(machine: Machine, partition: str) -> "dict[str, str]":
    """State of each node of a partition; of the default one if none is named."""
    if not partition:
        shown = machine.run("sinfo", "--noheader", "--format=%P").text.split()
        partition = next((name.rstrip("*") for name in shown if name.endswith("*")), "")
    shown_nodes = machine.run("sinfo", "--noheader", "--Node", f"--partition={partition}", "--format=%N %T").text
    pairs = (line.split() for line in shown_nodes.splitlines())
    return {pair[0]: pair[1].lower() for pair in pairs if len(pair) == 2}


def run_step(wanted: Wanted, hosts: Sequence[str]) -> "list[NodeReport]":
    """The reports of one srun over these nodes, those that came."""
    if not hosts:
        return []
    words = ["srun", f"--nodelist={','.join(hosts)}", f"--nodes={len(hosts)}", f"--ntasks={len(hosts)}"]
    words += ["--ntasks-per-node=1", "--kill-on-bad-exit=0", "--overlap", "--quiet", "--immediate=30", "--unbuffered"]
    words += [f"--partition={wanted.partition}"] if wanted.partition else []
    words += [sys.executable, "-B", str(LAUNCHER), "--report", *wanted.options]
    return _lines(words, wanted.wait_seconds)


def _one_by_one(wanted: Wanted, hosts: Sequence[str]) -> "list[NodeReport]":
    found: list[NodeReport] = []
    threads = [threading.Thread(target=lambda host=host: found.extend(run_step(wanted, [host]))) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _lines(words: Sequence[str], wait_seconds: float) -> "list[NodeReport]":
    """Reports among the lines that a program prints, each with the time at which it came."""
    found: list[NodeReport] = []
    try:
        process = subprocess.Popen(
            [*words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
    except OSError:
        return found
    # Asked first, so that srun ends its job; srun has a child that holds the pipe, so the whole session is meant.
    timers = [
        threading.Timer(wait_seconds + later, _signal, (process.pid, number))
        for later, number in ((0.0, signal.SIGTERM), (_GRACE_SECONDS, signal.SIGKILL))
    ]
    for timer in timers:
        timer.start()
    try:
        for line in process.stdout or ():
            report = report_from_json(line, time.time())
            if report is not None:
                found.append(report)
        process.wait()
    finally:
        for timer in timers:
            timer.cancel()
        if process.stdout is not None:
            process.stdout.close()
    return found


def _signal(session: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(session, number)
