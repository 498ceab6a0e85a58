"""A marked block in an SSH configuration. Pure but for the last check, which asks ``ssh`` itself."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hyperpod_constructs.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .target import Target

_PROGRAM = "hyperpod-slurm"


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """One entry.

    Attributes:
        aliases: names by which people reach it.
        target: the node.
    """

    aliases: tuple[str, ...]
    target: Target


def block(cluster: str, region: str, hosts: Sequence[Host], *, user: str, identity_file: str = "") -> str:
    """The block of a cluster.

    Args:
        cluster: its name.
        region: its region; the same name in two regions has two blocks.
        hosts: entries.
        user: login name.
        identity_file: private key; SSH's own choice by default.
    """
    lines = [begin_mark(cluster, region), f"# Written by {_PROGRAM} ssh-config, which replaces what is in here."]
    for host in hosts:
        lines.append(f"Host {' '.join(host.aliases)}")
        lines += [f"    {line}" for line in _settings(host, user, identity_file)]
    # What stood before the first Host line of the file holds for all hosts again.
    return "\n".join([*lines, "Match all", end_mark(cluster, region)]) + "\n"


def _settings(host: Host, user: str, identity_file: str) -> list[str]:
    return [
        f"HostName {host.target.instance_id}",
        # A replaced node has another id, and so no quarrel with the old one's key.
        f"HostKeyAlias {host.target.instance_id}",
        f"User {user}",
        *([f'IdentityFile "{identity_file}"'] if identity_file else []),
        "StrictHostKeyChecking accept-new",
        f"ProxyCommand {proxy_command(host.target)}",
    ]


def proxy_command(target: Target) -> str:
    """The ProxyCommand, quoted for the shell that SSH starts; only ``%p`` is SSH's to replace."""
    words = target.proxy_words()
    return " ".join(word if word == "portNumber=%p" else shlex.quote(word).replace("%", "%%") for word in words)


def begin_mark(cluster: str, region: str) -> str:
    """The first line of a cluster's block."""
    return f"# >>> {_PROGRAM} {cluster} {region} >>>"


def end_mark(cluster: str, region: str) -> str:
    """The last line of a cluster's block."""
    return f"# <<< {_PROGRAM} {cluster} {region} <<<"


def with_block(text: str, cluster: str, region: str, new: str) -> str:
    """The configuration with the block in place of an older one, else in front of everything: SSH takes the first
    value that it finds, so what stands before would win.

    Args:
        text: the configuration.
        cluster: name of the cluster.
        region: of the cluster.
        new: the block; "" takes it away.

    Raises:
        CommandError: a block begins and does not end.
    """
    begin, end = begin_mark(cluster, region), end_mark(cluster, region)
    lines = text.splitlines(keepends=True)
    starts = [index for index, line in enumerate(lines) if line.rstrip() == begin]
    kept, at = list(lines), 0
    for start in reversed(starts):
        stop = next((index for index in range(start + 1, len(kept)) if kept[index].rstrip() == end), None)
        if stop is None:
            raise CommandError(f'line {start + 1} is "{begin}", and the end of that block is missing; remove the line')
        del kept[start : stop + 1]
        at = start
    if starts and not new and at < len(kept) and not kept[at].strip():
        del kept[at]  # the empty line that came with the block
    if not new:
        return "".join(kept)
    gap = "" if starts or not kept else "\n"
    return "".join([*kept[:at], new, gap, *kept[at:]])


def verify(path: Path, hosts: Sequence[Host], user: str) -> None:
    """Ask ``ssh`` what it would do with each alias.

    Raises:
        CommandError: something else than what was written.
    """
    for host in hosts:
        for alias in host.aliases:
            wanted = {"hostname": host.target.instance_id, "user": user}
            found = _understood(path, alias)
            for name, value in wanted.items():
                if found.get(name) != value:
                    raise CommandError(
                        f"{path}: ssh would take {name} {found.get(name)} for {alias}, not {value}; an entry of yours "
                        "for the same name comes first, rename or remove it"
                    )
            # ssh -G shows the command as it stands, with its %% and %p.
            if found.get("proxycommand") != proxy_command(host.target):
                raise CommandError(f"{path}: ssh would take another ProxyCommand for {alias}; remove yours")


def _understood(path: Path, alias: str) -> dict[str, str]:
    answer = subprocess.run(
        ["ssh", "-G", "-F", str(path), alias],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    if answer.returncode != 0:
        said = re.sub(r"\s+", " ", answer.stderr).strip()
        raise CommandError(f"ssh does not take the configuration: {said[:300]}")
    pairs = (line.partition(" ") for line in answer.stdout.splitlines())
    return {name: value for name, _, value in pairs}
