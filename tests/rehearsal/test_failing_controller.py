"""A controller whose script fails: the deployment fails in words, and leaves nothing."""

import copy
import json
import sys

import pytest

from hyperpod_constructs.rehearsal.runner import divided
from hyperpod_constructs.rehearsal.session import DeploymentFailedError, Rehearsal

pytestmark = [pytest.mark.rehearsal, pytest.mark.xdist_group("rehearsal")]

WORDS = "Lifecycle scripts did not run successfully."
CLUSTER = "broken-controller"


@pytest.fixture(scope="module")
def failure(rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> tuple[DeploymentFailedError, list[str]]:
    """The failed deployment and the names of the calls that it made."""
    sys.path.insert(0, str(rehearsal.folder))
    from app import DOCUMENTED_CLUSTER

    sys.path.pop(0)
    config = copy.deepcopy(DOCUMENTED_CLUSTER)
    config["cluster_name"] = CLUSTER
    config["controller"]["name"] = "broken"
    file = tmp_path_factory.mktemp("failing") / "cluster.json"
    file.write_text(json.dumps(config))
    rehearsal.service.fail_lifecycle(
        "broken", WORDS, log=["step mount_file_systems: required, failed: no such file system"]
    )
    seen = len(rehearsal.calls())
    with pytest.raises(DeploymentFailedError) as caught:
        rehearsal.deploy(context={"config": str(file)})
    return caught.value, [call["operation"] for call in rehearsal.calls()[seen:] if call["mutating"]]


def test_the_stack_event_begins_with_the_services_reason(failure: tuple[DeploymentFailedError, list[str]]) -> None:
    event = failure[0].event
    assert event is not None
    assert event.resource_type == "Custom::HyperPodCluster"
    assert event.status == "CREATE_FAILED"
    # CloudFormation itself puts its own words before the message.
    first_line = event.reason.splitlines()[0]
    assert first_line.startswith("Received response status [FAILED] from custom resource. Message returned: Error: ")
    assert WORDS.rstrip(".") in first_line


def test_the_stack_event_names_the_group_and_where_its_log_is(failure: tuple[DeploymentFailedError, list[str]]) -> None:
    assert failure[0].event is not None
    reason = failure[0].event.reason
    assert "broken" in reason
    assert f"/aws/sagemaker/Clusters/{CLUSTER}/" in reason


def test_the_delete_that_aws_sends_after_a_failed_create_is_sent(
    failure: tuple[DeploymentFailedError, list[str]],
) -> None:
    assert failure[1] == ["CreateCluster", "DeleteCluster"]


def test_no_cluster_stays_and_what_other_stacks_hold_goes_with_them(
    failure: tuple[DeploymentFailedError, list[str]], rehearsal: Rehearsal
) -> None:
    assert rehearsal.clusters() == []
    rehearsal.destroy()
    left, _kept = divided(rehearsal.leftovers())
    assert left == []


def test_the_message_is_whole_and_without_the_frameworks_trace(
    failure: tuple[DeploymentFailedError, list[str]],
) -> None:
    text = str(failure[0])
    assert WORDS.rstrip(".") in text
    assert "framework.js" not in text
    assert "Traceback" not in text
    assert text.startswith("cdk deploy failed at ")
