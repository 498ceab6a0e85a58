"""The one JSON document that the node scripts read. Standard library only.

The contract is lifecycle_assets/node_config.schema.json. The scripts refuse a version that they do not know.
"""

from pathlib import PurePath
from typing import Any

from hyperpod_constructs.bindings import AccountingBindings, Bindings, FileSystemMount, GroupBindings, LustreMount
from hyperpod_constructs.lifecycle_options import LifecycleScripts, NodeAgent, PinnedFile, UserStep
from hyperpod_constructs.options import Accounting, AccountingKind, LifecycleStyle, PosixUser
from hyperpod_constructs.specs import ClusterSpec, Group

NODE_CONFIG_VERSION = 1
NODE_CONFIG_FILE = "node_config.json"

_STYLES = {
    LifecycleStyle.ON_CREATE: "on_create",
    LifecycleStyle.ON_INIT_COMPLETE: "on_init_complete",
    LifecycleStyle.IMAGE_ONLY: "image_only",
}
_ACCOUNTING = {
    AccountingKind.ON_CONTROLLER: "on_controller",
    AccountingKind.EXTERNAL: "external",
    AccountingKind.NONE: "none",
}


def node_config(spec: ClusterSpec, bindings: Bindings) -> dict[str, Any]:
    """Build the document.

    Args:
        spec: a cluster that :func:`hyperpod_constructs.rules.validate` accepts.
        bindings: deploy-time values; tokens are passed on untouched. No secret is among them, only secrets' ARNs.

    Returns:
        A dictionary of JSON's types, the same for equal arguments.
    """
    return {
        "version": NODE_CONFIG_VERSION,
        "cluster_name": spec.cluster_name,
        "groups": {group.name: _group(spec, group, bindings.groups[group.name]) for group in spec.groups},
        "accounting": _accounting(spec.accounting or Accounting.on_controller(), bindings.accounting),
        "users": [_user(user) for user in spec.users],
        **_lifecycle(spec.lifecycle),
    }


# Switches of the node scripts, by the name that they have on both sides.
_FEATURES = (
    *("home_directories", "ssh_between_nodes", "accounting_backup", "log_rotation", "prolog_epilog"),
    *("message_of_the_day", "containers", "login_nodes_free", "topology_guard", "accelerator_check"),
)


def _lifecycle(scripts: LifecycleScripts) -> dict[str, Any]:
    """What differs from the node scripts' defaults, and nothing else: a new option moves no one's prefix."""
    default = LifecycleScripts()
    features = {name: getattr(scripts, name) for name in _FEATURES if getattr(scripts, name) != getattr(default, name)}
    config: dict[str, Any] = {
        "features": features,
        "home_path": scripts.home_path,
        "message_of_the_day": scripts.message_of_the_day_text,
        "slurm_settings": {key: str(value) for key, value in scripts.slurm_settings},
        "user_steps": [_user_step(index, step) for index, step in enumerate(scripts.user_steps)],
        "container_packages": [_pinned(file) for file in scripts.container_packages],
        "agents": [_agent(agent) for agent in scripts.agents],
    }
    if scripts.accounting_backup_minutes != default.accounting_backup_minutes:
        config["accounting_backup_minutes"] = scripts.accounting_backup_minutes
    return {name: value for name, value in config.items() if value}


def user_step_folder(index: int) -> str:
    """Where the files of the user's step of that index are among the scripts: a folder each, so names never clash."""
    return f"user_steps/{index}"


def _user_step(index: int, step: UserStep) -> dict[str, Any]:
    entry = step.entry or PurePath(step.source).name
    return {
        "name": step.name or PurePath(entry).stem,
        "path": f"{user_step_folder(index)}/{entry}",
        "stage": step.stage.value,
        "node_types": [node_type.value.lower() for node_type in step.node_types],
        "required": step.required,
        "arguments": list(step.arguments),
        "timeout_seconds": step.timeout_seconds,
    }


def _pinned(file: PinnedFile) -> dict[str, Any]:
    return {"name": file.name, "url": file.url, "sha256": file.sha256}


def _agent(agent: NodeAgent) -> dict[str, Any]:
    return {
        **_pinned(agent.file),
        "program": agent.program,
        "node_types": [node_type.value.lower() for node_type in agent.node_types],
        "arguments": list(agent.arguments),
    }


def _group(spec: ClusterSpec, group: Group, bindings: GroupBindings) -> dict[str, Any]:
    return {
        "node_type": group.node_type.value.lower(),
        "style": _STYLES[spec.style_of(group)],
        "partitions": list(group.partition_names),
        "mounts": [_mount(mount) for mount in bindings.mounts],
    }


def _mount(mount: FileSystemMount) -> dict[str, Any]:
    if isinstance(mount, LustreMount):
        return {
            "type": "lustre",
            "dns_name": mount.dns_name,
            "mount_name": mount.mount_name,
            "path": mount.path,
            "efa": mount.efa,
        }
    return {"type": "open_zfs", "dns_name": mount.dns_name, "path": mount.path}


def _accounting(accounting: Accounting, bindings: AccountingBindings | None) -> dict[str, Any]:
    config: dict[str, Any] = {"kind": _ACCOUNTING[accounting.kind]}
    if bindings is not None:
        config |= {
            "endpoint": bindings.endpoint,
            "port": bindings.port or 3306,
            "database_name": accounting.database_name,
            "secret_arn": bindings.secret_arn,
        }
    return config


def _user(user: PosixUser) -> dict[str, Any]:
    return {
        "name": user.name,
        "uid": user.uid,
        "gid": user.uid if user.gid is None else user.gid,
        "groups": list(user.groups),
        "sudo": user.sudo,
        "ssh_public_keys": list(user.ssh_public_keys),
        "account": user.account,
    }
