"""Observability agents: exporters and collectors that the deployment names; none by default.

Each is a program pinned by checksum that systemd keeps running under an account of its own choosing nothing.
"""

import shlex
import tarfile

from nodelib.downloads import fetch_package
from nodelib.errors import StepError
from nodelib.node_config import Agent
from nodelib.step import Context, Step
from nodelib.systemd import UNIT_FOLDER, ensure_not_running, ensure_running, reload_units, unit_states
from nodelib.units import PREFIX

PROGRAMS = "/opt/hyperpod-constructs-agents"
UNIT_PREFIX = f"{PREFIX}-agent-"


def run(context: Context) -> None:
    """Have the agents of this node type running, and no others of ours.

    Raises:
        StepError: one could not be fetched, is not what was pinned, or does not start.
    """
    wanted = [a for a in context.config.agents if not a.node_types or context.node_type in a.node_types]
    _remove_others(context, {agent.name for agent in wanted})
    for agent in wanted:
        _ensure_agent(context, agent)


def _ensure_agent(context: Context, agent: Agent) -> None:
    program = f"{PROGRAMS}/{agent.name}-{agent.package.sha256[:12]}"
    if not context.files.exists(program):
        context.files.write(program, _program(context, agent), mode=0o755)
    unit = f"{UNIT_PREFIX}{agent.name}.service"
    changed = context.files.write(f"{UNIT_FOLDER}/{unit}", unit_text(agent, program))
    if changed:
        reload_units(context)
    ensure_running(context, unit, restart=changed)


def unit_text(agent: Agent, program: str) -> str:
    """The agent's unit. ``$`` and ``%`` in arguments are themselves, not systemd's."""
    words = [program, *agent.arguments]
    command = " ".join(shlex.quote(word) for word in words).replace("%", "%%").replace("$", "$$")
    return (
        f"[Unit]\nDescription=Observability agent {agent.name}\nAfter=network-online.target\n"
        "Wants=network-online.target\n\n"
        f"[Service]\nExecStart={command}\nRestart=on-failure\nRestartSec=10\n"
        "ProtectSystem=full\nProtectHome=yes\nNoNewPrivileges=yes\n\n[Install]\nWantedBy=multi-user.target\n"
    )


def _program(context: Context, agent: Agent) -> bytes:
    file = fetch_package(context, agent.package)
    if not agent.program:
        return file.read_bytes()
    try:
        with tarfile.open(file) as archive:
            member = archive.extractfile(agent.program)
            if member is None:
                raise KeyError(agent.program)
            return member.read()
    except (tarfile.TarError, KeyError) as error:
        raise StepError(f"agent {agent.name}: no file {agent.program} in {agent.package.url}") from error


def _remove_others(context: Context, names: set[str]) -> None:
    for path in sorted(context.files.path(UNIT_FOLDER).glob(f"{UNIT_PREFIX}*.service")):
        if path.stem.removeprefix(UNIT_PREFIX) not in names:
            ensure_not_running(context, unit_states(context, path.name))
            context.files.remove(f"{UNIT_FOLDER}/{path.name}")


RUN_AGENTS = Step(
    name="run_observability_agents",
    summary="Run the exporters and collectors that the deployment names for this node type; none by default",
    run=run,
    required=False,
    timeout_seconds=600,
)
