"""What of a cluster is seen, and who hears of it. Standard library only: values, checked by ``observability_rules``.

They are given before the cluster exists, so they are options and not constructs: ``SlurmCluster(observability=...)``
makes a :class:`~hyperpod_constructs.cluster_observability.ClusterObservability` of them below itself. That construct
can also be made by hand, for a cluster of another stack.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from hyperpod_constructs.event_patterns import EventKind, EventLevel
from hyperpod_constructs.options import as_pairs, as_tuple


class MetricsSource(StrEnum):
    """Who collects metrics on the nodes."""

    EXTENSION = "Extension"
    """The platform's own ``sagemaker-observability`` cluster extension, on every present and future node, whatever
    the lifecycle style (FACTS 5.4). The default."""
    NODE_AGENTS = "NodeAgents"
    """Agents that the node scripts keep running (``LifecycleScripts.agents``), for images that the extension does not
    support. The scripts configure them, and write Slurm's metrics where no exporter has them."""
    NONE = "None"
    """Nobody. The service's CloudWatch metrics of Slurm (FACTS 8) are there all the same."""


class PrometheusKind(StrEnum):
    """Where metrics are kept."""

    NEW = "New"
    EXISTING = "Existing"
    NONE = "None"


@dataclass(frozen=True, kw_only=True, slots=True)
class PrometheusWorkspace:
    """Where metrics are kept: made with :meth:`new`, :meth:`existing` or :meth:`none`.

    Example:
        >>> PrometheusWorkspace.new().kind.value
        'New'
    """

    kind: PrometheusKind
    workspace_arn: str = ""
    remote_write_url: str = ""
    alias: str = ""
    keep: bool = True

    @classmethod
    def new(cls, *, alias: str = "", keep: bool = True) -> Self:
        """A new workspace of Amazon Managed Service for Prometheus. The default.

        Args:
            alias: shown in the console; the cluster's name if not given.
            keep: whether the workspace, and so the history, outlives the stack; it does by default.
        """
        return cls(kind=PrometheusKind.NEW, alias=alias, keep=keep)

    @classmethod
    def existing(cls, *, workspace_arn: str = "", remote_write_url: str = "") -> Self:
        """Your own.

        Args:
            workspace_arn: of a workspace of Amazon Managed Service for Prometheus in the cluster's region; may be a
                token. Nodes are allowed to write to it.
            remote_write_url: of any other Prometheus: https, ending in ``api/v1/remote_write``. Reaching it is your
                matter. One of the two, not both.
        """
        return cls(kind=PrometheusKind.EXISTING, workspace_arn=workspace_arn, remote_write_url=remote_write_url)

    @classmethod
    def none(cls) -> Self:
        """No Prometheus: the extension sends its metrics to CloudWatch (FACTS 5.4)."""
        return cls(kind=PrometheusKind.NONE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarms:
    """CloudWatch alarms. ``None`` for one of them: it is not made.

    Attributes:
        failed_node_count: this many failed nodes for ten minutes; 1 by default.
        file_system_free_percent: less free space than this on any file system of the cluster; 10 by default.
        controller_silent_minutes: no word of the controller about its nodes for so long, a multiple of 5; 15 by
            default.
        lifecycle_failure_count: this many lifecycle scripts that failed within five minutes; 1 by default. Needs
            ``notifications``, which count the events.
        slurm_database: the accounting daemon or its database is unhealthy; on by default. Needs ``notifications``.
        idle_gpu_percent: this part of the cluster's GPUs is idle for ``idle_gpu_minutes``; not made by default.
        idle_gpu_minutes: a multiple of 5; 60 by default.
        actions: further ``IAlarmAction`` objects; the topic of the notifications is always one.
    """

    failed_node_count: int | None = 1
    file_system_free_percent: float | None = 10
    controller_silent_minutes: int | None = 15
    lifecycle_failure_count: int | None = 1
    slurm_database: bool = True
    idle_gpu_percent: float | None = None
    idle_gpu_minutes: int = 60
    actions: Sequence[Any] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", as_tuple(self.actions))


@dataclass(frozen=True, kw_only=True, slots=True)
class Notifications:
    """Who is told of what happens to the cluster, in readable text with the real failure message.

    Attributes:
        emails: addresses; each gets a mail to confirm its subscription.
        topic: an ``ITopic`` of yours, for example one that a chat listens to; a new, encrypted one by default.
        level: errors only by default. ``WARN`` adds the noise of every scaling (field report C-06).
        kinds: of events; all three by default.
        quiet_minutes: the same reason in the same group is told once in this time; 60 by default.
    """

    emails: Sequence[str] = ()
    topic: Any = None
    level: EventLevel = EventLevel.ERROR
    kinds: Sequence[EventKind] = tuple(EventKind)
    quiet_minutes: int = 60

    def __post_init__(self) -> None:
        for name in ("emails", "kinds"):
            object.__setattr__(self, name, as_tuple(getattr(self, name)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Observability:
    """What of a cluster is seen. Without it nothing is made.

    Attributes:
        metrics: who collects; the platform's extension by default.
        workspace: where metrics are kept; a new workspace by default.
        extension_settings: changes to the extension's configuration, in its own words, such as
            ``{"metricsProvider": {"ncclMetrics": {"level": "ENABLED"}}}``. Its destination comes from ``workspace``.
        extension_version: ``x.y.z``; the latest at creation by default. Cannot go back (FACTS 5.4).
        scrape_interval_seconds: of ``NODE_AGENTS``, 5 to 300; 30 by default.
        hourly_prices_usd: what an instance of a type costs you, for cost panels and estimates; none by default.
        grafana_role: an ``IRole`` of your Grafana workspace; it may then read the Prometheus workspace. No Grafana is
            made.
        dashboard: whether a CloudWatch dashboard is made; it is by default.
        alarms: with defaults by default; ``None`` for none.
        notifications: with defaults by default; ``None`` for none.
        log_retention_days: of the cluster's own log group, as CloudWatch allows; 30 by default. ``None`` leaves it as
            the service makes it: never expiring.

    Example:
        >>> Observability(notifications=Notifications(emails=["ops@example.com"])).metrics.value
        'Extension'
    """

    metrics: MetricsSource = MetricsSource.EXTENSION
    workspace: PrometheusWorkspace = field(default_factory=PrometheusWorkspace.new)
    extension_settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    extension_version: str = ""
    scrape_interval_seconds: int = 30
    hourly_prices_usd: Mapping[str, float] | Sequence[tuple[str, float]] = ()
    grafana_role: Any = None
    dashboard: bool = True
    alarms: Alarms | None = field(default_factory=Alarms)
    notifications: Notifications | None = field(default_factory=Notifications)
    log_retention_days: int | None = 30

    def __post_init__(self) -> None:
        object.__setattr__(self, "hourly_prices_usd", as_pairs(self.hourly_prices_usd))

    @property
    def prices(self) -> dict[str, float]:
        """Prices by instance type."""
        return dict(self.hourly_prices_usd)


@dataclass(frozen=True, kw_only=True, slots=True)
class CostGuard:
    """Watches for groups whose nodes fail their lifecycle script again and again.

    In continuous provisioning the service tries for ever and bills every try from the start of the script, while the
    stack is green (FACTS 11, field report L-02). The guard raises an alarm and sends a message with the reason, an
    estimate of what it costs an hour, and the exact command that stops it. It acts on nothing by itself.

    Attributes:
        failures: of one group within the window; 3 by default.
        window_minutes: 5 to 1440; 60 by default. A group that is quiet for a whole window has recovered.
        remind_minutes: between two messages while it goes on; 240 by default, at least ``window_minutes``.
        hourly_prices_usd: by instance type; the AWS Price List is asked for others.
        emails: as in :class:`Notifications`.
        topic: as in :class:`Notifications`; by default that of the cluster's notifications, else a new one.
        alarm: whether a CloudWatch alarm is on for as long as it goes on; it is by default.

    Example:
        >>> CostGuard(failures=5).window_minutes
        60
    """

    failures: int = 3
    window_minutes: int = 60
    remind_minutes: int = 240
    hourly_prices_usd: Mapping[str, float] | Sequence[tuple[str, float]] = ()
    emails: Sequence[str] = ()
    topic: Any = None
    alarm: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "emails", as_tuple(self.emails))
        object.__setattr__(self, "hourly_prices_usd", as_pairs(self.hourly_prices_usd))

    @property
    def prices(self) -> dict[str, float]:
        """Prices by instance type."""
        return dict(self.hourly_prices_usd)
