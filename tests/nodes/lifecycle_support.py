"""Clusters that are set up by the product's own node scripts."""

import json
import shutil
from pathlib import Path
from typing import Any

from .conftest import REPOSITORY, SlurmCluster

ASSETS = REPOSITORY / "lifecycle_assets"
NODE_TYPES = {"controller": "controller", "login": "login", "train": "compute"}
ALICE = {"name": "alice", "uid": 2001, "gid": 2001, "groups": ["ml"], "sudo": True, "account": "research"}
# What a second run, and a replaced node, must find and leave as it is.
FINGERPRINT = (
    "find /etc /opt/slurm/etc /opt/hyperpod-constructs /fsx/home /fsx/.hyperpod -xdev -type f ! -path '*/resolv.conf' "
    "! -path /etc/mtab -print0 | sort -z | xargs -0 sha256sum | sha256sum"
)


def node_config(cluster: SlurmCluster, *, style: str = "on_create", **changes: Any) -> dict[str, Any]:
    """The document that the constructs would write for that cluster."""
    dns_name, _, mount_name = cluster.mounts[0].source.partition("@tcp:/")
    mounts = [{"type": "lustre", "dns_name": dns_name, "mount_name": mount_name, "path": "/fsx", "efa": False}]
    groups = {
        name: {
            "node_type": node_type,
            "style": style,
            "partitions": [name] if node_type == "compute" else [],
            "mounts": mounts,
        }
        for name, node_type in NODE_TYPES.items()
    }
    name = f"test{cluster.network}"
    base = {"version": 1, "cluster_name": name, "groups": groups, "accounting": {"kind": "on_controller"}}
    return {**base, "users": [ALICE], **changes}


def stage(folder: Path, config: dict[str, Any], scripts: dict[str, str] | None = None) -> Path:
    """The folder that the deployment would upload: the scripts, the configuration, the user's own scripts."""
    target = folder / "lifecycle"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ASSETS, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "node_config.json").write_text(json.dumps(config))
    for name, text in (scripts or {}).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
    return target


def use(cluster: SlurmCluster, folder: Path) -> None:
    """Let the platform hand out these scripts from now on."""
    from hyperpod_constructs.rehearsal.agent import FolderScripts

    from .conftest import URI

    cluster.scripts = folder
    cluster.platform._scripts = FolderScripts({URI: folder})


def summary(cluster: SlurmCluster, instance: str) -> dict[str, Any]:
    """What the node says of its steps."""
    found: dict[str, Any] = json.loads(cluster.on(instance, "cat /var/log/provision/lifecycle_summary.json"))
    return found


def run_again(cluster: SlurmCluster, instance: str) -> dict[str, Any]:
    """Run the entry script once more on a node, as a person may; return its summary."""
    from hyperpod_constructs.rehearsal.agent.scripts import node_folder

    from .conftest import URI

    host = cluster.instances[instance].host_name
    result = cluster.platform.run_entry(host, node_folder(URI), cluster.entry)
    assert result.ok, result.reason
    return summary(cluster, instance)
