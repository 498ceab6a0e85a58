"""Where log lines go."""

import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from hyperpod_constructs.rehearsal.service import CloudWatchLogSink, MemoryLogSink
from tests.rehearsal.service.support import NAME, Bed


class FakeLogs:
    """The three calls of CloudWatch Logs that the sink makes."""

    def __init__(self, failures: int = 0) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.failures = failures
        self.sent = threading.Event()

    def create_log_group(self, **names: Any) -> None:
        self.calls.append(("group", names))
        raise ClientError({"Error": {"Code": "ResourceAlreadyExistsException", "Message": ""}}, "CreateLogGroup")

    def create_log_stream(self, **names: Any) -> None:
        self.calls.append(("stream", names))

    def put_log_events(self, **request: Any) -> None:
        if self.failures:
            self.failures -= 1
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")
        self.calls.append(("put", request))
        self.sent.set()

    @property
    def messages(self) -> list[str]:
        return [event["message"] for what, request in self.calls if what == "put" for event in request["logEvents"]]


def test_lines_are_sent_in_their_order_and_groups_and_streams_made_once() -> None:
    logs = FakeLogs()
    sink = CloudWatchLogSink(lambda: logs)
    sink.put("/group", "stream", ["a", ""])
    sink.put("/group", "stream", ["b"])
    sink.put("/group", "other", ["c"])
    sink.put("/group", "other", [])
    sink.close()
    assert logs.messages == ["a", " ", "b", "c"]
    assert [what for what, _ in logs.calls] == ["group", "stream", "put", "put", "group", "stream", "put"]


def test_lines_that_cannot_be_sent_are_dropped_with_a_warning_and_later_ones_arrive(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logs = FakeLogs(failures=1)
    sink = CloudWatchLogSink(lambda: logs)
    sink.put("/group", "stream", ["lost"])
    sink.put("/group", "stream", ["kept"])
    sink.close()
    assert logs.messages == ["kept"]
    assert "log lines of /group stream were lost" in caplog.text


def test_a_put_does_not_wait_for_the_network() -> None:
    gate = threading.Event()

    def slow() -> FakeLogs:
        gate.wait(5)
        return FakeLogs()

    sink = CloudWatchLogSink(slow)
    sink.put("/group", "stream", ["a"])
    assert not gate.is_set()
    gate.set()
    sink.close()


def test_memory_answers_like_cloudwatch() -> None:
    sink = MemoryLogSink()
    sink.put("/group", "stream", ["a", "b", "c"])
    events = sink.get_log_events(logGroupName="/group", logStreamName="stream", limit=2)["events"]
    assert [event["message"] for event in events] == ["b", "c"]
    head = sink.get_log_events(logGroupName="/group", logStreamName="stream", limit=2, startFromHead=True)["events"]
    assert [event["message"] for event in head] == ["a", "b"]
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        sink.get_log_events(logGroupName="/group", logStreamName="nobody")


def test_each_run_of_a_script_has_its_stream_with_the_markers_of_the_service(up: Bed) -> None:
    cluster_id = up.describe()["ClusterArn"].rpartition("/")[2]
    streams = up.logs.streams[f"/aws/sagemaker/Clusters/{NAME}/{cluster_id}"]
    assert set(streams) == {
        f"LifecycleConfig/{node['InstanceGroupName']}/{node['InstanceId']}" for node in up.nodes("")
    }
    for lines in streams.values():
        assert lines[0].endswith("and entrypoint script: [on_create.sh]")
        assert lines[-1] == "[SageMaker] The lifecycle scripts succeeded"
