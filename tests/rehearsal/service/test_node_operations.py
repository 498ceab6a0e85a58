"""The operations on single nodes."""

from typing import Any

import pytest

from hyperpod_constructs.rehearsal.service import Limit
from tests.rehearsal.service.support import NAME, UP, Bed, controller, group, login, refusal, workers


def add(bed: Bed, count: int = 1, name: str = "worker-gpu-a", **more: Any) -> dict[str, Any]:
    nodes = [{"InstanceGroupName": name, "IncrementTargetCountBy": count, **more.pop("node", {})}]
    return bed.client.batch_add_cluster_nodes(ClusterName=NAME, NodesToAdd=nodes, **more)


def test_added_nodes_are_named_and_come_up(up: Bed) -> None:
    answer = add(up, 2)
    assert [node["Status"] for node in answer["Successful"]] == ["Pending", "Pending"]
    assert (answer["Failed"], up.counts()) == ([], (4, 6))
    up.wait(UP)
    logical_ids = {node["NodeLogicalId"] for node in answer["Successful"]}
    assert logical_ids < {node["NodeLogicalId"] for node in up.nodes()}
    assert up.counts() == (6, 6)


@pytest.mark.parametrize(
    ("name", "node", "code"),
    [
        ("nobody", {}, "InstanceGroupNotFound"),
        ("controller-group", {}, "InvalidInstanceGroupStatus"),
        ("worker-gpu-a", {"InstanceTypes": ["ml.g5.xlarge"]}, "IncompatibleInstanceTypes"),
    ],
)
def test_an_addition_that_cannot_be_is_listed_with_its_code(
    up: Bed, name: str, node: dict[str, Any], code: str
) -> None:
    answer = add(up, 3, name, node=node)
    assert answer["Successful"] == []
    assert (answer["Failed"][0]["ErrorCode"], answer["Failed"][0]["FailedCount"]) == (code, 3)


def test_good_and_bad_additions_in_one_request_are_kept_apart(up: Bed) -> None:
    wanted = [{"InstanceGroupName": name, "IncrementTargetCountBy": 1} for name in ("worker-gpu-a", "nobody")]
    answer = up.client.batch_add_cluster_nodes(ClusterName=NAME, NodesToAdd=wanted)
    assert (len(answer["Successful"]), len(answer["Failed"])) == (1, 1)


def test_at_most_fifty_nodes_are_added_at_once(up: Bed) -> None:
    wanted = [{"InstanceGroupName": "worker-gpu-a", "IncrementTargetCountBy": 26}] * 2
    with refusal(match="At most 50 nodes can be added in one request, got 52"):
        up.client.batch_add_cluster_nodes(ClusterName=NAME, NodesToAdd=wanted)


def test_the_same_token_adds_only_once_within_eight_hours(up: Bed) -> None:
    first = add(up, ClientToken="t")
    up.wait(UP)
    again = add(up, ClientToken="t")
    assert again["Successful"][0]["NodeLogicalId"] == first["Successful"][0]["NodeLogicalId"]
    assert again["Successful"][0]["Status"] == "Running"
    with refusal(match="ClientToken t was used with other parameters"):
        add(up, 2, ClientToken="t")
    up.wait(8 * 3600 + 1)
    add(up, ClientToken="t")
    assert up.counts()[1] == 6


def test_calls_without_a_token_of_ones_own_are_different_calls(up: Bed) -> None:
    add(up)
    add(up)
    assert up.counts()[1] == 6


def test_named_nodes_are_deleted_and_the_target_sinks_with_them(up: Bed) -> None:
    first, second = up.nodes()[:2]
    answer = up.client.batch_delete_cluster_nodes(
        ClusterName=NAME, NodeIds=[first["InstanceId"]], NodeLogicalIds=[second["NodeLogicalId"]]
    )
    assert answer["Successful"] == [first["InstanceId"]]
    assert answer["SuccessfulNodeLogicalIds"] == [second["NodeLogicalId"]]
    up.wait(5)
    assert up.counts() == (2, 2)
    assert {first["InstanceId"], second["InstanceId"]}.isdisjoint(up.instances())


