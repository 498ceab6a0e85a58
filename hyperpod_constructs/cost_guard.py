"""Makes of :class:`CostGuard` what it says, for one cluster."""

import json
from typing import cast

from constructs import Construct

from hyperpod_constructs.alarms import failing_groups_alarm
from hyperpod_constructs.errors import SpecError
from hyperpod_constructs.event_patterns import script_failure_pattern
from hyperpod_constructs.events import EventFunction, NamedCluster, add_rule, event_records, notices_topic
from hyperpod_constructs.handlers.notify.permissions import GUARD_READS, PRICES, READS
from hyperpod_constructs.observability import CostGuard
from hyperpod_constructs.observability_rules import cost_guard_problems


class ClusterCostGuard(Construct):
    """The guard on a cluster's bill: a rule, a function, an alarm. It changes nothing of the cluster.

    ``SlurmCluster`` makes one when it is given ``cost_guard``. Made by hand it also guards a cluster that somebody else
    made, by its name.

    Args:
        scope: parent construct; the topic and the table of records are made in it unless they are there.
        id: construct id.
        cluster: anything with a ``cluster_name``.
        options: when it speaks.

    Raises:
        SpecError: with every problem of the options.

    Attributes:
        topic: where its messages go.
        guard: the function.
        alarm: on while a group fails again and again; ``None`` if not wanted.

    Example:
        >>> from types import SimpleNamespace
        >>> from aws_cdk import App, Stack
        >>> stack = Stack(App(), "Guard")
        >>> guard = ClusterCostGuard(
        ...     stack, "Guard", cluster=SimpleNamespace(cluster_name="llm-training"), options=CostGuard(failures=5)
        ... )
        >>> guard.alarm is None
        False
    """

    def __init__(self, scope: Construct, id: str, *, cluster: NamedCluster, options: CostGuard) -> None:
        problems = cost_guard_problems(options)
        if problems:
            raise SpecError(problems, subject="cost guard")
        super().__init__(scope, id)
        home = cast("Construct", self.node.scope)
        self.topic = notices_topic(home, options.topic, options.emails)
        self.guard = EventFunction(
            self,
            "Guard",
            entry="guard",
            description=f"Watches the bill of the HyperPod cluster {cluster.cluster_name}",
            topic=self.topic,
            records=event_records(home),
            reads=READS + GUARD_READS,
            everywhere=PRICES,
            environment={
                "FAILURES": str(options.failures),
                "WINDOW_MINUTES": str(options.window_minutes),
                "REMIND_MINUTES": str(options.remind_minutes),
                "HOURLY_PRICES_USD": json.dumps(options.prices),
            },
        )
        add_rule(self, "ScriptFailures", script_failure_pattern(cluster.cluster_name), self.guard.target)
        self.alarm = (
            failing_groups_alarm(self, cluster.cluster_name, self.topic, options.window_minutes)
            if options.alarm
            else None
        )
