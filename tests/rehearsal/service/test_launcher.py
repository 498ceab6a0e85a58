"""The seam to real nodes: what a launcher is told, what its reports do, mixtures of real and simulated nodes."""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from hyperpod_constructs.rehearsal.service import (
    ClusterView,
    CompositeLauncher,
    Launcher,
    NodeReport,
    NodeRequest,
    SimulatedLauncher,
)
from tests.rehearsal.service.support import NAME, TIMINGS, UP, Bed, controller, login, workers


@dataclass
class HandMade(Launcher):
    """A launcher whose reports the test writes."""

    told: list[tuple[str, str]] = field(default_factory=list)
    requests: dict[str, NodeRequest] = field(default_factory=dict)
    reports: dict[str, NodeReport] = field(default_factory=dict)
    views: list[ClusterView] = field(default_factory=list)
    failing: bool = False

    def launch(self, node: NodeRequest) -> None:
        if self.failing:
            raise OSError("no room for another machine")
        self.told.append(("launch", node.instance_name))
        self.requests[node.instance_name] = node

    def report(self, instance_id: str) -> NodeReport:
        return self.reports.get(instance_id, NodeReport("pending"))

    def terminate(self, instance_id: str) -> None:
        self.told.append(("terminate", instance_id))

    def reboot(self, instance_id: str) -> None:
        self.told.append(("reboot", instance_id))
        self.reports[instance_id] = NodeReport("pending")

    def configuration_changed(self, cluster: ClusterView) -> None:
        self.views.append(cluster)

    def say(self, name: str, state: str, message: str | None = None, log: tuple[str, ...] = ()) -> None:
        self.reports[self.requests[name].instance_id] = NodeReport(state, message, log)  # type: ignore[arg-type]


@pytest.fixture
def real() -> HandMade:
    return HandMade()


@pytest.fixture
def bed(real: HandMade) -> Bed:
    bed = Bed(launcher=real)
    bed.create(controller(), login(), workers(2))
    return bed


def start_all(bed: Bed, real: HandMade) -> None:
    for names in (("controller-group-1",), ("login-group-1", "worker-gpu-a-1", "worker-gpu-a-2")):
        for name in names:
            real.say(name, "ready")
        bed.wait(1)


def test_a_request_tells_everything_about_the_node(bed: Bed, real: HandMade) -> None:
    real.say("controller-group-1", "ready")
    bed.wait(1)
    node, listed = real.requests["worker-gpu-a-2"], bed.nodes()[1]
    cluster = bed.describe()
    assert (node.cluster_name, node.cluster_arn) == (NAME, cluster["ClusterArn"])
    assert node.cluster_id == cluster["ClusterArn"].rpartition("/")[2]
    assert (node.group_name, node.number, node.instance_id) == ("worker-gpu-a", 2, listed["InstanceId"])
    assert (node.logical_id, node.node_type, node.instance_type) == (
        listed["NodeLogicalId"],
        "Compute",
        "ml.p5.48xlarge",
    )
    assert node.private_ip == listed["PrivateDnsHostname"].split(".")[0].removeprefix("ip-").replace("-", ".")
    assert node.partitions == ("gpu-training",)
    assert node.specification == workers(2)
    assert (node.has_script, node.failure) == (True, None)


def test_nothing_but_the_controller_is_launched_before_it_is_ready(bed: Bed, real: HandMade) -> None:
    real.say("controller-group-1", "running_script")
    bed.wait(10_000)
    assert real.told == [("launch", "controller-group-1")]


def test_reports_become_statuses(bed: Bed, real: HandMade) -> None:
    start_all(bed, real)
    assert bed.status() == "InService"
    assert bed.counts() == (2, 2)


def test_a_report_of_failure_fails_a_controller_with_its_words(bed: Bed, real: HandMade) -> None:
    real.say("controller-group-1", "failed", "step 30-munge failed with exit status 4.")
    bed.wait(1)
    assert "step 30-munge failed with exit status 4." in bed.describe()["FailureMessage"]


