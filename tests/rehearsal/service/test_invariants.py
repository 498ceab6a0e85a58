"""What holds after any sequence of calls, failures and time."""

import contextlib
import random
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from hyperpod_constructs.rehearsal.service import Limit
from hyperpod_constructs.rehearsal.service.state import IN_USE
from tests.rehearsal.service.support import NAME, Bed, controller, group, login, workers

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 25
TYPE_LIMIT = 9


class Story:
    """Random calls against one service."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a test
        self.limit = TYPE_LIMIT
        self.bed = Bed(seed=seed, capacity=f"ml.p5.48xlarge={TYPE_LIMIT}")
        self.bed.create(controller(), login(), workers(3))

    def step(self) -> None:
        acts: list[Callable[[], object]] = [
            self.scale,
            self.scale,
            self.add_group,
            self.remove_group,
            self.break_node,
            self.replace,
            self.reboot,
            self.delete_node,
            self.add_nodes,
            self.update_software,
            self.fail_scripts,
            self.change_capacity,
        ]
        # A refusal is an answer as well; what counts is what is there afterwards.
        with contextlib.suppress(ClientError, ValueError, IndexError):
            self.random.choice(acts)()
        self.bed.wait(self.random.choice([0, 1, 7, 30, 100, 4000]))

    def some_node(self) -> str:
        return self.random.choice(
            self.bed.instances(self.random.choice(["worker-gpu-a", "worker-gpu-b", "login-group"]))
        )

    def scale(self) -> None:
        self.bed.update(workers(self.random.randrange(8)))

    def add_group(self) -> None:
        self.bed.update(group("worker-gpu-b", count=self.random.randrange(1, 5), MinInstanceCount=1))

    def remove_group(self) -> None:
        self.bed.update(InstanceGroupsToDelete=["worker-gpu-b"])

    def break_node(self) -> None:
        self.bed.service.fail_node(self.some_node())

    def replace(self) -> None:
        self.bed.client.batch_replace_cluster_nodes(ClusterName=NAME, NodeIds=[self.some_node()])

    def reboot(self) -> None:
        self.bed.client.batch_reboot_cluster_nodes(ClusterName=NAME, NodeIds=[self.some_node()])

    def delete_node(self) -> None:
        self.bed.client.batch_delete_cluster_nodes(ClusterName=NAME, NodeIds=[self.some_node()])

    def add_nodes(self) -> None:
        added = [{"InstanceGroupName": "worker-gpu-a", "IncrementTargetCountBy": self.random.randrange(1, 4)}]
        self.bed.client.batch_add_cluster_nodes(ClusterName=NAME, NodesToAdd=added)

    def update_software(self) -> None:
        groups = [{"InstanceGroupName": "worker-gpu-a", "ImageReleaseVersion": f"3.0.{self.random.randrange(3)}"}]
        self.bed.client.update_cluster_software(ClusterName=NAME, InstanceGroups=groups)

    def fail_scripts(self) -> None:
        self.bed.service.fail_lifecycle(self.random.choice(["worker-gpu-a", "login-group"]), times=2)

    def change_capacity(self) -> None:
        self.bed.service.set_capacity({"worker-gpu-a": Limit(self.random.randrange(9))})

    def check(self) -> None:
        cluster = self.bed.service.context.clusters[NAME]
        members = list(cluster.members())
        addresses = [node.address for _, node in members if node.address]
        assert len(addresses) == len(set(addresses)), "an address was given twice"
        for known in cluster.groups:
            numbers = [node.number for node in known.nodes]
            assert len(numbers) == len(set(numbers)), "a number was given twice"
            assert len(known.staying) == known.target or known.status == "Deleting"
        held = sum(node.instance_id is not None for g, node in members if g.instance_type == "ml.p5.48xlarge")
        assert held <= self.limit, "more instances than there are"
        assert all(node.instance_id for _, node in members if node.state in IN_USE)

    def calm_down(self) -> None:
        """All obstacles go: everything must come up."""
        self.limit = 100
        self.bed.service.clear_failures()
        self.bed.service.set_capacity({"worker-gpu-a": Limit(self.limit), "ml.p5.48xlarge": Limit(self.limit)})
        self.bed.wait(4 * 3600)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_given_twice_and_everything_comes_up_in_the_end(seed: int) -> None:
    story = Story(seed)
    for _ in range(STEPS):
        story.step()
        story.check()
    story.calm_down()
    story.check()
    shown = story.bed.describe()
    assert shown["ClusterStatus"] == "InService"
    for known in shown["InstanceGroups"]:
        assert (known["CurrentCount"], known["Status"]) == (known["TargetCount"], "InService"), known
    story.bed.client.delete_cluster(ClusterName=NAME)
    story.bed.wait(100)
    assert story.bed.client.list_clusters()["ClusterSummaries"] == []
    assert story.bed.service.context.addresses._used == set()
