"""Keep jobs off the login nodes: the platform's partition ``dev`` holds every node (field report Q-12).

The lines of nodes and partitions are the platform's, so the node is drained instead. A controller that lost its state
forgets that, hence the timer.
"""

import socket

from nodelib.step import Context, Step
from nodelib.units import ensure_timer, step_command

NAME = "keep_login_node_free"
REASON = "login node: takes no jobs"
MINUTES = 5


def run(context: Context) -> None:
    """Drain this node if Slurm knows it and it is not drained already."""
    ensure_timer(context, "login-guard", "Keep jobs off this login node", step_command([NAME]), MINUTES)
    host = socket.gethostname().partition(".")[0]
    result = context.runner.run(["scontrol", "--oneliner", "show", "node", host], check=False, timeout_seconds=30)
    if result.returncode != 0 or f"NodeName={host} " not in result.stdout:
        context.note("Slurm does not know this node, so it gets no jobs")
    elif "DRAIN" not in _state(result.stdout):
        context.runner.run(["scontrol", "update", f"nodename={host}", "state=drain", f"reason={REASON}"])
        context.did(f"drained {host}")


def _state(text: str) -> str:
    return next((word for word in text.split() if word.startswith("State=")), "")


KEEP_LOGIN_NODE_FREE = Step(
    name=NAME,
    summary="Drain the login node in Slurm, so that no job of partition dev lands on it",
    run=run,
    node_types=("login",),
    feature="login_nodes_free",
    required=False,
    timeout_seconds=90,
)
