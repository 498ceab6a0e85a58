"""Repair topology files that stop jobs or slurmctld, now and before each start of slurmctld."""

from nodelib.slurm_conf import FOLDER, SlurmConf
from nodelib.slurm_control import reconfigure
from nodelib.step import Context, Step
from nodelib.systemd import write_unit
from nodelib.topology import repair
from nodelib.units import step_command

NAME = "guard_topology"
DROP_IN = "slurmctld.service.d/50-hyperpod-constructs-topology.conf"


def run(context: Context) -> None:
    """Repair what is broken, leave a real topology alone.

    Raises:
        StepError: slurmctld does not take the repair.
    """
    # "-": a guard that fails must not keep slurmctld from starting; "+": with root's rights.
    command = f"{step_command([NAME])} --identity-timeout-seconds 5"
    write_unit(context, DROP_IN, f"[Service]\nExecStartPre=-+{command}\n")
    conf = SlurmConf(context.files)
    yaml, tree = f"{FOLDER}/topology.yaml", f"{FOLDER}/topology.conf"
    found = repair(conf.text(), _text(context, tree), _text(context, yaml))
    changed = False
    if found.yaml is not None:
        changed = context.files.edit(yaml, lambda _: found.yaml or "")
    if found.without_plugin:
        changed = conf.remove("TopologyPlugin")
    if changed:
        context.note(f"repaired: {found.reason}")
        reconfigure(context)


def _text(context: Context, path: str) -> str | None:
    return context.files.read(path) if context.files.exists(path) else None


GUARD_TOPOLOGY = Step(
    name=NAME,
    summary="Repair empty or partial topology files that stop jobs or slurmctld",
    run=run,
    node_types=("controller",),
    feature="topology_guard",
    required=False,
    timeout_seconds=420,
)
