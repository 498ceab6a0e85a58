"""The AWS calls of the handler, with errors in the handler's own words. Nothing else talks to AWS.

Every call is retried here a bounded number of times when the answer was "too many requests" or none at all; what
means "busy", "gone", "taken" or "not allowed" comes out as an exception of its own.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from . import clients
from .errors import (
    ChangeRefusedError,
    ConflictError,
    DeniedError,
    NameTakenError,
    NotFoundError,
    ServiceError,
    UnclearError,
)
from .log import log
from .observed import Cluster, read_cluster

T = TypeVar("T")

ERRORS: Mapping[str, type[ServiceError]] = {
    # SageMaker's model says ResourceNotFound, other services and later models ResourceNotFoundException (C-10).
    "ResourceNotFound": NotFoundError,
    "ResourceNotFoundException": NotFoundError,
    "ConflictException": ConflictError,
    "ResourceInUse": NameTakenError,
    "ResourceInUseException": NameTakenError,
    "AccessDenied": DeniedError,
    "AccessDeniedException": DeniedError,
    "UnauthorizedOperation": DeniedError,
    "Throttling": UnclearError,
    "ThrottlingException": UnclearError,
    "ThrottledException": UnclearError,
    "TooManyRequestsException": UnclearError,
    "RequestLimitExceeded": UnclearError,
    "InternalFailure": UnclearError,
    "InternalServerException": UnclearError,
    "InternalServerError": UnclearError,
    "ServiceUnavailable": UnclearError,
    "ServiceUnavailableException": UnclearError,
}

RETRY_DELAYS_SECONDS = (1, 2, 4)
IAM_RETRY_DELAYS_SECONDS = (5, 10, 10, 10, 10, 12)
"""About a minute: how long a new role may take to be known everywhere (field report C-19)."""

IAM_NOT_PROPAGATED = (
    "unable to retrieve subnets",
    "cannot be assumed",
    "unable to assume",
    "could not assume",
    "not authorized to perform: sts:assumerole",
    "ensure that the execution role exists",
    "ensure that the role exists",
)

PATIENT_ROUNDS = 5
PATIENT_PAUSE_SECONDS = 5.0

MARGIN_SECONDS = 60
"""Time that a Lambda keeps when it decides whether it may sleep and call once more: a call that is never answered takes
two attempts of up to 30 seconds (clients.CONFIG), and a Lambda that dies after CreateCluster leaves an orphan."""


@dataclass
class Aws:
    """The services that the handler calls.

    Args:
        sagemaker, logs, cloudformation: clients; made at first use when not given, so that an import costs nothing.
        sleep: waits so many seconds.
        remaining_seconds: the time that is left to this invocation.
    """

    sagemaker: Any = None
    logs: Any = None
    cloudformation: Any = None
    sleep: Callable[[float], None] = time.sleep
    remaining_seconds: Callable[[], float] = field(default=lambda: 120.0)

    def describe(self, name: str) -> Cluster | None:
        """The cluster as DescribeCluster shows it; None when there is none."""
        try:
            return read_cluster(self._sagemaker("DescribeCluster", ClusterName=name))
        except NotFoundError:
            return None

    def tags(self, arn: str) -> dict[str, str]:
        """All tags of a cluster."""
        tags: dict[str, str] = {}
        token: dict[str, str] = {}
        while True:
            page = self._sagemaker("ListTags", ResourceArn=arn, **token)
            tags.update({tag["Key"]: tag["Value"] for tag in page.get("Tags") or ()})
            if not page.get("NextToken"):
                return tags
            token = {"NextToken": page["NextToken"]}

    def create(self, request: Mapping[str, Any]) -> str:
        """Create a cluster; its ARN, or "" when the answer does not hold it.

        Waits about a minute for a new role to become known. That wait is here and not in the polls, because a refusal
        must come before there is a physical id: CloudFormation would otherwise delete a cluster of that name.

        Raises:
            NameTakenError: there is one of this name.
            UnclearError: whether it was created is unknown.
            ServiceError: anything else, in the service's words.
        """
        for delay in (*IAM_RETRY_DELAYS_SECONDS, None):
            try:
                return str(self._sagemaker("CreateCluster", **request).get("ClusterArn") or "")
            except (NotFoundError, ConflictError, NameTakenError, DeniedError, UnclearError):
                raise
            except ServiceError as error:
                if delay is None or not is_iam_propagation(error) or not self._may_sleep(delay):
                    raise
                log("role is not known yet", attempt_again_in_seconds=delay, message=error.detail)
                self.sleep(delay)
        raise AssertionError("the last attempt returns or raises")

    def change(self, operation: str, request: Mapping[str, Any]) -> None:
        """Make one call that changes something, by the API's name of it."""
        self._sagemaker(operation, **request)
        log("called", operation=operation, request=request)

    def patiently(self, look_up: Callable[[], T]) -> T:
        """Look up what must be known before the answer, for about a minute when the service does not answer.

        Raises:
            UnclearError: there is still no answer, or no time left.
        """
        for _ in range(PATIENT_ROUNDS):
            try:
                return look_up()
            except UnclearError as error:
                if not self._may_sleep(PATIENT_PAUSE_SECONDS):
                    raise
                log("looking again", error=str(error), in_seconds=PATIENT_PAUSE_SECONDS)
                self.sleep(PATIENT_PAUSE_SECONDS)
        return look_up()

    def stack_status(self, stack_id: str) -> str:
        """The status of the stack; "" when it cannot be read, which counts as going forward."""
        try:
            client = self.cloudformation or clients.client("cloudformation")
            stacks = self._call("DescribeStacks", client, {"StackName": stack_id})["Stacks"]
            return str(stacks[0]["StackStatus"])
        except (ServiceError, LookupError, TypeError) as error:
            log("stack status unknown", error=str(error))
            return ""

    def newest_events(self, name: str, after: float | None = None, pages: int = 3) -> list[dict[str, Any]]:
        """The cluster's events, newest first, at most a few pages of a hundred."""
        request: dict[str, Any] = {"ClusterName": name, "SortOrder": "Descending", "MaxResults": 100}
        if after:
            request["EventTimeAfter"] = datetime.fromtimestamp(after).astimezone()
        events: list[dict[str, Any]] = []
        for _ in range(pages):
            page = self._sagemaker("ListClusterEvents", **request)
            events += page.get("Events") or ()
            if not page.get("NextToken"):
                break
            request["NextToken"] = page["NextToken"]
        return events

    def event_details(self, name: str, event_id: str) -> dict[str, Any]:
        """One event with its metadata."""
        answer = self._sagemaker("DescribeClusterEvent", ClusterName=name, EventId=event_id)
        return dict(answer.get("EventDetails") or {})

    def node_messages(self, name: str) -> list[str]:
        """What the nodes of the first page say about their status."""
        answer = self._sagemaker("ListClusterNodes", ClusterName=name, MaxResults=100)
        nodes = answer.get("ClusterNodeSummaries") or ()
        return [
            str(node["InstanceStatus"]["Message"]) for node in nodes if node.get("InstanceStatus", {}).get("Message")
        ]

    def log_tail(self, group: str, stream: str, lines: int) -> list[str]:
        """The last lines of a log stream, oldest first."""
        client = self.logs or clients.client("logs")
        request = {"logGroupName": group, "logStreamName": stream, "limit": lines, "startFromHead": False}
        events = self._call("GetLogEvents", client, request).get("events") or ()
        return [str(event.get("message", "")).rstrip() for event in events]

    def _sagemaker(self, operation: str, **request: Any) -> dict[str, Any]:
        return self._call(operation, self.sagemaker or clients.client("sagemaker"), request)

    def _call(self, operation: str, client: Any, request: Mapping[str, Any]) -> dict[str, Any]:
        method = getattr(client, _method_name(operation))
        for delay in (*RETRY_DELAYS_SECONDS, None):
            try:
                answer: dict[str, Any] = method(**request)
                return answer
            except (ClientError, BotoCoreError) as error:
                failure = _translated(operation, error)
                if delay is None or not isinstance(failure, UnclearError) or not self._may_sleep(delay):
                    raise failure from error
                log("trying again", operation=operation, code=failure.code, in_seconds=delay)
                self.sleep(delay)
        raise AssertionError("the last attempt returns or raises")

    def _may_sleep(self, seconds: float) -> bool:
        return self.remaining_seconds() > seconds + MARGIN_SECONDS


def is_iam_propagation(error: ServiceError) -> bool:
    """Whether the service could not use the execution role yet, which a new role causes for up to a minute."""
    text = error.detail.lower()
    return error.code == "ValidationException" and any(part in text for part in IAM_NOT_PROPAGATED)


def _method_name(operation: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).lstrip("_")


def _translated(operation: str, error: Exception) -> Exception:
    if isinstance(error, ParamValidationError):
        return ChangeRefusedError([f"{operation}: the request does not fit the API: {error}"])
    if not isinstance(error, ClientError):
        return UnclearError(operation, type(error).__name__, str(error))
    answer = error.response.get("Error", {})
    code, message = str(answer.get("Code", "")), str(answer.get("Message", ""))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    # The wire may carry a prefix, as in com.amazonaws.sagemaker#ResourceNotFound.
    kind = ERRORS.get(code.rsplit("#", 1)[-1], UnclearError if status >= 500 or status == 429 else ServiceError)
    return kind(operation, code, message)
