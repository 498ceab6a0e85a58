"""Random lives of a cluster: deployments, rollbacks, operators, strangers, capacity, throttles, lost answers, crashes.

After every step: CloudFormation was answered, no rollback failed, nothing of ours is without a resource, nothing of
others was touched, no group was lost or brought back, and every count is the one that was set last.

``HYPERPOD_CHAOS=1000`` runs that many sequences; the ordinary run has a fixed few hundred, the same ones every time.
"""

import contextlib
import os
from dataclasses import dataclass, field, replace
from typing import Any

from botocore.exceptions import ClientError
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from hyperpod_constructs.handlers.cluster.properties import LOGICAL_ID_TAG, STACK_ID_TAG
from hyperpod_constructs.rehearsal.service import CallerCrash, Limit
from tests.handlers.builders import NAME, Group, a_request, compute, controller, login, props
from tests.handlers.replay import STACK_ID, Response, StackReplay, World

SEQUENCES = int(os.environ.get("HYPERPOD_CHAOS", "0"))
ORDINARY_SEQUENCES = 200
STEPS = 8

WORKERS = ("a", "b", "c")
COUNTS = st.integers(1, 6)
OPERATIONS = ("CreateCluster", "UpdateCluster", "DeleteCluster", "DescribeCluster", "ListTags", "AddTags")
DATABASE = {
    "Endpoint": "db.example.internal",
    "SecretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:slurm-db-a1b2c3",
}


@dataclass(frozen=True)
class Template:
    """What a user may write; only what the stories need."""

    workers: dict[str, int] = field(default_factory=lambda: {"a": 2})
    scripts: int = 1
    tags: dict[str, str] = field(default_factory=dict)
    recovery: str = "Automatic"
    accounting: bool = False
    worker_type: str = "ml.p5.48xlarge"
    may_delete: bool = True
    force: bool = False

    def groups(self) -> list[Group]:
        config = {"SourceS3Uri": f"s3://sagemaker-scripts/lifecycle/{self.scripts:016x}/", "OnCreate": "on_create.sh"}
        workers = [compute(name, count, InstanceType=self.worker_type) for name, count in self.workers.items()]
        return [{**group, "LifeCycleConfig": config} for group in (controller(), login(), *workers)]

    def properties(self) -> dict[str, Any]:
        slurm = {"AccountingDatabase": DATABASE} if self.accounting else {}
        request = a_request(NodeRecovery=self.recovery, Orchestrator={"Slurm": slurm})
        allowed = list(WORKERS) if self.may_delete else []
        return props(
            self.groups(), request=request, tags=self.tags, AllowGroupDeletion=allowed, ForceInstanceCounts=self.force
        )


TEMPLATES = st.builds(
    Template,
    workers=st.dictionaries(st.sampled_from(WORKERS), COUNTS, min_size=1),
    scripts=st.integers(1, 2),
    tags=st.dictionaries(st.sampled_from(["team", "cost"]), st.sampled_from(["1", "2"])),
    recovery=st.sampled_from(["Automatic", "None"]),
    accounting=st.booleans(),
    worker_type=st.sampled_from(["ml.p5.48xlarge"] * 9 + ["ml.p5e.48xlarge"]),
    may_delete=st.booleans(),
    force=st.sampled_from([False, False, True]),
)
FAULTS = st.lists(
    st.tuples(
        st.sampled_from(OPERATIONS),
        st.sampled_from(["throttling", "internal", "crash"]),
        st.integers(1, 2),
        st.sampled_from(["before", "after"]),
    ),
    max_size=2,
)


