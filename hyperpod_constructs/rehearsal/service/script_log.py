"""The log of a node's lifecycle script, with the marker lines of the service around it (FACTS 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .announcements import log_stream
from .logs import new_lines

if TYPE_CHECKING:
    from .context import Context
    from .launcher import NodeReport
    from .state import Cluster, Group, Node

KEPT_LINES = 2000


def follow(context: Context, cluster: Cluster, group: Group, node: Node, report: NodeReport) -> None:
    """Send what is new in a report to the node's log stream."""
    if report.state == "pending":
        return
    lines: list[str] = []
    if not node.script_begun:
        node.script_begun = True
        lines += _first_lines(node)
    fresh = new_lines(node.log_seen, report.log)
    node.log_seen = (*node.log_seen, *fresh)[-KEPT_LINES:]
    lines += fresh + _last_lines(node, report)
    if lines:
        context.log_sink.put(cluster.log_group, log_stream(group, node), lines)


def _first_lines(node: Node) -> list[str]:
    config = node.specification.get("LifeCycleConfig")
    if not config:
        return ["[SageMaker] No lifecycle scripts were provided"]
    source = config["SourceS3Uri"]
    entry = config.get("OnCreate") or config.get("OnInitComplete")
    return [
        f"[SageMaker] Lifecycle scripts were provided, with S3 uri: [{source}] and entrypoint script: [{entry}]",
        f"[SageMaker] Downloading lifecycle scripts from {source}",
        "[SageMaker] Lifecycle scripts were downloaded",
    ]


def _last_lines(node: Node, report: NodeReport) -> list[str]:
    if not node.specification.get("LifeCycleConfig"):
        return []
    return {
        "ready": ["[SageMaker] The lifecycle scripts succeeded"],
        "failed": ["[SageMaker] The lifecycle scripts failed"],
    }.get(report.state, [])
