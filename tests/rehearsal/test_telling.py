"""What the command shows is derived from what the service and CloudFormation said."""

import datetime
import io
import json
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.rehearsal.cdk_cli import app_failure, cdk_environment
from hyperpod_constructs.rehearsal.environment import Environment
from hyperpod_constructs.rehearsal.failures import RehearsalError
from hyperpod_constructs.rehearsal.progress import PlainLines
from hyperpod_constructs.rehearsal.runner import cluster_lines, divided, event_lines, left_text
from hyperpod_constructs.rehearsal.stacks import (
    StackEvent,
    SynthesizedStack,
    describe_event,
    first_failure,
    read_assembly,
    reason_text,
)


def event(status: str, reason: str = "", logical_id: str = "Thing") -> StackEvent:
    now = datetime.datetime.now(datetime.UTC)
    return StackEvent("id", now, "Stack", logical_id, "Custom::HyperPodCluster", status, reason, "")


def test_the_first_failure_is_the_cause_and_not_what_was_cancelled_for_it() -> None:
    events = [
        event("CREATE_IN_PROGRESS"),
        event("CREATE_FAILED", "Resource creation cancelled", "Other"),
        event("CREATE_FAILED", "no capacity"),
        event("DELETE_FAILED", "not empty", "Bucket"),
    ]
    found = first_failure(events)
    assert found is not None
    assert found.reason == "no capacity"
    assert first_failure(events[:1]) is None
    assert first_failure(events[:2]) is events[1]


def test_a_reason_is_shown_without_the_frameworks_stack_trace() -> None:
    reason = (
        "Error: it failed\n\nLogs: /aws/lambda/f\n\n    at invoke (/x/framework.js:2:6)\n    at async y (RequestId: 1)"
    )
    assert reason_text(reason) == "Error: it failed\n\nLogs: /aws/lambda/f"


def test_an_event_is_told_in_a_few_words() -> None:
    assert describe_event(event("CREATE_IN_PROGRESS")) == "create in progress: HyperPodCluster Thing"


def test_groups_are_found_in_plain_and_in_joined_request_texts() -> None:
    def joined(node_type: str) -> dict[str, Any]:
        return {"Fn::Join": ["", ['{"SlurmConfig":{"NodeType":"' + node_type + '"},"Role":"', {"Ref": "Role"}, '"}']]}

    groups = {"head": joined("Controller"), "a": joined("Compute"), "b": '{"SlurmConfig":{"NodeType":"Compute"}}'}
    cluster = {"Type": "Custom::HyperPodCluster", "Properties": {"InstanceGroups": groups}}
    stack = SynthesizedStack("Stack", {"Resources": {"Cluster": cluster, "Other": {"Type": "AWS::S3::Bucket"}}})
    assert stack.compute_groups() == ["a", "b"]
    assert stack.controller_groups() == ["head"]
    assert stack.resource_count == 2


def test_the_stacks_of_stages_are_read_too(tmp_path: Path) -> None:
    def write(folder: Path, artifacts: dict[str, Any]) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": artifacts}))

    stack = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "t.json", "stackName": "Inner"}}
    write(tmp_path, {"Stage": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "assembly-Stage"}}})
    write(tmp_path / "assembly-Stage", {"Inner": stack})
    (tmp_path / "assembly-Stage" / "t.json").write_text("{}")
    assert [item.name for item in read_assembly(tmp_path)] == ["Inner"]
    with pytest.raises(RehearsalError, match="left no cloud assembly"):
        read_assembly(tmp_path / "nowhere")


def test_counts_are_shown_as_current_of_target() -> None:
    group = {"InstanceGroupName": "workers", "CurrentCount": 2, "TargetCount": 16, "Status": "InService"}
    cluster = {"ClusterName": "c", "ClusterStatus": "InService", "InstanceGroups": [group]}
    assert cluster_lines(cluster)[0] == "Cluster c: InService"
    assert cluster_lines(cluster)[1].split() == ["workers", "2/16", "InService"]


def cluster_event(number: int, description: str, instance: str = "") -> dict[str, Any]:
    return {
        "EventId": str(number),
        "ClusterName": "c",
        "InstanceGroupName": "workers",
        "InstanceId": instance,
        "EventTime": datetime.datetime(2026, 1, 1, 10, 0, number, tzinfo=datetime.UTC),
        "Description": description,
    }


def test_equal_events_are_told_once_with_their_number_and_the_latest_reason() -> None:
    events = [
        cluster_event(1, "Launch of i-1 failed.", "i-1"),
        cluster_event(2, "Ready."),
        cluster_event(3, "Launch of i-2 failed.", "i-2"),
    ]
    reasons = {"3": "no capacity"}
    assert event_lines(events, lambda _cluster, number: reasons.get(number, "")) == [
        "10:00:02 workers: Ready",
        "10:00:03 workers: Launch of i-2 failed: no capacity (2 times)",
    ]
    assert len(event_lines(events, lambda *_: "", shown=1)) == 1


def test_the_services_own_logs_are_told_apart_from_what_should_have_gone() -> None:
    left, kept = divided(["bucket b", "log group /aws/sagemaker/Clusters/c/abc", "log group /aws/lambda/f"])
    assert (left, kept) == (["bucket b", "log group /aws/lambda/f"], ["log group /aws/sagemaker/Clusters/c/abc"])
    assert left_text([], []) == "Left behind: nothing."
    assert "here as on AWS: log group /aws/sagemaker" in left_text([], kept)
    assert left_text(left, []).splitlines() == ["Left behind:", "  bucket b", "  log group /aws/lambda/f"]


def test_an_app_without_a_trace_is_shown_by_its_last_lines() -> None:
    assert app_failure("\n".join(str(n) for n in range(40)), 3) == "37\n38\n39"


def test_the_cli_gets_no_credentials_profiles_or_proxies_of_the_user(tmp_path: Path) -> None:
    tools = Environment(
        tmp_path, tmp_path / "p", tmp_path / "l", tmp_path / "n" / "node", tmp_path / "m", tmp_path / "b"
    )
    outer = {
        "AWS_PROFILE": "production",
        "CDK_OUTDIR": "/x",
        "https_proxy": "http://x",
        "MINE": "1",
        "PATH": "/usr/bin",
    }
    seen = cdk_environment(tools, tmp_path, "http://127.0.0.1:1", "us-east-1", outer)
    assert not {"AWS_PROFILE", "CDK_OUTDIR", "https_proxy"} & set(seen)
    assert seen["MINE"] == "1"
    assert seen["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert seen["PATH"].split(":")[0] == str(tmp_path / "n")


def test_plain_lines_hold_the_steps_and_details_only_when_asked() -> None:
    quiet, talkative = io.StringIO(), io.StringIO()
    for stream, verbose in ((quiet, False), (talkative, True)):
        lines = PlainLines(stream, verbose=verbose)
        lines.step("cdk deploy")
        lines.detail("create complete: Bucket B")
        lines.detail("create complete: Bucket B")
    assert quiet.getvalue() == "[   0 s] cdk deploy\n"
    assert talkative.getvalue().count("create complete") == 1