def test_a_launcher_that_raises_is_a_failed_launch_that_is_retried(bed: Bed, real: HandMade) -> None:
    real.say("controller-group-1", "ready")
    real.failing = True
    bed.wait(1)
    assert any(
        "no room for another machine" in str(bed.metadata(e)) for e in bed.events() if e["EventLevel"] == "Error"
    )
    real.failing = False
    bed.wait(60)
    assert ("launch", "worker-gpu-a-1") in real.told


def test_the_view_holds_a_node_before_it_is_launched(real: HandMade) -> None:
    seen: list[set[str]] = []

    class Watching(HandMade):
        def launch(self, node: NodeRequest) -> None:
            super().launch(node)
            seen.append({shown.instance_name for shown in self.views[-1].nodes})

    bed = Bed(launcher=Watching())
    bed.create()
    assert seen == [{"controller-group-1"}]


def test_the_view_has_the_documented_form(bed: Bed, real: HandMade) -> None:
    start_all(bed, real)
    view = real.views[-1]
    config = view.resource_config
    assert config["ClusterConfig"] == {"ClusterName": NAME, "ClusterArn": bed.describe()["ClusterArn"]}
    assert config["ClusterType"] == "Slurm"
    assert [group["Name"] for group in config["InstanceGroups"]] == ["controller-group", "login-group", "worker-gpu-a"]
    instance = config["InstanceGroups"][0]["Instances"][0]
    assert set(instance) == {"InstanceName", "AgentIpAddress", "CustomerIpAddress", "InstanceId"}
    assert instance["InstanceName"] == "controller-group-1"
    assert config["SlurmConfig"] == {"PrimaryControllerIp": instance["CustomerIpAddress"], "SecondaryControllerIps": []}
    assert view.provisioning_parameters == {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": "controller-group",
        "login_group": "login-group",
        "worker_groups": [{"instance_group_name": "worker-gpu-a", "partition_name": "gpu-training"}],
    }


def test_the_view_changes_with_every_node_and_state_and_not_otherwise(bed: Bed, real: HandMade) -> None:
    start_all(bed, real)
    states = [{node.instance_name: node.state for node in view.nodes} for view in real.views]
    assert states[0] == {"controller-group-1": "Pending"}
    assert states[-1] == dict.fromkeys(
        ("controller-group-1", "login-group-1", "worker-gpu-a-1", "worker-gpu-a-2"), "Running"
    )
    assert all(before != after for before, after in pairwise(states))
    count = len(real.views)
    bed.wait(10_000)
    assert len(real.views) == count


def test_scaling_down_terminates_the_victim_and_shows_a_smaller_view(bed: Bed, real: HandMade) -> None:
    start_all(bed, real)
    bed.update(workers(1))
    victim = next(node["InstanceId"] for node in bed.nodes() if node["InstanceStatus"]["Status"] == "ShuttingDown")
    assert real.told[-1] == ("terminate", victim)
    bed.wait(5)
    assert len(real.views[-1].nodes) == 3


def test_a_reboot_is_the_launchers_and_ends_with_its_report(bed: Bed, real: HandMade) -> None:
    start_all(bed, real)
    node = bed.instances()[0]
    bed.client.batch_reboot_cluster_nodes(ClusterName=NAME, NodeIds=[node])
    assert real.told[-1] == ("reboot", node)
    bed.wait(10_000)
    assert bed.nodes()[0]["InstanceStatus"]["Status"] == "Pending"
    real.reports[node] = NodeReport("ready")
    assert bed.nodes()[0]["InstanceStatus"]["Status"] == "Running"


def test_a_node_that_does_not_come_back_from_its_reboot_is_replaced(bed: Bed, real: HandMade) -> None:
    start_all(bed, real)
    node = bed.instances()[0]
    bed.client.batch_reboot_cluster_nodes(ClusterName=NAME, NodeIds=[node])
    real.reports[node] = NodeReport("failed", "kernel panic")
    bed.wait(0)
    assert bed.nodes()[0]["InstanceStatus"] == {"Status": "Failure", "Message": "kernel panic"}
    bed.wait(5)
    bed.wait(5)
    assert bed.instances()[0] != node


