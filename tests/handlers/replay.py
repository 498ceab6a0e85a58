"""Plays CloudFormation and the Provider framework around the real handler and the HyperPod service, on one clock.

What is played follows aws-cdk's provider-framework (runtime/framework.ts and cfn-response.ts) and the contract of
CloudFormation: scalars of properties arrive as texts, on_event's answer is merged into the event that is polled with,
every event passes through JSON, a failed Create is followed by a Delete, which the framework swallows when there never
was a physical id, and a failed Update by an Update back. A function that dies, or a waiter that cannot be started, is a
failed request; an operator repeats a Delete or a rollback that failed so.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from hyperpod_constructs.handlers.cluster import index
from hyperpod_constructs.handlers.cluster.aws import Aws
from hyperpod_constructs.handlers.cluster.permissions import PERMISSIONS
from hyperpod_constructs.handlers.cluster.services import Services
from hyperpod_constructs.rehearsal.service import (
    CallerCrash,
    HyperPodService,
    LocalClient,
    ManualClock,
    MemoryLogSink,
    Timings,
)

CREATE_FAILED = "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED"
STACK_ID = "arn:aws:cloudformation:us-east-1:123456789012:stack/Training/11111111-2222-3333-4444-555555555555"
RESPONSE_URL = "https://cloudformation-custom-resource-response.example/?X-Amz-Signature=presigned-marker"
GRANTED_CALLS = frozenset(row.call for row in PERMISSIONS if row.call)
TIMINGS = Timings(
    launch_seconds=40,
    script_seconds=45,
    termination_seconds=20,
    retry_seconds=40,
    deletion_seconds=20,
    rollback_seconds=40,
)
"""A few polls for each step: the documented quarter of an hour would only make more of them."""
DIED = "RequestId: 1 Error: Runtime exited with error: signal: killed"
NOT_STARTED = "ThrottlingException: Rate exceeded (StartExecution)"
REPEATS = 3
POLL_SECONDS = 30
FREQUENT_POLLS = 12
RARE_POLL_SECONDS = 5 * POLL_SECONDS
"""A wait for the deadline would otherwise take a hundred polls, and these tests a second more."""
POLLS = FREQUENT_POLLS + (3600 - FREQUENT_POLLS * POLL_SECONDS) // RARE_POLL_SECONDS
LAMBDA_SECONDS = 300.0
RESPONSE_BYTES = 4096

Properties = Mapping[str, Any]


@dataclass(frozen=True)
class Response:
    """What CloudFormation received for one request."""

    status: str
    reason: str
    physical_id: str
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        return self.status == "SUCCESS"


class Granted:
    """A client that denies every call that the handler's own table of permissions does not hold."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        operation = "".join(part.title() for part in name.split("_"))
        if operation not in GRANTED_CALLS:
            raise client_error("AccessDeniedException", f"not authorized to perform {operation}", operation)
        return getattr(self._client, name)


class FakeCloudFormation:
    """DescribeStacks of the stacks that are played."""

    def __init__(self) -> None:
        self.statuses: dict[str, str] = {}
        self.denied = False
        self.calls = 0

    def describe_stacks(self, **request: Any) -> dict[str, Any]:
        self.calls += 1
        if self.denied:
            raise client_error(
                "AccessDenied", "not authorized to perform: cloudformation:DescribeStacks", "DescribeStacks"
            )
        return {"Stacks": [{"StackStatus": self.statuses[request["StackName"]]}]}


