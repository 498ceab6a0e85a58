"""A CreateCluster request as somebody wrote it, turned back into a specification, so that every rule sees it. Pure.

The reverse of ``api_request``; problems come back with the request's own paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.errors import Problem
from hyperpod_constructs.rules import check
from hyperpod_constructs.rules.rule import shown

from .plain import groups_of, items_of, mapping_of
from .specification import Placed, Role, bindings_of, spec_of

if TYPE_CHECKING:
    from hyperpod_constructs.bindings import Bindings
    from hyperpod_constructs.specs import ClusterSpec

RULE = "request-form"

_GROUP_FIELDS = {
    "name": "InstanceGroupName",
    "instance_type": "InstanceType",
    "instance_types": "InstanceRequirements.InstanceTypes",
    "instance_count": "InstanceCount",
    "min_instance_count": "MinInstanceCount",
    "threads_per_core": "ThreadsPerCore",
    "partition": "SlurmConfig.PartitionNames",
    "ebs_volume": "InstanceStorageConfigs",
    "volume_kms_key": "InstanceStorageConfigs",
    "file_systems": "InstanceStorageConfigs",
    "execution_role": "ExecutionRole",
    "subnets": "OverrideVpcConfig",
    "security_groups": "OverrideVpcConfig",
    "image_id": "ImageId",
    "image_release_version": "ImageReleaseVersion",
    "lifecycle_style": "LifeCycleConfig",
    "lifecycle": "LifeCycleConfig.SourceS3Uri",
    "scheduled_update": "ScheduledUpdateConfig",
    "auto_patch": "AutoPatchConfig",
    "network_interface": "NetworkInterface",
    "capacity": "CapacityRequirements",
    "training_plan_arn": "TrainingPlanArn",
    "deep_health_checks": "OnStartDeepHealthChecks",
}
_CLUSTER_FIELDS = {
    "cluster_name": "ClusterName",
    "accounting": "Orchestrator.Slurm.AccountingDatabase",
    "node_recovery": "NodeRecovery",
    "tiered_storage": "TieredStorageConfig",
    "tags": "Tags",
    "network": "VpcConfig",
    "compute": "InstanceGroups",
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A request as a specification, as far as it is one.

    Attributes:
        spec: None where no group is a controller: then the rules have nothing to stand on.
        paths: path of the specification -> path of the request, for whole groups.
        problems: what has no place in a specification.
    """

    spec: ClusterSpec | None
    bindings: Bindings
    paths: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def place(self, path: str) -> str:
        """The request's path for a path of the specification."""
        head, _, rest = path.partition(".")
        if head in self.paths:
            name = re.split(r"[.\[]", rest)[0]
            wanted = _GROUP_FIELDS.get(name, "")
            return f"{self.paths[head]}.{wanted}" if wanted else self.paths[head]
        return _CLUSTER_FIELDS.get(re.split(r"[.\[]", path)[0], path)

    def rule_problems(self) -> tuple[list[Problem], list[Problem]]:
        """Errors and warnings of every rule, with the request's paths."""
        if self.spec is None:
            return [], []
        errors, warnings = check(self.spec, self.bindings)
        return [self._placed(one) for one in errors], [self._placed(one) for one in warnings]

    def _placed(self, problem: Problem) -> Problem:
        return Problem(path=self.place(problem.path), message=problem.message, rule=problem.rule)


def roles_of_request(request: Mapping[str, Any]) -> dict[str, Role]:
    """Roles as SlurmConfig gives them, by group name."""
    found = {}
    for group in groups_of(request):
        slurm = mapping_of(group.get("SlurmConfig"))
        partitions = tuple(str(name) for name in items_of(slurm.get("PartitionNames")))
        if slurm.get("NodeType"):
            found[str(group.get("InstanceGroupName"))] = Role(node_type=str(slurm["NodeType"]), partitions=partitions)
    return found


def roles_of_parameters(parameters: Mapping[str, Any]) -> dict[str, Role]:
    """Roles as provisioning_parameters.json gives them."""
    found: dict[str, Role] = {}
    for worker in items_of(parameters.get("worker_groups")):
        if isinstance(worker, Mapping):
            partition = worker.get("partition_name")
            names = (str(partition),) if partition else ()
            found[str(worker.get("instance_group_name"))] = Role(node_type="Compute", partitions=names)
    for key, kind in (("login_group", "Login"), ("controller_group", "Controller")):
        if parameters.get(key):
            found[str(parameters[key])] = Role(node_type=kind)
    return found


def read_request(request: Mapping[str, Any], roles: Mapping[str, Role]) -> Reading:
    """The specification that a request means.

    Args:
        request: the request; values of the wrong kind are left out, since the model's check tells of them.
        roles: by group name.
    """
    problems: list[Problem] = []
    placed: dict[str, list[tuple[str, Mapping[str, Any], Role]]] = {"Controller": [], "Login": [], "Compute": []}
    for index, group in enumerate(items_of(request.get("InstanceGroups"))):
        role = roles.get(str(mapping_of(group).get("InstanceGroupName")))
        if isinstance(group, Mapping) and role is not None and role.node_type in placed:
            placed[role.node_type].append((f"InstanceGroups[{index}]", group, role))
    for kind, most in (("Controller", 1), ("Login", 1)):
        problems += [_too_many(kind, path) for path, _, _ in placed[kind][most:]]
    paths = {
        name: placed[kind][0][0] for name, kind in (("controller", "Controller"), ("login", "Login")) if placed[kind]
    }
    paths |= {f"compute[{index}]": path for index, (path, _, _) in enumerate(placed["Compute"])}
    return Reading(
        spec=spec_of(request, placed) if placed["Controller"] else None,
        bindings=bindings_of(request),
        paths=paths,
        problems=(*problems, *_kept_out(placed)),
    )


def _too_many(kind: str, path: str) -> Problem:
    allowed = "exactly one controller group" if kind == "Controller" else "at most one login group"
    message = f"a second {kind.lower()} group, allowed: {allowed}; give its groups another node type"
    return Problem(path=f"{path}.SlurmConfig.NodeType", message=message, rule=RULE)


def _kept_out(placed: Placed) -> Iterator[Problem]:
    """What a specification cannot hold, because it cannot be written with our props."""
    for kind, groups in placed.items():
        for path, group, role in groups:
            if kind != "Compute" and role.partitions:
                message = f"got {shown(role.partitions[0])} on a {kind.lower()} group, allowed: on compute groups only"
                yield Problem(path=f"{path}.SlurmConfig.PartitionNames", message=message, rule=RULE)
            if kind == "Compute" and not role.partitions:
                message = "missing; a compute group belongs to a partition"
                yield Problem(path=f"{path}.SlurmConfig.PartitionNames", message=message, rule=RULE)
            yield from _lifecycle_problems(f"{path}.LifeCycleConfig", group.get("LifeCycleConfig"))


def _lifecycle_problems(path: str, config: Any) -> Iterator[Problem]:
    if not isinstance(config, Mapping):
        return
    entries = [name for name in ("OnCreate", "OnInitComplete") if config.get(name)]
    if len(entries) != 1:
        got = " and ".join(entries) or "neither"
        message = f"got {got}, allowed: exactly one of OnCreate and OnInitComplete"
        yield Problem(path=path, message=message, rule=RULE)
    if not config.get("SourceS3Uri"):
        message = "missing; say where the scripts are, or leave LifeCycleConfig out"
        yield Problem(path=f"{path}.SourceS3Uri", message=message, rule=RULE)