def test_a_node_that_waits_for_capacity_is_deleted_by_its_logical_id() -> None:
    bed = Bed(capacity="worker-gpu-a=1")
    bed.create_and_wait(controller(), login(), workers(2))
    waiting = next(node["NodeLogicalId"] for node in bed.nodes() if not node["InstanceId"])
    bed.client.batch_delete_cluster_nodes(ClusterName=NAME, NodeLogicalIds=[waiting])
    assert bed.counts() == (1, 1)


def test_controllers_and_unknown_nodes_are_not_deleted(up: Bed) -> None:
    head, unknown = up.instances("controller-group")[0], "i-0123456789abcdef0"
    answer = up.client.batch_delete_cluster_nodes(ClusterName=NAME, NodeIds=[head, unknown])
    assert {item["NodeId"]: item["Code"] for item in answer["Failed"]} == {
        head: "NodeIdInUse",
        unknown: "NodeIdNotFound",
    }
    assert "Successful" not in answer


def test_a_node_is_not_deleted_twice(up: Bed) -> None:
    node = up.instances()[0]
    up.client.batch_delete_cluster_nodes(ClusterName=NAME, NodeIds=[node])
    answer = up.client.batch_delete_cluster_nodes(ClusterName=NAME, NodeIds=[node])
    assert answer["Failed"][0]["Code"] == "InvalidNodeStatus"
    assert up.counts()[1] == 3


@pytest.mark.parametrize("operation", ["batch_delete_cluster_nodes", "batch_replace_cluster_nodes"])
def test_a_batch_names_some_nodes_but_not_too_many(up: Bed, operation: str) -> None:
    with refusal(match="NodeIds or NodeLogicalIds must be given"):
        getattr(up.client, operation)(ClusterName=NAME)
    many = [f"i-{number:017x}" for number in range(51)]
    with refusal(match="At most 50|length less than or equal to 25"):
        getattr(up.client, operation)(ClusterName=NAME, NodeIds=many)


def test_logical_ids_need_continuous_provisioning(bed: Bed) -> None:
    bed.create_and_wait(NodeProvisioningMode=None)
    with refusal(match="NodeLogicalIds is only supported"):
        bed.client.batch_reboot_cluster_nodes(ClusterName=NAME, NodeLogicalIds=["ab"])
    with refusal(match="BatchAddClusterNodes is only supported"):
        add(bed)


def test_a_replaced_node_keeps_its_logical_id_and_its_name(up: Bed) -> None:
    before = up.nodes()[0]
    answer = up.client.batch_replace_cluster_nodes(ClusterName=NAME, NodeLogicalIds=[before["NodeLogicalId"]])
    assert answer["SuccessfulNodeLogicalIds"] == [before["NodeLogicalId"]]
    assert up.nodes()[0]["InstanceStatus"]["Status"] == "ShuttingDown"
    assert up.counts() == (4, 4)
    up.wait(5 + UP)
    after = next(node for node in up.nodes() if node["NodeLogicalId"] == before["NodeLogicalId"])
    assert after["InstanceId"] != before["InstanceId"]
    assert after["PrivateDnsHostname"] == before["PrivateDnsHostname"]
    assert any("is starting as part of instance replacement" in text for text in up.descriptions())
    assert up.counts() == (4, 4)


def test_a_replacement_without_capacity_is_retried(up: Bed) -> None:
    up.service.set_capacity({"worker-gpu-a": Limit(3)})
    up.client.batch_replace_cluster_nodes(ClusterName=NAME, NodeIds=up.instances()[:1])
    up.wait(1000)
    assert up.counts() == (3, 4)
    up.service.set_capacity({"worker-gpu-a": Limit(4)})
    up.wait(UP)
    assert up.counts() == (4, 4)


