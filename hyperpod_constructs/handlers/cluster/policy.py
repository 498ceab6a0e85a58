"""The change policy: for every field that a request can hold, what happens when it changes. Plain data.

Closed by default: a field without a rule is refused. The names that DescribeCluster uses are in ``observed``, where
they differ from the request's. Sources are the pages and models that FACTS sections 5.1 and 5.3 cite.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any


class Change(Enum):
    """What a change of a field means."""

    IDENTITY = "names the thing; another value is another thing"
    IN_PLACE = "takes effect on what is running"
    NEW_NODES_ONLY = "accepted; running nodes keep the old value until they are replaced"
    COUNT = "belongs to whoever changed it last; see counts"
    SOFTWARE = "made by UpdateClusterSoftware"
    ADD_ONLY = "can be added and changed, never removed"
    REFUSED = "cannot change"
    EKS_ONLY = "means nothing to Slurm; never sent"


class Absence(Enum):
    """What it means when the template does not give a field."""

    REQUIRED = "always sent"
    SERVICE_DECIDES = "whatever the service or an operator chose is left alone, also when the template drops it"
    NOT_CONFIGURED = "there is no such setting, or the default; dropping it from the template takes it away"


NEW_GROUP = "give the group another name: that adds a new group and removes this one (list it in allow_group_deletion)"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The policy of one field and of all fields below it.

    Attributes:
        path: dotted, in the request's names.
        observed: dotted, in DescribeCluster's names; the same as ``path`` unless given, "" when it is not shown.
        default: the service's default; None when it has none or chooses for itself.
        moves: the service or an operator changes the live value, so that only a change in the template counts.
        when_removed: what is sent for the whole top-level member once the template does not hold it any more.
        advice: what to do instead of a refused change.
        source: where the rule comes from.
    """

    path: str
    change: Change
    absence: Absence = Absence.NOT_CONFIGURED
    observed: str | None = None
    default: Any = None
    moves: bool = False
    when_removed: Mapping[str, Any] | None = None
    advice: str = ""
    source: str = ""

    @property
    def observed_path(self) -> str:
        """Where DescribeCluster shows it."""
        return self.path if self.observed is None else self.observed


GROUP_RULES: tuple[Rule, ...] = (
    Rule(path="InstanceGroupName", change=Change.IDENTITY, absence=Absence.REQUIRED, source="FACTS 5.3: rename"),
    Rule(
        path="InstanceCount",
        change=Change.COUNT,
        absence=Absence.REQUIRED,
        observed="TargetCount",
        moves=True,
        source="FACTS 5.3",
    ),
    Rule(
        path="MinInstanceCount",
        change=Change.COUNT,
        absence=Absence.SERVICE_DECIDES,
        observed="MinCount",
        moves=True,
        source="FACTS 5.1: default 1 for controller and login, 0 for compute; set in counts",
    ),
    Rule(path="InstanceType", change=Change.REFUSED, advice=NEW_GROUP, source="FACTS 5.3 and 12, V-11"),
    Rule(
        path="InstanceRequirements.InstanceTypes",
        change=Change.REFUSED,
        observed="InstanceRequirements.DesiredInstanceTypes",
        advice=NEW_GROUP,
        source="as InstanceType; documented for EKS only (FACTS 5.4)",
    ),
    Rule(
        path="ExecutionRole", change=Change.REFUSED, absence=Absence.REQUIRED, advice=NEW_GROUP, source="FACTS 1.1, 5.3"
    ),
    Rule(
        path="ThreadsPerCore",
        change=Change.REFUSED,
        absence=Absence.REQUIRED,
        default=1,
        advice=NEW_GROUP,
        source="FACTS 5.3, V-12",
    ),
    Rule(path="LifeCycleConfig", change=Change.NEW_NODES_ONLY, source="FACTS 5.3, 5.7, L-16"),
    Rule(
        path="InstanceStorageConfigs.EbsVolumeConfig.VolumeSizeInGB",
        change=Change.NEW_NODES_ONLY,
        source="FACTS 5.3 (size: inferred)",
    ),
    Rule(
        path="InstanceStorageConfigs.EbsVolumeConfig.VolumeKmsKeyId",
        change=Change.REFUSED,
        advice=NEW_GROUP,
        source="FACTS 5.3, 10",
    ),
    Rule(
        path="InstanceStorageConfigs.EbsVolumeConfig.RootVolume",
        change=Change.IDENTITY,
        default=False,
        source="says which volume a configuration is for",
    ),
    Rule(path="InstanceStorageConfigs.FsxLustreConfig", change=Change.NEW_NODES_ONLY, source="FACTS 5.3, S-02"),
    Rule(path="InstanceStorageConfigs.FsxOpenZfsConfig", change=Change.NEW_NODES_ONLY, source="FACTS 5.3, S-02"),
    Rule(path="OnStartDeepHealthChecks", change=Change.IN_PLACE, source="model: when the group is created or updated"),
    Rule(
        path="TrainingPlanArn",
        change=Change.IN_PLACE,
        source="developer guide: update-cluster adds, changes or removes a group's training plan",
    ),
    Rule(path="SlurmConfig", change=Change.REFUSED, absence=Absence.REQUIRED, advice=NEW_GROUP, source="FACTS 5.1"),
    Rule(
        path="ImageId",
        change=Change.SOFTWARE,
        absence=Absence.SERVICE_DECIDES,
        observed="DesiredImageId",
        source="FACTS 5.4, 10: custom to custom works, default to custom does not",
    ),
    Rule(
        path="ImageReleaseVersion",
        change=Change.SOFTWARE,
        absence=Absence.SERVICE_DECIDES,
        observed="DesiredImageReleaseVersion",
        source="FACTS 5.4",
    ),
    Rule(path="ScheduledUpdateConfig", change=Change.IN_PLACE, source="FACTS 5.1, 5.4"),
    Rule(
        path="AutoPatchConfig.PatchSchedule",
        change=Change.IN_PLACE,
        observed="AutoPatchConfig.DesiredPatchSchedule",
        moves=True,
        source="FACTS 5.4: the service sets the next date after each patch",
    ),
    Rule(path="AutoPatchConfig", change=Change.IN_PLACE, source="FACTS 5.4"),
    Rule(path="OverrideVpcConfig", change=Change.REFUSED, advice=NEW_GROUP, source="FACTS 5.3, V-11"),
    Rule(path="CapacityRequirements", change=Change.REFUSED, advice=NEW_GROUP, source="no page says it can change"),
    Rule(path="NetworkInterface", change=Change.REFUSED, advice=NEW_GROUP, source="no page says it can change"),
    Rule(path="KubernetesConfig", change=Change.EKS_ONLY, source="FACTS 5.4: labels and taints of kubelet"),
)

