"""What goes wrong with nodes, and how it shows."""

import pytest

from tests.rehearsal.service.support import BOTH_UP, NAME, UP, Bed, controller, group, login, workers


def test_a_failing_script_of_the_controller_fails_the_cluster_with_log_group_and_stream(bed: Bed) -> None:
    bed.service.fail_lifecycle("controller-group", message="mount of /fsx failed.", exit_code=3, log=["step mount"])
    arn = bed.create()
    bed.wait(UP)
    shown, node = bed.describe(), bed.nodes("controller-group")[0]
    log_group = f"/aws/sagemaker/Clusters/{NAME}/{arn.rpartition('/')[2]}"
    stream = f"LifecycleConfig/controller-group/{node['InstanceId']}"
    assert shown["ClusterStatus"] == "Failed"
    assert shown["FailureMessage"] == (
        f"Instance {node['InstanceId']} failed to provision with the following error: "
        f"\"mount of /fsx failed. To view lifecycle script logs, visit log group '{log_group}' and log stream "
        f"'{stream}'.\""
    )
    assert node["InstanceStatus"] == {"Status": "Failure", "Message": shown["FailureMessage"]}
    assert bed.picture()["controller-group"][0] == "Failed"
    lines = bed.logs.lines(log_group, stream)
    assert lines[0].startswith(
        "[SageMaker] Lifecycle scripts were provided, with S3 uri: [s3://sagemaker-bucket/scripts/]"
    )
    assert lines[-3:] == ["step mount", "exit code 3", "[SageMaker] The lifecycle scripts failed"]


def test_a_failed_cluster_starts_nothing_more(bed: Bed) -> None:
    bed.service.fail_lifecycle("controller-group", times=1)
    bed.create_and_wait()
    bed.wait(10_000)
    assert bed.status() == "Failed"
    assert bed.nodes("worker-gpu-a")[0]["InstanceId"] == ""


def test_the_failure_of_a_controller_is_told_on_all_levels(bed: Bed) -> None:
    bed.service.fail_lifecycle("controller-group", message="boom.")
    bed.create_and_wait()
    errors = [event for event in bed.events() if event["EventLevel"] == "Error"]
    subtrees = {event["ResourceType"]: bed.metadata(event) for event in errors}
    assert "boom." in subtrees["Cluster"]["Cluster"]["FailureMessage"]
    assert "boom." in subtrees["InstanceGroup"]["InstanceGroupScaling"]["FailureMessage"]
    assert "boom." in subtrees["Instance"]["Instance"]["FailureMessage"]
    assert subtrees["Instance"]["Instance"]["LcsExecutionState"] == "Failed"


def test_one_fault_of_an_instance_gives_a_pair_of_events(bed: Bed) -> None:
    bed.service.fail_lifecycle("worker-gpu-a", times=1)
    bed.create_and_wait(controller(), login(), workers(1))
    errors = [event["Description"] for event in bed.events() if event["EventLevel"] == "Error"]
    assert len(errors) == 2
    assert "has Failed. To view lifecycle script logs, visit log group" in errors[0]
    assert errors[1] == f"Instance creation in Cluster {NAME} and InstanceGroup worker-gpu-a failed"


def test_a_worker_with_a_failing_script_is_made_again_for_ever(bed: Bed) -> None:
    bed.service.fail_lifecycle("worker-gpu-a")
    bed.create_and_wait(controller(), login(), workers(1))
    first = bed.nodes()[0]
    bed.wait(5000)
    assert (bed.status(), bed.counts()) == ("InService", (0, 1))
    assert bed.nodes()[0]["NodeLogicalId"] == first["NodeLogicalId"]
    assert len({event["InstanceId"] for event in bed.events() if "has Failed" in event["Description"]}) > 5


def test_a_worker_shows_failure_then_nothing_then_comes_up(bed: Bed) -> None:
    bed.service.fail_lifecycle("worker-gpu-a", times=1)
    bed.create(controller(), login(), workers(1))
    seen: list[tuple[str, bool]] = []
    for _ in range(200):
        bed.wait(1)
        status = bed.nodes()[0]["InstanceStatus"]["Status"]
        with_instance = bed.client.list_cluster_nodes(ClusterName=NAME, InstanceGroupNameContains="worker")
        present = bool(with_instance["ClusterNodeSummaries"])
        if not seen or seen[-1] != (status, present):
            seen.append((status, present))
    assert seen == [
        ("Pending", False),
        ("Pending", True),
        ("Failure", True),
        ("ShuttingDown", True),
        ("Pending", False),
        ("Pending", True),
        ("Running", True),
    ]


