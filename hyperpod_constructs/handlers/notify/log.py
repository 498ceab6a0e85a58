"""Log lines, and metrics as log lines: CloudWatch reads them from there, so no call and no permission is needed.

Source: CloudWatch user guide, embedded metric format specification.
"""

import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any

NAMESPACE = "HyperPodConstructs"


def log(step: str, **fields: Any) -> None:
    """Write one JSON line; never raises."""
    _write({"step": step, **fields})


def count(metric: str, now: float, *, cluster_name: str, group: str = "") -> None:
    """Count one event for the alarms: for the cluster, and for the group if it is about one.

    Args:
        metric: name of the metric.
        now: seconds since the epoch.
        cluster_name: dimension ``ClusterName``.
        group: dimension ``InstanceGroupName``.
    """
    dimensions: Mapping[str, str] = {"ClusterName": cluster_name} | ({"InstanceGroupName": group} if group else {})
    sets = [["ClusterName"], ["ClusterName", "InstanceGroupName"]] if group else [["ClusterName"]]
    directive = {"Namespace": NAMESPACE, "Dimensions": sets, "Metrics": [{"Name": metric, "Unit": "Count"}]}
    _write({"_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": [directive]}, **dimensions, metric: 1})


def _write(line: Mapping[str, Any]) -> None:
    with contextlib.suppress(Exception):
        sys.stdout.write(json.dumps(line, default=str) + "\n")
        sys.stdout.flush()
