"""``hyperpod-slurm ssh-config``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations
from .failures import CommandError, usage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hyperpod_constructs.handlers.cluster.observed import Cluster

    from .access.ssh_config import Host
    from .live.cluster import Node

HELP = """Write the cluster's hosts into the SSH configuration, as one marked block that a second run replaces.

The cluster's name leads to the login node (the controller where there is none); CLUSTER-controller and CLUSTER-login
are there too, and with --nodes every node by CLUSTER-HOSTNAME. Region and profile are written out, and ssh itself is
asked whether it understood. Run it again when nodes were replaced.

Example: hyperpod-slurm ssh-config my-training-cluster && ssh my-training-cluster

Example: hyperpod-slurm ssh-config my-training-cluster --remove
"""


def ssh_config(
    cluster: Annotated[str, typer.Argument(help="Name of the cluster.", show_default=False)],
    file: Annotated[Path | None, typer.Option("--file", help="The configuration (default: ~/.ssh/config).")] = None,
    user: Annotated[str, typer.Option("--user", "-l", help="Linux user.")] = "ubuntu",
    identity_file: Annotated[Path | None, typer.Option("--identity-file", "-i", help="Private key to use.")] = None,
    every_node: Annotated[bool, typer.Option("--nodes", help="Compute nodes too.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take the block away.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the block, write nothing.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """Write entries (the help text is HELP)."""
    from .access.keys import USER
    from .access.ssh_config import block
    from .live.cluster import describe, nodes
    from .screen import tell

    if not USER.fullmatch(user):
        raise usage_error(f"got the user {user!r}, allowed: a Linux user name")
    path = (file or Path("~/.ssh/config")).expanduser()
    clients = account.connect(profile, region)
    if remove:
        changed = _replace(path, cluster, clients.region, "", [], user)
        tell(f"{path}: {'the block of' if changed else 'has no block of'} {cluster}{' is gone' if changed else ''}")
        return
    found = describe(clients, cluster)
    hosts = _hosts(found, nodes(clients, found), clients, every_node)
    if not hosts:
        raise CommandError(f"{found.name} has no node with an instance yet; see hyperpod-slurm nodes {found.name}")
    key = "" if identity_file is None else str(identity_file.expanduser())
    text = block(found.name, clients.region, hosts, user=user, identity_file=key)
    if show:
        sys.stdout.write(text)
        return
    changed = _replace(path, found.name, clients.region, text, hosts, user)
    names = [host.aliases[0] for host in hosts]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    tell(f"{path}: {'written' if changed else 'was already so'}; ssh knows {shown}")


def _hosts(cluster: Cluster, nodes: Sequence[Node], clients: account.Clients, every_node: bool) -> list[Host]:
    from .access.ssh_config import Host
    from .access.target import Target

    entry = "Login" if any(group.node_type == "Login" for group in cluster.groups.values()) else "Controller"
    counts: dict[str, int] = {}
    hosts = []
    for node in sorted(nodes, key=lambda one: (one.group, one.host, one.instance_id)):
        kind = cluster.groups[node.group].node_type
        if not node.instance_id or (kind not in ("Controller", "Login") and not every_node):
            continue
        counts[kind] = counts.get(kind, 0) + 1
        names = [f"{cluster.name}-{node.host or node.instance_id}"]
        if kind in ("Controller", "Login"):
            number = "" if counts[kind] == 1 else f"-{counts[kind]}"
            names.insert(0, f"{cluster.name}-{kind.lower()}{number}")
        if kind == entry and counts[kind] == 1:
            names.insert(0, cluster.name)
        target = Target(
            cluster_id=cluster.cluster_id,
            group=node.group,
            instance_id=node.instance_id,
            region=clients.region,
            profile=clients.profile,
        )
        hosts.append(Host(aliases=tuple(names), target=target))
    return hosts


def _replace(path: Path, cluster: str, region: str, text: str, hosts: Sequence[Host], user: str) -> bool:
    """Write the block, checked before and after; whether anything changed."""
    import shutil
    import tempfile

    from .access.ssh_config import verify, with_block
    from .files import write_file
    from .reading.documents import read_text

    before = read_text(path) if path.exists() else ""
    after = with_block(before, cluster, region, text)
    can_verify = shutil.which("ssh") is not None
    if after != before:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="hyperpod-slurm-") as folder:
            draft = Path(folder) / "config"
            write_file(draft, after, mode=0o600)
            if can_verify:
                verify(draft, hosts[:20], user)
        write_file(path, after, mode=0o600)
    if path.exists() and read_text(path) != after:
        raise CommandError(f"{path}: somebody else wrote to it meanwhile; run the command again")
    if can_verify and hosts:
        verify(path, hosts[:20], user)
    return after != before