def test_a_node_in_the_middle_of_something_is_not_replaced_and_a_controller_never(up: Bed) -> None:
    up.update(workers(5))
    starting = up.instances()[-1]
    up.client.batch_replace_cluster_nodes(ClusterName=NAME, NodeIds=up.instances()[:1])
    nodes = [up.instances("controller-group")[0], up.instances()[0], starting, "i-0123456789abcdef0"]
    failed = up.client.batch_replace_cluster_nodes(ClusterName=NAME, NodeIds=nodes)["Failed"]
    codes = ["InstanceIdInUse", "InstanceIdInUse", "InvalidInstanceStatus", "InstanceIdNotFound"]
    assert [item["ErrorCode"] for item in failed] == codes


def test_a_reboot_takes_the_node_away_for_a_while_and_runs_no_script(up: Bed) -> None:
    node = up.instances()[0]
    streams = next(iter(up.logs.streams.values()))
    lines = len(streams[f"LifecycleConfig/worker-gpu-a/{node}"])
    up.client.batch_reboot_cluster_nodes(ClusterName=NAME, NodeIds=[node])
    assert up.nodes()[0]["InstanceStatus"]["Status"] == "Pending"
    assert up.counts() == (4, 4)
    again = up.client.batch_reboot_cluster_nodes(ClusterName=NAME, NodeIds=[node])
    assert again["Failed"][0]["ErrorCode"] == "InvalidInstanceStatus"
    up.wait(15)
    assert up.nodes()[0]["InstanceStatus"]["Status"] == "Running"
    assert len(streams[f"LifecycleConfig/worker-gpu-a/{node}"]) == lines
    assert up.instances()[0] == node


def test_a_controller_can_be_rebooted(up: Bed) -> None:
    node = up.instances("controller-group")[0]
    assert up.client.batch_reboot_cluster_nodes(ClusterName=NAME, NodeIds=[node])["Successful"] == [node]


def test_nodes_without_an_instance_are_listed_only_with_logical_ids() -> None:
    bed = Bed(capacity="worker-gpu-a=1")
    bed.create_and_wait(controller(), login(), workers(3))
    plain = bed.client.list_cluster_nodes(ClusterName=NAME)["ClusterNodeSummaries"]
    assert len(plain) == 3
    assert all("NodeLogicalId" not in node for node in plain)
    assert len(bed.nodes("")) == 5


def test_nodes_are_listed_in_pages_by_name_and_time(up: Bed) -> None:
    up.update(group("another", count=2))
    up.wait(UP)
    names: list[str] = []
    token: dict[str, str] = {}
    while True:
        answer = up.client.list_cluster_nodes(ClusterName=NAME, SortBy="NAME", MaxResults=3, **token)
        names += [node["InstanceGroupName"] for node in answer["ClusterNodeSummaries"]]
        assert len(answer["ClusterNodeSummaries"]) <= 3
        if "NextToken" not in answer:
            break
        token = {"NextToken": answer["NextToken"]}
    assert names == sorted(names)
    assert len(names) == 8
    latest = up.client.list_cluster_nodes(ClusterName=NAME, SortOrder="Descending", MaxResults=2)
    assert {node["InstanceGroupName"] for node in latest["ClusterNodeSummaries"]} == {"another"}
    later = up.client.list_cluster_nodes(
        ClusterName=NAME, CreationTimeAfter=latest["ClusterNodeSummaries"][0]["LaunchTime"]
    )
    assert later["ClusterNodeSummaries"] == []


def test_a_node_is_described_by_either_id(up: Bed) -> None:
    node = up.nodes()[0]
    by_instance = up.client.describe_cluster_node(ClusterName=NAME, NodeId=node["InstanceId"])["NodeDetails"]
    by_logical = up.client.describe_cluster_node(ClusterName=NAME, NodeLogicalId=node["NodeLogicalId"])["NodeDetails"]
    assert by_instance == by_logical
    assert by_instance["PrivatePrimaryIp"].startswith("10.0.")
    assert by_instance["Placement"] == {"AvailabilityZone": "us-east-1a", "AvailabilityZoneId": "use1-az1"}
    with refusal("ResourceNotFound"):
        up.client.describe_cluster_node(ClusterName=NAME, NodeId="i-0123456789abcdef0")
    with refusal(match="One of NodeId and NodeLogicalId"):
        up.client.describe_cluster_node(ClusterName=NAME)
