"""Rules of a cluster file's own parts, and the deploy-time values that a file knows. Standard library only."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from hyperpod_constructs import limits
from hyperpod_constructs.addresses import layout_problems
from hyperpod_constructs.bindings import (
    AccountingBindings,
    Bindings,
    FileSystemMount,
    GroupBindings,
    LustreMount,
    OpenZfsMount,
)
from hyperpod_constructs.config_options import (
    ClusterConfig,
    FileSystemConfig,
    LustreConfig,
    NetworkConfig,
    OpenZfsConfig,
    Reference,
)
from hyperpod_constructs.errors import Problem
from hyperpod_constructs.lustre_options import (
    LustreDeploymentType,
    LustreOptions,
    LustreStorageType,
    default_throughput,
    lustre_problems,
)
from hyperpod_constructs.open_zfs_options import (
    MULTI_AZ_SUBNETS,
    OpenZfsDeploymentType,
    OpenZfsOptions,
    open_zfs_problems,
    throughputs,
)
from hyperpod_constructs.options import AccountingKind, LifecycleStyle, Mount
from hyperpod_constructs.rules.rule import Finding, bad_name, repeated, shown
from hyperpod_constructs.rules.shape import repaired, repaired_record
from hyperpod_constructs.specs import Group

RULE = "cluster-file"
_DEFAULT_CIDR = "10.0.0.0/16"
_DEFAULT_CAPACITY_GIB = 1200
_DEFAULT_VERSION = "2.15"
DEFAULT_OPEN_ZFS_GIB = 256
DEFAULT_RECORD_SIZE_KIB = 128
DEFAULT_BACKUP_DAYS = 30


def unknown(what: str) -> str:
    """What stands for a value that only the deployment knows: like a CDK token, so that no rule looks at it."""
    return f"${{Token[{what}]}}"


def repaired_parts(config: ClusterConfig) -> tuple[ClusterConfig, list[Problem]]:
    """The file with every value of the wrong kind replaced, and what was wrong."""
    spec, problems = repaired(config.spec)
    network = repaired_record(config.network, "network", problems) if config.network is not None else None
    systems = config.file_systems
    if systems is not None:
        systems = tuple(repaired_record(one, f"file_systems[{index}]", problems) for index, one in enumerate(systems))
    texts: dict[str, Any] = {"execution_role": config.execution_role, "scripts_bucket": config.scripts_bucket}
    for name, value in texts.items():
        if not isinstance(value, str):
            message = f"got {shown(value)} ({type(value).__name__}), allowed: text"
            problems.append(Problem(path=name, message=message, rule=RULE))
            texts[name] = ""
    return replace(config, spec=spec, network=network, file_systems=systems, **texts), problems


def file_problems(config: ClusterConfig) -> list[Problem]:
    """Everything that is wrong with a file's own parts.

    Args:
        config: a cluster file whose values are of the right kinds.
    """
    findings = (*_network(config), *_file_systems(config), *_references(config), *_ids(config))
    return [Problem(path=path, message=message, rule=RULE) for path, message in findings]


def _network(config: ClusterConfig) -> Iterator[Finding]:
    network = config.network
    if network is None:
        return
    if network.subnet_ids and not network.vpc_id:
        yield "network.subnet_ids", "given without vpc_id; give the VPC that they belong to"
    if network.vpc_id:
        for name in ("availability_zone", "availability_zones", "cidr", "secondary_cidr", "nat_gateways", "ipv6"):
            if getattr(network, name) not in (None, False, "", ()):
                yield f"network.{name}", "given together with vpc_id, allowed: one of them; it is of a new VPC only"
    if network.availability_zone and network.availability_zones:
        yield "network.availability_zone", "given together with availability_zones, allowed: one of them; use the list"
    if not network.vpc_id:
        yield from ((f"network.{name}", message) for name, message in _new_network(network))


def _new_network(network: NetworkConfig) -> Iterator[Finding]:
    named = {"availability_zone": network.availability_zone} if network.availability_zone else {}
    zones = network.availability_zones or ()
    named |= {f"availability_zones[{index}]": zone for index, zone in enumerate(zones)}
    for name, zone in named.items():
        if message := bad_name(zone, limits.AVAILABILITY_ZONE):
            yield name, message
    if network.cidr or network.secondary_cidr:
        yield from layout_problems(
            cidr=network.cidr or _DEFAULT_CIDR,
            secondary_cidr=network.secondary_cidr or "",
            zones=len(zones) or 1,
            needed=network.address_count or 0,
        )


def _file_systems(config: ClusterConfig) -> Iterator[Finding]:
    systems = config.file_systems or ()
    for index, first in repeated([system.name for system in systems]):
        yield (
            f"file_systems[{index}].name",
            f"got {shown(systems[index].name)}, the name of file_systems[{first}] too, allowed: a name of its own; "
            "groups refer to file systems by it",
        )
    for index, system in enumerate(systems):
        yield from ((f"file_systems[{index}].{name}", message) for name, message in _file_system(system))


def _file_system(system: FileSystemConfig) -> Iterator[Finding]:
    existing = {"file_system_id": system.file_system_id, "dns_name": system.dns_name}
    if isinstance(system, LustreConfig):
        existing["mount_name"] = system.mount_name
    if any(existing.values()):
        for name, value in existing.items():
            if not value:
                yield name, f"missing; an existing file system has {', '.join(existing)}"
        for name in system.arguments():
            if name not in ("mount_path", "efa"):
                yield name, "given for an existing file system, allowed: for a new one only; drop it"
    elif isinstance(system, LustreConfig):
        yield from lustre_problems(_lustre_options(system))
    else:
        yield from open_zfs_problems(_open_zfs_options(system))


def _lustre_options(system: LustreConfig) -> LustreOptions:
    deployment = system.deployment_type or LustreDeploymentType.PERSISTENT_2
    storage = system.storage_type or LustreStorageType.SSD
    tiering = storage is LustreStorageType.INTELLIGENT_TIERING
    capacity = _DEFAULT_CAPACITY_GIB if system.capacity_gib is None and not tiering else system.capacity_gib
    throughput = system.throughput_mb_per_s_per_tib
    given = {
        **system.arguments(),
        "deployment_type": deployment,
        "storage_type": storage,
        "capacity_gib": capacity,
        "throughput_mb_per_s_per_tib": default_throughput(deployment, storage) if throughput is None else throughput,
        "version": system.version or _DEFAULT_VERSION,
    }
    return LustreOptions(**_complete(LustreOptions, given))


def _open_zfs_options(system: OpenZfsConfig) -> OpenZfsOptions:
    deployment = system.deployment_type or OpenZfsDeploymentType.SINGLE_AZ_HA_2
    given = {
        "capacity_gib": DEFAULT_OPEN_ZFS_GIB,
        "throughput_mb_per_s": throughputs(deployment)[0],
        "record_size_kib": DEFAULT_RECORD_SIZE_KIB,
        "backup_retention_days": DEFAULT_BACKUP_DAYS,
        **system.arguments(),
        "deployment_type": deployment,
        # The network decides, which is looked at when it is made.
        "subnet_count": MULTI_AZ_SUBNETS if deployment is OpenZfsDeploymentType.MULTI_AZ_1 else 1,
    }
    return OpenZfsOptions(**_complete(OpenZfsOptions, given))


def _complete(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a class; what a file cannot give, such as keys, counts as not given."""
    absent = {"int": 0, "bool": False, "str": ""}
    names = {item.name: absent.get(getattr(item.type, "__name__", "")) for item in fields(cls)}
    return {name: given.get(name, default) for name, default in names.items()}


