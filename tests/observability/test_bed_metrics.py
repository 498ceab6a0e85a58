"""Slurm's metrics from real Slurm nodes under a job load, through a real Prometheus, to every query of the dashboard.

On the default suite (Slurm 24.11) from sinfo, squeue and sdiag; on the other (26.05) from slurmctld's own end point,
which the images of today (25.11) have too.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.dashboards import DASHBOARDS
from hyperpod_constructs.rehearsal.agent import NodeType
from hyperpod_constructs.rehearsal.nodes import Bed
from tests.nodes.conftest import SlurmCluster, cache, machine, within
from tests.observability.prometheus import Prometheus, kept_fresh, prometheus, served
from tests.observability.test_node_metrics import SCRIPT

__all__ = ["cache", "machine"]  # fixtures

pytestmark = pytest.mark.nodes

CLUSTER = "llm-training"
SLURM = next(dashboard for dashboard in DASHBOARDS if dashboard.name == "slurm")
METRICS = "/var/lib/hyperpod-constructs/metrics"
SET_UP = (
    "HYPERPOD_CLUSTER_NAME=llm-training HYPERPOD_INSTANCE_GROUP=controller HYPERPOD_NODE_TYPE=controller"
    " python3 /root/node_metrics.py set-up --remote-write-url https://example.com/api/v1/remote_write"
    " --scrape-interval-seconds 2"
)
LOAD = (
    "cd /fsx && sbatch -p train -N1 --exclusive -o /dev/null --wrap 'sleep 300'"
    " && sbatch -p train -N2 --exclusive -o /dev/null --wrap 'sleep 300'"
    " && sbatch -p train -N1 --hold -o /dev/null --wrap 'sleep 1'"
    " && sbatch -p train -N1 -o /dev/null --wrap 'false'"
)
FETCH = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:6817{path}\").read().decode())'"


@pytest.fixture(scope="module", params=["trixie", "forky"])
def cluster(request: pytest.FixtureRequest, machine: None, cache: Path) -> Iterator[SlurmCluster]:
    """A controller, a login node and two workers that the collector has been set up on."""
    with Bed(request.param, cache=cache, limit_seconds=600, say=print) as bed:
        made = SlurmCluster(bed=bed, network=70)
        controller = made.instance("controller", 1, NodeType.CONTROLLER)
        rest = [
            made.instance("login", 1, NodeType.LOGIN),
            made.instance("train", 1, NodeType.COMPUTE),
            made.instance("train", 2, NodeType.COMPUTE),
        ]
        try:
            assert [result.reason for result in made.bring_up(controller)] == [""]
            assert [result.reason for result in made.bring_up(*rest)] == ["", "", ""]
            assert made.all_idle(*rest)
            if request.param == "forky":
                _serve_own_metrics(made)
            bed.put(controller.host_name, {"/root/node_metrics.py": SCRIPT.read_bytes()})
            made.on("controller-1", SET_UP)
            made.on("login-1", LOAD)
            assert within(30, lambda: made.on("login-1", "squeue -h -t R -o %i").strip() != "")
            yield made
        finally:
            made.end_all()


def _serve_own_metrics(cluster: SlurmCluster) -> None:
    line = "MetricsType=metrics/openmetrics"
    cluster.on("controller-1", f"echo {line} >>/opt/slurm/etc/slurm.conf && systemctl restart slurmctld")
    answers = FETCH.format(path="/metrics/jobs")
    assert within(30, lambda: "slurm_jobs" in cluster.on("controller-1", f"{answers} 2>&1 || true"))


def _has_end_point(cluster: SlurmCluster) -> bool:
    return bool(json.loads(cluster.on("controller-1", f"cat {METRICS}/slurm_targets.json")))


@pytest.fixture(scope="module")
def scraped(cluster: SlurmCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has scraped the controller for some seconds."""
    wrote = within(30, lambda: "slurm.prom" in cluster.on("controller-1", f"ls {METRICS}"))
    assert wrote, cluster.on(
        "controller-1", "systemctl status hyperpod-constructs-slurm-metrics.timer --no-pager || true"
    )

    def on_controller(command: str) -> Callable[[], str]:
        return lambda: cluster.on("controller-1", command)

    samples = {"/textfile": on_controller(f"cat {METRICS}/slurm.prom")}
    for target in json.loads(cluster.on("controller-1", f"cat {METRICS}/slurm_targets.json")):
        path = target["labels"]["__metrics_path__"]
        samples[path] = on_controller(FETCH.format(path=path))
    with kept_fresh(samples) as latest, served(latest) as address:
        labels = {"cluster": CLUSTER, "instance": "controller"}
        jobs: list[dict[str, Any]] = [
            {
                "job_name": path.strip("/").replace("/", "-"),
                "metrics_path": path,
                "static_configs": [{"targets": [address], "labels": labels}],
            }
            for path in samples
        ]
        with prometheus(tmp_path_factory.mktemp("prometheus"), jobs, {"groups": []}) as server:
            time.sleep(10)
            yield server


def _value(server: Prometheus, expression: str) -> float:
    (series,) = server.query(expression)
    return float(series["value"][1])


def test_every_query_of_the_slurm_dashboard_is_answered(scraped: Prometheus) -> None:
    silent = [
        query.expression
        for _, query in SLURM.queries
        if not scraped.query(query.expression.replace("$cluster", CLUSTER).replace("$__rate_interval", "10s"))
    ]
    assert silent == []


def test_the_numbers_are_slurms_own(cluster: SlurmCluster, scraped: Prometheus) -> None:
    shown = cluster.on("login-1", "squeue -h -r -o %T").split()
    assert _value(scraped, "slurm_jobs_running") == shown.count("RUNNING") >= 1
    assert _value(scraped, "slurm_jobs_pending") == shown.count("PENDING") >= 2
    nodes = set(cluster.on("login-1", "sinfo -h -N -o %N").split())
    assert _value(scraped, "slurm_nodes") == len(nodes) == 3
    assert _value(scraped, 'slurm_partition_nodes{partition="train"}') == 2
    cpus = cluster.on("login-1", "sinfo -h -p train -o %C").split("/")
    assert _value(scraped, 'slurm_partition_cpus{partition="train"}') == float(cpus[3])


def test_a_job_that_waits_for_room_has_waited_and_a_held_one_has_not(
    cluster: SlurmCluster, scraped: Prometheus
) -> None:
    longest = _value(scraped, 'hyperpod_slurm_pending_wait_seconds_max{partition="train"}')
    assert 5 < longest < 600
    assert _value(scraped, 'hyperpod_slurm_pending_wait_seconds_max{partition="dev"}') == 0


def test_slurm_is_asked_by_commands_only_where_it_does_not_tell_by_itself(cluster: SlurmCluster) -> None:
    text = cluster.on("controller-1", f"cat {METRICS}/slurm.prom")
    assert ("slurm_jobs_running" in text) is not _has_end_point(cluster)
    assert "hyperpod_slurm_up 1" in text


def test_files_can_be_read_by_an_exporter_that_is_not_root(cluster: SlurmCluster) -> None:
    cluster.on("controller-1", f"su -s /bin/sh nobody -c 'cat {METRICS}/slurm.prom {METRICS}/node.prom' >/dev/null")


def test_a_controller_that_stops_is_told(cluster: SlurmCluster, scraped: Prometheus) -> None:
    cluster.on("controller-1", "systemctl stop slurmctld")
    try:
        assert within(90, lambda: "hyperpod_slurm_up 0" in cluster.on("controller-1", f"cat {METRICS}/slurm.prom"))
    finally:
        cluster.on("controller-1", "systemctl start slurmctld")
