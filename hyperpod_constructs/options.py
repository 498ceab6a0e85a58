"""Value objects and closed sets that a specification is made of. Standard library only.

They hold what the user wrote and nothing else: all checking is in :mod:`hyperpod_constructs.rules`, which reports
every problem at once, so none of these raises when it is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self


class NodeType(StrEnum):
    """What a node is to Slurm; the API's ``SlurmConfig.NodeType`` (FACTS 5.1)."""

    CONTROLLER = "Controller"
    LOGIN = "Login"
    COMPUTE = "Compute"


class NodeRecovery(StrEnum):
    """What the service does with a node whose hardware fails (FACTS 6.4)."""

    AUTOMATIC = "Automatic"
    """Faulty nodes are replaced or rebooted. The default, here and in the service."""
    NONE = "None"
    """Faulty nodes are only labelled."""


class LifecycleStyle(StrEnum):
    """Who sets a node up (FACTS 5.6)."""

    ON_CREATE = "OnCreate"
    """Our scripts set the node up and start Slurm; the platform's own set-up does not run. The default."""
    ON_INIT_COMPLETE = "OnInitComplete"
    """The image sets the node up and starts Slurm; our scripts extend it. Needs an image of 2026."""
    IMAGE_ONLY = "ImageOnly"
    """The image sets the node up; no script is shipped. Needs an image of 2026."""


class ReadyWhen(StrEnum):
    """When ``cdk deploy`` is done."""

    IN_SERVICE = "IN_SERVICE"
    """The controller and login groups are in service with all their instances. The default."""
    MINIMUM = "MINIMUM"
    """Every group has its minimum instance count."""
    ALL = "ALL"
    """Every requested instance is there."""


class OnTimeout(StrEnum):
    """What happens near CloudFormation's hour, once the controller is up but ``ReadyWhen`` is not met."""

    SUCCEED = "SUCCEED"
    """The deployment succeeds with a warning in the outputs: a failure would delete a working cluster. The default."""
    FAIL = "FAIL"
    """The deployment fails and CloudFormation rolls back."""


class DeepHealthCheck(StrEnum):
    """Checks on a compute group's nodes before they take jobs (FACTS 6.4)."""

    INSTANCE_STRESS = "InstanceStress"
    INSTANCE_CONNECTIVITY = "InstanceConnectivity"
    MULTI_NODE_TRAINING_VALIDATION = "MultiNodeTrainingValidation"
    """Experimental for Slurm: in the API's model, on no Slurm page (FACTS 6.4)."""


class Capacity(StrEnum):
    """How instances are bought. Experimental for Slurm: documented in EKS chapters only (FACTS 5.4)."""

    ON_DEMAND = "OnDemand"
    SPOT = "Spot"


class NetworkInterfaceType(StrEnum):
    """Network interfaces of a group's instances. Experimental for Slurm: support is not stated (FACTS 2)."""

    EFA = "efa"
    EFA_ONLY = "efa-only"
    """No ENA device on the secondary interfaces: fewer subnet addresses."""


class BatchType(StrEnum):
    """Unit of :class:`Batch`."""

    INSTANCE_COUNT = "INSTANCE_COUNT"
    CAPACITY_PERCENTAGE = "CAPACITY_PERCENTAGE"


class PatchingStrategy(StrEnum):
    """When a node may be patched. ``DrainFirst`` of the API is EKS-only and not offered (FACTS 5.4)."""

    WHEN_IDLE = "WhenIdle"
    WHEN_ALL_IDLE = "WhenAllIdle"


