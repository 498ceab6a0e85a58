"""Rules of subnets and Availability Zones, as far as they are known at synth time."""

from collections.abc import Iterator

from hyperpod_constructs import instance_types, limits
from hyperpod_constructs.bindings import LustreMount
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, shown
from hyperpod_constructs.specs import Group
from hyperpod_constructs.tokens import is_token

RULES = RuleBook("Network and zones")


@RULES.error("availability-zone", limits.AVAILABILITY_ZONE.source)
def availability_zone(case: Case) -> Iterator[Finding]:
    """A zone is given by its name or its id."""
    for path, group in case.spec.paths_and_groups:
        zone = group.availability_zone
        if zone and (message := bad_name(zone, limits.AVAILABILITY_ZONE, otherwise="leave it out for the cluster's")):
            yield f"{path}.availability_zone", message


@RULES.error("override-vpc-limits", "model Subnets, VpcSecurityGroupIds; FACTS 2")
def override_vpc_limits(case: Case) -> Iterator[Finding]:
    """A group, as a cluster, has at most 16 subnets and 5 security groups."""
    places = [(path, group.subnets, group.security_groups) for path, group in case.spec.paths_and_groups]
    if case.bindings is not None:
        places.append(("network", case.bindings.subnet_ids, case.bindings.security_group_ids))
    for path, subnets, security_groups in places:
        if len(subnets) > limits.SUBNETS_MAXIMUM:
            yield f"{path}.subnets", f"got {len(subnets)} subnets, allowed: {limits.SUBNETS_MAXIMUM}; drop some"
        if len(security_groups) > limits.SECURITY_GROUPS_MAXIMUM:
            yield (
                f"{path}.security_groups",
                f"got {len(security_groups)} security groups, allowed: {limits.SECURITY_GROUPS_MAXIMUM}; "
                "merge their rules",
            )


def _zone(case: Case, group: Group) -> str:
    """The zone of a group, or an empty string where it is not known."""
    own = dict(case.surroundings.group_zones).get(group.name, "") or group.availability_zone
    zone = own or ("" if group.subnets else case.surroundings.availability_zone)
    return "" if is_token(zone) else zone


def _differ(first: str, second: str) -> bool:
    """Whether two zones surely differ: a name and an id cannot be compared."""
    return bool(first and second) and ("-az" in first) == ("-az" in second) and first != second


def _distant_lustre(case: Case, *, efa: bool) -> Iterator[Finding]:
    zones = dict(case.surroundings.file_system_zones)
    for path, group in case.spec.paths_and_groups:
        bound = case.bindings.groups.get(group.name) if case.bindings else None
        for mount in bound.mounts if bound else ():
            over_efa = isinstance(mount, LustreMount) and mount.efa
            theirs, ours = zones.get(mount.path, ""), _zone(case, group)
            if over_efa == efa and not is_token(theirs) and _differ(theirs, ours):
                yield path, f"the group is in {ours}, its file system {mount.path} in {theirs}"


@RULES.error("file-system-zone-efa", "FACTS 2 and 4.1; field report S-01")
def file_system_zone_efa(case: Case) -> Iterator[Finding]:
    """A file system that is reached over EFA is in the zone of its nodes, for EFA cannot cross zones."""
    for path, where in _distant_lustre(case, efa=True):
        yield path, f"{where}, allowed: the same zone, for EFA cannot cross zones; move one, or turn efa off"


@RULES.warning("file-system-zone", "FACTS 2; field report S-01")
def file_system_zone(case: Case) -> Iterator[Finding]:
    """A file system in another zone than its nodes is slow, and every byte is billed."""
    for path, where in _distant_lustre(case, efa=False):
        yield path, f"{where}; every read is slower and billed as traffic between zones; put both into one zone"


@RULES.warning("partition-zones", "FACTS 2: EFA cannot cross zones")
def partition_zones(case: Case) -> Iterator[Finding]:
    """Groups of one partition whose jobs talk over EFA are in one zone."""
    first: dict[str, tuple[str, str]] = {}
    for index, group in enumerate(case.spec.compute):
        zone = _zone(case, group)
        if not zone or not any(instance_types.uses_efa(name) for name in group.all_instance_types):
            continue
        for partition in group.partition_names:
            path, other = first.setdefault(partition, (f"compute[{index}]", zone))
            if _differ(zone, other):
                yield (
                    f"compute[{index}].availability_zone",
                    f"got {zone}, but {path} of the same partition {shown(partition)} is in {other}; a job over both "
                    "has no EFA between them; give each zone a partition of its own",
                )


@RULES.error("subnet-addresses", "FACTS 2; field report V-17")
def subnet_addresses(case: Case) -> Iterator[Finding]:
    """The cluster's subnet has addresses for every instance of the groups in it."""
    around = case.surroundings
    if around.subnet_address_count is None:
        return
    wanted = [(group, _addresses(group)) for group in case.spec.groups if _in_cluster_subnet(case, group)]
    total = sum(count for _, count in wanted) + around.reserved_address_count
    if total > around.subnet_address_count:
        terms = [
            f"{group.name} {group.instance_count or 0} x {_per_instance(group)}" for group, count in wanted if count
        ]
        terms += [f"{around.reserved_address_count} for file systems"] if around.reserved_address_count else []
        yield (
            "network",
            f"the instances need {total} addresses ({' + '.join(terms)}), the subnet has "
            f"{around.subnet_address_count}; give the cluster a larger subnet, as a subnet cannot grow later",
        )


def _in_cluster_subnet(case: Case, group: Group) -> bool:
    return not group.subnets and not _differ(_zone(case, group), case.surroundings.availability_zone)


def _addresses(group: Group) -> int:
    return (group.instance_count or 0) * _per_instance(group)


def _per_instance(group: Group) -> int:
    """Of several types the one that takes least: more is not certain."""
    return min((instance_types.subnet_addresses(name) for name in group.all_instance_types), default=1)