CLUSTER_RULES: tuple[Rule, ...] = (
    Rule(
        path="ClusterName",
        change=Change.REFUSED,
        absence=Absence.REQUIRED,
        advice="the name is the cluster's identity: to make another cluster, add a second one beside it, move the "
        "work, then remove this one",
        source="FACTS 5.3, C-08",
    ),
    Rule(
        path="VpcConfig",
        change=Change.REFUSED,
        advice="subnets and security groups of the cluster are fixed: give the group its own subnets by a new group "
        "with OverrideVpcConfig, or add a second cluster under another name",
        source="FACTS 5.3, V-11",
    ),
    Rule(
        path="Orchestrator.Slurm.AccountingDatabase",
        change=Change.ADD_ONLY,
        advice="accounting cannot return to the controller's own database: keep the accounting setting",
        source="FACTS 5.1, 5.3, V-19",
    ),
    Rule(
        path="Orchestrator.Slurm.AccountingDatabase.Port",
        change=Change.IN_PLACE,
        default=3306,
        source="model",
    ),
    Rule(
        path="Orchestrator.Slurm.SlurmConfigStrategy",
        change=Change.REFUSED,
        advice="leave it out: it is an error with continuous provisioning",
        source="FACTS 5.1",
    ),
    Rule(path="Orchestrator.Slurm", change=Change.IDENTITY, absence=Absence.REQUIRED, source="FACTS 5.1"),
    Rule(path="Orchestrator.Eks", change=Change.EKS_ONLY, source="the other orchestrator"),
    Rule(
        path="NodeProvisioningMode",
        change=Change.REFUSED,
        absence=Absence.REQUIRED,
        advice="switching an existing cluster is untested; make a new cluster under another name",
        source="FACTS 5.1, 12",
    ),
    Rule(
        path="NodeRecovery",
        change=Change.IN_PLACE,
        default="Automatic",
        source="model",
    ),
    Rule(
        path="TieredStorageConfig",
        change=Change.IN_PLACE,
        when_removed=MappingProxyType({"Mode": "Disable"}),
        source="model: UpdateCluster enables or disables it",
    ),
    Rule(path="RestrictedInstanceGroups", change=Change.EKS_ONLY, source="FACTS 5.4"),
    Rule(path="RestrictedInstanceGroupsConfig", change=Change.EKS_ONLY, source="FACTS 5.4"),
    Rule(path="ClusterRole", change=Change.EKS_ONLY, source="FACTS 5.4: autoscaling of nodes by Karpenter"),
    Rule(path="AutoScaling", change=Change.EKS_ONLY, source="FACTS 5.4: Karpenter"),
)


class Policy:
    """Rules with a fast look-up: the longest path that is a prefix of the field wins."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._by_path = {tuple(rule.path.split(".")): rule for rule in rules}
        self._found: dict[tuple[str, ...], Rule] = {}

    def rule_for(self, path: tuple[str, ...]) -> Rule:
        """The rule of a field; refuses what no rule covers. Parts in brackets only say which of several."""
        rule = self._found.get(path)
        if rule is None:
            rule = self._found[path] = self._look_up(tuple(part for part in path if not part.startswith("[")))
        return rule

    def _look_up(self, parts: tuple[str, ...]) -> Rule:
        for length in range(len(parts), 0, -1):
            rule = self._by_path.get(parts[:length])
            if rule is not None:
                return rule
        return Rule(
            path=".".join(parts),
            change=Change.REFUSED,
            advice="this version of the library does not know whether the field can change; use a newer one",
        )


GROUP_POLICY = Policy(GROUP_RULES)
CLUSTER_POLICY = Policy(CLUSTER_RULES)
