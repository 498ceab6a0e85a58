"""Rules of the cluster as a whole."""

from collections.abc import Iterator

from hyperpod_constructs import limits
from hyperpod_constructs.rules.rule import (
    Case,
    Finding,
    RuleBook,
    bad_name,
    hyphenated,
    out_of_range,
    repeated,
    shown,
)

RULES = RuleBook("The cluster")


@RULES.error("cluster-name", limits.CLUSTER_NAME.source)
def cluster_name(case: Case) -> Iterator[Finding]:
    """A cluster's name has letters, digits and inner hyphens, 1 to 63 characters."""
    name = case.spec.cluster_name
    if not name:
        yield "cluster_name", f"missing, allowed: {limits.CLUSTER_NAME.words}; name the cluster"
    elif message := bad_name(name, limits.CLUSTER_NAME, instead=hyphenated(name)):
        yield "cluster_name", message


@RULES.error("group-names-unique", "FACTS 5.1")
def group_names_unique(case: Case) -> Iterator[Finding]:
    """No two groups of a cluster have the same name."""
    groups = case.spec.paths_and_groups
    for index, first in repeated([group.name for _, group in groups]):
        path, group = groups[index]
        if group.name:
            message = (
                f"got {shown(group.name)}, the name of {groups[first][0]} too, allowed: a name of its own; rename it"
            )
            yield f"{path}.name", message


@RULES.error("groups-maximum", "model ClusterInstanceGroupSpecifications")
def groups_maximum(case: Case) -> Iterator[Finding]:
    """A cluster has at most 100 instance groups."""
    count = len(case.spec.groups)
    if count > limits.GROUPS_MAXIMUM:
        yield (
            "compute",
            f"got {count} instance groups with controller and login, allowed: {limits.GROUPS_MAXIMUM}; "
            "merge groups that differ in nothing but their name",
        )


@RULES.warning("groups-documented", "FACTS 12: the Slurm guide says 20, the model 100")
def groups_documented(case: Case) -> Iterator[Finding]:
    """A cluster with more than 20 instance groups is past what the Slurm guide allows."""
    count = len(case.spec.groups)
    if limits.GROUPS_DOCUMENTED < count <= limits.GROUPS_MAXIMUM:
        yield (
            "compute",
            f"got {count} instance groups; the Slurm guide allows {limits.GROUPS_DOCUMENTED}, the API's model "
            f"{limits.GROUPS_MAXIMUM}; ask AWS support before you rely on more than {limits.GROUPS_DOCUMENTED}",
        )


@RULES.warning("no-compute-group", "PEERS 4")
def no_compute_group(case: Case) -> Iterator[Finding]:
    """A cluster without a compute group runs no job."""
    if not case.spec.compute:
        yield "compute", "the cluster has no compute group, so no job can run; add a ComputeGroup"


@RULES.error("tiered-storage-memory", "model ClusterInstanceMemoryAllocationPercentage")
def tiered_storage_memory(case: Case) -> Iterator[Finding]:
    """Tiered storage takes 0 to 100 percent of the memory."""
    storage = case.spec.tiered_storage
    if storage is None or storage.memory_percentage is None:
        return
    if message := out_of_range(storage.memory_percentage, limits.MEMORY_PERCENTAGE, "percent"):
        yield "tiered_storage.memory_percentage", message


@RULES.error("group-deletion-name", "DESIGN decision 7; FACTS 5.3")
def group_deletion_name(case: Case) -> Iterator[Finding]:
    """What allow_group_deletion lists are names that a group can have, and not the controller group's."""
    for index, name in enumerate(case.spec.allow_group_deletion):
        path = f"allow_group_deletion[{index}]"
        if message := bad_name(name, limits.GROUP_NAME, otherwise="give the name of the group that may go"):
            yield path, message
        elif name == case.spec.controller.name:
            yield path, f"got {shown(name)}, allowed: any group but the controller's, which cannot be removed; drop it"


@RULES.warning("group-deletion-unused", "DESIGN decision 7")
def group_deletion_unused(case: Case) -> Iterator[Finding]:
    """A group that may be deleted is no longer among the cluster's groups."""
    names = {group.name for group in case.spec.groups} - {case.spec.controller.name}
    for index, name in enumerate(case.spec.allow_group_deletion):
        if name in names:
            yield (
                f"allow_group_deletion[{index}]",
                f"got {shown(name)}, which is still a group of this cluster, so nothing is deleted; "
                "remove the group, or take its name off this list",
            )


@RULES.warning("experimental-for-slurm", "FACTS 5.4 and 12: documented for EKS only, or in the API's model only")
def experimental_for_slurm(case: Case) -> Iterator[Finding]:
    """Fields that no Slurm page documents may be refused by the service."""
    if case.spec.tiered_storage is not None:
        yield "tiered_storage", _EXPERIMENTAL
    for path, group in case.spec.paths_and_groups:
        given = {
            "instance_types": group.instance_types,
            "capacity": group.capacity,
            "network_interface": group.network_interface,
            "auto_patch": group.auto_patch,
        }
        for name, value in given.items():
            if value:
                yield f"{path}.{name}", _EXPERIMENTAL


_EXPERIMENTAL = "no page of the service documents this for Slurm, so it may be refused; try it on a small cluster first"
