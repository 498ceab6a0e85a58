"""plan: the planner's decisions in words, against a live cluster of the HyperPod service and against saved ones."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.handlers.cluster.properties import LOGICAL_ID_TAG, STACK_ID_TAG, read_properties
from hyperpod_constructs.rehearsal.service import HyperPodService, LocalClient, ManualClock
from tests.cli.support import Answer, Command, FakeAccount, FakeClient, client_error, use_account
from tests.handlers.builders import a_request, compute, controller, desired, login, p5, props

STACK = "arn:aws:cloudformation:us-east-1:123456789012:stack/HyperPod/1"
OWNER = {STACK_ID_TAG: STACK, LOGICAL_ID_TAG: "Cluster"}


def template(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"Resources": {"Cluster": {"Type": "Custom::HyperPodCluster", "Properties": dict(properties)}}}


class Bed:
    """A live cluster, the template it was made from, and the command against both.

    Args:
        command: the command.
        monkeypatch: puts the account in its place.
        folder: for files.
    """

    def __init__(self, command: Command, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.command, self.folder = command, folder
        self.clock = ManualClock()
        self.service = HyperPodService(clock=self.clock, seed=1)
        self.sagemaker = LocalClient(self.service)
        self.cloudformation = FakeClient("cloudformation")
        clients = {"sagemaker": self.sagemaker, "cloudformation": self.cloudformation}
        self.account = use_account(monkeypatch, FakeAccount(clients))

    def deploy(self, properties: Mapping[str, Any], tags: Mapping[str, str] | None = None) -> None:
        wanted = read_properties(properties)
        groups = [dict(group) for group in wanted.groups.values()]
        given = OWNER if tags is None else tags
        self.sagemaker.create_cluster(
            **wanted.request,
            InstanceGroups=groups,
            Tags=[{"Key": key, "Value": value} for key, value in {**given, **wanted.tags}.items()],
        )
        self.clock.advance(60)
        self.service.tick()
        self.clock.advance(60)
        self.service.tick()
        self.cloudformation.answers["GetTemplate"] = {"TemplateBody": template(properties)}

    def plan(self, properties: Mapping[str, Any], *options: object) -> Answer:
        path = self.folder / "Training.template.json"
        path.write_text(json.dumps(template(properties)))
        return self.command("plan", path, *options)


@pytest.fixture
def bed(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bed:
    return Bed(command, monkeypatch, tmp_path)


def calls(answer: Answer) -> list[str]:
    return answer.lines[-1].removeprefix("calls: ").split(", ") if answer.lines[-1].startswith("calls: ") else []


def test_a_cluster_that_is_not_there_is_created(bed: Bed) -> None:
    answer = bed.plan(props(p5(16)))
    assert answer.code == 0
    assert answer.lines == [
        "my-training-cluster would be created",
        "  there is no such cluster: it is created; the controller comes first, then all others together",
        "  controller  new: 1 instance of ml.m5.xlarge, in service with 1",
        "  login       new: 1 instance of ml.m5.xlarge, in service with 1",
        "  p5          new: 16 instances of ml.p5.48xlarge",
        "calls: CreateCluster",
    ]


def test_nothing_changed_is_no_call(bed: Bed) -> None:
    bed.deploy(props())
    answer = bed.plan(props())
    assert (answer.code, calls(answer)) == (0, [])
    assert answer.lines == [
        "my-training-cluster needs no call",
        "  controller  no change (1 of 1)",
        "  login       no change (1 of 1)",
        "  p5          no change (4 of 4)",
    ]


def test_a_larger_group_gets_more_and_keeps_its_nodes(bed: Bed) -> None:
    bed.deploy(props(p5(4)))
    answer = bed.plan(props(p5(16)))
    assert "  p5          InstanceCount 4 -> 16: 12 instances more; running nodes stay" in answer.lines
    assert calls(answer) == ["UpdateCluster"]


def test_a_smaller_group_says_whose_nodes_end(bed: Bed) -> None:
    bed.deploy(props(p5(4)))
    answer = bed.plan(props(p5(3)))
    assert "InstanceCount 4 -> 3: 1 node end, picked by the service at random; their jobs" in answer.out


def test_a_count_that_an_operator_changed_is_refused_with_the_three_numbers(bed: Bed) -> None:
    bed.deploy(props(p5(4)))
    group = dict(desired(p5(8)).groups["p5"])
    bed.sagemaker.update_cluster(ClusterName="my-training-cluster", InstanceGroups=[group])
    answer = bed.plan(props(p5(6)))
    assert answer.code == 1
    assert answer.lines[0].endswith("would not be touched: the deployment is refused")
    assert "the template said 4 before and the live count is 8" in answer.out
    assert calls(answer) == []


def test_what_a_change_means_for_nodes_is_said_by_field(bed: Bed) -> None:
    bed.deploy(props())
    scripts = {"SourceS3Uri": "s3://sagemaker-scripts/lifecycle/fedcba9876543210/", "OnCreate": "on_create.sh"}
    checks = ["InstanceStress"]
    changed = [controller(), login(), compute(LifeCycleConfig=scripts, OnStartDeepHealthChecks=checks)]
    answer = bed.plan(props(changed, request=a_request(NodeRecovery="None")))
    assert "  NodeRecovery Automatic -> None: takes effect on running nodes" in answer.lines
    assert "OnStartDeepHealthChecks unset -> InstanceStress: takes effect on running nodes" in answer.out
    assert "LifeCycleConfig.SourceS3Uri" in answer.out
    assert "reaches new nodes only; running ones keep the old value until they are replaced" in answer.out


def test_a_new_image_release_replaces_root_volumes(bed: Bed) -> None:
    bed.deploy(props(p5(4, ImageReleaseVersion="2.0.1")))
    answer = bed.plan(props(p5(4, ImageReleaseVersion="2.1.0")))
    assert (
        "  p5          software: 4 nodes get release 2.1.0; the root volumes go, and scripts run again" in answer.lines
    )
    assert "UpdateClusterSoftware" in calls(answer)


def test_a_removed_group_with_nodes_is_refused_and_removed_when_allowed(bed: Bed) -> None:
    bed.deploy(props([controller(), login(), compute(), compute("trn", 2)]))
    refused = bed.plan(props())
    assert (refused.code, "trn: the group cannot be removed: it has 2 nodes" in refused.out) == (1, True)
    allowed = bed.plan(props(AllowGroupDeletion=["trn"]))
    assert "  trn         removed: 2 nodes end, their jobs, root volumes and local disks are lost" in allowed.lines


def test_a_change_that_cannot_be_made_is_refused_with_what_to_do(bed: Bed) -> None:
    bed.deploy(props())
    answer = bed.plan(props([controller(), login(), compute(InstanceType="ml.p5e.48xlarge")]))
    assert answer.code == 1
    assert (
        "InstanceType cannot change from ml.p5.48xlarge to ml.p5e.48xlarge: give the group another name" in answer.out
    )


def test_tags_are_calls_of_their_own(bed: Bed) -> None:
    bed.deploy(props(tags={"team": "a", "old": "x"}))
    answer = bed.plan(props(tags={"team": "b"}))
    assert calls(answer) == ["AddTags", "DeleteTags"]
    assert {"  tag team = b", "  tag old goes"} <= set(answer.lines)


def test_somebody_elses_cluster_is_left_alone(bed: Bed) -> None:
    bed.deploy(props(), tags={})
    answer = bed.plan(props(p5(9)))
    assert answer.code == 1
    assert "exists and was not made by this library: a deployment leaves it alone" in answer.out


def test_a_group_of_nobodys_template_is_left_alone_and_told(bed: Bed) -> None:
    bed.deploy(props([controller(), login(), compute(), compute("byhand", 1)]))
    bed.cloudformation.answers["GetTemplate"] = {"TemplateBody": template(props())}
    answer = bed.plan(props())
    assert "  byhand      left alone: not in the template" in answer.lines


def test_values_of_the_deployment_are_as_they_are_now(bed: Bed) -> None:
    bed.deploy(props())
    open_values = props()
    text = json.dumps(open_values["InstanceGroups"]["p5"])
    parts = text.split("sagemaker-scripts")
    open_values["InstanceGroups"]["p5"] = {
        "Fn::Join": ["", [json.loads(parts[0] + '"'), {"Ref": "Bucket"}, json.loads('"' + parts[1])]]
    }
    assert bed.plan(open_values).lines[0] == "my-training-cluster needs no call"


def test_another_prefix_in_an_unknown_bucket_is_a_change(bed: Bed) -> None:
    bed.deploy(props())
    open_values = props()
    group = json.dumps(
        compute(LifeCycleConfig={"SourceS3Uri": "s3://BUCKET/lifecycle/new", "OnCreate": "on_create.sh"})
    )
    before, after = group.split("BUCKET")
    open_values["InstanceGroups"]["p5"] = {"Fn::Join": ["", [before, {"Ref": "Bucket"}, after]]}
    answer = bed.plan(open_values)
    assert "SourceS3Uri s3://sagemaker-scripts/lifecycle/0123456789abcdef -> s3://<Bucket>/lifecycle/new" in answer.out


def test_without_the_templates_past_no_count_counts_as_changed(bed: Bed) -> None:
    bed.deploy(props(p5(4)))
    bed.cloudformation.answers["GetTemplate"] = client_error("AccessDenied")
    answer = bed.plan(props(p5(6)))
    assert (
        "what the template said before is not known: not allowed: needs the permission cloudformation:GetTemplate"
        in (answer.out)
    )
    assert "p5: the live count of 4 is kept; the template says 6" in answer.out


def test_a_saved_description_stands_for_the_account(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    bed.deploy(props(p5(4)))
    saved = bed.folder / "described.json"
    saved.write_text(json.dumps(bed.sagemaker.describe_cluster(ClusterName="my-training-cluster"), default=str))
    before = bed.folder / "before.template.json"
    before.write_text(json.dumps(template(props(p5(4)))))
    use_account(monkeypatch, FakeAccount())
    answer = bed.plan(props(p5(5)), "--description", saved, "--previous", before)
    assert "  p5          InstanceCount 4 -> 5: 1 instance more; running nodes stay" in answer.lines


def test_json_holds_the_requests(bed: Bed) -> None:
    bed.deploy(props(p5(4)))
    told = bed.plan(props(p5(5)), "--json").json()
    assert told["action"] == "update"
    assert told["calls"][0]["operation"] == "UpdateCluster"
    assert [group["InstanceCount"] for group in told["calls"][0]["request"]["InstanceGroups"]] == [5]


def test_nothing_is_called_that_changes_something(bed: Bed) -> None:
    bed.deploy(props(p5(4)))
    made = len(bed.service.mutating_calls())
    bed.plan(props(p5(5)))
    assert len(bed.service.mutating_calls()) == made


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", ":1:2: not valid JSON"), ("[]", "is no answer of describe-cluster"), ("{}", "is no answer of describe")],
)
def test_a_description_that_is_none_is_refused(bed: Bed, text: str, says: str) -> None:
    path = bed.folder / "described.json"
    path.write_text(text)
    answer = bed.plan(props(), "--description", path)
    assert (answer.code, says in answer.err) == (1, True)


def test_the_classic_form_is_not_planned(bed: Bed) -> None:
    golden = Path(__file__).parents[1] / "goldens/classic/create_cluster.json"
    answer = bed.command("plan", golden)
    assert answer.code == 1
    assert len(answer.err.splitlines()) >= 1


def test_no_permission_for_the_cluster_is_one_sentence(
    bed: Bed, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_account(monkeypatch, FakeAccount())
    answer = bed.plan(props())
    assert (answer.code, answer.err) == (
        1,
        "hyperpod-slurm: not allowed: needs the permission sagemaker:DescribeCluster\n",
    )
