"""What a failing group costs an hour, and the command that ends it.

Prices are not in the HyperPod API. They come from the user, else from the AWS Price List, else there are none and the
estimate speaks of instance hours: a number that is made up would be worse than none.
"""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# The fields of UpdateCluster's group specification that DescribeCluster shows under the same name. UpdateCluster wants
# the whole specification of the group, and what is left out falls back to the service's default (FACTS 5.3).
SENT_BACK = (
    "InstanceGroupName",
    "InstanceType",
    "LifeCycleConfig",
    "ExecutionRole",
    "ThreadsPerCore",
    "InstanceStorageConfigs",
    "OnStartDeepHealthChecks",
    "TrainingPlanArn",
    "OverrideVpcConfig",
    "ScheduledUpdateConfig",
    "SlurmConfig",
    "CapacityRequirements",
    "NetworkInterface",
)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What the group costs an hour at most.

    Attributes:
        instances: that the service tries to keep running.
        instance_type: of the group.
        usd_per_hour: for all of them; None when no price is known.
        stop_command: sets the group's count to what now runs.
    """

    instances: int
    instance_type: str
    usd_per_hour: float | None
    stop_command: str

    @property
    def words(self) -> str:
        """For a message."""
        what = f"{self.instances} x {self.instance_type or 'instances of unknown type'}"
        if self.usd_per_hour is None:
            return f"up to {self.instances} instance hours each hour ({what}; no price is known)"
        return f"up to about {self.usd_per_hour:,.2f} USD an hour ({what}, on demand)"


def estimate(cluster_name: str, group: Mapping[str, Any], price: float | None, region: str) -> Estimate:
    """Of one group as DescribeCluster shows it.

    The instances that run well (``CurrentCount``) are no loss: what is lost is billed for those between the current
    and the target count, at most all of them all the time.

    Args:
        cluster_name: of the cluster.
        group: a member of ``InstanceGroups``.
        price: USD of one instance for an hour; None when unknown.
        region: for the command; may be "".
    """
    current, target = int(group.get("CurrentCount") or 0), int(group.get("TargetCount") or 0)
    failing = max(target - current, 1)
    return Estimate(
        instances=failing,
        instance_type=str(group.get("InstanceType") or ""),
        usd_per_hour=None if price is None else price * failing,
        stop_command=stop_command(cluster_name, group, current, region),
    )


def stop_command(cluster_name: str, group: Mapping[str, Any], count: int, region: str) -> str:
    """The AWS CLI command that sets the target of a group, every other setting as it is.

    Args:
        cluster_name: of the cluster.
        group: a member of DescribeCluster's ``InstanceGroups``.
        count: the new target; the number of nodes that run, so that none of them is ended.
        region: may be "".
    """
    kept = {name: group[name] for name in SENT_BACK if group.get(name) not in (None, [], {})} | _renamed(group)
    minimum = group.get("MinCount", group.get("MinInstanceCount"))
    if minimum:
        kept["MinInstanceCount"] = min(int(minimum), count)
    specification = json.dumps([{**kept, "InstanceCount": count}], separators=(",", ":"), default=str)
    parts = ["aws", "sagemaker", "update-cluster", "--cluster-name", cluster_name, "--instance-groups", specification]
    return shlex.join(parts + (["--region", region] if region else []))


def _renamed(group: Mapping[str, Any]) -> dict[str, Any]:
    """What DescribeCluster shows in another shape than UpdateCluster takes (botocore's model)."""
    changed: dict[str, Any] = {}
    types = (group.get("InstanceRequirements") or {}).get("DesiredInstanceTypes")
    if types:
        changed["InstanceRequirements"] = {"InstanceTypes": types}
    patching = dict(group.get("AutoPatchConfig") or {})
    patching.pop("CurrentPatchSchedule", None)
    schedule = patching.pop("DesiredPatchSchedule", None)
    if patching:
        changed["AutoPatchConfig"] = patching | ({"PatchSchedule": schedule} if schedule else {})
    return changed


def price_of(products: Iterable[str], instance_type: str) -> float | None:
    """USD for an hour of a HyperPod instance on demand, from the price list's JSON texts; None if it is not there.

    HyperPod's usage types end in ``Cluster:<instance type>``; those of training and hosting, which the same list
    holds for the same type, do not.

    Args:
        products: ``PriceList`` of GetProducts.
        instance_type: such as ``ml.p5.48xlarge``.
    """
    for text in products:
        product = json.loads(text)
        usage = str(((product.get("product") or {}).get("attributes") or {}).get("usagetype") or "")
        if not usage.endswith(f"Cluster:{instance_type}"):
            continue
        for term in ((product.get("terms") or {}).get("OnDemand") or {}).values():
            for dimension in (term.get("priceDimensions") or {}).values():
                usd = float((dimension.get("pricePerUnit") or {}).get("USD") or 0)
                if usd > 0 and str(dimension.get("unit", "")).lower().startswith(("hr", "hour")):
                    return usd
    return None
