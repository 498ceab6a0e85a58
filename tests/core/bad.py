"""What a wrong specification is, and what the tables of them are made from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hyperpod_constructs.bindings import Bindings, GroupBindings, OpenZfsMount
from hyperpod_constructs.options import (
    Accounting,
    AutoPatch,
    Batch,
    BatchType,
    Deployment,
    PatchingStrategy,
    PosixUser,
    ScheduledUpdate,
)
from hyperpod_constructs.rules import Surroundings
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup
from tests.core.support import (
    OPEN_ZFS,
    ROLE,
    SECRET,
    a_cluster,
    a_compute_group,
    bindings_for,
)


@dataclass(frozen=True, kw_only=True)
class Bad:
    """One wrong specification.

    Attributes:
        rule: id of the rule that must find it.
        spec: the specification.
        path: where the message must point.
        says: words that the message must hold: the value got, or what to do.
        bindings: deploy-time values, where the rule looks at them.
        around: what is known of the network, where the rule looks at it.
    """

    rule: str
    spec: ClusterSpec
    path: str
    says: str
    bindings: Bindings | None = None
    around: Surroundings = field(default_factory=Surroundings)


def groups(count: int) -> list[ComputeGroup]:
    return [a_compute_group(name=f"worker-{index}") for index in range(count)]


def user(**changes: Any) -> PosixUser:
    arguments: dict[str, Any] = {"name": "alice", "uid": 2001}
    return PosixUser(**(arguments | changes))


def update(**changes: Any) -> ScheduledUpdate:
    batch = Batch(type=BatchType.INSTANCE_COUNT, value=1)
    deployment = Deployment(**({"maximum_batch": batch} | changes))
    return ScheduledUpdate(schedule_expression="cron(0 3 ? * SUN *)", deployment=deployment)


def patch(**changes: Any) -> AutoPatch:
    return AutoPatch(strategy=PatchingStrategy.WHEN_IDLE, **changes)


def bound(**changes: Any) -> dict[str, Any]:
    spec = a_cluster()
    return {"spec": spec, "bindings": bindings_for(spec, **changes)}


def mounted(*paths: Any) -> dict[str, Any]:
    """The documented cluster with an OpenZFS file system at each path."""
    return bound(mounts=tuple(OpenZfsMount(dns_name=OPEN_ZFS.dns_name, path=path) for path in paths))


def cluster_network(*, subnets: Sequence[str] = ("subnet-1",), security_groups: Sequence[str] = ("sg-1",)) -> Bindings:
    groups = {group.name: GroupBindings(execution_role_arn=ROLE) for group in a_cluster().groups}
    return Bindings(subnet_ids=tuple(subnets), security_group_ids=tuple(security_groups), groups=groups)


def external(**changes: Any) -> ClusterSpec:
    return a_cluster(accounting=Accounting.external(**({"endpoint": "db.example.com", "secret": SECRET} | changes)))