def client_error(code: str, message: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


class World:
    """The service, its clock, and everything that the handler may reach."""

    def __init__(self, **service: Any) -> None:
        self.clock = ManualClock()
        self.logs = MemoryLogSink()
        timings = service.pop("timings", TIMINGS)
        self.service = HyperPodService(clock=self.clock, timings=timings, log_sink=self.logs, seed=1, **service)
        self.client = LocalClient(self.service)
        self.cloudformation = FakeCloudFormation()
        self.wrap: Callable[[Any], Any] = lambda client: client

    def services(self) -> Services:
        """What one invocation of the Lambda gets; sleeping moves the clock and uses its time up."""
        started = self.clock.now()
        aws = Aws(
            sagemaker=Granted(self.wrap(self.client)),
            logs=Granted(self.wrap(self.logs)),
            cloudformation=Granted(self.wrap(self.cloudformation)),
            sleep=self.clock.advance,
            remaining_seconds=lambda: LAMBDA_SECONDS - (self.clock.now() - started),
        )
        return Services(aws=aws, now=self.clock.now)

    def describe(self, name: str) -> dict[str, Any] | None:
        """The cluster as an operator sees it."""
        try:
            return dict(self.client.describe_cluster(ClusterName=name))
        except self.client.exceptions.ResourceNotFound:
            return None

    def counts(self, name: str) -> dict[str, tuple[int, int]]:
        """Current and target of each group."""
        cluster = self.describe(name)
        assert cluster is not None
        return {g["InstanceGroupName"]: (g["CurrentCount"], g["TargetCount"]) for g in cluster["InstanceGroups"]}

    def mutations(self) -> list[str]:
        """The operations that changed something, in order."""
        return [call.operation for call in self.service.mutating_calls(successful_only=True)]

    def requests(self, operation: str) -> list[dict[str, Any]]:
        """The successful requests of one operation."""
        calls = self.service.mutating_calls(successful_only=True)
        return [dict(call.parameters) for call in calls if call.operation == operation]

    def settle(self, seconds: float = 3600) -> None:
        """Let time pass; the service does everything that is due, in order."""
        self.clock.advance(seconds)
        self.service.tick()

    def scale(self, name: str, group: str, count: int) -> None:
        """What an operator does with the AWS CLI: the same group with another count."""
        specification = self._specification(name, group)
        self.client.update_cluster(ClusterName=name, InstanceGroups=[{**specification, "InstanceCount": count}])

    def _specification(self, name: str, group: str) -> dict[str, Any]:
        details = self.describe(name)
        assert details is not None
        found = next(g for g in details["InstanceGroups"] if g["InstanceGroupName"] == group)
        copied = ("InstanceGroupName", "InstanceType", "ExecutionRole", "ThreadsPerCore", "LifeCycleConfig")
        fields = (*copied, "SlurmConfig", "InstanceStorageConfigs")
        return {key: found[key] for key in fields if key in found}


class StackReplay:
    """One stack with one cluster resource in it, as CloudFormation drives it."""

    def __init__(self, world: World, stack_id: str = STACK_ID, logical_id: str = "ClusterResource") -> None:
        self.world = world
        self.stack_id = stack_id
        self.logical_id = logical_id
        self.physical_id: str | None = None
        self.properties: Properties | None = None
        self.responses: list[Response] = []
        self.twice = False
        self.waiters_that_fail = 0
        self.after_poll: Callable[[int], None] = lambda _: None
        self._requests = self._numbers()
        self._status("CREATE_COMPLETE")

    def deploy(self, properties: Properties, *, fails_elsewhere: bool = False) -> Response:
        """Create or update, with the rollback that CloudFormation makes of a failure, here or elsewhere.

        Returns:
            The response to the first request; the later ones are in ``responses``.
        """
        if self.properties is None:
            return self._create(properties, fails_elsewhere)
        return self._update(properties, fails_elsewhere)

    def destroy(self) -> Response:
        """Delete the stack."""
        self._status("DELETE_IN_PROGRESS")
        response = self._delete(self.physical_id or "", self.properties or {})
        if response.succeeded:
            self.properties = self.physical_id = None
        return response

    def rename(self, logical_id: str, properties: Properties) -> tuple[Response, list[Response]]:
        """Deploy with another logical id: a Create of the new one, then a Delete of the old one or of what failed."""
        old_id, old_physical_id, old_properties = self.logical_id, self.physical_id, self.properties
        self.logical_id = logical_id
        self._status("UPDATE_IN_PROGRESS")
        created = self._request("Create", properties)
        if created.succeeded:
            self._status("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
            self.logical_id = old_id
            after = [self._delete(old_physical_id or "", old_properties or {})]
            self.logical_id, self.physical_id, self.properties = logical_id, created.physical_id, properties
            return created, after
        self._status("UPDATE_ROLLBACK_IN_PROGRESS")
        after = [self._delete(created.physical_id, properties)]
        self.logical_id = old_id
        self._status("UPDATE_ROLLBACK_COMPLETE")
        return created, after

    def _create(self, properties: Properties, fails_elsewhere: bool) -> Response:
        self._status("CREATE_IN_PROGRESS")
        response = self._request("Create", properties)
        if response.succeeded and not fails_elsewhere:
            self.physical_id, self.properties = response.physical_id, properties
            self._status("CREATE_COMPLETE")
            return response
        self._status("ROLLBACK_IN_PROGRESS")
        deleted = self._delete(response.physical_id, properties)
        self._status("ROLLBACK_COMPLETE" if deleted.succeeded else "ROLLBACK_FAILED")
        return response

    def _update(self, properties: Properties, fails_elsewhere: bool) -> Response:
        old = self.properties
        assert old is not None
        self._status("UPDATE_IN_PROGRESS")
        response = self._request("Update", properties, old)
        assert response.physical_id == self.physical_id, "a changed physical id makes CloudFormation delete the old one"
        if response.succeeded and not fails_elsewhere:
            self.properties = properties
            self._status("UPDATE_COMPLETE")
            return response
        self.roll_back(old, properties)
        return response

    def roll_back(self, old: Properties, failed: Properties) -> Response:
        """The Update back to the old properties after a failure."""
        for _ in range(REPEATS):
            self._status("UPDATE_ROLLBACK_IN_PROGRESS")
            response = self._request("Update", old, failed)
            if not _is_repeated(response):
                break
        self._status("UPDATE_ROLLBACK_COMPLETE" if response.succeeded else "UPDATE_ROLLBACK_FAILED")
        return response

    def _delete(self, physical_id: str, properties: Properties) -> Response:
        if physical_id == CREATE_FAILED:
            # The framework answers by itself: there was nothing.
            response = Response("SUCCESS", "SUCCESS", physical_id)
            self.responses.append(response)
            return response
        for _ in range(REPEATS):
            response = self._request("Delete", properties, physical_id=physical_id)
            if not _is_repeated(response):
                break
        return response

    def _request(
        self, request_type: str, properties: Properties, old: Properties | None = None, physical_id: str | None = None
    ) -> Response:
        event = self.event(request_type, properties, old, physical_id)
        response = self._through_framework(event)
        self.responses.append(response)
        return response

    def event(
        self,
        request_type: str,
        properties: Properties,
        old: Properties | None = None,
        physical_id: str | None = None,
    ) -> dict[str, Any]:
        """The event as the handler receives it."""
        event: dict[str, Any] = {
            "RequestType": request_type,
            "ResponseURL": RESPONSE_URL,
            "StackId": self.stack_id,
            "RequestId": next(self._requests),
            "LogicalResourceId": self.logical_id,
            "ResourceType": "Custom::HyperPodCluster",
            "ResourceProperties": properties,
        }
        if request_type != "Create":
            event["PhysicalResourceId"] = physical_id or self.physical_id
        if old is not None:
            event["OldResourceProperties"] = old
        delivered: dict[str, Any] = through_cloudformation(event)
        return delivered

    def _through_framework(self, event: dict[str, Any]) -> Response:
        try:
            merged = self._start(event)
        except (Exception, CallerCrash) as error:
            return Response("FAILED", _reason(error), event.get("PhysicalResourceId", CREATE_FAILED))
        for number in range(POLLS):
            try:
                answer = self.invoke(index.is_complete, merged)
            except (Exception, CallerCrash) as error:
                return Response("FAILED", _reason(error), merged["PhysicalResourceId"])
            if answer["IsComplete"]:
                return self._success(merged, answer)
            assert not answer.get("Data"), "the framework refuses Data before completion"
            self.world.clock.advance(POLL_SECONDS if number < FREQUENT_POLLS else RARE_POLL_SECONDS)
            self.after_poll(number)
        return Response("FAILED", "Operation timed out", merged["PhysicalResourceId"])

    def _start(self, event: dict[str, Any]) -> dict[str, Any]:
        if self.twice:
            self.invoke(index.on_event, event)
        answer = self.invoke(index.on_event, event)
        physical_id = answer.get("PhysicalResourceId") or event.get("PhysicalResourceId") or event["RequestId"]
        if event["RequestType"] == "Delete":
            assert physical_id == event["PhysicalResourceId"], "DELETE: cannot change the physical resource ID"
        if self.waiters_that_fail:
            self.waiters_that_fail -= 1
            raise RuntimeError(NOT_STARTED)
        return {**event, **answer, "PhysicalResourceId": physical_id}

    def _success(self, merged: dict[str, Any], answer: Mapping[str, Any]) -> Response:
        data = answer.get("Data") or {}
        assert all(isinstance(value, str) for value in data.values())
        body = {"Status": "SUCCESS", "Reason": "SUCCESS", "StackId": self.stack_id, "RequestId": merged["RequestId"]}
        body |= {"LogicalResourceId": self.logical_id, "PhysicalResourceId": merged["PhysicalResourceId"], "Data": data}
        assert len(json.dumps(body)) <= RESPONSE_BYTES
        return Response("SUCCESS", "SUCCESS", merged["PhysicalResourceId"], data)

    def invoke(self, entry: Callable[..., dict[str, Any]], event: Mapping[str, Any]) -> dict[str, Any]:
        """One invocation of the Lambda: everything passes through JSON.

        Raises:
            CallerCrash: the process died; the framework does not invoke it again.
        """
        delivered = json.loads(json.dumps(event))
        return _as_json(entry(delivered, None, self.world.services()))

    def _status(self, status: str) -> None:
        self.world.cloudformation.statuses[self.stack_id] = status

    @property
    def status(self) -> str:
        return self.world.cloudformation.statuses[self.stack_id]

    def _numbers(self) -> Iterator[str]:
        number = 0
        while True:
            number += 1
            yield f"00000000-0000-0000-0000-{number:012d}"


def _reason(error: BaseException) -> str:
    return DIED if isinstance(error, CallerCrash) else str(error)


def _is_repeated(response: Response) -> bool:
    """Whether an operator would simply try again."""
    return response.reason in (DIED, NOT_STARTED)


def _as_json(answer: Mapping[str, Any]) -> dict[str, Any]:
    passed_on: dict[str, Any] = json.loads(json.dumps(answer))
    return passed_on


def through_cloudformation(value: Any) -> Any:
    """CloudFormation turns every scalar of the properties into a text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return {key: through_cloudformation(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [through_cloudformation(item) for item in value]
    return value if isinstance(value, str) or value is None else str(value)
