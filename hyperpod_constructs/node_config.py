"""The one JSON document that the node scripts read. Standard library only.

The contract is lifecycle_assets/node_config.schema.json. The scripts refuse a version that they do not know.
"""

from typing import Any

from hyperpod_constructs.bindings import AccountingBindings, Bindings, FileSystemMount, GroupBindings, LustreMount
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