def test_a_login_node_with_a_failing_script_keeps_the_cluster_creating_until_it_comes(bed: Bed) -> None:
    bed.service.fail_lifecycle("login-group", times=1)
    bed.create_and_wait()
    assert bed.status() == "Creating"
    bed.wait(5 + 5 + 60 + UP)
    assert bed.status() == "InService"


def test_a_passing_failure_of_the_controllers_launch_is_retried(bed: Bed) -> None:
    bed.service.fail_launch("controller-group", times=2, message="The instance is unhealthy.")
    bed.create_and_wait()
    assert bed.status() == "Creating"
    bed.wait(60 + 120 + BOTH_UP)
    assert bed.status() == "InService"


def test_a_controller_that_fails_later_does_not_fail_the_cluster(up: Bed) -> None:
    up.service.fail_lifecycle("controller-group", times=1)
    up.service.fail_node(up.nodes("controller-group")[0]["InstanceId"])
    up.wait(5 + 5 + UP)
    assert (up.status(), up.counts("controller-group")) == ("InService", (0, 1))
    up.wait(5 + 5 + 60 + UP)
    assert up.counts("controller-group") == (1, 1)


def test_a_broken_node_is_replaced_under_the_same_logical_id_and_host_name(up: Bed) -> None:
    before = up.nodes()[0]
    up.service.fail_node(before["InstanceId"], "GPU fell off the bus")
    assert up.nodes()[0]["InstanceStatus"] == {"Status": "Failure", "Message": "GPU fell off the bus"}
    up.wait(5 + 5 + UP)
    after = next(node for node in up.nodes() if node["NodeLogicalId"] == before["NodeLogicalId"])
    assert after["InstanceId"] != before["InstanceId"]
    assert after["PrivateDnsHostname"] == before["PrivateDnsHostname"]
    assert after["InstanceStatus"] == {"Status": "Running"}


def test_a_broken_node_is_left_alone_without_recovery_and_degrades_its_group(bed: Bed) -> None:
    bed.create_and_wait(NodeRecovery="None")
    broken = bed.nodes()[0]["InstanceId"]
    bed.service.fail_node(broken)
    bed.wait(10_000)
    assert bed.picture()["worker-gpu-a"] == ("Degraded", 3, 4)
    bed.client.batch_replace_cluster_nodes(ClusterName=NAME, NodeIds=[broken])
    bed.wait(5 + UP)
    assert bed.picture()["worker-gpu-a"] == ("InService", 4, 4)


def test_a_node_that_does_not_run_cannot_break(bed: Bed) -> None:
    bed.create()
    with pytest.raises(ValueError, match="no running node"):
        bed.service.fail_node(bed.nodes("controller-group")[0]["NodeLogicalId"])


def test_failures_are_used_up_in_their_order_and_can_be_forgotten(bed: Bed) -> None:
    bed.service.fail_lifecycle("worker-gpu-a", times=1, message="first.")
    bed.service.fail_lifecycle("worker-gpu-a", times=1, message="second.")
    bed.service.fail_lifecycle("worker-gpu-b", message="never.")
    bed.service.clear_failures("worker-gpu-b")
    bed.create_and_wait(controller(), login(), workers(3), group("worker-gpu-b"))
    messages = [node["InstanceStatus"].get("Message", "") for node in bed.nodes("worker")]
    assert ["first." in messages[0], "second." in messages[1], messages[2:]] == [True, True, ["", ""]]


@pytest.mark.parametrize(("times", "exit_code"), [(0, 1), (-1, 1), (1, 0), (1, 256)])
def test_a_failure_that_makes_no_sense_is_refused(bed: Bed, times: int, exit_code: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        bed.service.fail_lifecycle("x", times=times, exit_code=exit_code)


def test_a_group_without_scripts_can_fail_as_well(bed: Bed) -> None:
    bed.service.fail_lifecycle("controller-group", times=1, message="slurmctld did not start.")
    bed.create_and_wait(controller(LifeCycleConfig=None))
    assert "slurmctld did not start." in bed.describe()["FailureMessage"]
    stream = next(iter(next(iter(bed.logs.streams.values())).values()))
    assert stream[0] == "[SageMaker] No lifecycle scripts were provided"
