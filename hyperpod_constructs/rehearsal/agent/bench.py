"""How long a bed's nodes take: to boot, and from the start of their script to being idle in Slurm, by style."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperpod_constructs.rehearsal.agent.cluster import Instance, Mount, NodePlan, NodeType, Style, cluster_files
from hyperpod_constructs.rehearsal.agent.demonstration import LUSTRE, small_cluster
from hyperpod_constructs.rehearsal.agent.platform import Platform
from hyperpod_constructs.rehearsal.agent.scripts import FolderScripts
from hyperpod_constructs.rehearsal.nodes.bed import Bed
from hyperpod_constructs.rehearsal.nodes.client import BedClient
from hyperpod_constructs.rehearsal.nodes.errors import BedError

IDLE_TIMEOUT_SECONDS = 120.0
_URI = "s3://sagemaker-bench/lifecycle"
_MOUNTS = (Mount(kind="lustre", source=LUSTRE, path="/fsx"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """The times of one thing measured several times, in seconds."""

    what: str
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Bench:
    """A cluster of one style whose compute nodes are measured one after the other."""

    bed: BedClient
    style: Style
    entry: Path | None

    def plan(self, instance: Instance) -> NodePlan:
        source, entry = (_URI, self.entry.name) if self.entry else ("", "")
        return NodePlan(instance=instance, style=self.style, source=source, entry=entry, mounts=_MOUNTS)

    def bring_up(self, platform: Platform, instance: Instance) -> float:
        """When its script was started."""
        started: list[float] = []
        result = platform.bring_up(self.plan(instance), on_script=lambda: started.append(time.monotonic()))
        if not result.ok:
            raise BedError(f"{instance.name} was not set up: {result.reason}")
        return started[0]

    def run(self, repeat: int) -> tuple[float, ...]:
        """Seconds from the start of the script to idle, of each compute node."""
        head, *workers = (one for one in small_cluster(repeat, "ml.m5.xlarge") if one.node_type is not NodeType.LOGIN)
        platform = Platform(self.bed, FolderScripts({_URI: self.entry.parent} if self.entry else {}))
        seconds = []
        try:
            platform.update(cluster_files("bench", [head], mounts=_MOUNTS))
            self.bring_up(platform, head)
            for worker in workers:
                platform.update(cluster_files("bench", [head, worker], mounts=_MOUNTS))
                started = self.bring_up(platform, worker)
                self._wait_until_idle(head, worker)
                seconds.append(time.monotonic() - started)
                platform.remove(worker)
            platform.remove(head)
        finally:
            platform.close()
        return tuple(seconds)

    def _wait_until_idle(self, head: Instance, worker: Instance) -> None:
        shown = (
            f"for i in $(seq {IDLE_TIMEOUT_SECONDS * 20:.0f}); do sinfo -h -n {worker.host_name} -o %T | grep -qx idle"
        )
        wait = f"{shown} && exit 0; sleep 0.05; done; exit 1"
        command = ["bash", "-c", wait]
        code = self.bed.execute(head.host_name, command, timeout_seconds=IDLE_TIMEOUT_SECONDS, as_service=False)
        if code != 0:
            raise BedError(f"{worker.name} was not idle after {IDLE_TIMEOUT_SECONDS:.0f} s")


def measure(suite: str, entries: Mapping[str, Path], *, repeat: int, say: Callable[[str], None]) -> list[Measurement]:
    """Measure boots, Slurm's own start without scripts of ours, and each style with its entry script.

    Args:
        suite: Debian release.
        entries: style (OnCreate, OnInitComplete) -> entry script; the folder around it is what is uploaded.
        repeat: how often each is measured.
        say: is told what goes on.

    Raises:
        BedError: a node was not set up or did not become idle.
    """
    if repeat < 1:
        raise BedError(f"got --repeat {repeat}; allowed: 1 or more")
    started = time.monotonic()
    with Bed(suite, maximum_nodes=repeat + 1, say=say) as bed:
        results = [Measurement(what="bed start", seconds=(time.monotonic() - started,)), _boots(bed, repeat)]
        styles = [(Style.IMAGE_ONLY, None), *((Style(style), entry) for style, entry in entries.items())]
        for style, entry in styles:
            name = "Slurm alone, no script of ours" if entry is None else f"{style} {entry.name}"
            say(f"measuring: {name}")
            results.append(
                Measurement(what=f"script start to idle: {name}", seconds=_Bench(bed, style, entry).run(repeat))
            )
    return results


def _boots(bed: BedClient, repeat: int) -> Measurement:
    seconds = []
    for _ in range(repeat):
        started = time.monotonic()
        bed.add("ip-10-1-0-9", "10.1.0.9")
        seconds.append(time.monotonic() - started)
        bed.remove("ip-10-1-0-9")
    return Measurement(what="node boot", seconds=tuple(seconds))


def table(measurements: Sequence[Measurement]) -> list[str]:
    """The measurements as lines: median, least and most."""
    width = max(len(one.what) for one in measurements)
    lines = [f"{'seconds':<{width}}  median   least    most"]
    for one in measurements:
        numbers = (statistics.median(one.seconds), min(one.seconds), max(one.seconds))
        lines.append(f"{one.what:<{width}}  " + " ".join(f"{number:7.2f}" for number in numbers))
    return lines
