"""Rules of each instance group: its name, its instance types, its counts."""

from collections.abc import Iterator

from hyperpod_constructs import instance_types, limits
from hyperpod_constructs.options import NodeType
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, hyphenated, out_of_range, repeated, shown
from hyperpod_constructs.specs import Group

RULES = RuleBook("Groups")


@RULES.error("group-name", limits.GROUP_NAME.source)
def group_name(case: Case) -> Iterator[Finding]:
    """A group's name has letters, digits and inner hyphens, 1 to 63 characters."""
    for path, group in case.spec.paths_and_groups:
        if not group.name:
            yield f"{path}.name", "missing; give the group a name, its identity in the cluster"
        elif message := bad_name(group.name, limits.GROUP_NAME, instead=hyphenated(group.name)):
            yield f"{path}.name", message


def _types(case: Case) -> Iterator[tuple[str, str]]:
    """Each instance type of each group, with its path."""
    for path, group in case.spec.paths_and_groups:
        if group.instance_type:
            yield f"{path}.instance_type", group.instance_type
        yield from ((f"{path}.instance_types[{index}]", name) for index, name in enumerate(group.instance_types))


@RULES.error("instance-type", limits.INSTANCE_TYPE.source)
def instance_type(case: Case) -> Iterator[Finding]:
    """A group has an instance type, ml.<family>.<size>."""
    for path, group in case.spec.paths_and_groups:
        if not group.all_instance_types:
            yield f"{path}.instance_type", "missing; give a type such as ml.m5.xlarge"
    for where, name in _types(case):
        if not limits.INSTANCE_TYPE.accepts(name):
            meant = instance_types.nearest(f"ml.{name.strip().lower().removeprefix('ml.')}")
            yield where, bad_name(name, limits.INSTANCE_TYPE, instead=meant) or ""


@RULES.warning("instance-type-known", "model ClusterInstanceType; FACTS 10")
def instance_type_known(case: Case) -> Iterator[Finding]:
    """An instance type is one that the API's model lists."""
    for where, name in _types(case):
        if limits.INSTANCE_TYPE.accepts(name) and not instance_types.is_known(name):
            near = instance_types.nearest(name)
            meant = f"did you mean {shown(near)}?" if near else "check the name"
            yield where, f"got {shown(name)}, which HyperPod's list of instance types does not have; {meant}"


@RULES.error("one-or-several-types", "model InstanceRequirements")
def one_or_several_types(case: Case) -> Iterator[Finding]:
    """A group has either one instance type or a list of them."""
    for path, group in case.spec.paths_and_groups:
        if group.instance_type and group.instance_types:
            yield (
                f"{path}.instance_types",
                f"got {shown(list(group.instance_types))} beside instance_type {shown(group.instance_type)}, "
                "allowed: one of the two; put every type in instance_types, the preferred one first",
            )


@RULES.error("instance-types-list", "model ClusterInstanceTypes")
def instance_types_list(case: Case) -> Iterator[Finding]:
    """A list of instance types has at most 20, each once."""
    for path, group in case.spec.paths_and_groups:
        names = group.instance_types
        if len(names) > limits.INSTANCE_TYPES_MAXIMUM:
            yield (
                f"{path}.instance_types",
                f"got {len(names)} types, allowed: {limits.INSTANCE_TYPES_MAXIMUM}; keep the ones you prefer",
            )
        for index, first in repeated(names):
            where = f"{path}.instance_types[{index}]"
            yield where, f"got {shown(names[index])}, which stands at [{first}] already, allowed: each once; drop one"


@RULES.error("instance-count", "model ClusterInstanceCount; FACTS 5.1; field report V-04")
def instance_count(case: Case) -> Iterator[Finding]:
    """A group has 0 to 6758 instances, the controller group exactly one."""
    for path, group in case.spec.paths_and_groups:
        where = f"{path}.instance_count"
        if group.instance_count is None:
            yield where, "missing; say how many instances the group is to have"
        elif group.node_type is NodeType.CONTROLLER and group.instance_count != 1:
            yield (
                where,
                f"got {shown(group.instance_count)}, allowed: 1 (continuous provisioning knows one controller); "
                "leave it out",
            )
        elif message := out_of_range(group.instance_count, (0, limits.INSTANCE_COUNT_MAXIMUM)):
            yield where, message


@RULES.error("minimum-within-target", "FACTS 5.1; field report V-18")
def minimum_within_target(case: Case) -> Iterator[Finding]:
    """A group's minimum instance count is 0 to its instance count."""
    for path, group in case.spec.paths_and_groups:
        minimum, target = group.min_instance_count, group.instance_count
        if minimum is None:
            continue
        if not 0 <= minimum <= (limits.INSTANCE_COUNT_MAXIMUM if target is None else target):
            yield (
                f"{path}.min_instance_count",
                f"got {shown(minimum)}, allowed: 0 to the group's instance_count, {shown(target)}; "
                "lower the minimum or raise the count",
            )


@RULES.error("threads-per-core", "model ClusterThreadsPerCore; field report V-12")
def threads_per_core(case: Case) -> Iterator[Finding]:
    """A core runs one or two threads."""
    for path, group in case.spec.paths_and_groups:
        if group.threads_per_core is not None and group.threads_per_core not in (1, 2):
            yield (
                f"{path}.threads_per_core",
                f"got {shown(group.threads_per_core)}, allowed: 1 or 2; leave it out for what the type has",
            )


@RULES.warning("threads-of-the-type", "model ThreadsPerCore: types without multithreading take 1")
def threads_of_the_type(case: Case) -> Iterator[Finding]:
    """Two threads per core are asked only of types that have them."""
    for path, group in case.spec.paths_and_groups:
        if group.threads_per_core == 2 and (single := _single_threaded(group)):
            yield (
                f"{path}.threads_per_core",
                f"got 2, but {shown(single)} has one thread per core; leave threads_per_core out",
            )


def _single_threaded(group: Group) -> str:
    return next((name for name in group.all_instance_types if instance_types.threads_per_core(name) == 1), "")
