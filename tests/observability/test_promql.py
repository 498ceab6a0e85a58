"""Every PromQL expression of every dashboard and alert, asked of a real Prometheus that scrapes real exporters.

Real: Prometheus and the node exporter (Debian's packages), the textfile that the node scripts' own collector writes.
Recorded: what DCGM's and the EFA exporter write (no GPU and no EFA here), file systems of FSx, Slurm's answers. One
node of the three is sick, so that each alert has something to say.
"""

import json
import math
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hyperpod_constructs.dashboards import ALERTS, DASHBOARDS, alert_rules, load
from hyperpod_constructs.dashboards.panels import Panel, Query, View
from tests.observability.pictures import dashboard_picture, series_of
from tests.observability.prometheus import Prometheus, free_port, program, prometheus, recorded, running, served
from tests.observability.test_node_metrics import ANSWERS, NODE, node_metrics

REPOSITORY = Path(__file__).parents[2]
CLUSTER = "llm-training"
WINDOW = "10s"
SCRAPED_SECONDS = float(os.environ.get("HYPERPOD_SCRAPED_SECONDS", "14"))
SICK = {
    "DCGM_FI_DEV_XID_ERRORS": 79,
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": 1,
    "DCGM_FI_DEV_GPU_TEMP": 91,
    "DCGM_FI_DEV_GPU_UTIL": 0,
    "node_amazonefa_rx_drops": 5,
    "node_amazonefa_rdma_read_wr_err": 1,
    "node_filesystem_avail_bytes": 3.0e9,
}
QUERIES = [
    pytest.param(panel, query, id=f"{dashboard.name}: {panel.title}: {query.legend}")
    for dashboard in DASHBOARDS
    for panel, query in dashboard.queries
]


@dataclass(frozen=True)
class Scene:
    """What was scraped, and when."""

    server: Prometheus
    started: float
    ended: float


def asked(expression: str) -> str:
    """The expression as Grafana would send it."""
    return expression.replace("$cluster", CLUSTER).replace("$__rate_interval", WINDOW)


