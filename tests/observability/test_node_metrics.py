"""Slurm's metrics from sinfo, squeue and sdiag, and what a Prometheus agent is told."""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hyperpod_constructs import assets
from hyperpod_constructs.dashboards import DASHBOARDS

SCRIPT = assets.lifecycle_assets() / "files" / "node_metrics.py"


def _load() -> ModuleType:
    specification = importlib.util.spec_from_file_location("node_metrics", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


node_metrics = _load()

# sinfo's partitions: 'dev' holds every node, as on every HyperPod cluster (FACTS 6.3).
PARTITIONS = """\
dev|mixed|1|48/48/0/96
dev|allocated|1|96/0/0/96
dev|idle|1|0/4/0/4
dev|down*|1|0/0/96/96
train|mixed|1|48/48/0/96
train|allocated|1|96/0/0/96
train|down*|1|0/0/96/96
"""
NODES = """\
ip-10-0-0-1|mixed
ip-10-0-0-1|mixed
ip-10-0-0-2|allocated
ip-10-0-0-2|allocated
ip-10-0-0-3|idle
ip-10-0-0-4|down*
ip-10-0-0-4|down*
"""
JOBS = """\
1|train|RUNNING|2027-01-15T08:00:00|None
2|train|RUNNING|2027-01-15T08:10:00|None
3|train|PENDING|2027-01-15T08:20:00|Resources
4|train|PENDING|2027-01-15T08:50:00|Priority
5|train|PENDING|2027-01-01T00:00:00|JobHeldUser
6|train|PENDING|2027-01-01T00:00:00|Dependency
7|train,dev|PENDING|2027-01-15T08:59:00|Resources
8|dev|COMPLETING|2027-01-15T08:00:00|None
"""
DIAGNOSTICS = """\
*******************************************************
sdiag output at Fri Jan 15 09:00:00 2027 (1800003600)
Data since      Fri Jan 15 00:00:00 2027 (1799971200)
*******************************************************
Server thread count:  3
RPC queue enabled:    0
Agent queue size:     0
Agent count:          0
Agent thread count:   0
DBD Agent queue size: 7

Jobs submitted: 41
Jobs started:   33
Jobs completed: 28
Jobs canceled:  2
Jobs failed:    3

Job states ts:  Fri Jan 15 09:00:00 2027 (1800003600)
Jobs pending:   5
Jobs running:   2

Main schedule statistics (microseconds):
\tLast cycle:   152
\tMax cycle:    9053
\tTotal cycles: 212
\tMean cycle:   187
\tMean depth cycle:  1
\tCycles per minute: 1
\tLast queue length: 4

Main scheduler exit:
\tEnd of job queue:212

Backfilling stats
\tTotal backfilled jobs (since last slurm start): 1
\tTotal cycles: 12
\tLast cycle: 4010
\tMax cycle:  8021
\tMean cycle: 3777
\tLast queue length: 5

Remote Procedure Call statistics by message type
\tREQUEST_PARTITION_INFO                  ( 2009) count:17     ave_time:88     total_time:1498
"""
ANSWERS = {
    "sinfo -h -a -o %R|%T|%D|%C": PARTITIONS,
    "sinfo -h -a -N -o %N|%T": NODES,
    "squeue -h -a -r -o %i|%P|%T|%V|%r": JOBS,
    "sdiag": DIAGNOSTICS,
}


def _now() -> float:
    return float(node_metrics._seconds("2027-01-15T09:00:00"))


def _collected(has_end_point: bool = False, answers: dict[str, str] | None = None) -> dict[str, float]:
    known = ANSWERS if answers is None else answers
    text = node_metrics.collect(lambda command: known[" ".join(command)], _now(), has_end_point=has_end_point)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_a_node_counts_once_for_the_cluster_and_once_for_each_of_its_partitions() -> None:
    metrics = _collected()
    assert metrics["slurm_nodes"] == 4
    assert metrics["slurm_nodes_alloc"] == metrics["slurm_nodes_mixed"] == metrics["slurm_nodes_idle"] == 1
    assert metrics['slurm_partition_nodes{partition="dev"}'] == 4
    assert metrics['slurm_partition_nodes{partition="train"}'] == 3


def test_flags_behind_a_state_do_not_hide_it() -> None:
    metrics = _collected()
    assert metrics["slurm_nodes_down"] == metrics['slurm_partition_nodes_down{partition="train"}'] == 1


@pytest.mark.parametrize(
    ("state", "counted"),
    [
        ("drained", {"drain", "drained"}),
        ("draining", {"drain", "draining"}),
        ("drained*", {"drain", "drained"}),
        ("idle~", {"idle"}),
        ("mixed#", {"mixed"}),
        ("completing", {"completing"}),
        ("something-new", set()),
    ],
)
def test_states_are_counted_as_slurms_own_end_point_does(state: str, counted: set[str]) -> None:
    metrics = node_metrics.node_metrics(f"train|{state}|2|0/8/0/8\n", f"a|{state}\nb|{state}\n")
    names = ("alloc", "completing", "down", "drain", "drained", "draining", "idle", "mixed")
    assert {name for name in names if metrics[f"slurm_nodes_{name}"][()]} == counted
    assert metrics["slurm_nodes"][()] == 2


def test_cpus_are_those_of_each_partition() -> None:
    metrics = _collected()
    assert metrics['slurm_partition_cpus{partition="train"}'] == 288
    assert metrics['slurm_partition_nodes_cpus_alloc{partition="train"}'] == 144


def test_a_job_of_two_partitions_counts_in_both_and_once_for_the_cluster() -> None:
    metrics = _collected()
    assert metrics["slurm_jobs_pending"] == 5
    assert metrics['slurm_partition_jobs_pending{partition="train"}'] == 5
    assert metrics['slurm_partition_jobs_pending{partition="dev"}'] == 1
    assert metrics["slurm_jobs_running"] == metrics['slurm_partition_jobs_running{partition="train"}'] == 2
    assert metrics["slurm_jobs"] == 8


def test_only_jobs_that_wait_for_room_have_waited() -> None:
    metrics = _collected()
    assert metrics['hyperpod_slurm_pending_wait_seconds_max{partition="train"}'] == 40 * 60
    assert metrics['hyperpod_slurm_pending_wait_seconds_mean{partition="train"}'] == (40 + 10 + 1) * 60 / 3
    assert metrics['hyperpod_slurm_pending_wait_seconds_max{partition="dev"}'] == 60


def test_the_scheduler_is_told_in_its_own_numbers() -> None:
    metrics = _collected()
    expected = {
        "slurm_sdiag_jobs_submitted": 41,
        "slurm_sdiag_jobs_completed": 28,
        "slurm_sdiag_jobs_failed": 3,
        "slurm_sdiag_jobs_canceled": 2,
        "slurm_server_thread_cnt": 3,
        "slurm_slurmdbd_queue_size": 7,
        "slurm_sched_mean_cycle": 187,
        "slurm_bf_mean_cycle": 3777,
        "slurm_schedule_queue_len": 4,
        "slurm_bf_queue_len": 5,
    }
    assert {name: metrics[name] for name in expected} == expected


def test_a_scheduler_that_has_not_run_yet_is_zero_and_not_a_gap() -> None:
    young = DIAGNOSTICS.partition("\tTotal cycles: 12")[0]
    assert _collected(answers={**ANSWERS, "sdiag": young})["slurm_bf_mean_cycle"] == 0


def test_an_empty_cluster_has_zeros_and_not_gaps() -> None:
    answers = {**ANSWERS, "squeue -h -a -r -o %i|%P|%T|%V|%r": ""}
    metrics = _collected(answers=answers)
    assert metrics["slurm_jobs_pending"] == metrics["slurm_jobs"] == 0
    assert metrics['slurm_partition_jobs_running{partition="train"}'] == 0
    assert metrics['hyperpod_slurm_pending_wait_seconds_max{partition="train"}'] == 0


def test_every_slurm_metric_of_the_dashboards_is_written() -> None:
    written = {name.partition("{")[0] for name in _collected()}
    slurm = next(dashboard for dashboard in DASHBOARDS if dashboard.name == "slurm")
    asked = {
        word
        for _, query in slurm.queries
        for word in query.expression.replace("(", " ").replace("{", " ").split()
        if word.startswith(("slurm_", "hyperpod_"))
    }
    assert len(asked) > 15
    assert asked <= written


def test_beside_slurms_own_end_point_only_waits_are_written() -> None:
    names = {name.partition("{")[0] for name in _collected(has_end_point=True)}
    assert names == {
        "hyperpod_slurm_up",
        "hyperpod_slurm_pending_wait_seconds_max",
        "hyperpod_slurm_pending_wait_seconds_mean",
    }


def test_a_slurm_that_does_not_answer_is_told_and_nothing_stale_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    def run(command: list[str]) -> str:
        raise subprocess.TimeoutExpired(command, 20)

    assert (
        node_metrics.collect(run, 0.0, has_end_point=False) == "# TYPE hyperpod_slurm_up gauge\nhyperpod_slurm_up 0\n"
    )
    assert "slurm does not answer" in capsys.readouterr().err


def test_slurmctlds_end_points_are_scraped_only_where_it_has_them() -> None:
    paths = [target["labels"]["__metrics_path__"] for target in node_metrics.scrape_targets(True)]
    assert paths == ["/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler"]
    assert node_metrics.scrape_targets(False) == []


SETTINGS: dict[str, Any] = {
    "remote_write_url": "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1/api/v1/remote_write",
    "region": "us-west-2",
    "scrape_interval_seconds": 30,
}
NODE = {
    "cluster": "train",
    "instance_group": "p5",
    "instance_type": "ml.p5.48xlarge",
    "node_type": "compute",
}


@pytest.mark.parametrize(
    ("node_type", "devices", "jobs"),
    [
        ("compute", ["gpu", "efa"], ["node", "dcgm", "efa"]),
        ("compute", [], ["node"]),
        ("controller", [], ["node", "slurm"]),
        ("login", [], ["node"]),
    ],
)
def test_an_agent_scrapes_what_its_node_has(node_type: str, devices: list[str], jobs: list[str]) -> None:
    config = node_metrics.agent_config(SETTINGS, NODE | {"node_type": node_type}, devices)
    assert [job["job_name"] for job in config["scrape_configs"]] == jobs
    assert config["global"]["external_labels"]["cluster"] == "train"
    assert config["remote_write"] == [{"url": SETTINGS["remote_write_url"], "sigv4": {"region": "us-west-2"}}]


def test_a_prometheus_agent_takes_the_configuration(tmp_path: Path) -> None:
    program = shutil.which("promtool")
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("promtool is not installed; CI must have Debian's prometheus")
        pytest.skip("promtool is not installed; apt-get install prometheus")
    path = tmp_path / "prometheus.json"
    path.write_text(json.dumps(node_metrics.agent_config(SETTINGS, NODE | {"node_type": "controller"}, ["gpu"])))
    done = subprocess.run(
        [program, "check", "config", "--agent", str(path)], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_node_tells_what_it_is_and_what_it_costs() -> None:
    text = node_metrics.exposition(node_metrics.own_metrics(NODE, {"ml.p5.48xlarge": 60.5}))
    labels = '{instance_group="p5",instance_type="ml.p5.48xlarge",node_type="compute"}'
    assert f"hyperpod_node_info{labels} 1" in text
    assert f"hyperpod_node_hourly_price_usd{labels} 60.5" in text


def test_an_unknown_price_is_no_metric() -> None:
    assert list(node_metrics.own_metrics(NODE, {"ml.m5.xlarge": 1.0})) == ["hyperpod_node_info"]


def test_set_up_writes_readable_files_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_metrics, "FOLDER", str(tmp_path / "hyperpod-constructs" / "metrics"))
    monkeypatch.setattr(node_metrics, "AGENT_CONFIG", str(tmp_path / "hyperpod-constructs" / "prometheus.json"))
    resources = tmp_path / "resource_config.json"
    groups = [{"Name": "p5", "InstanceType": "ml.p5en.48xlarge", "Instances": []}]
    resources.write_text(json.dumps({"ClusterConfig": {}, "InstanceGroups": groups}))
    monkeypatch.setattr(node_metrics, "RESOURCE_CONFIG", str(resources))
    environment = {
        "HYPERPOD_CLUSTER_NAME": "train",
        "HYPERPOD_INSTANCE_GROUP": "p5",
        "HYPERPOD_NODE_TYPE": "compute",
    }
    settings = SETTINGS | {
        "instance_types": {"p5": ["ml.p5.48xlarge", "ml.p5en.48xlarge"]},
        "hourly_prices_usd": {"ml.p5en.48xlarge": 70},
    }
    old_mask = os.umask(0o077)
    try:
        node_metrics.set_up(settings, environment)
        files = [path for path in (tmp_path / "hyperpod-constructs").rglob("*") if path.is_file()]
        times = {path: path.stat().st_mtime_ns for path in files}
        node_metrics.set_up(settings, environment)
    finally:
        os.umask(old_mask)
    assert sorted(path.name for path in files) == ["node.prom", "prometheus.json"]
    assert {path: path.stat().st_mtime_ns for path in files} == times
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in files)
    assert (tmp_path / "hyperpod-constructs" / "metrics").stat().st_mode & 0o055 == 0o055
    assert 'instance_type="ml.p5en.48xlarge"' in files[0].read_text() + files[1].read_text()


def test_the_script_runs_on_the_images_python_without_anything_else() -> None:
    done = subprocess.run(
        ["python3", "-I", "-S", str(SCRIPT), "--help"], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0
    assert SCRIPT.read_text().startswith("#!/usr/bin/env python3\n")
