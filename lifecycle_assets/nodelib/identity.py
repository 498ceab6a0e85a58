"""Which node is this: decided from files alone, never from running services (they may start later than we do)."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from nodelib.addresses import own_addresses
from nodelib.errors import ConfigError, StepTimeoutError
from nodelib.node_config import Group, NodeConfig
from nodelib.platform_files import (
    PROVISIONING_PARAMETERS,
    RESOURCE_CONFIG,
    Instance,
    ResourceConfig,
    node_types_by_group,
    parse_resource_config,
    read_json_object,
)
from nodelib.waiting import Clock, wait_for

INSTANCE_ID_FILES = ("/var/lib/cloud/data/instance-id", "/sys/devices/virtual/dmi/id/board_asset_tag")


@dataclass(frozen=True)
class Identity:
    """This node, and the controller it belongs to."""

    cluster_name: str
    group: Group
    instance_name: str
    instance_id: str
    instance_type: str
    address: str
    controller_address: str


@dataclass(frozen=True)
class Evidence:
    """Everything that the decision rests on."""

    config: NodeConfig
    resources: ResourceConfig
    roles: Mapping[str, str]
    addresses: Collection[str]
    instance_id: str = ""


def identify(evidence: Evidence) -> Identity | str:
    """Decide, or say in words what is still missing."""
    instance = _own_instance(evidence)
    if instance is None:
        listed = len(evidence.resources.instances)
        own = ", ".join(sorted(evidence.addresses)) or "none"
        return f"an entry for this node (addresses: {own}) among the {listed} instances of {RESOURCE_CONFIG}"
    group = _group(evidence, instance.group)
    if group is None:
        return f"the node type of instance group {instance.group} in node_config.json or {PROVISIONING_PARAMETERS}"
    address = next(a for a in instance.addresses if a in evidence.addresses)
    controller = address if group.node_type == "controller" else _controller_address(evidence)
    if not controller:
        return f"the controller's address in {RESOURCE_CONFIG}"
    return Identity(
        cluster_name=evidence.config.cluster_name,
        group=group,
        instance_name=instance.name,
        instance_id=instance.instance_id,
        instance_type=instance.instance_type,
        address=address,
        controller_address=controller,
    )


def wait_for_identity(
    config: NodeConfig, root: Path, clock: Clock, *, timeout_seconds: float, resource_config: Path | None = None
) -> Identity:
    """Look until the platform's files name this node: they can be late, and stale on workers (field report L-04).

    Raises:
        ConfigError: they still do not after ``timeout_seconds``; the text says what is missing.
    """
    last = ""

    def look() -> Identity | None:
        nonlocal last
        answer = identify(gather(config, root, resource_config))
        if isinstance(answer, str):
            last = answer
            return None
        return answer

    try:
        return wait_for(look, what="this node's identity", timeout_seconds=timeout_seconds, clock=clock)
    except StepTimeoutError as error:
        raise ConfigError(f"waited {timeout_seconds:g} s for {last}") from error


def gather(config: NodeConfig, root: Path, resource_config: Path | None = None) -> Evidence:
    """Read the files once."""
    path = resource_config or root / RESOURCE_CONFIG.lstrip("/")
    return Evidence(
        config=config,
        resources=parse_resource_config(read_json_object(path)),
        roles=node_types_by_group(read_json_object(root / PROVISIONING_PARAMETERS.lstrip("/"))),
        addresses=own_addresses(root),
        instance_id=_instance_id(root),
    )


def resource_config_path(root: Path) -> Path | None:
    """The path that the platform gives in the environment; ``None`` without one, or under a test's root."""
    given = os.environ.get("SAGEMAKER_RESOURCE_CONFIG_PATH", "")
    return Path(given) if given and root == Path("/") else None


def _own_instance(evidence: Evidence) -> Instance | None:
    own = [i for i in evidence.resources.instances if any(a in evidence.addresses for a in i.addresses)]
    # A stale file can still list the predecessor of this node under its address: the instance id tells them apart.
    exact = [instance for instance in own if instance.instance_id == evidence.instance_id]
    return next(iter(exact or own), None)


def _group(evidence: Evidence, name: str) -> Group | None:
    if name in evidence.config.groups:
        return evidence.config.groups[name]
    # A group that was added outside of the deployment: the platform knows its role, the mounts are its neighbours'.
    role = evidence.roles.get(name)
    if role is None:
        return None
    like = next((group for group in evidence.config.groups.values() if group.node_type == role), None)
    return Group(name, role, like.style if like else "on_create", (), like.mounts if like else ())


def _controller_address(evidence: Evidence) -> str:
    if evidence.resources.primary_controller_ip:
        return evidence.resources.primary_controller_ip
    names = {group.name for group in evidence.config.groups.values() if group.node_type == "controller"}
    names |= {name for name, role in evidence.roles.items() if role == "controller"}
    controllers = (i for i in evidence.resources.instances if i.group in names and i.addresses)
    return next((controller.addresses[0] for controller in controllers), "")


def _instance_id(root: Path) -> str:
    for path in INSTANCE_ID_FILES:
        try:
            return (root / path.lstrip("/")).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
    return ""