def _slurm(started: float) -> Callable[[], str]:
    """What the node scripts' collector writes: recorded answers of Slurm, a queue that grows."""

    def sample() -> str:
        elapsed = int(time.monotonic() - started)
        answers = dict(ANSWERS)
        queue = "squeue -h -a -r -o %i|%P|%T|%V|%r"
        more = "".join(f"{100 + n}|train|PENDING|2027-01-15T08:55:00|Resources\n" for n in range(elapsed // 2))
        answers[queue] += more
        answers["sinfo -h -a -o %R|%T|%D|%C"] += "train|drained|1|0/0/96/96\nlow|idle|2|0/192/0/192\n"
        answers[queue] += "900|low|PENDING|2027-01-15T08:58:00|QOSMaxNodePerUserLimit\n"
        answers["sdiag"] = (
            answers["sdiag"]
            .replace("Jobs completed: 28", f"Jobs completed: {28 + elapsed}")
            .replace("Jobs failed:    3", f"Jobs failed:    {3 + elapsed // 3}")
            .replace("Jobs canceled:  2", f"Jobs canceled:  {2 + elapsed // 5}")
            .replace("DBD Agent queue size: 7", f"DBD Agent queue size: {1200 + elapsed}")
        )
        now = node_metrics._seconds("2027-01-15T09:00:00") + elapsed
        text = node_metrics.collect(lambda command: answers[" ".join(command)], now, has_end_point=False)
        return str(text)

    return sample


def _no_memory() -> str:
    return "node_memory_MemAvailable_bytes 1e9\nnode_memory_MemTotal_bytes 2e12\n"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("prometheus")
    started = time.monotonic()
    texts = folder / "textfiles"
    texts.mkdir()
    controller = NODE | {"node_type": "controller", "instance_group": "controller", "instance_type": "ml.m5.xlarge"}
    prices = {"ml.m5.xlarge": 0.23, "ml.p5.48xlarge": 60.5}
    (texts / "node.prom").write_text(node_metrics.exposition(node_metrics.own_metrics(controller, prices)))
    (texts / "slurm.prom").write_text("hyperpod_slurm_up 0\n")
    os.utime(texts / "slurm.prom", (time.time() - 3600,) * 2)
    own = node_metrics.exposition(node_metrics.own_metrics(NODE, prices))
    samples = {"/slurm": _slurm(started), "/memory": _no_memory}
    for number in (1, 2, 3):
        sick = SICK if number == 3 else None
        for exporter, file in (("dcgm", "dcgm.prom"), ("efa", "efa.prom"), ("shared", "file_systems.prom")):
            samples[f"/{exporter}/{number}"] = recorded(file, started, sick, speed=40)
        samples[f"/own/{number}"] = lambda: own
    exporter_port, nobody = free_port(), free_port()
    node_exporter = [
        program("prometheus-node-exporter"),
        f"--web.listen-address=127.0.0.1:{exporter_port}",
        f"--collector.textfile.directory={texts}",
    ]
    with served(samples) as address, running(node_exporter, folder, "node_exporter"):
        scrapes = _scrapes(address, f"127.0.0.1:{exporter_port}", f"127.0.0.1:{nobody}")
        with prometheus(folder, scrapes, alert_rules()) as server:
            begun = time.time()
            time.sleep(SCRAPED_SECONDS)
            yield Scene(server, begun, time.time())


def _scrapes(samples: str, node_exporter: str, nobody: str) -> list[dict[str, Any]]:
    def job(name: str, target: str, instance: str, path: str = "/metrics", **labels: str) -> dict[str, Any]:
        given = {"cluster": CLUSTER, "instance": instance, **labels, "__metrics_path__": path}
        return {"targets": [target], "labels": given, "job": name}

    jobs = [
        job("node", node_exporter, "ip-10-0-0-10"),
        job("slurm-textfile", samples, "ip-10-0-0-10", "/slurm"),
        job("node", samples, "ip-10-0-0-12", "/memory"),
        job("slurm", nobody, "ip-10-0-0-10"),
        job("dcgm", nobody, "ip-10-0-0-29"),
    ]
    for number in (1, 2, 3):
        instance = f"ip-10-0-0-2{number}"
        for exporter in ("dcgm", "efa"):
            jobs.append(job(exporter, samples, instance, f"/{exporter}/{number}"))
        jobs += [job("shared", samples, instance, f"/shared/{number}"), job("own", samples, instance, f"/own/{number}")]
    names = dict.fromkeys(str(item["job"]) for item in jobs)
    return [
        {
            "job_name": name,
            "honor_labels": True,
            "static_configs": [{k: v for k, v in item.items() if k != "job"} for item in jobs if item["job"] == name],
        }
        for name in names
    ]


@pytest.mark.parametrize(("panel", "query"), QUERIES)
def test_each_query_of_each_dashboard_is_answered_with_data(scene: Scene, panel: Panel, query: Query) -> None:
    series = scene.server.query(asked(query.expression))
    assert series, f"no data: {query.expression}"
    values = [float(item["value"][1]) for item in series]
    assert any(math.isfinite(value) for value in values), values


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_each_alert_finds_what_is_wrong(scene: Scene, alert: Any) -> None:
    assert scene.server.query(alert.expression), alert.expression


def test_prometheus_evaluates_every_rule_without_an_error(scene: Scene) -> None:
    (group,) = scene.server.get("rules")["groups"]
    assert [(rule["name"], rule["health"], rule.get("lastError", "")) for rule in group["rules"]] == [
        (f"HyperPod{alert.name}", "ok", "") for alert in ALERTS
    ]


def test_legends_name_labels_that_the_answers_have(scene: Scene) -> None:
    import re

    for dashboard in DASHBOARDS:
        for _, query in dashboard.queries:
            wanted = set(re.findall(r"\{\{(\w+)\}\}", query.legend))
            for item in scene.server.query(asked(query.expression)):
                assert wanted <= set(item["metric"]), (dashboard.name, query.expression, item["metric"])


def test_a_query_of_another_cluster_finds_nothing(scene: Scene) -> None:
    for dashboard in DASHBOARDS:
        for panel, query in dashboard.queries:
            expression = query.expression.replace("$cluster", "other").replace("$__rate_interval", WINDOW)
            if "vector(0)" not in expression:
                assert scene.server.query(expression) == [], (dashboard.name, panel.title)


def test_the_files_that_ship_have_exactly_the_defined_queries() -> None:
    for dashboard in DASHBOARDS:
        shipped = [target["expr"] for panel in load(dashboard.name)["panels"] for target in panel["targets"]]
        assert shipped == [query.expression for _, query in dashboard.queries]


def _stays_silent(alert: Any, series: dict[str, str]) -> dict[str, Any]:
    after = max(alert.minutes, 1) + 5
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": f"{value}x{after + 20}"} for name, value in series.items()],
        "promql_expr_test": [],
        "alert_rule_test": [{"eval_time": f"{after}m", "alertname": f"HyperPod{alert.name}", "exp_alerts": []}],
    }


HEALTHY = {
    'hyperpod_slurm_up{cluster="a"}': "1+0",
    'up{job="node",cluster="a",instance="n"}': "1+0",
    'slurm_partition_nodes_down{cluster="a",partition="p"}': "0+0",
    'slurm_partition_nodes_drained{cluster="a",partition="p"}': "0+0",
    'slurm_partition_nodes_idle{cluster="a",partition="p"}': "0+0",
    'slurm_partition_jobs_pending{cluster="a",partition="p"}': "9+0",
    'slurm_partition_jobs_running{cluster="a",partition="p"}': "3+0",
    'slurm_slurmdbd_queue_size{cluster="a"}': "0+0",
    'DCGM_FI_DEV_XID_ERRORS{cluster="a",instance="n",gpu="0"}': "0+0",
    'DCGM_FI_DEV_ROW_REMAP_FAILURE{cluster="a",instance="n",gpu="0"}': "0+0",
    'DCGM_FI_DEV_GPU_TEMP{cluster="a",instance="n",gpu="0"}': "60+0",
    'node_amazonefa_rx_drops{cluster="a",instance="n",device="d"}': "5+0",
    'node_filesystem_avail_bytes{cluster="a",instance="n",mountpoint="/",fstype="ext4"}': "50+0",
    'node_filesystem_size_bytes{cluster="a",instance="n",mountpoint="/",fstype="ext4"}': "100+0",
    'node_memory_MemAvailable_bytes{cluster="a",instance="n"}': "50+0",
    'node_memory_MemTotal_bytes{cluster="a",instance="n"}': "100+0",
}


def test_no_alert_is_on_for_a_healthy_cluster_under_load(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(alert_rules()))
    tests = [_stays_silent(alert, HEALTHY) for alert in ALERTS]
    document = tmp_path / "test.json"
    document.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run(
        [program("promtool"), "test", "rules", str(document)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_sound_by_promtools_own_check(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(alert_rules()))
    done = subprocess.run(
        [program("promtool"), "check", "rules", str(rules)], capture_output=True, text=True, timeout=30, check=False
    )
    assert f"{len(ALERTS)} rules found" in done.stdout, done.stdout + done.stderr


def test_a_picture_of_each_dashboard_can_be_drawn_from_the_answers(scene: Scene, tmp_path: Path) -> None:
    """With ``HYPERPOD_PICTURES=write HYPERPOD_SCRAPED_SECONDS=90`` the pictures in the docs are drawn anew."""
    writes = os.environ.get("HYPERPOD_PICTURES") == "write"
    folder = REPOSITORY / "docs" / "pictures" if writes else tmp_path
    folder.mkdir(exist_ok=True)
    step = max(1.0, (scene.ended - scene.started) / 60)
    for dashboard in DASHBOARDS:
        drawn = []
        for panel in dashboard.panels:
            if panel.view is View.NUMBER:
                continue
            series: list[Any] = []
            for query in panel.queries:
                answer = scene.server.range(asked(query.expression), scene.started + 3, scene.ended, step)
                series += series_of(answer, query.legend)
            drawn.append((panel.title, panel.unit, series))
        path = folder / f"{dashboard.name}.svg"
        path.write_text(dashboard_picture(dashboard.title, drawn), encoding="utf-8")
        tree = ElementTree.parse(path)  # noqa: S314  our own file
        lines = tree.findall(".//{http://www.w3.org/2000/svg}polyline")
        assert len(lines) >= len(drawn)
        assert all(len(line.get("points", "").split()) > 3 for line in lines)
