"""A cluster of real Slurm nodes lives: it comes up, grows, heals and shrinks, all through the CDK CLI and the API."""

from collections.abc import Iterator
from typing import Any

import pytest

from hyperpod_constructs.rehearsal.cluster_nodes import ClusterNode, ClusterNodes
from hyperpod_constructs.rehearsal.session import Rehearsal

from .nodes_support import READY_SECONDS, SlurmCluster, Step

pytestmark = [pytest.mark.rehearsal, pytest.mark.nodes, pytest.mark.xdist_group("rehearsal")]

CLUSTER = "alive"
# Fails on the first worker that comes by, as a package mirror that is away for a moment would make it.
FLAKY = Step(
    name="install-licence",
    text='mkdir /fsx/first-try 2>/dev/null || exit 0\necho "the licence server is away"\nexit 7',
    node_types=("Compute",),
)


class Life:
    """What happened to the cluster, each chapter played once, in order."""

    def __init__(self, rehearsal: Rehearsal, cluster: SlurmCluster) -> None:
        self.rehearsal, self.cluster = rehearsal, cluster
        cluster.deploy(2)
        with_two = cluster.kept_assembly()
        self.nodes: ClusterNodes = rehearsal.nodes_of(CLUSTER)
        self.wait_until_idle(2)
        self.born = self.snapshot()
        self.events = rehearsal.account.cluster_events(CLUSTER)
        self.failures = [
            rehearsal.account.failure_message(CLUSTER, event["EventId"])
            for event in self.events
            if event["EventLevel"] == "Error" and event.get("InstanceGroupName") == "train"
        ]

        cluster.deploy(3)
        self.wait_until_idle(3)
        self.grown = self.snapshot()
        self.job_on_three = self.srun("-N3", "hostname").split()

        self.nodes.run(self.worker(0), ["touch", "/root/mark", "/fsx/mark"])
        self.nodes.run(self.worker(1), ["touch", "/root/mark"])
        self.replace_and_reboot()
        self.healed = self.snapshot()

        cluster.deploy_again(with_two)
        self.wait_until(lambda: len(self.workers()) == 2, "the third worker was taken away")
        self.wait_until_idle(2)
        self.shrunk = self.snapshot()
        self.slurm_after_shrinking = self.nodes.slurm_states()
        self.job_on_two = self.srun("-N2", "hostname").split()

        rehearsal.destroy()
        self.bed_after_destroy = rehearsal.bed.client.nodes() if rehearsal.bed else None

    def replace_and_reboot(self) -> None:
        """The first worker is replaced while the second reboots, as an operator would ask the API to."""
        sagemaker = self.rehearsal.account.client("sagemaker")
        first, second = self.worker(0), self.worker(1)
        sagemaker.batch_replace_cluster_nodes(ClusterName=CLUSTER, NodeIds=[first.instance_id])
        sagemaker.batch_reboot_cluster_nodes(ClusterName=CLUSTER, NodeIds=[second.instance_id])
        self.wait_until(lambda: self.worker(0).instance_id != first.instance_id, "a worker was replaced")
        self.wait_until(lambda: self.boots(second) == 2, "a worker rebooted")
        self.wait_until_idle(3)
        self.replaced_root = self.nodes.run(self.worker(0), ["ls", "/root"])
        self.replaced_shared = self.nodes.run(self.worker(0), ["ls", "/fsx/mark"])
        self.rebooted_root = self.nodes.run(self.worker(1), ["ls", "/root"])
        self.jobs_after_healing = [self.srun("-w", node.host, "hostname").strip() for node in self.workers()[:2]]

    def wait_until(self, condition: Any, what: str) -> None:
        self.nodes.wait_until(condition, what, READY_SECONDS)

    def wait_until_idle(self, count: int) -> None:
        self.wait_until(lambda: len(self.nodes.idle("train")) == count, f"{count} workers were idle")

    def workers(self) -> list[ClusterNode]:
        return self.nodes.real(group="train")

    def worker(self, number: int) -> ClusterNode:
        return self.workers()[number]

    def boots(self, node: ClusterNode) -> int:
        assert self.rehearsal.bed is not None
        return next((one["boots"] for one in self.rehearsal.bed.client.nodes() if one["name"] == node.host), 0)

    def srun(self, *arguments: str) -> str:
        return self.nodes.run(self.nodes.entry(), ["srun", "-p", "train", *arguments])

    def snapshot(self) -> list[ClusterNode]:
        return self.nodes.all()


