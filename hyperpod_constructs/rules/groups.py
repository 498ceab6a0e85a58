"""Rules of each instance group."""

from collections.abc import Iterator

from hyperpod_constructs import limits
from hyperpod_constructs.instance_types import is_known, nearest
from hyperpod_constructs.options import NodeType
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, hyphenated, out_of_range, shown
from hyperpod_constructs.specs import ComputeGroup

RULES = RuleBook()


@RULES.error("group-name", limits.GROUP_NAME.source)
def group_name(case: Case) -> Iterator[Finding]:
    """A group's name has letters, digits and inner hyphens, 1 to 63 characters."""
    for path, group in case.spec.paths_and_groups:
        if not group.name:
            yield f"{path}.name", "missing; give the group a name, its identity in the cluster"
        elif message := bad_name(group.name, limits.GROUP_NAME, instead=hyphenated(group.name)):
            yield f"{path}.name", message


@RULES.error("partition-name", limits.PARTITION.source)
def partition_name(case: Case) -> Iterator[Finding]:
    """A partition's name has letters, digits and inner hyphens, 1 to 63 characters: no dots, no underscores."""
    for path, group in case.spec.paths_and_groups:
        if isinstance(group, ComputeGroup) and group.partition:
            message = bad_name(group.partition, limits.PARTITION, instead=hyphenated(group.partition))
            if message:
                yield f"{path}.partition", message


@RULES.error("instance-type", limits.INSTANCE_TYPE.source)
def instance_type(case: Case) -> Iterator[Finding]:
    """A group has one instance type, ml.<family>.<size>, or a list of several."""
    for path, group in case.spec.paths_and_groups:
        if not group.all_instance_types:
            yield f"{path}.instance_type", "missing; give a type such as ml.m5.xlarge"
        for name in group.all_instance_types:
            if message := bad_name(name, limits.INSTANCE_TYPE, instead=nearest(f"ml.{name}")):
                yield f"{path}.instance_type", message


@RULES.warning("instance-type-known", "model ClusterInstanceType; FACTS 10")
def instance_type_known(case: Case) -> Iterator[Finding]:
    """An instance type is one that the API's model lists."""
    for path, group in case.spec.paths_and_groups:
        for name in group.all_instance_types:
            if limits.INSTANCE_TYPE.accepts(name) and not is_known(name):
                near = nearest(name)
                meant = f"; did you mean {shown(near)}?" if near else ""
                yield f"{path}.instance_type", f"got {shown(name)}, which the API's list of types does not have{meant}"


@RULES.error("instance-count", "model ClusterInstanceCount; FACTS 5.1")
def instance_count(case: Case) -> Iterator[Finding]:
    """A group has 0 to 6758 instances, the controller group exactly one."""
    for path, group in case.spec.paths_and_groups:
        where = f"{path}.instance_count"
        if group.instance_count is None:
            yield where, "missing; say how many instances the group is to have"
        elif group.node_type is NodeType.CONTROLLER and group.instance_count != 1:
            yield (
                where,
                f"got {shown(group.instance_count)}, allowed: 1 (continuous provisioning knows one controller)",
            )
        elif message := out_of_range(group.instance_count, (0, limits.INSTANCE_COUNT_MAXIMUM)):
            yield where, message


@RULES.error("minimum-within-target", "FACTS 5.1; field report V-18")
def minimum_within_target(case: Case) -> Iterator[Finding]:
    """A group's minimum instance count is 0 to its instance count."""
    for path, group in case.spec.paths_and_groups:
        minimum, target = group.min_instance_count, group.instance_count
        if minimum is not None and target is not None and not 0 <= minimum <= target:
            yield f"{path}.min_instance_count", f"got {minimum}, allowed: 0 to the group's instance_count, {target}"


@RULES.error("threads-per-core", "model ThreadsPerCore; field report V-12")
def threads_per_core(case: Case) -> Iterator[Finding]:
    """A core runs one or two threads."""
    for path, group in case.spec.paths_and_groups:
        if group.threads_per_core is not None and group.threads_per_core not in (1, 2):
            yield f"{path}.threads_per_core", f"got {group.threads_per_core}, allowed: 1 or 2"
