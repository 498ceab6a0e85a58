"""The main story: the documented cluster is deployed, scaled, left alone and destroyed by the unmodified CDK CLI."""

import copy
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.rehearsal.processes import listening_addresses, process_tree
from hyperpod_constructs.rehearsal.runner import divided, event_lines
from hyperpod_constructs.rehearsal.session import Deployment, Rehearsal
from hyperpod_constructs.rehearsal.stacks import StackEvent

pytestmark = [pytest.mark.rehearsal, pytest.mark.xdist_group("rehearsal")]

CLUSTER = "my-training-cluster"
STACK = "HyperPod"
EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("documented_request.json").read_text())


class Story:
    """The five acts, each played once; what each act's calls were."""

    def __init__(self, rehearsal: Rehearsal, folder: Path) -> None:
        self.rehearsal = rehearsal
        self.context = {"config": str(folder / "cluster.json")}
        self.write(folder, 16)
        self.calls: dict[str, list[dict[str, Any]]] = {}

        self.created = self.act("create")
        self.cluster = rehearsal.clusters()[0]
        events = rehearsal.account.cluster_events(CLUSTER)
        self.event_lines = event_lines(events, rehearsal.account.failure_message)
        self.listeners = [
            address
            for process in (rehearsal.emulator.process, rehearsal.service.process)
            for address in listening_addresses(process_tree(process.guard_pid))
        ]
        self.write(folder, 18)
        self.act("scale")
        self.scaled = rehearsal.clusters()[0]
        self.act("nothing changed")
        seen = len(rehearsal.calls())
        rehearsal.destroy()
        self.calls["destroy"] = rehearsal.calls()[seen:]
        self.events = rehearsal.account.events_after(self.created.stacks, frozenset())

    def write(self, folder: Path, workers: int) -> None:
        sys.path.insert(0, str(self.rehearsal.folder))
        try:
            from app import DOCUMENTED_CLUSTER
        finally:
            sys.path.pop(0)
        config = copy.deepcopy(DOCUMENTED_CLUSTER)
        config["compute"][0]["instance_count"] = workers
        (folder / "cluster.json").write_text(json.dumps(config))

    def act(self, name: str) -> Deployment:
        seen = len(self.rehearsal.calls())
        deployment = self.rehearsal.deploy(context=self.context)
        self.calls[name] = self.rehearsal.calls()[seen:]
        return deployment

    def changes(self, act: str) -> list[dict[str, Any]]:
        return [call for call in self.calls[act] if call["mutating"]]


