"""Both services over HTTP, with real boto3 clients."""

import http.client
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from hyperpod_constructs.rehearsal.service import HyperPodService, Timings
from hyperpod_constructs.rehearsal.service.fsx import FsxService
from hyperpod_constructs.rehearsal.service.http_server import HttpServer
from tests.rehearsal.service.support import NAME, controller, request, workers
from tests.rehearsal.service.test_fsx import lustre

FAST = Timings(launch_seconds=0.02, script_seconds=0.02, termination_seconds=0.02, deletion_seconds=0.02)
ONE_TRY = Config(retries={"total_max_attempts": 1}, read_timeout=10)


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with HttpServer(HyperPodService(timings=FAST), FsxService(creation_seconds=0.02)) as server:
        yield server


@pytest.fixture(scope="module")
def clients(server: HttpServer) -> dict[str, Any]:
    common = {"endpoint_url": server.url, "region_name": "us-east-1", "config": ONE_TRY}
    return {name: boto3.client(name, **common) for name in ("sagemaker", "fsx")}


@pytest.fixture
def sagemaker(clients: dict[str, Any]) -> Iterator[Any]:
    client = clients["sagemaker"]
    yield client
    for summary in client.list_clusters()["ClusterSummaries"]:
        if summary["ClusterStatus"] != "Deleting":
            client.delete_cluster(ClusterName=summary["ClusterName"])
    wait_until(lambda: client.list_clusters()["ClusterSummaries"] == [])


def wait_until(true: Any, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


def ask(server: HttpServer, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(f"{server.url}/_rehearsal/{path}", data=data, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(sent, timeout=10) as answer:  # noqa: S310
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_cluster_lives_and_dies_through_boto3(sagemaker: Any) -> None:
    arn = sagemaker.create_cluster(**request())["ClusterArn"]
    wait_until(lambda: sagemaker.describe_cluster(ClusterName=NAME)["ClusterStatus"] == "InService")
    assert sagemaker.describe_cluster(ClusterName=arn)["CreationTime"].timestamp() == pytest.approx(time.time(), abs=20)
    assert sagemaker.list_cluster_nodes(ClusterName=NAME)["ClusterNodeSummaries"]
    event = sagemaker.list_cluster_events(ClusterName=NAME, ResourceType="Cluster")["Events"][0]
    detail = sagemaker.describe_cluster_event(ClusterName=NAME, EventId=event["EventId"])["EventDetails"]
    assert detail["Description"] == event["Description"]
    sagemaker.delete_cluster(ClusterName=NAME)
    with pytest.raises(sagemaker.exceptions.ResourceNotFound):
        wait_until(lambda: sagemaker.describe_cluster(ClusterName=NAME) is None)


def test_time_passes_without_calls(server: HttpServer, sagemaker: Any) -> None:
    sagemaker.create_cluster(**request(controller()))
    context = server._hyperpod.context
    wait_until(lambda: context.clusters[NAME].status == "InService")


def test_errors_arrive_as_boto3_knows_them(sagemaker: Any) -> None:
    with pytest.raises(ClientError, match=r"\(ValidationException\).*exactly one InstanceGroup with Controller"):
        sagemaker.create_cluster(**request(workers()))
    sagemaker.create_cluster(**request())
    with pytest.raises(sagemaker.exceptions.ResourceInUse):
        sagemaker.create_cluster(**request())


def test_metadata_of_an_error_event_arrives_through_boto3(server: HttpServer, sagemaker: Any) -> None:
    ask(server, "POST", "fail-lifecycle", {"group": "controller-group", "times": 1, "message": "no munge key."})
    sagemaker.create_cluster(**request())
    wait_until(lambda: sagemaker.describe_cluster(ClusterName=NAME)["ClusterStatus"] == "Failed")
    events = sagemaker.list_cluster_events(ClusterName=NAME, ResourceType="Cluster", MaxResults=1)["Events"]
    detail = sagemaker.describe_cluster_event(ClusterName=NAME, EventId=events[0]["EventId"])["EventDetails"]
    assert "no munge key." in detail["EventDetails"]["EventMetadata"]["Cluster"]["FailureMessage"]


def test_file_systems_are_answered_at_the_same_address(clients: dict[str, Any]) -> None:
    fsx = clients["fsx"]
    made = fsx.create_file_system(**lustre())["FileSystem"]

    def lifecycle() -> str:
        found = fsx.describe_file_systems(FileSystemIds=[made["FileSystemId"]])["FileSystems"][0]
        return str(found["Lifecycle"])

    wait_until(lambda: lifecycle() == "AVAILABLE")
    fsx.delete_file_system(FileSystemId=made["FileSystemId"])
    with pytest.raises(fsx.exceptions.FileSystemNotFound):
        wait_until(lambda: lifecycle() is None)


def test_a_crash_ends_the_connection_without_an_answer(server: HttpServer, sagemaker: Any) -> None:
    assert ask(server, "POST", "faults", {"operation": "CreateCluster", "error": "crash", "when": "after"})[0] == 200
    with pytest.raises(ConnectionClosedError):
        sagemaker.create_cluster(**request())
    assert sagemaker.describe_cluster(ClusterName=NAME)["ClusterName"] == NAME


def test_a_fault_may_have_its_own_code_and_text(server: HttpServer, sagemaker: Any) -> None:
    error = {"code": "Odd", "message": "as told", "status": 503}
    ask(server, "POST", "faults", {"operation": "*", "error": error, "times": 2})
    with pytest.raises(ClientError, match=r"\(Odd\).*as told"):
        sagemaker.list_clusters()
    assert ask(server, "POST", "clear-faults", {})[0] == 200
    sagemaker.list_clusters()


def test_the_control_addresses_show_calls_and_clusters(server: HttpServer, sagemaker: Any) -> None:
    ask(server, "POST", "capacity", {"capacity": ["worker-gpu-a=2"]})
    sagemaker.create_cluster(**request())
    wait_until(lambda: sagemaker.describe_cluster(ClusterName=NAME)["InstanceGroups"][2]["CurrentCount"] == 2)
    calls = ask(server, "GET", "calls")[1]["calls"]
    created = [call for call in calls if call["operation"] == "CreateCluster"][-1]
    assert (created["parameters"], created["error"], created["mutating"]) == (request(), None, True)
    cluster = ask(server, "GET", "clusters")[1]["clusters"][0]
    assert cluster["ClusterName"] == NAME
    assert len(cluster["Nodes"]) == 4
    assert cluster["LogGroup"].startswith(f"/aws/sagemaker/Clusters/{NAME}/")
    ask(server, "POST", "capacity", {"capacity": "worker-gpu-a=100"})


def test_a_node_can_be_broken_by_address(server: HttpServer, sagemaker: Any) -> None:
    sagemaker.create_cluster(**request(controller(), workers(1)))
    wait_until(lambda: len(sagemaker.list_cluster_nodes(ClusterName=NAME)["ClusterNodeSummaries"]) == 2)
    wait_until(lambda: sagemaker.describe_cluster(ClusterName=NAME)["InstanceGroups"][1]["CurrentCount"] == 1)
    node = sagemaker.list_cluster_nodes(ClusterName=NAME, InstanceGroupNameContains="worker")["ClusterNodeSummaries"][0]
    assert ask(server, "POST", "fail-node", {"node": node["InstanceId"], "message": "broken"})[0] == 200
    assert ask(server, "POST", "fail-node", {"node": "i-1"}) == (400, "no running node 'i-1'")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "nothing", None, 404, "no control address GET nothing, there are: GET health"),
        ("POST", "calls", {}, 404, "no control address POST calls"),
        ("POST", "capacity", {}, 400, "the body has no 'capacity'"),
        ("POST", "capacity", {"capacity": ["x"]}, 400, "not a capacity: 'x'"),
        ("POST", "capacity", {"capacity": 5}, 400, "capacity must be a text or a list"),
        ("POST", "fail-lifecycle", {"group": "a", "times": "2"}, 400, "times must be a whole number or null, got '2'"),
        ("POST", "faults", {"operation": "*", "error": "slow"}, 400, "unknown error 'slow', give one of throttling"),
        ("POST", "faults", [], 400, "not a JSON object"),
    ],
)
def test_a_wrong_control_request_is_refused_in_words(
    server: HttpServer, method: str, path: str, body: Any, status: int, words: str
) -> None:
    found, text = ask(server, method, path, body)
    assert (found, words in text, "\n" in text) == (status, True, False)


