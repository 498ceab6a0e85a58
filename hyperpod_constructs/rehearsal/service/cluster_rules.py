"""The documented rules for a whole request that the model does not hold. Each names its source."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .errors import limit_exceeded, validation_error
from .group_rules import ClusterTraits, Specification, group_problems
from .state import CONTROLLER, LOGIN, Cluster, Group

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .context import Context

LEGACY_FILE = "provisioning_parameters.json"
LEGACY_FILE_FOUND = (
    "The LifeCycleConfig cannot include both a SLURM Orchestrator Config and a provisioning_parameters.json file "
    "simultaneously."
)
"""Developer guide, page on migrating to API-driven configuration (FACTS 5.1)."""

_RELEASE_WITHOUT_ACCOUNTING_DATABASE = (2, 1, 0)
"""The release of 29 August 2026; an accounting database needs one after 30 August (FACTS 5.1, 6.1)."""


def refuse(problems: Iterable[str]) -> None:
    """Raise one ValidationException for all problems, if there are any."""
    found = list(dict.fromkeys(problems))
    if found:
        raise validation_error("; ".join(found))


def traits_of(request: Mapping[str, Any]) -> ClusterTraits:
    """What of a cluster's request the rules of its groups depend on."""
    return ClusterTraits(
        slurm="Slurm" in request.get("Orchestrator", {}),
        continuous=request.get("NodeProvisioningMode") == "Continuous",
        custom_vpc="VpcConfig" in request,
    )


def creation_problems(request: Mapping[str, Any]) -> Iterator[str]:
    """Every rule that a CreateCluster request breaks."""
    specifications = request.get("InstanceGroups", ())
    traits = traits_of(request)
    yield from _orchestrator(request)
    yield from eks_only_problems(request)
    for specification in specifications:
        yield from group_problems(specification, traits)
    yield from topology_problems(specifications, traits)
    yield from accounting_problems(request, specifications)
    yield from tag_problems(request.get("Tags", ()))


def _orchestrator(request: Mapping[str, Any]) -> Iterator[str]:
    """Exactly one orchestrator when the field is there (the model); no strategy in continuous mode (V-02)."""
    orchestrator = request.get("Orchestrator")
    if orchestrator is None:
        if request.get("NodeProvisioningMode") == "Continuous":
            yield "NodeProvisioningMode Continuous needs Orchestrator.Slurm on a Slurm cluster"
        return
    if len(orchestrator) != 1:
        yield "Orchestrator must have exactly one of Eks and Slurm"
    elif "Eks" in orchestrator:
        yield "The rehearsal has no clusters orchestrated by EKS"
    yield from strategy_problems(orchestrator, request.get("NodeProvisioningMode"))


def strategy_problems(orchestrator: Mapping[str, Any], mode: str | None) -> Iterator[str]:
    """Any SlurmConfigStrategy is an error with continuous provisioning (FACTS 5.1, field report V-02)."""
    if mode == "Continuous" and "SlurmConfigStrategy" in orchestrator.get("Slurm", {}):
        yield "SlurmConfigStrategy is not supported with NodeProvisioningMode Continuous"


def eks_only_problems(request: Mapping[str, Any]) -> Iterator[str]:
    for name in ("AutoScaling", "ClusterRole"):
        if name in request:
            yield f"{name} is only supported for clusters orchestrated by EKS"


def topology_problems(specifications: Sequence[Specification], traits: ClusterTraits) -> Iterator[str]:
    """Names are unique; one controller group, at most one login group (FACTS 5.1, 5.2)."""
    for name, count in Counter(group["InstanceGroupName"] for group in specifications).items():
        if count > 1:
            yield f"Instance group name {name} is used {count} times, names must be unique"
    if not traits.slurm:
        return
    types = Counter(group.get("SlurmConfig", {}).get("NodeType") for group in specifications)
    if (traits.continuous or sum(types.values()) > types[None]) and types[CONTROLLER] != 1:
        yield "Cluster must have exactly one InstanceGroup with Controller node type"
    if types[LOGIN] > 1:
        yield f"Cluster must have at most one InstanceGroup with Login node type, got {types[LOGIN]}"


