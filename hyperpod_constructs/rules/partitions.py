"""Rules of Slurm's partitions."""

from collections.abc import Iterator

from hyperpod_constructs import limits, reserved
from hyperpod_constructs.instance_types import is_accelerated
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, hyphenated, shown
from hyperpod_constructs.specs import ComputeGroup

RULES = RuleBook("Partitions")


def _compute(case: Case) -> Iterator[tuple[str, ComputeGroup, str]]:
    """Each compute group with its path and the path of what names its partition."""
    for index, group in enumerate(case.spec.compute):
        path = f"compute[{index}]"
        yield path, group, f"{path}.partition" if group.partition else f"{path}.name"


@RULES.error("partition-name", limits.PARTITION.source)
def partition_name(case: Case) -> Iterator[Finding]:
    """A partition's name has letters, digits and inner hyphens: no dots, no underscores."""
    for _, group, where in _compute(case):
        if group.partition:
            message = bad_name(group.partition, limits.PARTITION, instead=hyphenated(group.partition))
            if message:
                yield where, message


@RULES.error("partition-reserved", "slurm.conf(5), PartitionName; tried with slurmctld")
def partition_reserved(case: Case) -> Iterator[Finding]:
    """A partition is not called by a word of slurm.conf's own."""
    for _, group, where in _compute(case):
        for partition in group.partition_names:
            if reason := reserved.RESERVED_PARTITIONS.get(partition.upper()):
                yield where, f"got {shown(partition)}, allowed: any name but {reason}; choose another partition name"


@RULES.warning("partition-shared", "FACTS 6.3; field report V-07")
def partition_shared(case: Case) -> Iterator[Finding]:
    """The partition dev exists on every cluster and holds every node."""
    for _, group, where in _compute(case):
        if reserved.SHARED_PARTITION in group.partition_names:
            yield (
                where,
                f"got {shown(reserved.SHARED_PARTITION)}, the partition that HyperPod puts every node of the cluster "
                "in, the other groups' too; choose another name for a partition of this group only",
            )


@RULES.warning("partition-long", "field report V-08")
def partition_long(case: Case) -> Iterator[Finding]:
    """A partition's name of more than 63 characters is cut or unreadable in Slurm's tables."""
    for _, group, where in _compute(case):
        length = len(group.partition)
        if limits.PARTITION_COMFORTABLE < length <= limits.PARTITION.maximum:
            yield (
                where,
                f"got {shown(group.partition)} of {length} characters; names of more than "
                f"{limits.PARTITION_COMFORTABLE} are unreadable in squeue and sinfo; shorten it",
            )


@RULES.warning("partition-case", "slurm.conf(5)")
def partition_case(case: Case) -> Iterator[Finding]:
    """Two partitions whose names differ in upper and lower case only are easily mistaken for one."""
    seen: dict[str, tuple[str, str]] = {}
    for _, group, where in _compute(case):
        for partition in group.partition_names:
            path, first = seen.setdefault(partition.lower(), (where, partition))
            if partition != first:
                yield (
                    where,
                    f"got {shown(partition)}, which differs from {shown(first)} of {path} in upper and lower case "
                    "only; write both alike, or choose another name",
                )


@RULES.warning("partition-mixed", "FACTS 6.3: topology is chosen from the instance types of a partition")
def partition_mixed(case: Case) -> Iterator[Finding]:
    """Accelerated and other instance types in one partition leave it without network topology."""
    first: dict[str, tuple[str, bool]] = {}
    told: set[str] = set()
    for path, group, _ in _compute(case):
        for name in filter(limits.INSTANCE_TYPE.accepts, group.all_instance_types):
            for partition in group.partition_names:
                where, accelerated = first.setdefault(partition, (path, is_accelerated(name)))
                if accelerated != is_accelerated(name) and partition not in told:
                    told.add(partition)
                    yield (
                        f"{path}.partition",
                        f"the partition {shown(partition)} has accelerated and other instance types ({where} and "
                        f"{path}), so Slurm knows no network topology for it; give them partitions of their own",
                    )