def raw(server: HttpServer, headers: dict[str, str], body: bytes = b"{}") -> tuple[int, Any]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        ({}, b"{}", 400, "UnknownOperationException"),
        ({"X-Amz-Target": "DynamoDB.GetItem"}, b"{}", 400, "UnknownOperationException"),
        ({"X-Amz-Target": "SageMaker.Nothing"}, b"{}", 400, "UnknownOperationException"),
        ({"X-Amz-Target": "SageMaker.ListClusters"}, b"{", 400, "SerializationException"),
        ({"X-Amz-Target": "SageMaker.ListClusters"}, b"[]", 400, "SerializationException"),
        ({"X-Amz-Target": "SageMaker.ListClusters"}, b"\xff", 400, "SerializationException"),
        ({"X-Amz-Target": "SageMaker.ListClusters", "Content-Length": "999999999"}, b"", 413, "SerializationException"),
        ({"X-Amz-Target": "SageMaker.ListClusters", "Content-Length": "x"}, b"", 413, "SerializationException"),
    ],
)
def test_a_request_that_is_none_gets_an_error_in_the_protocol(
    server: HttpServer, headers: dict[str, str], body: bytes, status: int, code: str
) -> None:
    found, answer = raw(server, headers, body)
    assert (found, answer["__type"]) == (status, code)


def test_only_the_loopback_address_is_listened_on(server: HttpServer) -> None:
    with pytest.raises(ValueError, match=r"listens on 127\.0\.0\.1 only, got '0\.0\.0\.0'"):
        HttpServer(HyperPodService(), FsxService(), address="0.0.0.0")  # noqa: S104 - it must be refused
    assert server._server.socket.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_an_error_of_the_system(server: HttpServer) -> None:
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(OSError, match="in use"):
        HttpServer(HyperPodService(), FsxService(), port)


def test_stopping_frees_the_port_and_ends_the_threads() -> None:
    server = HttpServer(HyperPodService(), FsxService())
    with server:
        port = int(server.url.rpartition(":")[2])
    assert not any(thread.is_alive() for thread in server._threads)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_a_caller_that_goes_away_disturbs_nobody(server: HttpServer, sagemaker: Any) -> None:
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
    assert sagemaker.list_clusters()["ClusterSummaries"] == []
