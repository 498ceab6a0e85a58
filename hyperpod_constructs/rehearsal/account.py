"""What there is in the emulated account and in the HyperPod service, asked as any client would ask."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .emulator import ACCOUNT
from .failures import RehearsalError
from .leftovers import Inventory, take_inventory
from .stacks import StackEvent, first_failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .service_process import Service

_POLL_SECONDS = 0.1
_OWN_SERVICES = ("sagemaker", "fsx")


@dataclass
class Account:
    """The emulated account in one region, through boto3."""

    endpoint_url: str
    service: Service
    region: str
    _clients: dict[str, Any] = field(default_factory=dict)
    _stack_ids: dict[str, str] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """A boto3 client; SageMaker and FSx are the HyperPod service's, all else the emulated AWS's."""
        if service not in self._clients:
            import boto3
            from botocore.config import Config

            self._clients[service] = boto3.client(
                service,
                endpoint_url=self.service.url if service in _OWN_SERVICES else self.endpoint_url,
                region_name=self.region,
                aws_access_key_id=ACCOUNT,
                aws_secret_access_key="rehearsal",  # noqa: S106 - no secret: the emulator takes any
                config=Config(
                    retries={"total_max_attempts": 2},
                    connect_timeout=5,
                    read_timeout=30,
                    s3={"addressing_style": "path"},
                ),
            )
        return self._clients[service]

    def clusters(self) -> list[dict[str, Any]]:
        """Every cluster of the service as DescribeCluster shows it."""
        sagemaker = self.client("sagemaker")
        names = [summary["ClusterName"] for summary in sagemaker.list_clusters()["ClusterSummaries"]]
        return [sagemaker.describe_cluster(ClusterName=name) for name in names]

    def cluster_events(self, name: str, limit: int = 100) -> list[dict[str, Any]]:
        """The latest events of a cluster (100 at most), oldest first."""
        answer = self.client("sagemaker").list_cluster_events(
            ClusterName=name, SortBy="EventTime", SortOrder="Descending", MaxResults=limit
        )
        return list(reversed(answer["Events"]))

    def failure_message(self, cluster: str, event_id: str) -> str:
        """Why an event of a cluster happened, from its details; empty if they do not say."""
        event = self.client("sagemaker").describe_cluster_event(ClusterName=cluster, EventId=event_id)["EventDetails"]
        metadata = event.get("EventDetails", {}).get("EventMetadata", {})
        return next((part["FailureMessage"] for part in metadata.values() if part.get("FailureMessage")), "")

    def script_log(self, cluster: str, group: str, instance: str) -> list[str]:
        """The lines of a node's lifecycle script in the log group of its cluster; none if there are none (yet)."""
        arn = self.client("sagemaker").describe_cluster(ClusterName=cluster)["ClusterArn"]
        logs = self.client("logs")
        try:
            answer = logs.get_log_events(
                logGroupName=f"/aws/sagemaker/Clusters/{cluster}/{arn.rpartition('/')[2]}",
                logStreamName=f"LifecycleConfig/{group}/{instance}",
                startFromHead=True,
            )
        except logs.exceptions.ResourceNotFoundException:
            return []
        return [event["message"] for event in answer["events"]]

    def stack_events(self, stack: str) -> list[StackEvent]:
        """Every event of a stack, oldest first; empty if there never was one.

        A deleted stack is shown until the next of its name.
        """
        found = self._describe_events(stack)
        if found:
            self._stack_ids[stack] = found[0]["StackId"]
        elif stack in self._stack_ids:  # CloudFormation knows a deleted stack by its id only
            found = self._describe_events(self._stack_ids[stack])
        return [
            StackEvent(
                event_id=event["EventId"],
                time=event["Timestamp"],
                stack=event["StackName"],
                logical_id=event["LogicalResourceId"],
                resource_type=event["ResourceType"],
                status=event["ResourceStatus"],
                reason=event.get("ResourceStatusReason", ""),
                physical_id=event.get("PhysicalResourceId", ""),
            )
            for event in reversed(found)
        ]

    def create_stack(self, name: str, template: str, parameters: Mapping[str, str], timeout_seconds: float) -> None:
        """Create a stack and wait for it. Raises RehearsalError with the reason if it fails or takes too long."""
        cloudformation = self.client("cloudformation")
        cloudformation.create_stack(
            StackName=name,
            TemplateBody=template,
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        deadline = time.monotonic() + timeout_seconds
        status = "CREATE_IN_PROGRESS"
        while status == "CREATE_IN_PROGRESS" and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            status = cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
        if status != "CREATE_COMPLETE":
            failure = first_failure(self.stack_events(name))
            raise RehearsalError(
                f"the stack {name} ended as {status}: {failure.reason if failure else 'no reason given'}"
            )

    def event_ids(self, stacks: Iterable[str]) -> frozenset[str]:
        """The ids of all events that these stacks have now."""
        return frozenset(event.event_id for stack in stacks for event in self.stack_events(stack))

    def events_after(self, stacks: Iterable[str], seen: frozenset[str]) -> list[StackEvent]:
        """The stacks' events that are not among ``seen``, oldest first."""
        events = [event for stack in stacks for event in self.stack_events(stack) if event.event_id not in seen]
        return sorted(events, key=lambda event: event.time)

    def resources(self, stack: str) -> list[dict[str, Any]]:
        """The resources of a stack; empty if there is no such stack."""
        cloudformation = self.client("cloudformation")
        try:
            pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
            return [resource for page in pages for resource in page["StackResourceSummaries"]]
        except cloudformation.exceptions.ClientError:
            return []

    def inventory(self) -> Inventory:
        """Everything that a destroyed stack could have left behind."""
        return take_inventory(self.client)

    def environment_variables(self) -> Mapping[str, str]:
        """What another shell needs so that the AWS CLI and boto3 speak to this account."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ENDPOINT_URL_SAGEMAKER": self.service.url,
            "AWS_ENDPOINT_URL_FSX": self.service.url,
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "rehearsal",
            "AWS_REGION": self.region,
        }

    def _describe_events(self, stack: str) -> list[dict[str, Any]]:
        cloudformation = self.client("cloudformation")
        try:
            pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
            return [event for page in pages for event in page["StackEvents"]]
        except cloudformation.exceptions.ClientError:
            return []