@dataclass(frozen=True, kw_only=True, slots=True)
class EbsVolume:
    """A secondary EBS volume at /opt/sagemaker on each node of a group.

    Attributes:
        size_gib: 1 to 16384 GiB (FACTS 10). A changed size reaches new nodes only (FACTS 5.3).
    """

    size_gib: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """How many instances at once.

    Attributes:
        type: a count, or a percentage of the group.
        value: instances, or 1 to 100 percent.
    """

    type: BatchType
    value: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    """How a scheduled update goes over a group. Experimental for Slurm: documented for EKS (FACTS 5.4).

    Attributes:
        maximum_batch: instances updated at once; required.
        rollback_maximum_batch: instances rolled back at once; the service's default if not given.
        wait_interval_seconds: pause between batches, 0 to 3600; the service's default if not given.
        rollback_alarm_names: 1 to 10 CloudWatch alarms that stop and roll back the update; none if empty.
    """

    maximum_batch: Batch
    rollback_maximum_batch: Batch | None = None
    wait_interval_seconds: int | None = None
    rollback_alarm_names: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rollback_alarm_names", as_tuple(self.rollback_alarm_names))


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduledUpdate:
    """Software updates at fixed times.

    Attributes:
        schedule_expression: ``cron(...)`` with six fields (FACTS 5.1).
        deployment: the service's default if not given.
    """

    schedule_expression: str
    deployment: Deployment | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AutoPatch:
    """Automatic patching. Experimental for Slurm: one page says EKS only, the newer API model does not (FACTS 12).

    Attributes:
        strategy: which nodes may be patched, and when.
        next_patch_date: ``YYYY-MM-DD`` or an ISO 8601 time; the service's default is 21 days ahead, at most 60.
        idle_wait_window_seconds: 3600 to 2160000; the service's default is 86400.
        deployment: the service's default if not given.
    """

    strategy: PatchingStrategy
    next_patch_date: str = ""
    idle_wait_window_seconds: int | None = None
    deployment: Deployment | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TieredStorage:
    """Checkpoints in the nodes' memory. Experimental for Slurm: documented in EKS chapters only (FACTS 5.4).

    Attributes:
        memory_percentage: part of the instance's memory, 0 to 100; the service's default if not given.
    """

    memory_percentage: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A file system at a path of its own on one group; a file system given without it uses its own default path.

    Attributes:
        file_system: a ``LustreFileSystem`` or ``OpenZfsFileSystem``; an opaque reference to the core.
        path: absolute path on the node.
    """

    file_system: Any
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PosixUser:
    """A Linux user with the same ids on every node, home on the shared file system.

    Attributes:
        name: login name: lower case letters, digits, ``-`` and ``_``, 1 to 32 characters.
        uid: 2000 to 60000, unique; fixed because file systems keep numeric owners (field report L-20).
        gid: primary group id; the uid if not given.
        groups: further groups by name.
        sudo: may become root without a password.
        ssh_public_keys: lines for ``authorized_keys``.
        account: Slurm account; ``default`` if not given.
    """

    name: str
    uid: int
    gid: int | None = None
    groups: Sequence[str] = ()
    sudo: bool = False
    ssh_public_keys: Sequence[str] = ()
    account: str = "default"

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_tuple(self.groups))
        object.__setattr__(self, "ssh_public_keys", as_tuple(self.ssh_public_keys))


class AccountingKind(StrEnum):
    """Where Slurm's accounting database lives."""

    ON_CONTROLLER = "OnController"
    EXTERNAL = "External"
    NONE = "None"


@dataclass(frozen=True, kw_only=True, slots=True)
class Accounting:
    """Slurm accounting: made with :meth:`on_controller`, :meth:`external` or :meth:`none`.

    Example:
        >>> Accounting.on_controller().kind.value
        'OnController'
    """

    kind: AccountingKind
    endpoint: Any = None
    secret: Any = None
    port: Any = None
    database_name: str = ""

    @classmethod
    def on_controller(cls) -> Self:
        """MariaDB on the controller's root volume. The default. A software update erases it (FACTS 11)."""
        return cls(kind=AccountingKind.ON_CONTROLLER)

    @classmethod
    def external(cls, *, endpoint: Any, secret: Any, port: Any = None, database_name: str = "") -> Self:
        """A MySQL-compatible database of yours, through ``Orchestrator.Slurm.AccountingDatabase`` (FACTS 5.1).

        Args:
            endpoint: host name without a port; may be a token.
            secret: an ``ISecret``, or the ARN of one, with the database's user and password; opaque.
            port: 1 to 65535; the service's default is 3306. May be a token.
            database_name: letters, digits, ``$`` and ``_``, at most 64; the service's default is
                ``slurm_acct_db_<cluster id>``.
        """
        return cls(
            kind=AccountingKind.EXTERNAL, endpoint=endpoint, secret=secret, port=port, database_name=database_name
        )

    @classmethod
    def none(cls) -> Self:
        """No accounting database: ``sacct`` has nothing to show."""
        return cls(kind=AccountingKind.NONE)


def as_tuple(value: Any) -> Any:
    """Make a list a tuple, so that specs can be compared and hashed; anything else is left for the rules to report.

    A set is left too: its order changes from run to run, and with it the template.
    """
    return tuple(value) if isinstance(value, (list, tuple)) else value


def as_pairs(value: Any) -> Any:
    """Make a mapping a tuple of pairs, in its order, for the same reason; ``None`` is no pairs."""
    if value is None:
        return ()
    return tuple(value.items()) if isinstance(value, Mapping) else as_tuple(value)
