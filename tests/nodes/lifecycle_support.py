"""Clusters that are set up by the product's own node scripts."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hyperpod_constructs.rehearsal.agent import Instance, ScriptResult
from hyperpod_constructs.rehearsal.nodes import BedClient, wait_for

from .conftest import REPOSITORY, SlurmCluster

ASSETS = REPOSITORY / "lifecycle_assets"
STANDINS = Path(__file__).parent / "standins"
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


def stage(
    folder: Path,
    config: dict[str, Any],
    scripts: Mapping[str, str] | None = None,
    bounds: Mapping[str, tuple[str, float]] | None = None,
) -> Path:
    """The folder that the deployment would upload: the scripts, the configuration, the user's own scripts.

    Args:
        folder: where it is made.
        config: of the nodes.
        scripts: text by path, for the user's own.
        bounds: name of a wait's bound -> its file and the seconds that a test can afford.
    """
    target = folder / "lifecycle"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ASSETS, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "node_config.json").write_text(json.dumps(config))
    for name, text in (scripts or {}).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
    for bound, (file, seconds) in (bounds or {}).items():
        text = (target / file).read_text()
        shorter = re.sub(rf"^{bound} = [0-9.]+$", f"{bound} = {seconds}", text, flags=re.MULTILINE)
        assert shorter != text, f"{file} has no {bound}"
        (target / file).write_text(shorter)
    return target


def launch(
    cluster: SlurmCluster,
    *instances: Instance,
    before: Callable[[str], None] = lambda _host: None,
    volumes: tuple[str, ...] = (),
) -> list[ScriptResult]:
    """Bring instances up side by side; ``before`` is called with each one's host before its script starts."""
    cluster.tell()
    results: dict[str, ScriptResult] = {}

    def one(instance: Instance) -> None:
        lines = cluster.lines.setdefault(instance.name, [])
        plan, host = replace(cluster.plan(instance), volumes=volumes), instance.host_name
        results[instance.name] = cluster.platform.bring_up(plan, on_script=lambda: before(host), on_line=lines.append)

    wait_for([lambda instance=instance: one(instance) for instance in instances])  # type: ignore[misc]
    return [results[instance.name] for instance in instances]


def install_aws(
    bed: BedClient, host: str, *, secrets: Mapping[str, str] | None = None, s3: Mapping[str, bytes] | None = None
) -> None:
    """Put the stand-in for the AWS CLI on a node, with what it answers."""
    files: dict[str, bytes | tuple[bytes, int]] = {
        "/usr/local/bin/aws": ((STANDINS / "aws.py").read_bytes(), 0o755),
        **{f"/run/aws-stand-in/secrets/{name}": (text.encode(), 0o600) for name, text in (secrets or {}).items()},
        **{f"/run/aws-stand-in/s3/{key}": content for key, content in (s3 or {}).items()},
    }
    bed.put(host, files)


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
