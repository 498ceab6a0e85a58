"""What a rehearsal shows of its Slurm nodes: sinfo, a job from the login node, a file from one node to another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .cluster_nodes import COMPUTE, ClusterNode, ClusterNodes
from .failures import RehearsalError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .progress import Progress
    from .session import Rehearsal

READY_TIMEOUT_SECONDS = 180.0
# After the cluster is in service, the service starts all workers that can be had within seconds.
_LATECOMERS_SECONDS = 15.0
_POLL_SECONDS = 0.5
LOG_LINES = 12
# The service's words for a failed script, and those for a node that the bed could not make; capacity has others.
_OF_REAL_NODES = ("Lifecycle scripts did not run successfully.", "Instance launch failed: ")
_WRITE = 'echo "written by $(hostname)" > "$0"'


def show_slurm(rehearsal: Rehearsal, cluster: Mapping[str, Any], tell: Progress) -> None:
    """Wait until the compute nodes of a cluster are idle, then show that they work.

    Raises RehearsalError, with the last lines of a failing node's script, if they do not come up or do not work.
    """
    nodes = rehearsal.nodes_of(cluster["ClusterName"])
    tell.step("waiting until Slurm's nodes are idle")
    workers = _wait_for_workers(rehearsal, nodes, wanted_workers(cluster, rehearsal.real_nodes_of))
    tell.close()
    for line in [*nodes_lines(nodes.all()), *imitation_lines(cluster)]:
        tell.line(line)
    entry = nodes.entry()
    version = nodes.run(entry, ["sinfo", "--version"]).split()[-1]
    tell.line(f"On {entry.name} ({entry.host}), Slurm {version}:")
    _show(nodes, entry, ["sinfo"], tell)
    if not workers:
        tell.line("  no compute node is up, so there is nothing to run a job on")
        return
    partition = largest_partition(workers)
    chosen = [node for node in workers if partition in node.partitions]
    hosts = _show(nodes, entry, ["srun", f"--partition={partition}", f"-N{len(chosen)}", "hostname"], tell).split()
    if sorted(hosts) != sorted(node.host for node in chosen):
        raise RehearsalError(f"srun ran on {', '.join(hosts)} instead of on {', '.join(node.host for node in chosen)}")
    _share_a_file(nodes, entry, partition, chosen, shared_folder(cluster, chosen[0].group), tell)


def _share_a_file(
    nodes: ClusterNodes, entry: ClusterNode, partition: str, chosen: Sequence[ClusterNode], folder: str, tell: Progress
) -> None:
    if not folder:
        tell.line("  the group has no shared file system, so no file goes from node to node")
        return
    file = f"{folder}/rehearsal-{chosen[0].host}.txt"
    srun = ["srun", f"--partition={partition}", "-N1"]
    writer, reader = chosen[0], chosen[-1]
    _show(nodes, entry, [*srun, f"--nodelist={writer.host}", "sh", "-c", _WRITE, file], tell)
    reading = [*srun, f"--nodelist={reader.host}", "cat", file] if reader != writer else ["cat", file]
    text = _show(nodes, entry, reading, tell)
    if text.strip() != f"written by {writer.host}":
        raise RehearsalError(f"{file} was written on {writer.host}, but {reader.host} reads {text.strip()!r}")


def _show(nodes: ClusterNodes, entry: ClusterNode, command: Sequence[str], tell: Progress) -> str:
    tell.line(f"  $ {' '.join(quoted(word) for word in command)}")
    output = nodes.run(entry, command)
    for line in output.splitlines():
        tell.line(f"    {line}")
    return output


def quoted(word: str) -> str:
    """A word as a shell user would type it."""
    return f"'{word}'" if any(letter in word for letter in ' "$>') else word


def _wait_for_workers(rehearsal: Rehearsal, nodes: ClusterNodes, wanted: int) -> list[ClusterNode]:
    """The idle compute nodes: as many as wanted, or all there are where no more come."""
    started = time.monotonic()
    while True:
        idle, real = nodes.idle(), nodes.real(COMPUTE)
        waited = time.monotonic() - started
        complete = len(idle) >= wanted or (len(idle) == len(real) and waited > _LATECOMERS_SECONDS)
        if complete:
            return idle
        failure = script_failure(rehearsal, nodes.cluster)
        if failure or waited > READY_TIMEOUT_SECONDS:
            what = failure or f"Slurm's nodes were not idle within {READY_TIMEOUT_SECONDS:.0f} s"
            raise RehearsalError(f"{what}\nnodes: {nodes.describe()}")
        time.sleep(_POLL_SECONDS)


def script_failure(rehearsal: Rehearsal, cluster: str) -> str:
    """The latest failure of a real node's script with where its log is and its last lines; empty if there is none."""
    for event in reversed(rehearsal.account.cluster_events(cluster)):
        if event.get("EventLevel") != "Error" or not event.get("InstanceId"):
            continue
        message = rehearsal.account.failure_message(cluster, event["EventId"])
        if any(words in message for words in _OF_REAL_NODES):
            group, instance = event["InstanceGroupName"], event["InstanceId"]
            lines = rehearsal.account.script_log(cluster, group, instance)[-LOG_LINES:]
            return "\n".join([f"a node of {group} was not set up: {message}", *(f"  {line}" for line in lines)])
    return ""


def wanted_workers(cluster: Mapping[str, Any], of_group: Callable[[str], int]) -> int:
    """How many real compute nodes the cluster can have when there is capacity for all of them."""
    return sum(
        min(of_group(group["InstanceGroupName"]), group.get("TargetCount", 0))
        for group in cluster.get("InstanceGroups", ())
        if (group.get("SlurmConfig") or {}).get("NodeType") == COMPUTE
    )


def nodes_lines(nodes: Sequence[ClusterNode]) -> list[str]:
    """Which instances are real Slurm nodes here, and how many are simulated."""
    real = ", ".join(f"{node.name} ({node.host})" for node in nodes if node.real)
    simulated: dict[str, int] = {}
    for node in nodes:
        if not node.real:
            simulated[node.group] = simulated.get(node.group, 0) + 1
    rest = ", ".join(f"{count} of {group}" for group, count in simulated.items())
    lines = [f"Real Slurm nodes: {real or 'none'}"]
    return [*lines, f"Simulated, so down in Slurm: {rest}"] if rest else lines


def imitation_lines(cluster: Mapping[str, Any]) -> list[str]:
    """What the nodes lack that instances of their types have."""
    from .agent.imitation import imitation_note

    types = dict.fromkeys(group.get("InstanceType", "") for group in cluster.get("InstanceGroups", ()))
    return [note for note in map(imitation_note, types) if note]


def largest_partition(workers: Sequence[ClusterNode]) -> str:
    """The partition that most of these nodes are in."""
    names = [name for node in workers for name in node.partitions]
    return max(dict.fromkeys(names), key=names.count)


def shared_folder(cluster: Mapping[str, Any], group_name: str) -> str:
    """Where a group's first shared file system is mounted (the API's defaults: /fsx, /home); empty if it has none."""
    for group in cluster.get("InstanceGroups", ()):
        for storage in group.get("InstanceStorageConfigs", ()) if group["InstanceGroupName"] == group_name else ():
            for kind, default in (("FsxLustreConfig", "/fsx"), ("FsxOpenZfsConfig", "/home")):
                if kind in storage:
                    return str(storage[kind].get("MountPath", default))
    return ""
