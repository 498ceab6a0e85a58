"""How a cluster is given its observability and its cost guard, without cost for those who want neither."""

from typing import TYPE_CHECKING, Any

from hyperpod_constructs.errors import Problem
from hyperpod_constructs.observability import CostGuard, Observability
from hyperpod_constructs.observability_rules import cost_guard_problems, observability_problems
from hyperpod_constructs.rules.shape import repaired
from hyperpod_constructs.specs import ClusterSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aws_cdk import aws_iam as iam

    from hyperpod_constructs.cluster import SlurmCluster
    from hyperpod_constructs.cluster_observability import ClusterObservability
    from hyperpod_constructs.cost_guard import ClusterCostGuard
    from hyperpod_constructs.prometheus import PrometheusTarget


class Watching:
    """What the user gave, and what of it must exist before the cluster. Its modules are imported on first use.

    Args:
        spec: the cluster.
        region: of its stack; may be a token.
        observability: options; ``None`` for nothing.
        cost_guard: options; ``None`` for nothing.
    """

    def __init__(
        self, spec: ClusterSpec, region: str, observability: Observability | None, cost_guard: CostGuard | None
    ) -> None:
        self._spec, self._region = spec, region
        self._observability, self._cost_guard = observability, cost_guard
        self._prometheus: PrometheusTarget | None = None

    def problems(self) -> list[Problem]:
        """Everything wrong with the options."""
        found: list[Problem] = []
        if self._observability is not None:
            sound, _ = repaired(self._spec)  # what is misshapen in it, the rules of the cluster report
            found += observability_problems(self._observability, sound, self._region)
        if self._cost_guard is not None:
            found += cost_guard_problems(self._cost_guard)
        return found

    def prepare(self, cluster: "SlurmCluster") -> None:
        """Make the place where metrics are kept: the scripts and the roles of the nodes need its address.

        Args:
            cluster: below which it is made.
        """
        if self._observability is not None:
            from hyperpod_constructs.cluster_observability import prometheus_target

            self._prometheus = prometheus_target(cluster, cluster.cluster_name, self._observability)

    def node_config(self, config: dict[str, Any]) -> dict[str, Any]:
        """The configuration of the nodes with what their agents must know.

        Args:
            config: what ``node_config()`` built.
        """
        if self._observability is None:
            return config
        from hyperpod_constructs.cluster_observability import merged, node_settings

        return merged(config, node_settings(self._observability, self._spec, self._prometheus, self._region))

    def observe(self, cluster: "SlurmCluster", roles: "Iterable[iam.IRole]") -> "ClusterObservability | None":
        """Make what the options say, once the cluster's attributes can be referred to.

        Args:
            cluster: that is observed.
            roles: of its nodes.
        """
        if self._observability is None:
            return None
        from hyperpod_constructs.cluster_observability import ClusterObservability

        return ClusterObservability(
            cluster,
            "Observability",
            cluster=cluster,
            options=self._observability,
            roles=roles,
            prometheus=self._prometheus,
        )

    def guard(self, cluster: "SlurmCluster") -> "ClusterCostGuard | None":
        """Make the cost guard.

        Args:
            cluster: whose bill is watched.
        """
        if self._cost_guard is None:
            return None
        from hyperpod_constructs.cost_guard import ClusterCostGuard

        return ClusterCostGuard(cluster, "CostGuard", cluster=cluster, options=self._cost_guard)