@pytest.fixture(scope="module")
def story(rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    return Story(rehearsal, tmp_path_factory.mktemp("documented"))  # type: ignore[return-value]


def without_deploy_time_values(request: dict[str, Any]) -> dict[str, Any]:
    """The request with a placeholder for what only the deployment knows, each checked to be of its kind."""
    shown = copy.deepcopy(request)
    (group,), (subnet,) = shown["VpcConfig"]["SecurityGroupIds"], shown["VpcConfig"]["Subnets"]
    assert group.startswith("sg-")
    assert subnet.startswith("subnet-")
    shown["VpcConfig"] = {"SecurityGroupIds": ["<security group>"], "Subnets": ["<subnet>"]}
    for item in shown["InstanceGroups"]:
        assert item["LifeCycleConfig"]["SourceS3Uri"].startswith("s3://sagemaker-")
        item["LifeCycleConfig"]["SourceS3Uri"] = "<scripts>"
        assert item["ExecutionRole"].startswith("arn:aws:iam::123456789012:role/")
        item["ExecutionRole"] = "<role>"
        lustre = item["InstanceStorageConfigs"][0]["FsxLustreConfig"]
        assert lustre["DnsName"].endswith(".fsx.us-east-1.amazonaws.com")
        assert len(lustre["MountName"]) == 8
        lustre |= {"DnsName": "<dns name>", "MountName": "<mount name>"}
    stack, logical = shown["Tags"]
    assert stack["Value"].startswith(f"arn:aws:cloudformation:us-east-1:123456789012:stack/{STACK}/")
    shown["Tags"] = [stack | {"Value": "<stack>"}, logical | {"Value": "<logical id>"}]
    return shown


def test_the_service_receives_the_documented_request_and_only_the_listed_additions(story: Story) -> None:
    (create,) = story.changes("create")
    expected = copy.deepcopy(EXPECTED["documented"])
    expected |= {name: entry["value"] for name, entry in EXPECTED["additions to the cluster"].items()}
    for group in expected["InstanceGroups"]:
        group |= {name: entry["value"] for name, entry in EXPECTED["additions to every group"].items()}
    assert create["operation"] == "CreateCluster"
    assert without_deploy_time_values(create["parameters"]) == expected


def test_every_listed_addition_says_why() -> None:
    for kind in ("additions to the cluster", "additions to every group"):
        assert all(entry["reason"] for entry in EXPECTED[kind].values())


def test_the_deployment_succeeds_on_controller_and_login_with_two_of_sixteen_workers(story: Story) -> None:
    counts = {
        group["InstanceGroupName"]: (group["CurrentCount"], group["TargetCount"])
        for group in story.cluster["InstanceGroups"]
    }
    assert counts == {"controller-group": (1, 1), "login-group": (1, 1), "worker-gpu-a": (2, 16)}
    assert story.cluster["ClusterStatus"] == "InService"
    assert story.created.outputs[STACK]["InstanceCounts"] == "controller-group 1/1, login-group 1/1, worker-gpu-a 2/16"
    assert story.created.outputs[STACK]["ClusterName"] == CLUSTER


def test_the_last_events_tell_why_the_other_workers_are_missing(story: Story) -> None:
    assert any("worker-gpu-a" in line and "sufficient capacity" in line for line in story.event_lines), (
        story.event_lines
    )


def test_more_workers_are_one_update_of_that_one_group(story: Story) -> None:
    (update,) = story.changes("scale")
    assert update["operation"] == "UpdateCluster"
    assert update["error"] is None
    (group,) = update["parameters"]["InstanceGroups"]
    assert (group["InstanceGroupName"], group["InstanceCount"]) == ("worker-gpu-a", 18)
    assert update["parameters"]["ClusterName"] == CLUSTER
    assert {item["InstanceGroupName"]: item["TargetCount"] for item in story.scaled["InstanceGroups"]}[
        "worker-gpu-a"
    ] == 18


def test_the_update_replaces_nothing(story: Story) -> None:
    arns = {story.cluster["ClusterArn"], story.scaled["ClusterArn"]}
    assert len(arns) == 1
    replaced = [event.logical_id for event in story.events if "new physical resource" in event.reason]
    assert replaced == []


def test_a_deployment_with_nothing_changed_calls_nothing_that_changes_the_cluster(story: Story) -> None:
    assert story.changes("nothing changed") == []


def test_destroy_deletes_the_cluster_before_everything_that_it_stands_on(story: Story) -> None:
    assert [call["operation"] for call in story.changes("destroy")] == ["DeleteCluster"]
    gone = position_of(story.events, "Custom::HyperPodCluster", "DELETE_COMPLETE")
    for kind in (
        "AWS::IAM::Role",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::Subnet",
        "AWS::EC2::NatGateway",
        "AWS::EC2::Route",
        "AWS::FSx::FileSystem",
        "AWS::S3::Bucket",
    ):
        assert position_of(story.events, kind, "DELETE_IN_PROGRESS") > gone, kind


def position_of(events: list[StackEvent], resource_type: str, status: str) -> int:
    """Where the first such event is, among those of all stacks in the order of time."""
    return next(n for n, event in enumerate(events) if event.resource_type == resource_type and event.status == status)


def test_the_file_system_waits_for_its_rules_and_the_cluster_for_its_scripts(story: Story) -> None:
    file_system = position_of(story.events, "AWS::FSx::FileSystem", "CREATE_IN_PROGRESS")
    rules = [
        n
        for n, event in enumerate(story.events)
        if event.logical_id.startswith("NetworkLustreRules") and event.status == "CREATE_COMPLETE"
    ]
    assert rules
    assert max(rules) < file_system
    upload = position_of(story.events, "Custom::CDKBucketDeployment", "CREATE_COMPLETE")
    assert upload < position_of(story.events, "Custom::HyperPodCluster", "CREATE_IN_PROGRESS")


def test_nothing_stays_but_the_lifecycle_logs_that_the_service_keeps(story: Story) -> None:
    left, kept = divided(story.rehearsal.leftovers())
    assert left == []
    assert all(thing.startswith("log group /aws/sagemaker/Clusters/") for thing in kept)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_everything_listens_on_the_loopback_address_only(story: Story) -> None:
    """Looked at while the cluster was up, with the Lambda workers of all its functions running."""
    ports = {story.rehearsal.emulator.url, story.rehearsal.service.url}
    assert ports <= {f"http://{address}" for address in story.listeners}
    assert [address for address in story.listeners if not address.startswith(("127.", "[::1]"))] == []
