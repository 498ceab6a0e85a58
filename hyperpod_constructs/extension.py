"""The platform's observability extension: its configuration, checked as the service would check it. Standard library.

Source: developer guide, "Observability extension configuration" (FACTS 5.4); the level ``ADVANCED`` is in the API
model's text of CreateClusterExtension. Setting names are case sensitive, and unknown ones are refused at every level.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hyperpod_constructs.rules.rule import shown

NAME = "sagemaker-observability"
RESOURCE_TYPE = "AWS::SageMaker::Extension"
CONFIGURATION_MAXIMUM = 10240  # model ExtensionConfigurationValues
DESTINATION = "prometheus"

_DETAILED = ("DISABLED", "BASIC", "ADVANCED")
_SWITCHED = ("DISABLED", "ENABLED")
METRICS = {
    "nodeMetrics": _DETAILED,
    "acceleratedComputeMetrics": _DETAILED,
    "networkMetrics": _SWITCHED,
    "jobMetrics": _SWITCHED,
    "clusterMetrics": _SWITCHED,
    "ncclMetrics": _SWITCHED,
}
"""Each kind of metrics with its levels."""

Found = Iterator[tuple[str, str]]


def problems(settings: object) -> Found:
    """Everything in the settings that the service would refuse: path and message.

    Args:
        settings: the user's changes to the configuration, without the destination.
    """
    if not isinstance(settings, Mapping):
        yield "", f"got {shown(settings)}, allowed: a mapping"
        return
    if DESTINATION in settings:
        yield DESTINATION, "the destination comes from workspace=...; leave it out here"
    known = {"metricsProvider": _metrics, "profilesProvider": _profiles}
    for name, value in settings.items():
        if name in known:
            yield from _object(name, value, known[name])
        elif name != DESTINATION:
            yield str(name), _unknown(known)
    yield from _length(settings)


def configuration(settings: Mapping[str, Any], remote_write_url: str | None) -> dict[str, Any]:
    """The document that the extension takes.

    Args:
        settings: without problems.
        remote_write_url: may be a token; ``None`` sends metrics to CloudWatch.
    """
    destination = {DESTINATION: {"remoteWriteUrl": remote_write_url}} if remote_write_url else {}
    return {**destination, **settings}


def _object(path: str, value: object, check: Any) -> Found:
    if isinstance(value, Mapping):
        for below, message in check(value):
            yield f"{path}.{below}", message
    else:
        yield path, f"got {shown(value)}, allowed: a mapping"


def _metrics(provider: Mapping[str, Any]) -> Found:
    for name, value in provider.items():
        if name not in METRICS:
            yield str(name), _unknown(METRICS)
        else:
            yield from _object(name, value, lambda setting, levels=METRICS[name]: _metric(setting, levels))


def _metric(setting: Mapping[str, Any], levels: tuple[str, ...]) -> Found:
    for name, value in setting.items():
        if name == "level":
            if value not in levels:
                yield name, f"got {shown(value)}, allowed: {', '.join(levels)}"
        elif name == "collectionIntervalSeconds":
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 3600:
                yield name, f"got {shown(value)}, allowed: a whole number of seconds, 1 to 3600; the default is 30"
        else:
            yield str(name), _unknown(("level", "collectionIntervalSeconds"))


def _profiles(provider: Mapping[str, Any]) -> Found:
    for name, value in provider.items():
        if name == "hostProfiling":
            yield from _object(name, value, _host_profiling)
        else:
            yield str(name), _unknown(("hostProfiling",))


def _host_profiling(setting: Mapping[str, Any]) -> Found:
    for name, value in setting.items():
        if name != "enabled":
            yield str(name), _unknown(("enabled",))
        elif not isinstance(value, bool):
            yield name, f"got {shown(value)}, allowed: True or False"


def _length(settings: Mapping[str, Any]) -> Found:
    try:
        length = len(json.dumps(settings))
    except (TypeError, ValueError) as error:
        yield "", f"cannot be written as JSON: {error}"
        return
    if length > CONFIGURATION_MAXIMUM - 512:  # the destination needs some of it
        yield "", f"got {length} characters of JSON, allowed: {CONFIGURATION_MAXIMUM - 512}"


def _unknown(known: Any) -> str:
    return f"a setting that the extension does not have, allowed: {', '.join(known)}; the service refuses unknown names"
