"""Everything that one node finds."""

import time
from collections.abc import Sequence

from nodelib.errors import ConfigError
from nodelib.identity import Identity, gather, identify, resource_config_path
from nodelib.node_config import Mount, load_node_config
from nodelib.precheck.findings import Finding, NodeReport
from nodelib.precheck.machine import Machine
from nodelib.precheck.runtime_checks import containers, controller, efa, gpus, munge, slurmd, versions
from nodelib.precheck.storage_checks import disks, file_systems, home


def examine(machine: Machine, paths: Sequence[str]) -> NodeReport:
    """Look at this node.

    Args:
        machine: this node.
        paths: mount points to look at beside the configured ones.
    """
    mounts, instance_type = known(machine)
    findings: list[Finding] = [
        *file_systems(machine, mounts, paths),
        home(machine, mounts),
        slurmd(machine),
        controller(machine),
        munge(machine),
        containers(machine),
        gpus(machine),
        efa(machine, instance_type),
        disks(machine),
        *versions(machine),
    ]
    return NodeReport(machine.host, time.time(), tuple(findings))


def known(machine: Machine) -> "tuple[tuple[Mount, ...], str]":
    """The configured mounts and the instance type, as far as this user may read what says so.

    Without the platform's files the mounts are those that every group has.
    """
    try:
        config = load_node_config(machine.scripts / "node_config.json")
    except ConfigError:
        return (), ""
    try:
        identity = identify(gather(config, machine.root, resource_config_path(machine.root)))
    except OSError:
        identity = ""
    if isinstance(identity, Identity):
        return identity.group.mounts, identity.instance_type
    groups = [set(group.mounts) for group in config.groups.values()]
    common = set.intersection(*groups) if groups else set()
    return tuple(sorted(common, key=lambda mount: mount.path)), ""
