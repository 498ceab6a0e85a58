"""The files that the platform writes under /opt/ml/config, read with suspicion: late, stale, null or missing parts.

Forms: FACTS 5.7. Nothing here waits; :mod:`nodelib.identity` does.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESOURCE_CONFIG = "/opt/ml/config/resource_config.json"
PROVISIONING_PARAMETERS = "/opt/ml/config/provisioning_parameters.json"


@dataclass(frozen=True)
class Instance:
    """One instance as resource_config.json lists it."""

    group: str
    instance_type: str
    name: str
    instance_id: str
    addresses: tuple[str, ...]
    """The customer's address first, then the agent's."""


@dataclass(frozen=True)
class ResourceConfig:
    """What is usable of resource_config.json."""

    cluster_name: str = ""
    cluster_arn: str = ""
    group_names: tuple[str, ...] = ()
    instances: tuple[Instance, ...] = ()
    primary_controller_ip: str = ""


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a file; empty if the file is missing, half-written or holds something else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def parse_resource_config(document: Mapping[str, Any]) -> ResourceConfig:
    """Take what is there; a group whose ``Instances`` is null has none yet."""
    cluster, slurm = _object(document, "ClusterConfig"), _object(document, "SlurmConfig")
    groups = [group for group in _list(document, "InstanceGroups") if isinstance(group, dict)]
    return ResourceConfig(
        cluster_name=_text(cluster, "ClusterName"),
        cluster_arn=_text(cluster, "ClusterArn"),
        group_names=tuple(_text(group, "Name") for group in groups),
        instances=tuple(_instance(group, item) for group in groups for item in _list(group, "Instances") if item),
        primary_controller_ip=_text(slurm, "PrimaryControllerIp"),
    )


def node_types_by_group(document: Mapping[str, Any]) -> dict[str, str]:
    """Roles out of provisioning_parameters.json; empty if the platform did not write it."""
    roles = {
        _text(worker, "instance_group_name"): "compute"
        for worker in _list(document, "worker_groups")
        if isinstance(worker, dict)
    }
    roles[_text(document, "login_group")] = "login"
    roles[_text(document, "controller_group")] = "controller"
    roles.pop("", None)
    return roles


def _instance(group: Mapping[str, Any], item: Mapping[str, Any]) -> Instance:
    addresses = (_text(item, "CustomerIpAddress"), _text(item, "AgentIpAddress"))
    return Instance(
        group=_text(group, "Name"),
        instance_type=_text(group, "InstanceType"),
        name=_text(item, "InstanceName"),
        instance_id=_text(item, "InstanceId"),
        addresses=tuple(address for address in addresses if address),
    )


def _object(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    return value if isinstance(value, list) else []


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""
