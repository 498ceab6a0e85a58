"""``hyperpod-slurm precheck``: thin; the check itself ships with the lifecycle scripts and runs on the nodes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations
from .failures import CommandError, usage_error

if TYPE_CHECKING:
    from .access.target import Target

HELP = """Check the nodes of a cluster before a job, or a batch file before it is submitted.

With CLUSTER the check runs on its nodes, started from the login node through Systems Manager: file systems mounted,
writable and the same; home; Slurm; munge; containers; GPUs; EFA; disks; clocks; versions. On a node the same check is
srun -N 8 hyperpod-precheck. With --batch-file a local file is looked at, and no cluster is needed.

Example: hyperpod-slurm precheck my-training-cluster --partition train

Example: hyperpod-slurm precheck --batch-file train.sbatch
"""

PROGRAM = "/opt/hyperpod-constructs/hyperpod-precheck"
_NOT_THERE = 127


def precheck(
    cluster: Annotated[str | None, typer.Argument(help="Name or ARN of the cluster.", show_default=False)] = None,
    partition: Annotated[str | None, typer.Option("--partition", "-p", help="Nodes of this partition.")] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", "-N", min=1, help="So many of them.")] = None,
    node: Annotated[str, typer.Option("--from", help="The node to start from.")] = "login",
    user: Annotated[str, typer.Option("--user", "-l", help="As this Linux user.")] = "ubuntu",
    batch_file: Annotated[Path | None, typer.Option("--batch-file", help="Look at this batch file instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """Check nodes (the help text is HELP)."""
    from .access.keys import USER
    from .access.sessions import need_programs
    from .access.target import target_of

    if (batch_file is None) == (cluster is None):
        raise usage_error("give a cluster, or a file with --batch-file; on a node run: srun -N 8 hyperpod-precheck")
    if batch_file is not None:
        raise typer.Exit(_check_file(batch_file))
    if not USER.fullmatch(user):
        raise usage_error(f"got the user {user!r}, allowed: a Linux user name")
    need_programs("aws", "session-manager-plugin")
    target = target_of(account.connect(profile, region), str(cluster), node)
    words = [PROGRAM, *(["--partition", partition] if partition else []), *(["--nodes", str(nodes)] if nodes else [])]
    if partition is None and nodes is None:
        words.append("--partition=")
    raise typer.Exit(_check_nodes(target, user, [*words, *(["--json"] if as_json else [])]))


def _check_nodes(target: Target, user: str, words: list[str]) -> int:
    from .access.sessions import run_on_node
    from .screen import printable

    command = f"sudo -iu {user} /usr/bin/python3 -B {shlex.join(words)}"
    answer = run_on_node(target, f"test -e {PROGRAM} || exit {_NOT_THERE}; {command}")
    if answer.exit_code == _NOT_THERE:
        raise CommandError(
            f"{target.instance_id} has no {PROGRAM}: its scripts are of an older release; deploy again and replace "
            "the node, or copy lifecycle_assets there"
        )
    sys.stdout.write(f"{printable(answer.output).rstrip()}\n")
    return answer.exit_code


def _check_file(path: Path) -> int:
    from hyperpod_constructs.assets import lifecycle_assets

    program = lifecycle_assets() / "hyperpod-precheck"
    words = [sys.executable, "-B", str(program), "--batch-file", str(path)]
    answer = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    sys.stdout.write(answer.stdout)
    sys.stderr.write(answer.stderr)
    return answer.returncode
