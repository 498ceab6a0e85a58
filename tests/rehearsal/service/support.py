"""A service on a clock that the tests move, and requests that are valid unless a test changes them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hyperpod_constructs.rehearsal.service import (
    Capacity,
    HyperPodService,
    LocalClient,
    ManualClock,
    MemoryLogSink,
    Timings,
)
from hyperpod_constructs.rehearsal.service.model import operation_model
from hyperpod_constructs.rehearsal.service.validation import shape_problems

NAME = "my-training-cluster"
ROLE = "arn:aws:iam::111122223333:role/iam-role-for-cluster"
TIMINGS = Timings(
    launch_seconds=10,
    script_seconds=20,
    termination_seconds=5,
    retry_seconds=60,
    retry_limit_seconds=600,
    failure_visible_seconds=5,
    reboot_seconds=15,
    deletion_seconds=2,
    rollback_seconds=3,
    software_update_pending_seconds=4,
    software_update_tries=2,
)
UP = 30.0
"""Seconds until a node is ready."""
BOTH_UP = 60.0
"""Seconds until the controller and after it everything else is ready."""
THREE_HOURS = 3 * 3600.0


def group(name: str, node_type: str = "Compute", count: int = 1, **more: Any) -> dict[str, Any]:
    """A group's specification; a compute group has a partition."""
    slurm: dict[str, Any] = {"NodeType": node_type}
    if node_type == "Compute":
        slurm["PartitionNames"] = ["gpu-training"]
    specification = {
        "InstanceGroupName": name,
        "InstanceType": "ml.p5.48xlarge" if node_type == "Compute" else "ml.m5.xlarge",
        "InstanceCount": count,
        "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-bucket/scripts/", "OnCreate": "on_create.sh"},
        "ExecutionRole": ROLE,
        "ThreadsPerCore": 2,
        "SlurmConfig": slurm,
        **more,
    }
    return {key: value for key, value in specification.items() if value is not None}


def controller(**more: Any) -> dict[str, Any]:
    return group("controller-group", "Controller", **more)


def login(**more: Any) -> dict[str, Any]:
    return group("login-group", "Login", **more)


def workers(count: int = 4, **more: Any) -> dict[str, Any]:
    return group("worker-gpu-a", "Compute", count, **more)


def request(*groups: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The documented cluster: three groups, continuous provisioning, a VPC of its own."""
    wanted = {
        "ClusterName": NAME,
        "NodeProvisioningMode": "Continuous",
        "Orchestrator": {"Slurm": {}},
        "InstanceGroups": list(groups) or [controller(), login(), workers()],
        "VpcConfig": {"SecurityGroupIds": ["sg-12345678"], "Subnets": ["subnet-12345678"]},
        **more,
    }
    return copy.deepcopy({key: value for key, value in wanted.items() if value is not None})


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


class CheckedService(HyperPodService):
    """Every answer of every test is checked against botocore's output shape."""

    def call(self, operation: str, parameters: Any = None) -> dict[str, Any]:
        answer = super().call(operation, parameters)
        shape = operation_model("sagemaker", operation).output_shape
        problems = shape_problems(shape, without_nulls(answer)) if shape else []
        assert problems == [], f"{operation} answered what the model does not allow"
        return answer


class Bed:
    """A service, its clock and a client."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.logs = MemoryLogSink()
        capacity = Capacity.parse(options.pop("capacity", ""))
        options = {"timings": TIMINGS, "seed": 1, **options}
        self.service = CheckedService(clock=self.clock, capacity=capacity, log_sink=self.logs, **options)
        self.client = LocalClient(self.service)

    def create(self, *groups: dict[str, Any], **more: Any) -> str:
        """Create the cluster; its ARN."""
        return str(self.client.create_cluster(**request(*groups, **more))["ClusterArn"])

    def create_and_wait(self, *groups: dict[str, Any], **more: Any) -> str:
        arn = self.create(*groups, **more)
        self.wait(BOTH_UP)
        return arn

    def wait(self, seconds: float) -> None:
        """Let time pass and everything happen that is due."""
        self.clock.advance(seconds)
        self.service.tick()

    def update(self, *groups: dict[str, Any], **more: Any) -> None:
        if groups:
            more["InstanceGroups"] = list(groups)
        self.client.update_cluster(ClusterName=NAME, **more)

    def describe(self) -> dict[str, Any]:
        return self.client.describe_cluster(ClusterName=NAME)

    def status(self) -> str:
        return str(self.describe()["ClusterStatus"])

    def group(self, name: str = "worker-gpu-a") -> dict[str, Any]:
        return next(g for g in self.describe()["InstanceGroups"] if g["InstanceGroupName"] == name)

    def counts(self, name: str = "worker-gpu-a") -> tuple[int, int]:
        found = self.group(name)
        return found["CurrentCount"], found["TargetCount"]

    def picture(self) -> dict[str, tuple[str, int, int]]:
        groups = self.describe()["InstanceGroups"]
        return {g["InstanceGroupName"]: (g["Status"], g["CurrentCount"], g["TargetCount"]) for g in groups}

    def nodes(self, name: str = "worker-gpu-a", **more: Any) -> list[dict[str, Any]]:
        if name:
            more["InstanceGroupNameContains"] = name
        answer = self.client.list_cluster_nodes(ClusterName=NAME, IncludeNodeLogicalIds=True, **more)
        return list(answer["ClusterNodeSummaries"])

    def instances(self, name: str = "worker-gpu-a") -> list[str]:
        return [node["InstanceId"] for node in self.nodes(name) if node["InstanceId"]]

    def events(self, **filters: Any) -> list[dict[str, Any]]:
        """Oldest first."""
        pages = self.client.get_paginator("list_cluster_events").paginate(
            ClusterName=NAME, SortOrder="Ascending", **filters
        )
        return [event for page in pages for event in page["Events"]]

    def descriptions(self, **filters: Any) -> list[str]:
        return [event["Description"] for event in self.events(**filters)]

    def metadata(self, event: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.describe_cluster_event(ClusterName=NAME, EventId=event["EventId"])
        found: dict[str, Any] = answer["EventDetails"]["EventDetails"]["EventMetadata"]
        return found


def refusal(code: str = "ValidationException", match: str = "") -> Any:
    """Expects a ClientError of that code whose text matches."""
    return pytest.raises(ClientError, match=rf"\({code}\).*{match}")