@pytest.fixture(scope="module")
def life(machine: None, rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    cluster = SlurmCluster(rehearsal, tmp_path_factory.mktemp("alive"), CLUSTER, steps=(FLAKY,))
    return Life(rehearsal, cluster)  # type: ignore[return-value]


def hosts(nodes: list[ClusterNode], group: str) -> list[str]:
    return sorted(node.host for node in nodes if node.group == group)


def test_controller_login_and_workers_are_real_nodes(life: Life) -> None:
    assert sorted((node.group, node.real) for node in life.born) == [
        ("entry", True),
        ("head", True),
        ("train", True),
        ("train", True),
    ]


def test_a_step_that_fails_on_a_worker_leaves_the_deployment_green_and_is_told_in_the_events(life: Life) -> None:
    """The events name the group and where the log is; the log ends with the step and what it printed."""
    assert life.failures
    assert "Lifecycle scripts did not run successfully." in life.failures[0]
    assert "LifecycleConfig/train/" in life.failures[0]


def test_the_log_of_the_failed_worker_names_the_step_and_holds_what_it_printed(life: Life) -> None:
    failed = next(event for event in life.events if event["EventLevel"] == "Error" and event.get("InstanceId"))
    logs = life.rehearsal.account.client("logs")
    group = life.cluster.outputs["LogGroupName"]
    stream = f"LifecycleConfig/train/{failed['InstanceId']}"
    lines = [event["message"] for event in logs.get_log_events(logGroupName=group, logStreamName=stream)["events"]]
    assert any("the licence server is away" in line for line in lines)
    assert any("user:install-licence" in line and "FAILED" in line for line in lines[-4:]), lines[-4:]


def test_the_failed_worker_is_launched_again_and_then_joins(life: Life) -> None:
    launched = {event.get("InstanceId", "") for event in life.events if event.get("InstanceGroupName") == "train"} - {
        ""
    }
    assert len(launched) == 3
    assert len(hosts(life.born, "train")) == 2


def test_a_second_deployment_with_one_worker_more_adds_a_node_that_runs_a_job(life: Life) -> None:
    assert set(hosts(life.born, "train")) < set(hosts(life.grown, "train"))
    assert sorted(life.job_on_three) == hosts(life.grown, "train")
    assert len(life.job_on_three) == 3


def test_growing_leaves_the_nodes_that_run_alone(life: Life) -> None:
    before = {node.instance_id for node in life.born}
    assert before < {node.instance_id for node in life.grown}


def test_a_replaced_node_is_a_fresh_machine_on_the_same_file_system_and_joins_again(life: Life) -> None:
    assert life.replaced_root == ""
    assert life.replaced_shared == "/fsx/mark\n"
    assert hosts(life.healed, "train") == hosts(life.grown, "train")


def test_a_rebooted_node_keeps_its_disk_and_comes_back_idle(life: Life) -> None:
    assert life.rebooted_root == "mark\n"
    assert life.jobs_after_healing == hosts(life.grown, "train")[:2]


def test_a_deployment_with_one_worker_less_takes_a_node_away_from_the_service_and_from_slurm(life: Life) -> None:
    left = hosts(life.shrunk, "train")
    assert len(left) == 2
    assert {host for host in life.slurm_after_shrinking if host not in hosts(life.shrunk, "entry")} == set(left)
    assert sorted(life.job_on_two) == left


def test_destroy_ends_every_node(life: Life) -> None:
    assert life.bed_after_destroy == []
