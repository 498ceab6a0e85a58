"""What a cluster is, as far as it is known at synth time. Standard library only.

A spec is frozen, comparable, hashable and printable, and never raises when it is made: ``SlurmCluster``, ``validate()``
and the file reader report every problem of the whole cluster at once. CDK objects on a group are opaque references:
carried along, never looked at here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from hyperpod_constructs.lifecycle_options import LifecycleScripts
from hyperpod_constructs.options import (
    Accounting,
    AutoPatch,
    Capacity,
    DeepHealthCheck,
    EbsVolume,
    LifecycleStyle,
    NetworkInterfaceType,
    NodeRecovery,
    NodeType,
    OnTimeout,
    PosixUser,
    ReadyWhen,
    ScheduledUpdate,
    TieredStorage,
    as_pairs,
    as_tuple,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Group:
    """The fields that every instance group has, whatever its node type.

    Not meant to be used itself; the three public classes differ in what their node type allows (FACTS 5.1).

    Attributes:
        name: the group's identity in the cluster: 1 to 63 letters, digits and inner hyphens. A changed name is
            another group: the old one's nodes are deleted.
        instance_type: such as ``ml.m5.xlarge``. Fixed for the life of the group (FACTS 5.3).
        instance_types: several types in priority order instead of ``instance_type``, at most 20. Experimental for
            Slurm: documented for EKS (FACTS 5.1).
        instance_count: target number of instances, 0 to 6758.
        min_instance_count: instances the cluster waits for before it is in service; the service's default is 1 for
            controller and login groups, 0 for compute groups.
        threads_per_core: 1 or 2; by default what the instance type has, because a request without it switches
            hyper-threading off (field report V-12). Fixed for the life of the group.
        ebs_volume: a secondary volume; none by default.
        volume_kms_key: a KMS key (``IKey``) for the root and secondary volumes; by default the service's key. Fixed.
        file_systems: file systems or ``Mount`` objects of this group; by default those of the cluster.
        execution_role: an ``IRole``; by default that of the cluster. Fixed for the life of the group.
        subnets: ``ISubnet`` objects for this group (``OverrideVpcConfig``); by default those of the cluster. Fixed.
        security_groups: ``ISecurityGroup`` objects for this group; by default those of the cluster. Fixed.
        availability_zone: name (``us-east-1a``) or id (``use1-az4``) of the zone this group's subnet must be in;
            by default the cluster's zone.
        image_id: ``ami-...`` of a custom image, or ``default``; may be a token. By default the service's image.
        image_release_version: pinned release ``x.y.z``; by default the latest at creation.
        lifecycle_style: who sets the nodes up; by default the style of ``LifecycleScripts``.
        scheduled_update: software updates at fixed times; none by default.
        auto_patch: automatic patching; none by default. Experimental for Slurm (FACTS 12).
        network_interface: kind of network interfaces; the service's default if not given. Experimental for Slurm.
        capacity: how instances are bought; the service's default if not given. Experimental for Slurm.
    """

    node_type: ClassVar[NodeType]

    name: str = ""
    instance_type: str = ""
    instance_types: Sequence[str] = ()
    instance_count: int | None = None
    min_instance_count: int | None = None
    threads_per_core: int | None = None
    ebs_volume: EbsVolume | None = None
    volume_kms_key: Any = None
    file_systems: Sequence[Any] | None = None
    execution_role: Any = None
    subnets: Sequence[Any] = ()
    security_groups: Sequence[Any] = ()
    availability_zone: str = ""
    image_id: str = ""
    image_release_version: str = ""
    lifecycle_style: LifecycleStyle | None = None
    scheduled_update: ScheduledUpdate | None = None
    auto_patch: AutoPatch | None = None
    network_interface: NetworkInterfaceType | None = None
    capacity: Capacity | None = None

    def __post_init__(self) -> None:
        for name in ("instance_types", "file_systems", "subnets", "security_groups"):
            object.__setattr__(self, name, as_tuple(getattr(self, name)))

    @property
    def partition_names(self) -> tuple[str, ...]:
        """The Slurm partitions of the group: one for a compute group, none otherwise (FACTS 5.1)."""
        return ()

    @property
    def all_instance_types(self) -> tuple[str, ...]:
        """The one instance type, or the several in priority order."""
        return (self.instance_type,) if self.instance_type else tuple(self.instance_types)

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True, slots=True)
class ControllerGroup(_Group):
    """The group of the Slurm controller: always one instance (FACTS 5.1).

    Attributes:
        update_software: a changed ``image_release_version`` also updates the controller. Off by default, because
            the update erases the root volume, and with it the accounting database on it (FACTS 11).

    Example:
        >>> ControllerGroup(instance_type="ml.m5.2xlarge").name
        'controller'
    """

    node_type: ClassVar[NodeType] = NodeType.CONTROLLER
    name: str = "controller"
    instance_count: int | None = 1
    update_software: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class LoginGroup(_Group):
    """The group of the login nodes, from which users submit jobs.

    Example:
        >>> LoginGroup(instance_type="ml.m5.xlarge", instance_count=2).instance_count
        2
    """

    node_type: ClassVar[NodeType] = NodeType.LOGIN
    name: str = "login"
    instance_count: int | None = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ComputeGroup(_Group):
    """A group of nodes that run jobs.

    Attributes:
        partition: the Slurm partition of the group, letters, digits and inner hyphens; the group's name by default.
            Several groups may share one. Fixed for the life of the group (FACTS 5.3).
        training_plan_arn: ARN of the SageMaker training plan that the capacity comes from; may be a token.
        deep_health_checks: checks before nodes take jobs; none by default.

    Example:
        >>> ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=16).partition_names
        ('p5',)
    """

    node_type: ClassVar[NodeType] = NodeType.COMPUTE
    partition: str = ""
    training_plan_arn: str = ""
    deep_health_checks: Sequence[DeepHealthCheck] = ()

    def __post_init__(self) -> None:
        _Group.__post_init__(self)
        object.__setattr__(self, "deep_health_checks", as_tuple(self.deep_health_checks))

    @property
    def partition_names(self) -> tuple[str, ...]:
        return (self.partition or self.name,)


Group = ControllerGroup | LoginGroup | ComputeGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSpec:
    """A whole cluster. The arguments of ``SlurmCluster`` of the same names are explained there.

    Example:
        >>> spec = ClusterSpec(
        ...     cluster_name="llm-training",
        ...     controller=ControllerGroup(instance_type="ml.m5.2xlarge"),
        ...     compute=[ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=16)],
        ... )
        >>> [group.name for group in spec.groups]
        ['controller', 'p5']
    """

    cluster_name: str
    controller: ControllerGroup
    login: LoginGroup | None = None
    compute: Sequence[ComputeGroup] = ()
    accounting: Accounting | None = None
    users: Sequence[PosixUser] = ()
    node_recovery: NodeRecovery = NodeRecovery.AUTOMATIC
    tiered_storage: TieredStorage | None = None
    tags: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    lifecycle: LifecycleScripts = field(default_factory=LifecycleScripts)
    ready_when: ReadyWhen = ReadyWhen.IN_SERVICE
    on_timeout: OnTimeout = OnTimeout.SUCCEED
    force_instance_counts: bool = False
    allow_group_deletion: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("compute", "users", "allow_group_deletion"):
            object.__setattr__(self, name, as_tuple(getattr(self, name)))
        object.__setattr__(self, "tags", as_pairs(self.tags))

    @property
    def tag_pairs(self) -> tuple[tuple[str, str], ...]:
        """The tags as pairs, in their order."""
        return tuple(self.tags.items()) if isinstance(self.tags, Mapping) else self.tags

    @property
    def groups(self) -> tuple[Group, ...]:
        """Every group: controller first, then login, then compute, the order in which the service starts them."""
        return tuple(group for _, group in self.paths_and_groups)

    @property
    def paths_and_groups(self) -> tuple[tuple[str, Group], ...]:
        """Each group with the path that messages name it by: ``controller``, ``login``, ``compute[0]``."""
        login = [("login", self.login)] if self.login is not None else []
        compute = [(f"compute[{index}]", group) for index, group in enumerate(self.compute)]
        return (("controller", self.controller), *login, *compute)

    def style_of(self, group: Group) -> LifecycleStyle:
        """The lifecycle style of a group: its own, or that of the cluster."""
        return group.lifecycle_style or self.lifecycle.style
