#!/usr/bin/env python3
"""Metrics that no exporter has: what this node is and costs, and what Slurm's queue looks like.

``set-up`` runs once as a step of the node scripts. It writes the node's own metrics into the folder that a node
exporter reads (its textfile collector), and the configuration of a Prometheus agent. On the controller it also starts
a timer that runs ``collect``.

``collect`` asks sinfo, squeue and sdiag, and writes metrics under the names of Slurm's own OpenMetrics end point (25.11
and later; Slurm documentation, metrics guide). Where slurmctld serves that end point by itself, it is scraped instead,
and only what it lacks is written: how long pending jobs have waited. Nothing is built, fetched or installed.

Standard library only, Python 3.9 and later.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

FOLDER = "/var/lib/hyperpod-constructs/metrics"
AGENT_CONFIG = "/etc/hyperpod-constructs/prometheus.json"
PROGRAM = "/opt/hyperpod-constructs-metrics/node_metrics.py"
UNIT = "hyperpod-constructs-slurm-metrics"
RESOURCE_CONFIG = "/opt/ml/config/resource_config.json"
SLURM_PROGRAMS = "/opt/slurm/bin:/usr/bin:/bin:/usr/sbin:/sbin"
SLURMCTLD = "127.0.0.1:6817"
END_POINTS = ("/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler")
COMMAND_SECONDS = 20

Labels = tuple[tuple[str, str], ...]
Metrics = dict[str, dict[Labels, float]]

# sinfo's words, without the flags behind them, and the state that Slurm's end point counts them under.
NODE_STATES = {
    "idle": ("idle",),
    "allocated": ("alloc",),
    "mixed": ("mixed",),
    "completing": ("completing",),
    "planned": ("planned",),
    "reserved": ("resv",),
    "maint": ("maint",),
    "down": ("down",),
    "fail": ("fail",),
    "failing": ("fail",),
    "drained": ("drain", "drained"),
    "draining": ("drain", "draining"),
    "unknown": ("unknown",),
}
COUNTED_NODES = ("alloc", "completing", "down", "drain", "drained", "draining", "fail", "idle", "mixed", "planned")
COUNTED_JOBS = ("completing", "configuring", "pending", "running", "suspended")
# Reasons of jobs that do not wait for room: held, or not yet due.
NOT_WAITING = ("Dependency", "JobHeldUser", "JobHeldAdmin", "BeginTime", "DependencyNeverSatisfied")

DIAGNOSTICS = {
    ("", "Server thread count"): "slurm_server_thread_cnt",
    ("", "Agent queue size"): "slurm_agent_queue_size",
    ("", "DBD Agent queue size"): "slurm_slurmdbd_queue_size",
    ("", "Jobs submitted"): "slurm_sdiag_jobs_submitted",
    ("", "Jobs started"): "slurm_sdiag_jobs_started",
    ("", "Jobs completed"): "slurm_sdiag_jobs_completed",
    ("", "Jobs canceled"): "slurm_sdiag_jobs_canceled",
    ("", "Jobs failed"): "slurm_sdiag_jobs_failed",
    ("Main schedule statistics", "Last cycle"): "slurm_schedule_cycle_last",
    ("Main schedule statistics", "Mean cycle"): "slurm_sched_mean_cycle",
    ("Main schedule statistics", "Last queue length"): "slurm_schedule_queue_len",
    ("Backfilling stats", "Last cycle"): "slurm_bf_cycle_last",
    ("Backfilling stats", "Mean cycle"): "slurm_bf_mean_cycle",
    ("Backfilling stats", "Last queue length"): "slurm_bf_queue_len",
}


def node_metrics(partitions: str, nodes: str) -> Metrics:
    """Nodes by state, of the cluster and of each partition.

    Args:
        partitions: of ``sinfo -h -a -o '%R|%T|%D|%C'``.
        nodes: of ``sinfo -h -a -N -o '%N|%T'``, where a node stands once for each of its partitions.
    """
    metrics: Metrics = defaultdict(lambda: defaultdict(float))
    for line in partitions.splitlines():
        name, state, count, cpus = line.split("|")
        labels = (("partition", name),)
        _count_states(metrics, "slurm_partition_nodes", labels, state, float(count))
        allocated, idle, _, total = (float(part) for part in cpus.split("/"))
        metrics["slurm_partition_cpus"][labels] += total
        metrics["slurm_partition_nodes_cpus_alloc"][labels] += allocated
        metrics["slurm_partition_nodes_cpus_idle"][labels] += idle
    metrics["slurm_partitions"][()] = len(metrics["slurm_partition_nodes"])
    for node in dict.fromkeys(nodes.splitlines()):
        _count_states(metrics, "slurm_nodes", (), node.split("|")[1], 1)
    _count_states(metrics, "slurm_nodes", (), "", 0)
    return metrics


def _count_states(metrics: Metrics, prefix: str, labels: Labels, state: str, count: float) -> None:
    metrics[prefix][labels] += count
    for name in COUNTED_NODES:
        metrics[f"{prefix}_{name}"][labels] += 0
    for name in NODE_STATES.get(re.sub(r"[^a-z]+$", "", state), ()):
        metrics[f"{prefix}_{name}"][labels] += count


def job_metrics(jobs: str, partitions: Iterable[str], *, with_counts: bool, now: float) -> Metrics:
    """Jobs by state, and how long those that wait for room have waited.

    Args:
        jobs: of ``squeue -h -a -r -o '%i|%P|%T|%V|%r'``; a pending job may name several partitions.
        partitions: every partition, for zeros.
        with_counts: whether states are counted, or only waits told.
        now: seconds since the epoch.
    """
    metrics: Metrics = defaultdict(lambda: defaultdict(float))
    waits: dict[str, list[float]] = {name: [] for name in partitions}
    for name in (*partitions, "") if with_counts else ():
        _count_job(metrics, name, "", 0)
    for line in jobs.splitlines():
        _, wanted, state, submitted, reason = line.split("|", 4)
        for name in wanted.split(","):
            if state == "PENDING" and reason not in NOT_WAITING:
                waits.setdefault(name, []).append(max(now - _seconds(submitted), 0))
            if with_counts:
                _count_job(metrics, name, state, 1)
        if with_counts:
            _count_job(metrics, "", state, 1)
    for name, seconds in waits.items():
        labels = (("partition", name),)
        metrics["hyperpod_slurm_pending_wait_seconds_max"][labels] = max(seconds, default=0)
        metrics["hyperpod_slurm_pending_wait_seconds_mean"][labels] = sum(seconds) / len(seconds) if seconds else 0
    return metrics


def _count_job(metrics: Metrics, partition: str, state: str, count: float) -> None:
    prefix = "slurm_partition_jobs" if partition else "slurm_jobs"
    labels: Labels = (("partition", partition),) if partition else ()
    metrics[prefix][labels] += count
    for name in COUNTED_JOBS:
        metrics[f"{prefix}_{name}"][labels] += count if state.lower() == name else 0


def _seconds(text: str) -> float:
    """A time as squeue prints it, local and without a zone."""
    return datetime.fromisoformat(text).timestamp()


def scheduler_metrics(diagnostics: str) -> Metrics:
    """What sdiag tells of the scheduler and of ended jobs, in its own units (microseconds for cycles).

    What it leaves out is zero, as in Slurm's own end point: there is no mean cycle before the first one.
    """
    metrics: Metrics = {name: {(): 0} for name in DIAGNOSTICS.values()}
    section = ""
    for line in diagnostics.splitlines():
        name, colon, value = line.strip().partition(":")
        if not line.startswith(("\t", " ")):
            section = name.split(" (")[0] if not value.strip() else ""
        metric = DIAGNOSTICS.get((section, name.strip()))
        if metric and colon and value.strip().isdigit():
            metrics[metric][()] = float(value)
    return metrics


def exposition(metrics: Mapping[str, Mapping[Labels, float]]) -> str:
    """The metrics as Prometheus reads them, all of them gauges."""
    lines = []
    for name in sorted(metrics):
        lines.append(f"# TYPE {name} gauge")
        for labels, value in sorted(metrics[name].items()):
            inner = ",".join(f"{key}={json.dumps(text, ensure_ascii=False)}" for key, text in labels)
            lines.append(f"{name}{{{inner}}} {value:.15g}" if inner else f"{name} {value:.15g}")
    return "\n".join(lines) + "\n"


def collect(run: Callable[[list[str]], str], now: float, *, has_end_point: bool) -> str:
    """One round; when Slurm does not answer, that alone is told.

    Args:
        run: runs a command and returns what it prints.
        now: seconds since the epoch.
        has_end_point: whether slurmctld serves its own metrics.
    """
    try:
        nodes = node_metrics(
            run(["sinfo", "-h", "-a", "-o", "%R|%T|%D|%C"]), run(["sinfo", "-h", "-a", "-N", "-o", "%N|%T"])
        )
        partitions = [labels[0][1] for labels in nodes["slurm_partition_cpus"]]
        queue = run(["squeue", "-h", "-a", "-r", "-o", "%i|%P|%T|%V|%r"])
        jobs = job_metrics(queue, partitions, with_counts=not has_end_point, now=now)
        others: Mapping[str, Any] = {} if has_end_point else {**nodes, **scheduler_metrics(run(["sdiag"]))}
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        sys.stderr.write(f"slurm does not answer: {error}\n")
        return exposition({"hyperpod_slurm_up": {(): 0}})
    return exposition({"hyperpod_slurm_up": {(): 1}, **jobs, **others})


def scrape_targets(has_end_point: bool) -> list[dict[str, Any]]:
    """What a Prometheus agent is to scrape of slurmctld, in the form of its file-based discovery."""
    paths = END_POINTS if has_end_point else ()
    return [{"targets": [SLURMCTLD], "labels": {"__metrics_path__": path}} for path in paths]


def agent_config(settings: Mapping[str, Any], node: Mapping[str, str], devices: Iterable[str]) -> dict[str, Any]:
    """The configuration of a Prometheus in agent mode on this node. JSON is YAML, which it reads.

    Args:
        settings: of ``set-up``.
        node: labels of this node.
        devices: ``gpu`` and ``efa`` where the node has them.
    """
    ports = {"node": 9100, "dcgm": 9400, "efa": 9109}
    wanted = ["node", *(["dcgm"] if "gpu" in devices else []), *(["efa"] if "efa" in devices else [])]
    scrapes: list[dict[str, Any]] = [
        {
            "job_name": job,
            "static_configs": [{"targets": [f"127.0.0.1:{ports[job]}"], "labels": {"instance": socket.gethostname()}}],
        }
        for job in wanted
    ]
    if node["node_type"] == "controller":
        discovery = [{"files": [f"{FOLDER}/slurm_targets.json"]}]
        scrapes.append({"job_name": "slurm", "file_sd_configs": discovery})
    interval = f"{settings['scrape_interval_seconds']}s"
    write: dict[str, Any] = {"url": settings["remote_write_url"]}
    if settings.get("region"):
        write["sigv4"] = {"region": settings["region"]}
    return {
        "global": {"scrape_interval": interval, "external_labels": dict(node)},
        "scrape_configs": scrapes,
        "remote_write": [write],
    }


def own_metrics(node: Mapping[str, str], prices: Mapping[str, float]) -> Metrics:
    """What this node is, and what it costs an hour if that is known."""
    labels = tuple(sorted((key, value) for key, value in node.items() if key != "cluster"))
    metrics: Metrics = {"hyperpod_node_info": {labels: 1}}
    price = prices.get(node["instance_type"])
    if price is not None:
        metrics["hyperpod_node_hourly_price_usd"] = {labels: float(price)}
    return metrics


def _instance_type(group: str, types: Mapping[str, list[str]]) -> str:
    """As the platform's file says, which knows which of several types a group got; else as it was asked for."""
    try:
        document = json.loads(Path(RESOURCE_CONFIG).read_text(encoding="utf-8"))
        found = {item["Name"]: item.get("InstanceType", "") for item in document["InstanceGroups"]}
    except (OSError, ValueError, KeyError, TypeError):
        found = {}
    return found.get(group) or next(iter(types.get(group, [])), "unknown")


