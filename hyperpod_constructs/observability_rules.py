"""What is wrong with an :class:`Observability` or a :class:`CostGuard`, found before anything is made. Pure.

Deploy-time values (an ARN from another stack) are recognised by their marker and let through.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hyperpod_constructs import extension
from hyperpod_constructs.errors import Problem
from hyperpod_constructs.event_patterns import EventKind, EventLevel
from hyperpod_constructs.observability import (
    Alarms,
    CostGuard,
    MetricsSource,
    Notifications,
    Observability,
    PrometheusKind,
    PrometheusWorkspace,
)
from hyperpod_constructs.options import LifecycleStyle
from hyperpod_constructs.rules.rule import shown
from hyperpod_constructs.specs import ClusterSpec

Found = Iterator[tuple[str, str]]
"""Path below the object, and message."""

WORKSPACE_ARN = re.compile(r"arn:aws[a-z-]*:aps:(?P<region>[a-z0-9-]+):\d{12}:workspace/ws-[0-9a-f-]+")
WORKSPACE_HOST = re.compile(r"https://aps-workspaces\.(?P<region>[a-z0-9-]+)\.")
REMOTE_WRITE_END = "api/v1/remote_write"
TOKEN_MARK = "${Token["  # noqa: S105  what an unresolved value of the CDK looks like

# CloudWatch Logs API reference, PutRetentionPolicy.
RETENTION_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
_PERIOD_MINUTES = 5
_DAY_MINUTES = 24 * 60


def observability_problems(options: object, spec: ClusterSpec, region: str = "") -> list[Problem]:
    """Everything wrong with the observability of a cluster.

    Args:
        options: what the user gave.
        spec: the cluster, which a threshold must be able to reach.
        region: of the stack; "" or a token when unknown, and then not compared.
    """
    if not isinstance(options, Observability):
        return [_problem("observability", "", f"got {shown(options)}, allowed: an Observability")]
    found = (*_metrics(options, spec, region), *_alarms(options.alarms, spec), *_notifications(options.notifications))
    return [_problem("observability", path, message) for path, message in (*found, *_rest(options))]


def cost_guard_problems(options: object) -> list[Problem]:
    """Everything wrong with a cost guard.

    Args:
        options: what the user gave.
    """
    if not isinstance(options, CostGuard):
        return [_problem("cost_guard", "", f"got {shown(options)}, allowed: a CostGuard")]
    found = [
        *_whole("failures", options.failures, 1, 200),
        *_whole("window_minutes", options.window_minutes, 5, _DAY_MINUTES),
        *_whole("remind_minutes", options.remind_minutes, 5, 7 * _DAY_MINUTES),
        *_prices(options.hourly_prices_usd),
        *_emails("emails", options.emails),
    ]
    if not found and options.remind_minutes < options.window_minutes:
        advice = f"at least window_minutes ({options.window_minutes}); a shorter interval would repeat itself"
        found.append(("remind_minutes", f"got {options.remind_minutes}, allowed: {advice}"))
    return [_problem("cost_guard", path, message) for path, message in found]


def _metrics(options: Observability, spec: ClusterSpec, region: str) -> Found:
    chosen: Any = options.metrics
    if not isinstance(chosen, MetricsSource):
        yield (
            "metrics",
            f"got {shown(options.metrics)}, allowed: {', '.join(f'MetricsSource.{m.name}' for m in MetricsSource)}",
        )
        return
    workspace: Any = options.workspace
    if not isinstance(workspace, PrometheusWorkspace):
        made_by = "PrometheusWorkspace.new(), .existing() or .none()"
        yield "workspace", f"got {shown(options.workspace)}, allowed: {made_by}"
        return
    yield from _workspace(workspace, region)
    if options.metrics is MetricsSource.EXTENSION:
        yield from _extension(options)
    else:
        yield from _without_extension(options)
    if options.metrics is MetricsSource.NODE_AGENTS:
        yield from _node_agents(options, spec)


def _workspace(workspace: PrometheusWorkspace, region: str) -> Found:
    arn: Any = workspace.workspace_arn
    url: Any = workspace.remote_write_url
    if workspace.kind is PrometheusKind.EXISTING and bool(arn) == bool(url):
        given = "both" if arn else "neither"
        yield "workspace", f"got {given} of workspace_arn and remote_write_url, allowed: exactly one of them"
    if arn and not _is_token(arn):
        match = WORKSPACE_ARN.fullmatch(arn) if isinstance(arn, str) else None
        if match is None:
            allowed = "arn:aws:aps:<region>:<account>:workspace/ws-..."
            yield "workspace.workspace_arn", f"got {shown(arn)}, allowed: {allowed}"
        else:
            yield from _same_region("workspace.workspace_arn", match["region"], region)
    if url and not _is_token(url):
        yield from _remote_write_url(url, region)


def _remote_write_url(url: object, region: str) -> Found:
    path = "workspace.remote_write_url"
    if not isinstance(url, str) or not url.startswith("https://") or not url.endswith("/" + REMOTE_WRITE_END):
        yield path, f"got {shown(url)}, allowed: https://... ending in {REMOTE_WRITE_END}"
        return
    match = WORKSPACE_HOST.match(url)
    if match:
        yield from _same_region(path, match["region"], region)


def _same_region(path: str, got: str, region: str) -> Found:
    if region and not _is_token(region) and got != region:
        yield path, f"the workspace is in {got}, allowed: {region}, the region of the cluster; make one there"


def _extension(options: Observability) -> Found:
    for path, message in extension.problems(options.extension_settings):
        yield f"extension_settings{path and '.'}{path}", message
    version = options.extension_version
    if version and not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version, re.ASCII):
        yield "extension_version", f"got {shown(version)}, allowed: x.y.z, such as 1.0.0"


def _without_extension(options: Observability) -> Found:
    for name in ("extension_settings", "extension_version"):
        if getattr(options, name):
            yield name, "given without the extension; set metrics=MetricsSource.EXTENSION"


def _node_agents(options: Observability, spec: ClusterSpec) -> Found:
    if options.workspace.kind is PrometheusKind.NONE:
        yield "workspace", "got none(), but node agents have nowhere else to write; use new() or existing()"
    if all(spec.style_of(group) is LifecycleStyle.IMAGE_ONLY for group in spec.groups):
        yield "metrics", "got NODE_AGENTS, but no group runs node scripts (style IMAGE_ONLY); use EXTENSION"
    if not spec.lifecycle.agents:
        yield "metrics", "got NODE_AGENTS, but no agents; name at least one in lifecycle=LifecycleScripts(agents=[...])"
    yield from _whole("scrape_interval_seconds", options.scrape_interval_seconds, 5, 300)


def _alarms(alarms: object, spec: ClusterSpec) -> Found:
    if alarms is None:
        return
    if not isinstance(alarms, Alarms):
        yield "alarms", f"got {shown(alarms)}, allowed: Alarms, or None for none"
        return
    instances = sum(group.instance_count or 0 for group in spec.groups if isinstance(group.instance_count, int))
    found = [
        *_optional(alarms.failed_node_count, lambda value: _whole("failed_node_count", value, 1, 1_000_000)),
        *_optional(alarms.lifecycle_failure_count, lambda value: _whole("lifecycle_failure_count", value, 1, 10_000)),
        *_optional(alarms.file_system_free_percent, lambda value: _percent("file_system_free_percent", value)),
        *_optional(alarms.idle_gpu_percent, lambda value: _percent("idle_gpu_percent", value)),
        *_optional(alarms.controller_silent_minutes, lambda value: _minutes("controller_silent_minutes", value)),
        *_minutes("idle_gpu_minutes", alarms.idle_gpu_minutes),
    ]
    count = alarms.failed_node_count
    if isinstance(count, int) and 0 < instances < count:
        found.append(("failed_node_count", f"got {count}, which can never be: the cluster has {instances} instances"))
    yield from ((f"alarms.{path}", message) for path, message in found)


def _notifications(notifications: object) -> Found:
    if notifications is None:
        return
    if not isinstance(notifications, Notifications):
        yield "notifications", f"got {shown(notifications)}, allowed: Notifications, or None for none"
        return
    yield from _emails("notifications.emails", notifications.emails)
    yield from _whole("notifications.quiet_minutes", notifications.quiet_minutes, 1, _DAY_MINUTES)
    level: Any = notifications.level
    if not isinstance(level, EventLevel):
        names = ", ".join(f"EventLevel.{item.name}" for item in EventLevel)
        yield "notifications.level", f"got {shown(level)}, allowed: {names}"
    kinds: Sequence[object] = notifications.kinds
    wrong = [kind for kind in kinds if not isinstance(kind, EventKind)]
    if wrong or not kinds:
        names = ", ".join(f"EventKind.{kind.name}" for kind in EventKind)
        got = shown(wrong[0]) if wrong else "none"
        yield "notifications.kinds", f"got {got}, allowed: at least one of {names}; notifications=None for none"


def _rest(options: Observability) -> Found:
    yield from _prices(options.hourly_prices_usd)
    days: Any = options.log_retention_days
    if days is not None and days not in RETENTION_DAYS:
        nearest = min(RETENTION_DAYS, key=lambda item: abs(item - days)) if isinstance(days, int) else 30
        allowed = f"what CloudWatch Logs has ({', '.join(map(str, RETENTION_DAYS))}), or None"
        yield "log_retention_days", f"got {shown(days)}, allowed: {allowed}; use {nearest}"


def _prices(prices: object) -> Found:
    for item in prices if isinstance(prices, tuple) else ():
        name, usd = item
        if isinstance(usd, bool) or not isinstance(usd, (int, float)) or not 0 < usd < 100_000:
            yield f"hourly_prices_usd[{json.dumps(name)}]", f"got {shown(usd)}, allowed: USD above 0"
        if not isinstance(name, str) or not re.fullmatch(r"ml\.[a-z0-9-]+\.[a-z0-9]+", name):
            yield "hourly_prices_usd", f"got the type {shown(name)}, allowed: ml.<family>.<size>"


def _emails(path: str, emails: Sequence[object]) -> Found:
    for index, email in enumerate(emails):
        if not isinstance(email, str) or not (_is_token(email) or re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", email)):
            yield f"{path}[{index}]", f"got {shown(email)}, allowed: an e-mail address"


def _optional(value: Any, check: Callable[[Any], Found]) -> Found:
    if value is not None:
        yield from check(value)


def _whole(path: str, value: object, low: int, high: int) -> Found:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        yield path, f"got {shown(value)}, allowed: a whole number, {low} to {high}"


def _percent(path: str, value: object) -> Found:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 100:
        reason = "at 0 or 100 it would never, or always, be on; None for no alarm"
        yield path, f"got {shown(value)}, allowed: above 0 and below 100, since {reason}"


def _minutes(path: str, value: object) -> Found:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value % _PERIOD_MINUTES
        or not 5 <= value <= _DAY_MINUTES
    ):
        yield path, f"got {shown(value)}, allowed: a multiple of {_PERIOD_MINUTES}, 5 to {_DAY_MINUTES}"


def _is_token(value: object) -> bool:
    return isinstance(value, str) and TOKEN_MARK in value


def _problem(subject: str, path: str, message: str) -> Problem:
    return Problem(path=f"{subject}.{path}" if path else subject, message=message, rule=subject.replace("_", "-"))
