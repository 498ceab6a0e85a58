"""Node scripts that fail on a real controller: the deployment fails in words, and nothing stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.session import DeploymentFailedError, Rehearsal

from .nodes_support import SlurmCluster, Step

pytestmark = [pytest.mark.rehearsal, pytest.mark.nodes, pytest.mark.xdist_group("rehearsal")]

BROKEN = Step(
    name="check-licence",
    text='echo "asking licence.example.com"\necho "no answer from the licence server" >&2\nexit 7',
    node_types=("Controller",),
)
EDITS = Step(
    name="tune-scheduler",
    text="sed -i 's/^SchedulerParameters=.*/SchedulerParameters=bf_interval=1/' /opt/slurm/etc/slurm.conf",
    node_types=("Controller",),
)


def failure_of(cluster: SlurmCluster) -> DeploymentFailedError:
    """Why its deployment failed. The stacks stay until the end of this module: the next one needs the same network."""
    with pytest.raises(DeploymentFailedError) as caught:
        cluster.deploy(1)
    assert cluster.rehearsal.clusters() == [], "the Delete that AWS sends after a failed Create was not sent"
    return caught.value


@pytest.fixture(scope="module", autouse=True)
def end(machine: None, rehearsal: Rehearsal) -> Iterator[None]:
    yield
    rehearsal.destroy()


@pytest.fixture(scope="module")
def reason(rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The reason of the stack event of a cluster whose controller has a broken step."""
    cluster = SlurmCluster(rehearsal, tmp_path_factory.mktemp("broken"), "broken-step", "ON_CREATE", steps=(BROKEN,))
    event = failure_of(cluster).event
    assert event is not None
    assert event.status == "CREATE_FAILED"
    assert event.resource_type == "Custom::HyperPodCluster"
    return event.reason  # type: ignore[return-value]


def test_the_stack_event_begins_with_the_services_reason(reason: str) -> None:
    assert "Lifecycle scripts did not run successfully." in reason.splitlines()[0]


def test_the_stack_event_names_the_step(reason: str) -> None:
    assert "user:check-licence" in reason


def test_the_stack_event_names_the_nodes_log_stream(reason: str) -> None:
    assert "log group /aws/sagemaker/Clusters/broken-step/" in reason
    assert "stream LifecycleConfig/head/i-" in reason


def test_the_stack_event_holds_the_last_lines_that_the_script_printed(reason: str) -> None:
    assert "no answer from the licence server" in reason


def test_no_node_of_the_failed_cluster_stays(reason: str, rehearsal: Rehearsal) -> None:
    assert rehearsal.bed is not None
    assert rehearsal.bed.client.nodes() == []


def test_a_step_that_edits_what_the_platform_owns_fails_the_node_in_words(rehearsal: Rehearsal, tmp_path: Path) -> None:
    """In the other style, so that both are seen to fail."""
    error = failure_of(SlurmCluster(rehearsal, tmp_path, "edits-owned-keys", "ON_INIT_COMPLETE", steps=(EDITS,)))
    assert "a platform-owned key was edited: SchedulerParameters" in str(error)
