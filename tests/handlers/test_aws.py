"""The AWS calls: errors in our words, bounded retries within the Lambda's time."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from hyperpod_constructs.handlers.cluster.aws import Aws, is_iam_propagation
from hyperpod_constructs.handlers.cluster.errors import (
    ChangeRefusedError,
    ConflictError,
    DeniedError,
    NameTakenError,
    NotFoundError,
    ServiceError,
    UnclearError,
)
from hyperpod_constructs.handlers.cluster.operations import is_cluster_name
from tests.handlers.builders import NAME, a_request, p5
from tests.handlers.replay import World, client_error


class Answers:
    """A client that raises or returns one thing after another; the last one for ever."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**_: Any) -> Any:
            self.calls += 1
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def an_aws(client: Any, slept: list[float] | None = None, remaining: float = 300) -> Aws:
    times = slept if slept is not None else []
    return Aws(sagemaker=client, sleep=times.append, remaining_seconds=lambda: remaining - sum(times))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ResourceNotFound", NotFoundError),
        ("ResourceNotFoundException", NotFoundError),
        ("com.amazonaws.sagemaker#ResourceNotFound", NotFoundError),
        ("ConflictException", ConflictError),
        ("ResourceInUse", NameTakenError),
        ("AccessDeniedException", DeniedError),
        ("ThrottlingException", UnclearError),
        ("InternalFailure", UnclearError),
        ("ValidationException", ServiceError),
    ],
)
def test_an_error_code_becomes_an_exception_of_ours(code: str, kind: type[ServiceError]) -> None:
    with pytest.raises(kind) as caught:
        an_aws(Answers(client_error(code, "the words", "UpdateCluster"))).change("UpdateCluster", {})
    assert type(caught.value) is kind
    assert caught.value.detail == "the words"
    assert str(caught.value) == f"UpdateCluster: {code}: the words"


def test_throttling_is_retried_a_few_times_and_then_told() -> None:
    slept: list[float] = []
    client = Answers(client_error("ThrottlingException", "Rate exceeded", "DescribeCluster"))
    with pytest.raises(UnclearError):
        an_aws(client, slept).describe(NAME)
    assert (client.calls, slept) == (4, [1, 2, 4])


def test_a_lost_connection_is_retried_and_may_succeed() -> None:
    client = Answers(ConnectTimeoutError(endpoint_url="https://example"), {"ClusterName": NAME, "ClusterArn": "arn"})
    cluster = an_aws(client).describe(NAME)
    assert cluster is not None
    assert cluster.name == NAME


def test_no_sleep_runs_into_the_end_of_the_lambda() -> None:
    slept: list[float] = []
    client = Answers(client_error("ThrottlingException", "Rate exceeded", "DescribeCluster"))
    with pytest.raises(UnclearError):
        an_aws(client, slept, remaining=62.5).describe(NAME)
    assert slept == [1]


@pytest.mark.parametrize("code", ["ConflictException", "ValidationException", "AccessDeniedException"])
def test_a_definite_answer_is_not_retried(code: str) -> None:
    client = Answers(client_error(code, "no", "UpdateCluster"))
    with pytest.raises(ServiceError):
        an_aws(client).change("UpdateCluster", {})
    assert client.calls == 1


def test_a_request_that_does_not_fit_the_api_is_refused_in_words() -> None:
    world = World()
    with pytest.raises(ChangeRefusedError, match='Unknown parameter in input: "LifecycleConfig"'):
        an_aws(world.client).create({**a_request(), "LifecycleConfig": {}, "InstanceGroups": p5(1)})
    assert world.service.calls == []


@pytest.mark.parametrize(
    ("code", "text", "waits"),
    [
        ("ValidationException", "Unable to retrieve subnets", True),
        ("ValidationException", "The role arn:aws:iam::1:role/x cannot be assumed", True),
        ("ValidationException", "User is not authorized to perform: sts:AssumeRole on resource", True),
        ("ValidationException", "InstanceType is not supported", False),
        ("AccessDeniedException", "Unable to retrieve subnets", False),
    ],
)
def test_c19_only_the_texts_of_a_new_role_are_waited_out(code: str, text: str, waits: bool) -> None:
    assert is_iam_propagation(ServiceError("CreateCluster", code, text)) == waits


def test_tags_and_events_are_read_page_by_page() -> None:
    class Pages:
        def list_tags(self, **request: Any) -> dict[str, Any]:
            if "NextToken" not in request:
                return {"Tags": [{"Key": "a", "Value": "1"}], "NextToken": "more"}
            return {"Tags": [{"Key": "b", "Value": "2"}]}

        def list_cluster_events(self, **request: Any) -> dict[str, Any]:
            return {"Events": [{"EventId": request.get("NextToken", "first")}], "NextToken": "more"}

    aws = an_aws(Pages())
    assert aws.tags("arn") == {"a": "1", "b": "2"}
    assert len(aws.newest_events(NAME)) == 3


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("a", True),
        ("my-cluster", True),
        ("a--b", True),
        ("x" * 63, True),
        ("x" * 64, False),
        ("-a", False),
        ("a-", False),
        ("a_b", False),
        ("a b", False),
        ("ü", False),
        ("", False),
    ],
)
def test_what_can_be_a_clusters_name(text: str, possible: bool) -> None:
    assert is_cluster_name(text) == possible