def accounting_problems(request: Mapping[str, Any], specifications: Iterable[Specification]) -> Iterator[str]:
    """An accounting database needs continuous provisioning and a recent image (FACTS 5.1)."""
    if "AccountingDatabase" not in request.get("Orchestrator", {}).get("Slurm", {}):
        return
    if request.get("NodeProvisioningMode") != "Continuous":
        yield "AccountingDatabase is only supported for clusters using Continuous as the NodeProvisioningMode"
    for group in specifications:
        release = group.get("ImageReleaseVersion")
        is_controller = group.get("SlurmConfig", {}).get("NodeType") == CONTROLLER
        if is_controller and release and _parts(release) <= _RELEASE_WITHOUT_ACCOUNTING_DATABASE:
            yield f"AccountingDatabase needs an AMI released after August 30, 2026, the controller pins {release}"


def _parts(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def tag_problems(tags: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Tag keys are unique, and `aws:` is the service's own (tagging guide; field report C-15)."""
    for key, count in Counter(tag["Key"] for tag in tags).items():
        if count > 1:
            yield f"Tag key {key} is given {count} times"
        if key.lower().startswith("aws:"):
            yield f"Tag key {key}: aws: prefixed tag key names are not allowed for external use"


def change_problems(group: Group, specification: Specification) -> Iterator[str]:
    """What of a group is fixed once it exists (FACTS 5.3)."""
    before = group.specification
    fixed = ("InstanceType", "InstanceRequirements", "ExecutionRole", "OverrideVpcConfig", "SlurmConfig")
    for name in fixed:
        if before.get(name) != specification.get(name):
            yield f"{name} of instance group {group.name} cannot be changed"
    if before.get("ThreadsPerCore", 1) != specification.get("ThreadsPerCore", 1):
        yield f"ThreadsPerCore of instance group {group.name} cannot be changed"
    if _keys(before) != _keys(specification):
        yield f"VolumeKmsKeyId of instance group {group.name} cannot be changed"


def _keys(specification: Specification) -> dict[bool, str | None]:
    """The keys of the root and of the secondary volume; adding or removing a volume without a key is no change."""
    volumes = [s["EbsVolumeConfig"] for s in specification.get("InstanceStorageConfigs", ()) if "EbsVolumeConfig" in s]
    keys = {bool(volume.get("RootVolume")): volume.get("VolumeKmsKeyId") for volume in volumes}
    return {root: key for root, key in keys.items() if key}


def legacy_file_in(context: Context, specifications: Iterable[Specification]) -> bool:
    """Whether the legacy file lies under the scripts of any group (FACTS 5.1, field report V-03)."""
    uris = {group.get("LifeCycleConfig", {}).get("SourceS3Uri") for group in specifications} - {None}
    return any(key.rpartition("/")[2] == LEGACY_FILE for uri in sorted(uris) for key in context.object_lister(str(uri)))


def check_quotas(context: Context, cluster: Cluster | None, targets: Mapping[str, tuple[str, int]]) -> None:
    """The account's quotas hold for what is asked for (FACTS 10).

    Args:
        cluster: The cluster that changes, None for a new one.
        targets: All groups that the cluster will have: name to instance type and count.

    Raises:
        ServiceError: `ResourceLimitExceeded`.
    """
    others = Counter[str]()
    for other in context.clusters.values():
        if other is not cluster:
            for group in other.groups:
                others[group.instance_type] += group.target
    wanted = Counter[str]()
    for instance_type, count in targets.values():
        wanted[instance_type] += count
    for instance_type, limit in context.quotas.instances_of_type.items():
        _check(f"{instance_type} for cluster usage", limit, others[instance_type], wanted[instance_type])
    if context.quotas.instances_per_cluster is not None:
        _check("Maximum number of instances per cluster", context.quotas.instances_per_cluster, 0, wanted.total())
    if context.quotas.instances_in_total is not None:
        _check(
            "Total number of instances across clusters",
            context.quotas.instances_in_total,
            others.total(),
            wanted.total(),
        )


def _check(quota: str, limit: int, used: int, wanted: int) -> None:
    if wanted and used + wanted > limit:
        raise limit_exceeded(
            f"The account-level service limit '{quota}' is {limit} Instances, with current utilization of {used} "
            f"Instances and a request delta of {wanted} Instances. Please use AWS Service Quotas to request an "
            "increase for this quota."
        )