def _references(config: ClusterConfig) -> Iterator[Finding]:
    names = [system.name for system in systems_of(config)]
    for path, group in config.spec.paths_and_groups:
        for index, item in enumerate(group.file_systems or ()):
            name = item.file_system.value if isinstance(item, Mount) else item.value
            if name not in names:
                known = ", ".join(names) or "none, as file_systems is empty"
                yield (
                    f"{path}.file_systems[{index}]",
                    f"got {shown(name)}, allowed: the name of one of file_systems: {known}",
                )


def _ids(config: ClusterConfig) -> Iterator[Finding]:
    """Ids and ARNs that are not among the bindings of a group."""
    if config.execution_role and (message := bad_name(config.execution_role, limits.ROLE_ARN)):
        yield "execution_role", message
    network = config.network or NetworkConfig()
    ids: list[tuple[str, Any, limits.Name]] = [
        ("network.security_group_id", network.security_group_id, _SECURITY_GROUP)
    ]
    ids.append(("network.vpc_id", network.vpc_id, _VPC))
    ids += [(f"network.subnet_ids[{index}]", one, _SUBNET) for index, one in enumerate(network.subnet_ids)]
    for path, group in config.spec.paths_and_groups:
        ids += [(f"{path}.subnets[{index}]", one.value, _SUBNET) for index, one in enumerate(group.subnets)]
        for index, one in enumerate(group.security_groups):
            ids.append((f"{path}.security_groups[{index}]", one.value, _SECURITY_GROUP))
    for path, value, allowed in ids:
        if value is not None and (message := bad_name(value, allowed)):
            yield path, message