def test_a_software_update_ends_and_launches_the_same_instance(bed: Bed, real: HandMade) -> None:
    start_all(bed, real)
    node, count = bed.instances()[0], len(real.told)
    groups = [{"InstanceGroupName": "worker-gpu-a", "ImageReleaseVersion": "9.9.9"}]
    bed.client.update_cluster_software(ClusterName=NAME, InstanceGroups=groups)
    bed.wait(4)
    assert real.told[count:][0] == ("terminate", node)
    assert ("launch", "worker-gpu-a-1") in real.told[count:]
    assert real.requests["worker-gpu-a-1"].instance_id == node


def test_log_lines_are_sent_once_however_often_they_are_reported(bed: Bed, real: HandMade) -> None:
    for log in ((), ("one",), ("one", "two"), ("one", "two"), ("two", "three")):
        real.say("controller-group-1", "running_script", log=log)
        bed.wait(1)
    real.say("controller-group-1", "ready", log=("three", "four"))
    bed.wait(1)
    streams = next(iter(bed.logs.streams.values()))
    lines = streams[f"LifecycleConfig/controller-group/{bed.instances('controller-group')[0]}"]
    assert lines[3:] == ["one", "two", "three", "four", "[SageMaker] The lifecycle scripts succeeded"]


def test_an_injected_failure_reaches_the_launcher_with_the_request(real: HandMade) -> None:
    bed = Bed(launcher=real)
    bed.service.fail_lifecycle("controller-group", times=1, message="as told", exit_code=7, log=["a"])
    bed.create()
    failure = real.requests["controller-group-1"].failure
    assert failure is not None
    assert (failure.message, failure.exit_code, failure.log) == ("as told", 7, ("a",))


def mixed(real: HandMade, real_nodes: int | dict[str, int]) -> Bed:
    bed = Bed(launcher=CompositeLauncher(real, SimulatedLauncher(TIMINGS), real_nodes))
    bed.create(controller(), login(), workers(3))
    return bed


def test_the_first_nodes_of_each_group_are_real_and_the_rest_simulated(real: HandMade) -> None:
    bed = mixed(real, 1)
    real.say("controller-group-1", "ready")
    bed.wait(1)
    assert set(real.requests) == {"controller-group-1", "login-group-1", "worker-gpu-a-1"}
    bed.wait(UP)
    assert bed.counts() == (2, 3)
    real.say("worker-gpu-a-1", "ready")
    bed.wait(1)
    assert bed.counts() == (3, 3)


def test_the_number_of_real_nodes_can_be_said_by_group(real: HandMade) -> None:
    bed = mixed(real, {"worker-gpu-a": 2})
    bed.wait(2 * UP)
    assert set(real.requests) == {"worker-gpu-a-1", "worker-gpu-a-2"}
    kinds = {node.instance_name: node.kind for node in real.views[-1].nodes}
    assert kinds == {
        "controller-group-1": "simulated",
        "login-group-1": "simulated",
        "worker-gpu-a-1": "real",
        "worker-gpu-a-2": "real",
        "worker-gpu-a-3": "simulated",
    }


def test_events_say_which_node_is_real(real: HandMade) -> None:
    bed = mixed(real, {"worker-gpu-a": 1})
    bed.wait(2 * UP)
    texts = [text for text in bed.descriptions() if text.startswith("Rehearsal:")]
    assert any("(worker-gpu-a-1) is a real node" in text for text in texts)
    assert any("(worker-gpu-a-3) is a simulated node" in text for text in texts)


def test_both_kinds_are_rebooted_and_ended_by_their_own_launcher(real: HandMade) -> None:
    bed = mixed(real, {"worker-gpu-a": 1})
    bed.wait(2 * UP)
    real.say("worker-gpu-a-1", "ready")
    bed.wait(1)
    bed.client.batch_reboot_cluster_nodes(ClusterName=NAME, NodeIds=bed.instances())
    assert [what for what, _ in real.told].count("reboot") == 1
    bed.client.delete_cluster(ClusterName=NAME)
    assert [what for what, _ in real.told].count("terminate") == 1
    bed.wait(100)
    assert bed.client.list_clusters()["ClusterSummaries"] == []


def test_an_instance_that_the_simulation_does_not_know_is_failed() -> None:
    assert SimulatedLauncher().report("i-0123456789abcdef0").state == "failed"
    assert CompositeLauncher(HandMade(), SimulatedLauncher(), 1).kind("i-0123456789abcdef0") is None