class ClusterLife(RuleBasedStateMachine):
    """One stack, its operators, and strangers who like the same name."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.stack = StackReplay(self.world)
        self.template: Template | None = None
        self.by_hand: set[str] = set()
        self.deleted_by_hand = False
        self.stranger = ""
        self.scaled_meanwhile: set[str] = set()

    # What happens

    @rule(
        template=TEMPLATES,
        faults=FAULTS,
        twice=st.booleans(),
        waiters_that_fail=st.sampled_from([0] * 5 + [1]),
        fails_elsewhere=st.sampled_from([False] * 3 + [True]),
        meanwhile=st.none() | st.tuples(st.integers(0, 4), st.sampled_from(WORKERS), COUNTS),
    )
    def deploy(
        self,
        template: Template,
        faults: list[tuple[str, str, int, str]],
        twice: bool,
        waiters_that_fail: int,
        fails_elsewhere: bool,
        meanwhile: tuple[int, str, int] | None,
    ) -> None:
        self.scaled_meanwhile.clear()
        self.stack.after_poll = lambda poll: self._operator_meanwhile(poll, meanwhile)
        before, answered = self._targets(), len(self.stack.responses)
        updates = self._successes("UpdateCluster")
        self._add(faults)
        self.stack.twice, self.stack.waiters_that_fail = twice, waiters_that_fail
        response = self.stack.deploy(template.properties(), fails_elsewhere=fails_elsewhere)
        self.world.service.faults.clear()
        self.stack.after_poll = lambda _: None
        requests = self.stack.responses[answered:]
        assert self.stack.status != "ROLLBACK_FAILED" or self.stranger, "what is not ours fails in words"
        made = self._successes("UpdateCluster") - updates - len(self.scaled_meanwhile)
        assert made <= len(requests), "one call for each intended change"
        old, was_update = self.template, self.template is not None
        if response.succeeded and not fails_elsewhere:
            self.template = template
            self._check_success(template, old, before)
        elif was_update:
            self._check_rollback(requests, before, template, old)

    @rule(group=st.sampled_from(WORKERS), count=COUNTS)
    def operator_scales(self, group: str, count: int) -> None:
        if self._is_calm() and group in self._targets():
            self.world.scale(NAME, group, count)

    @precondition(lambda self: self.template is not None)
    @rule(count=COUNTS)
    def operator_adds_a_group(self, count: int) -> None:
        if self._is_calm() and not self.by_hand and self._owns():
            self.world.client.update_cluster(ClusterName=NAME, InstanceGroups=[compute("by-hand", count)])
            self.by_hand.add("by-hand")

    @precondition(lambda self: self.template is not None)
    @rule()
    def operator_deletes_the_cluster(self) -> None:
        if self._is_calm() and self._owns():
            self.world.client.delete_cluster(ClusterName=NAME)
            self.world.settle()
            self.deleted_by_hand = True
            self.by_hand.clear()

    @rule()
    def stranger_takes_the_name(self) -> None:
        if self.world.describe(NAME) is None:
            groups = [controller(), compute("theirs", 1)]
            self.stranger = self.world.client.create_cluster(**a_request(), InstanceGroups=groups)["ClusterArn"]

    @rule()
    def stranger_leaves(self) -> None:
        if self.stranger:
            self.world.client.delete_cluster(ClusterName=self.stranger)
            self.world.settle()
            self.stranger = ""

    @rule(capacity=st.integers(0, 6))
    def capacity_changes(self, capacity: int) -> None:
        self.world.service.set_capacity({"ml.p5.48xlarge": Limit(capacity)})

    @rule(minutes=st.integers(1, 120))
    def time_passes(self, minutes: int) -> None:
        self.world.settle(minutes * 60)

    @precondition(lambda self: self.template is not None)
    @rule(template=TEMPLATES)
    def the_construct_moves(self, template: Template) -> None:
        if self.world.describe(NAME) is None:
            return
        refused, after = self.stack.rename("Moved", template.properties())
        assert not refused.succeeded
        assert all(response.succeeded for response in after)

    @precondition(lambda self: self.template is not None)
    @rule(faults=FAULTS)
    def destroy(self, faults: list[tuple[str, str, int, str]]) -> None:
        self._add(faults)
        response = self.stack.destroy()
        self.world.service.faults.clear()
        assert response.succeeded != bool(self.stranger), response.reason
        if response.succeeded:
            self.template, self.deleted_by_hand = None, False
            self.by_hand.clear()

    # What must hold

    @invariant()
    def every_request_was_answered_in_time(self) -> None:
        assert all(response.reason != "Operation timed out" for response in self.stack.responses)
        assert all(response.reason for response in self.stack.responses)

    @invariant()
    def no_rollback_failed(self) -> None:
        assert self.stack.status != "UPDATE_ROLLBACK_FAILED"

    @invariant()
    def nothing_of_ours_is_without_a_resource(self) -> None:
        cluster = self.world.describe(NAME)
        if self.template is None and cluster is not None and cluster["ClusterStatus"] != "Deleting":
            assert not self._owns()
        if self.template is not None and not self.deleted_by_hand:
            assert self._owns()

    @invariant()
    def nothing_of_others_was_touched(self) -> None:
        if self.stranger:
            theirs = self.world.client.describe_cluster(ClusterName=self.stranger)
            assert theirs["ClusterStatus"] != "Deleting"
            assert {group["InstanceGroupName"] for group in theirs["InstanceGroups"]} == {"controller", "theirs"}

    @invariant()
    def groups_made_by_hand_stay(self) -> None:
        if self.by_hand and self._owns():
            assert self.by_hand <= set(self._targets())

    def _check_success(self, template: Template, old: Template | None, before: dict[str, int]) -> None:
        """The template's groups are there and no other of ours; every count is the one that was set last."""
        targets = self._targets()
        assert set(targets) - self.by_hand == {"controller", "login", *template.workers}
        for name, count in template.workers.items():
            if name in self.scaled_meanwhile:
                continue
            unchanged = old is not None and old.workers.get(name) == count and name in before
            assert targets[name] == (before[name] if unchanged else count)

    def _check_rollback(
        self, requests: list[Response], before: dict[str, int], failed: Template, old: Template | None
    ) -> None:
        """As it was, but for what could not be undone and was told."""
        told = requests[-1].data.get("Warning", "")
        assert requests[-1].succeeded
        if "not undone" in told or not self._owns():
            return
        targets = self._targets()
        for name, count in before.items():
            if name in self.scaled_meanwhile:
                continue
            # A failed template that took an operator's count over looks, to a rollback, as if it had set it.
            taken_over = (
                failed.workers.get(name) == count and old is not None and old.workers.get(name) == targets[name]
            )
            assert targets[name] == count or taken_over, name
        assert set(targets) == set(before)

    # How it is done

    def _add(self, faults: list[tuple[str, str, int, str]]) -> None:
        for operation, error, times, when in faults:
            self.world.service.faults.add(operation, error, times=1 if error == "crash" else times, when=when)  # type: ignore[arg-type]

    def _operator_meanwhile(self, poll: int, change: tuple[int, str, int] | None) -> None:
        """An operator scales a group while CloudFormation waits; the operator's own call may meet a fault, too."""
        if change is None or poll != change[0] or not self._owns() or not self._is_calm():
            return
        _, group, count = change
        if group in self._targets():
            self.scaled_meanwhile.add(group)
            with contextlib.suppress(ClientError, CallerCrash):
                self.world.scale(NAME, group, count)

    def _targets(self) -> dict[str, int]:
        cluster = self.world.describe(NAME)
        groups = [] if cluster is None else cluster["InstanceGroups"]
        return {group["InstanceGroupName"]: group["TargetCount"] for group in groups if group["Status"] != "Deleting"}

    def _is_calm(self) -> bool:
        """Whether the service would accept an operator's change now."""
        cluster = self.world.describe(NAME)
        if cluster is None or cluster["ClusterStatus"] != "InService":
            return False
        return all(group["Status"] == "InService" for group in cluster["InstanceGroups"])

    def _owns(self) -> bool:
        try:
            cluster = self.world.describe(NAME)
            if cluster is None:
                return False
            found = self.world.client.list_tags(ResourceArn=cluster["ClusterArn"])["Tags"]
        except (ClientError, CallerCrash):
            return False
        tags = {tag["Key"]: tag["Value"] for tag in found}
        return (tags.get(STACK_ID_TAG), tags.get(LOGICAL_ID_TAG)) == (STACK_ID, self.stack.logical_id)

    def _successes(self, operation: str) -> int:
        return self.world.mutations().count(operation)


CHAOS = settings(
    max_examples=SEQUENCES or ORDINARY_SEQUENCES,
    stateful_step_count=STEPS,
    derandomize=not SEQUENCES,
    deadline=None,
    # Shrinking a failure of this machine takes minutes; the steps that it prints are few enough to read.
    phases=[Phase.generate],
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_no_sequence_of_events_loses_harms_or_wedges_anything() -> None:
    run_state_machine_as_test(ClusterLife, settings=CHAOS)


def test_templates_of_the_chaos_differ_where_they_say() -> None:
    one = Template()
    assert replace(one, scripts=2).properties() != one.properties()
    assert replace(one, workers={"a": 3}).properties() != one.properties()
