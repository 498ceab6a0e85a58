"""What the node scripts cost on real nodes: seconds from script start to idle, by step, and child processes.

Needs a machine that can carry the bed (Linux, root). Compute nodes are measured one after the other, the second run on
the last of them. Two counts of processes: the commands that the scripts start by themselves (from the summary on the
node), and every process and thread that the node made from the script's start until it was idle, systemd's and Slurm's
own included: the kernel's counter of process ids, which nothing escapes.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperpod_constructs.rehearsal.agent import (
    FolderScripts,
    Instance,
    Mount,
    NodePlan,
    NodeType,
    Platform,
    Style,
    cluster_files,
)
from hyperpod_constructs.rehearsal.agent.demonstration import LUSTRE, small_cluster
from hyperpod_constructs.rehearsal.agent.scripts import node_folder
from hyperpod_constructs.rehearsal.nodes import Bed

ROOT = Path(__file__).parents[2]
URI = "s3://sagemaker-bench/lifecycle"
ENTRY = "on_create.sh"
MOUNTS = (Mount(kind="lustre", source=LUSTRE, path="/fsx"),)
IDLE_SECONDS = 120
SUMMARY = "/var/log/provision/lifecycle_summary.json"
# What the entry scripts are made of: bash, dirname twice, mkdir, tee, python3.
ENTRY_PROCESSES = 6


@dataclass(frozen=True)
class Run:
    """One run of the scripts on a node."""

    idle_seconds: float
    script_seconds: float
    node_processes: int
    steps: list[dict[str, Any]]

    @property
    def commands(self) -> int:
        """Child processes that the scripts started by themselves."""
        return ENTRY_PROCESSES + sum(int(step["processes"]) for step in self.steps)


def node_config() -> dict[str, Any]:
    """The default configuration of a cluster of three groups with one file system."""
    dns_name, _, mount_name = LUSTRE.partition("@tcp:/")
    mounts = [{"type": "lustre", "dns_name": dns_name, "mount_name": mount_name, "path": "/fsx", "efa": False}]
    kinds = {"controller": "controller", "login": "login", "workers": "compute"}
    groups = {
        name: {
            "node_type": kind,
            "style": "on_create",
            "partitions": ["train"] if kind == "compute" else [],
            "mounts": mounts,
        }
        for name, kind in kinds.items()
    }
    accounting = {"kind": "on_controller"}
    return {"version": 1, "cluster_name": "bench", "groups": groups, "accounting": accounting, "users": []}


def stage(folder: Path) -> Path:
    """The folder that a deployment would upload."""
    target = folder / "lifecycle"
    shutil.copytree(ROOT / "lifecycle_assets", target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "node_config.json").write_text(json.dumps(node_config()))
    return target


class Bench:
    """A cluster whose nodes are measured.

    Args:
        bed: where the nodes are.
        scripts: the staged folder.
    """

    def __init__(self, bed: Bed, scripts: Path) -> None:
        self._bed = bed
        self._platform = Platform(bed, FolderScripts({URI: scripts}))
        self._instances: list[Instance] = []

    def close(self) -> None:
        """Forget what the platform still had to do."""
        self._platform.close()

    def bring_up(self, instance: Instance) -> Run:
        """Boot a node, run the scripts, wait until it is idle (the controller: until its script is done)."""
        self._instances.append(instance)
        self._platform.update(cluster_files("bench", self._instances, mounts=MOUNTS))
        started: list[tuple[float, int]] = []
        result = self._platform.bring_up(
            NodePlan(instance=instance, style=Style.ON_CREATE, source=URI, entry=ENTRY, mounts=MOUNTS),
            on_script=lambda: started.append((time.monotonic(), self._last_process(instance))),
        )
        if not result.ok:
            raise SystemExit(f"{instance.name}: {result.reason}")
        self._wait_until_idle(instance)
        (begin, first), end = started[0], time.monotonic()
        # Our own look at the counter is one of them.
        processes = self._last_process(instance) - first - 1
        return Run(end - begin, result.seconds, processes, self._steps(instance))

    def run_again(self, instance: Instance) -> Run:
        """Run the scripts once more on a node that is set up."""
        begin, first = time.monotonic(), self._last_process(instance)
        result = self._platform.run_entry(instance.host_name, node_folder(URI), ENTRY)
        if not result.ok:
            raise SystemExit(f"{instance.name}, second run: {result.reason}")
        seconds = time.monotonic() - begin
        return Run(seconds, result.seconds, self._last_process(instance) - first - 1, self._steps(instance))

    def remove(self, instance: Instance) -> None:
        """End a node."""
        self._platform.remove(instance)
        self._instances.remove(instance)

    def _last_process(self, instance: Instance) -> int:
        shown = self._bed.run(instance.host_name, ["cat", "/proc/loadavg"], as_service=False, check=True).stdout
        return int(shown.split()[-1])

    def _steps(self, instance: Instance) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = json.loads(self._bed.get(instance.host_name, SUMMARY))["steps"]
        return steps

    def _wait_until_idle(self, instance: Instance) -> None:
        if instance.node_type is not NodeType.COMPUTE:
            return
        look = f"sinfo -h -n {instance.host_name} -o %T | grep -qx idle"
        wait = f"for i in $(seq {IDLE_SECONDS * 20}); do {look} && exit 0; sleep 0.05; done; exit 1"
        head = self._instances[0].host_name
        if self._bed.execute(head, ["bash", "-c", wait], timeout_seconds=IDLE_SECONDS, as_service=False) != 0:
            raise SystemExit(f"{instance.name} was not idle after {IDLE_SECONDS} s")


def measure(repeat: int, say: Callable[[str], None]) -> tuple[Run, list[Run], Run]:
    """The controller's run, those of the compute nodes, and a second run on the last of these.

    Args:
        repeat: number of compute nodes.
        say: is told what goes on.
    """
    with tempfile.TemporaryDirectory() as folder, Bed(maximum_nodes=3, say=say) as bed:
        bench = Bench(bed, stage(Path(folder)))
        try:
            head, _, *workers = small_cluster(repeat, "ml.m5.xlarge")
            controller = bench.bring_up(head)
            runs = []
            for worker in workers:
                runs.append(bench.bring_up(worker))
                say(f"{worker.name}: idle after {runs[-1].idle_seconds:.2f} s")
                if worker is not workers[-1]:
                    bench.remove(worker)
            return controller, runs, bench.run_again(workers[-1])
        finally:
            bench.close()


def table(controller: Run, runs: list[Run], again: Run) -> list[str]:
    """The figures as lines."""

    def median(values: list[float]) -> float:
        return statistics.median(values)

    lines = [
        f"compute node, script start to idle: median {median([r.idle_seconds for r in runs]):.2f} s of {len(runs)} "
        f"({min(r.idle_seconds for r in runs):.2f} to {max(r.idle_seconds for r in runs):.2f})",
        f"compute node, script alone: median {median([r.script_seconds for r in runs]):.2f} s",
        f"compute node, child processes of the scripts: {median([r.commands for r in runs]):.0f}; every process and "
        f"thread of the node until idle: {median([r.node_processes for r in runs]):.0f}",
        f"compute node, second run: {again.idle_seconds:.2f} s, {again.commands} child processes, "
        f"{sum(len(step['changed']) for step in again.steps)} changes",
        f"controller, script alone: {controller.script_seconds:.2f} s, {controller.commands} child processes",
        "downloads: 0, fixed sleeps: 0 s (tests/lifecycle/test_static_rules.py holds that)",
        "",
        f"{'step':<28}{'compute s':>10}{'commands':>10}{'again s':>10}{'commands':>10}",
    ]
    second = {step["step"]: step for step in again.steps}
    for number, step in enumerate(runs[0].steps):
        seconds = median([run.steps[number]["seconds"] for run in runs])
        other = second[step["step"]]
        lines.append(
            f"{step['step']:<28}{seconds:>10.3f}{step['processes']:>10}{other['seconds']:>10.3f}{other['processes']:>10}"
        )
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="compute nodes measured (default 5)")
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error(f"got --repeat {options.repeat}, allowed: 1 or more")
    figures = measure(options.repeat, lambda text: print(text, file=sys.stderr))  # noqa: T201
    sys.stdout.write("\n".join(table(*figures)) + "\n")


if __name__ == "__main__":
    main()