def _devices() -> list[str]:
    infiniband = Path("/sys/class/infiniband")
    has_efa = infiniband.is_dir() and any(infiniband.iterdir())
    return [*(["gpu"] if Path("/dev/nvidia0").exists() else []), *(["efa"] if has_efa else [])]


def _write(path: str, text: str, mode: int = 0o644) -> bool:
    """Write whole or not at all: a node exporter may read at any moment. Whether anything changed."""
    file = Path(path)
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    for folder in (file.parent, *file.parent.parents):
        if str(folder).endswith(("hyperpod-constructs", "metrics", "hyperpod-constructs-metrics")):
            folder.chmod(0o755)  # lifecycle scripts run with umask 077, exporters as a user of their own
    temporary = file.with_suffix(f".{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.chmod(mode)
    temporary.replace(file)
    return True


def _units(interval_seconds: int) -> dict[str, str]:
    return {
        f"{UNIT}.service": "[Unit]\nDescription=Metrics of the Slurm queue\n\n[Service]\nType=oneshot\n"
        f"ExecStart=/usr/bin/env python3 {PROGRAM} collect\nTimeoutStartSec=60\nNice=10\n",
        f"{UNIT}.timer": "[Unit]\nDescription=Metrics of the Slurm queue\n\n[Timer]\nOnBootSec=30\n"
        f"OnUnitActiveSec={interval_seconds}\nAccuracySec=1\n\n[Install]\nWantedBy=timers.target\n",
    }


def set_up(settings: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """Everything that a node of this type needs; the same again changes nothing."""
    group, node_type = environment["HYPERPOD_INSTANCE_GROUP"], environment["HYPERPOD_NODE_TYPE"]
    node = {
        "cluster": environment["HYPERPOD_CLUSTER_NAME"],
        "instance_group": group,
        "instance_type": _instance_type(group, settings["instance_types"]),
        "node_type": node_type,
    }
    _write(f"{FOLDER}/node.prom", exposition(own_metrics(node, settings["hourly_prices_usd"])))
    _write(AGENT_CONFIG, json.dumps(agent_config(settings, node, _devices()), indent=1) + "\n")
    if node_type == "controller":
        _set_up_controller(int(settings["scrape_interval_seconds"]))


def _set_up_controller(interval_seconds: int) -> None:
    _write(PROGRAM, Path(__file__).read_text(encoding="utf-8"), mode=0o755)
    units = _units(interval_seconds)
    changed = [name for name, text in units.items() if _write(f"/etc/systemd/system/{name}", text)]
    if changed:
        subprocess.run(["systemctl", "daemon-reload"], check=True, timeout=COMMAND_SECONDS)
    subprocess.run(["systemctl", "enable", "--now", f"{UNIT}.timer"], check=True, timeout=COMMAND_SECONDS)


def _serves_metrics() -> bool:
    try:
        with urllib.request.urlopen(f"http://{SLURMCTLD}{END_POINTS[0]}", timeout=5) as answer:
            return answer.status == 200 and b"slurm_" in answer.read()
    except (OSError, ValueError):
        return False


def _run(command: list[str]) -> str:
    program = shutil.which(command[0], path=SLURM_PROGRAMS) or command[0]
    done = subprocess.run([program, *command[1:]], check=True, capture_output=True, text=True, timeout=COMMAND_SECONDS)
    return done.stdout


def main(arguments: list[str]) -> int:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description="metrics of a HyperPod node and of its Slurm queue")
    commands = parser.add_subparsers(dest="command", required=True)
    setting_up = commands.add_parser("set-up", help="write what this node needs")
    setting_up.add_argument("--remote-write-url", required=True)
    setting_up.add_argument("--region", default="", help="for signing requests; none: they are not signed")
    setting_up.add_argument("--scrape-interval-seconds", type=int, default=30)
    setting_up.add_argument("--instance-types", type=json.loads, default={}, help="JSON: group to its types")
    setting_up.add_argument("--hourly-prices-usd", type=json.loads, default={}, help="JSON: type to price")
    commands.add_parser("collect", help="write Slurm's metrics")
    settings = vars(parser.parse_args(arguments))
    if settings["command"] == "set-up":
        set_up(settings, os.environ)
        return 0
    has_end_point = _serves_metrics()
    _write(f"{FOLDER}/slurm_targets.json", json.dumps(scrape_targets(has_end_point)))
    _write(f"{FOLDER}/slurm.prom", collect(_run, time.time(), has_end_point=has_end_point))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