def _id(prefix: str, words: str) -> limits.Name:
    """Stricter than the API's pattern, which takes any word: in a file a wrong kind of id is a slip."""
    return limits.Name(pattern=rf"{prefix}-[0-9a-f]{{8,17}}", maximum=32, words=words, source="EC2 user guide, ids")


_VPC = _id("vpc", "the id of a VPC, vpc-...")
_SUBNET = _id("subnet", "the id of a subnet, subnet-...")
_SECURITY_GROUP = _id("sg", "the id of a security group, sg-...")


def systems_of(config: ClusterConfig) -> Sequence[FileSystemConfig]:
    """The file systems of a file: those it lists, or the default one."""
    return (LustreConfig(),) if config.file_systems is None else config.file_systems


def config_bindings(config: ClusterConfig) -> Bindings:
    """The deploy-time values of a file's cluster: literals where the file has them, else words that look like tokens.

    Args:
        config: a cluster file whose references lead somewhere.
    """
    network = config.network or NetworkConfig()
    group = _sound(network.security_group_id or "", _SECURITY_GROUP, "security group id")
    accounting = config.spec.accounting
    external = accounting is not None and accounting.kind is AccountingKind.EXTERNAL
    return Bindings(
        subnet_ids=_all_sound(network.subnet_ids, _SUBNET, "subnet id"),
        security_group_ids=(group,),
        groups={group.name: _group(config, group) for group in config.spec.groups},
        accounting=AccountingBindings(endpoint=accounting.endpoint, secret_arn=accounting.secret, port=accounting.port)
        if accounting is not None and external
        else None,
    )


def _group(config: ClusterConfig, group: Group) -> GroupBindings:
    by_name = {system.name: system for system in systems_of(config)}
    chosen: list[tuple[FileSystemConfig, str | None]] = []
    if group.file_systems is None:
        chosen += [(system, None) for system in by_name.values()]
    for item in group.file_systems or ():
        name = item.file_system.value if isinstance(item, Mount) else item.value
        if name in by_name:
            chosen.append((by_name[name], item.path if isinstance(item, Mount) else None))
    images_only = config.spec.style_of(group) is LifecycleStyle.IMAGE_ONLY
    role = _sound(config.execution_role, limits.ROLE_ARN, "execution role ARN")
    overridden = bool(group.subnets or group.security_groups)
    subnets = [one.value for one in group.subnets]
    security_groups = [one.value for one in group.security_groups]
    return GroupBindings(
        execution_role_arn=group.execution_role.value if isinstance(group.execution_role, Reference) else role,
        source_s3_uri=None if images_only else f"s3://{config.scripts_bucket or unknown('bucket')}/{unknown('hash')}",
        mounts=tuple(_mount(system, path) for system, path in chosen),
        volume_kms_key_id=group.volume_kms_key.value if isinstance(group.volume_kms_key, Reference) else None,
        subnet_ids=_all_sound(subnets, _SUBNET, "subnet id") if overridden else (),
        security_group_ids=_all_sound(security_groups, _SECURITY_GROUP, "security group id") if overridden else (),
    )


def _sound(value: str, allowed: limits.Name, what: str) -> str:
    """The value, or what stands for it if it is not given, or is wrong, which is told at its own place."""
    return value if allowed.accepts(value) else unknown(what)


def _all_sound(values: Sequence[str], allowed: limits.Name, what: str) -> tuple[str, ...]:
    return tuple(_sound(value, allowed, what) for value in values) or (unknown(what),)


def _mount(system: FileSystemConfig, path: str | None) -> FileSystemMount:
    where = system.mount_path if path is None else path
    dns_name = system.dns_name or unknown("DNS name")
    if isinstance(system, OpenZfsConfig):
        return OpenZfsMount(dns_name=dns_name, path=where)
    mount_name = system.mount_name or unknown("mount name")
    return LustreMount(dns_name=dns_name, mount_name=mount_name, path=where, efa=bool(system.efa))
