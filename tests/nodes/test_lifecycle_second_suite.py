"""The whole set of node scripts on the newer Slurm: the images' release lies between the two suites of the bed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType
from hyperpod_constructs.rehearsal.nodes import Bed

from .conftest import SlurmCluster, within
from .lifecycle_support import FINGERPRINT, node_config, run_again, stage, summary, use

pytestmark = pytest.mark.nodes

NODES = ("controller-1", "login-1", "train-1")


@pytest.fixture(scope="module")
def cluster(machine: None, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    with Bed("forky", cache=cache, limit_seconds=600, say=print) as bed:
        made = SlurmCluster(bed=bed, network=82)
        try:
            use(made, stage(tmp_path_factory.mktemp("scripts"), node_config(made)))
            controller = made.instance("controller", 1, NodeType.CONTROLLER)
            assert [result.reason for result in made.bring_up(controller)] == [""], made.lines
            login, worker = made.instance("login", 1, NodeType.LOGIN), made.instance("train", 1, NodeType.COMPUTE)
            assert [result.reason for result in made.bring_up(login, worker)] == ["", ""], made.lines
            assert made.all_idle(worker)
            yield made
        finally:
            made.end_all()


def test_every_step_succeeds_and_a_second_run_changes_nothing(cluster: SlurmCluster) -> None:
    for node in NODES:
        assert [s["step"] for s in summary(cluster, node)["steps"] if s["outcome"] != "ok"] == []
        before = cluster.on(node, FINGERPRINT)
        steps = run_again(cluster, node)["steps"]
        assert {step["step"]: step["changed"] for step in steps if step["changed"]} == {}
        assert cluster.on(node, FINGERPRINT) == before
    assert cluster.platform.edits == []


def test_history_and_associations_outlive_the_controller(cluster: SlurmCluster) -> None:
    job = "su - alice -c 'srun -p train -J remembered hostname'"
    worker = cluster.instances["train-1"]
    assert cluster.on("login-1", job).strip() == worker.host_name
    shown = "su - alice -c 'sacct -n -X -P -S 2020-01-01 -o account,jobname,state'"
    assert within(20, lambda: "research|remembered|COMPLETED" in cluster.on("login-1", shown))
    cluster.on("controller-1", "python3 -B /opt/hyperpod-constructs/lifecycle_script.py --only dump_accounting")
    controller = cluster.instances["controller-1"]
    cluster.platform.remove(controller)
    assert [result.reason for result in cluster.bring_up(controller)] == [""], cluster.lines["controller-1"]
    assert cluster.all_idle(worker, seconds=60)
    assert "research|remembered|COMPLETED" in cluster.on("login-1", shown)
    assert cluster.on("login-1", job).strip() == worker.host_name


@pytest.mark.parametrize(
    "change", ["echo TopologyPlugin=topology/tree >>hyperpod_constructs.conf", "echo '[]' >topology.yaml"]
)
def test_topology_that_would_stop_slurmctld_is_repaired_before_it_starts(cluster: SlurmCluster, change: str) -> None:
    cluster.on("controller-1", f"cd /opt/slurm/etc && {change} && systemctl restart slurmctld")
    assert cluster.all_idle(cluster.instances["train-1"])
