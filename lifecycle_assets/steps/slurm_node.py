"""Slurm on login and compute nodes: slurmd with the controller's configuration. Never slurmctld or slurmdbd."""

from nodelib.errors import StepError, StepTimeoutError
from nodelib.step import Context, Step
from nodelib.systemd import UnitState, ensure_not_running, journal_tail, unit_states, write_unit

SLURMCTLD_PORT = 6817
START_TIMEOUT_SECONDS = 30.0
OPTIONS_FILE = "/etc/default/hyperpod-constructs-slurmd"
DROP_IN = "slurmd.service.d/50-hyperpod-constructs.conf"
SPOOL = "/var/spool/slurmd"

# A login node that slurm.conf never names tries for ever: seldom enough not to disturb slurmctld.
RETRY_SECONDS = {"compute": 5, "login": 30}


def run(context: Context) -> None:
    """Point slurmd at the controller and start it.

    A node of a new group is in slurm.conf only minutes after its script ran (field report L-15). Until then slurmd
    ends at once; systemd starts it again until it is known, and this step does not wait for that.

    Raises:
        StepError: slurmd is not on the image or cannot be started at all.
    """
    states = unit_states(context, "slurmd", "slurmctld", "slurmdbd")
    slurmd = states.pop("slurmd")
    if not slurmd.exists:
        raise StepError("slurmd: the image has no such systemd unit")
    ensure_not_running(context, states)
    context.files.folder(SPOOL)
    changed = _point_at_controller(context, slurmd)
    _start(context, slurmd, restart=changed)


def _point_at_controller(context: Context, slurmd: UnitState) -> bool:
    server = f"{context.identity.controller_address}:{SLURMCTLD_PORT}"
    changed = context.files.write(OPTIONS_FILE, f'SLURMD_OPTIONS="--conf-server {server}"\n')
    return write_unit(context, DROP_IN, drop_in(context, slurmd, server)) or changed


def drop_in(context: Context, slurmd: UnitState, server: str) -> str:
    """Text of slurmd's drop-in.

    The image's unit takes $SLURMD_OPTIONS; one that does not gets its command again with the option.
    """
    lines = [
        "# slurmd takes its configuration from the controller and is started until the controller knows this node."
    ]
    lines += ["[Unit]", "StartLimitIntervalSec=0", "After=remote-fs.target", "", "[Service]"]
    lines += [f"EnvironmentFile={OPTIONS_FILE}", "Restart=on-failure"]
    lines += [f"RestartSec={RETRY_SECONDS[context.node_type]}"]
    if context.node_type == "login":
        # Its commands read the configuration that slurmd fetched, even where slurmd may not stay.
        lines.append("RuntimeDirectoryPreserve=yes")
    # A node without its file systems must not take jobs; a mount that failed at boot is made up for here.
    lines += [f"ExecStartPre=+/bin/sh -c 'mountpoint -q {m.path} || mount {m.path}'" for m in context.group.mounts]
    command = _command(slurmd.start_command)
    if command and "SLURMD_OPTIONS" not in command and "--conf-server" not in command:
        lines += ["ExecStart=", f"ExecStart={command} --conf-server {server}"]
    return "\n".join(lines) + "\n"


def _command(start_command: str) -> str:
    # "{ path=/usr/sbin/slurmd ; argv[]=/usr/sbin/slurmd --systemd $SLURMD_OPTIONS ; ignore_errors=no ; ..."
    return start_command.partition("argv[]=")[2].partition(" ; ")[0]


def _start(context: Context, slurmd: UnitState, *, restart: bool) -> None:
    if slurmd.is_running and slurmd.is_enabled and not restart:
        return
    if not slurmd.is_enabled:
        context.runner.run(["systemctl", "enable", "slurmd"])
    verb = "restart" if slurmd.is_running else "start"
    try:
        result = context.runner.run(["systemctl", verb, "slurmd"], check=False, timeout_seconds=START_TIMEOUT_SECONDS)
        started = result.returncode == 0
    except StepTimeoutError:
        started = False
    context.did(f"{verb}ed slurmd")
    if not started:
        _explain(context)


def _explain(context: Context) -> None:
    state = unit_states(context, "slurmd")["slurmd"]
    if state.is_running:
        return
    if not state.waits_for_restart:
        raise StepError(f"slurmd does not start: {journal_tail(context, 'slurmd')}")
    context.note(
        f"slurmd is not up yet, systemd tries again every {RETRY_SECONDS[context.node_type]} s until the controller "
        f"knows this node; its journal ends: {journal_tail(context, 'slurmd', 2)}"
    )


START_SLURM_NODE = Step(
    name="start_slurm_node",
    summary="Start slurmd with the controller's configuration; systemd repeats it until the controller knows the node",
    run=run,
    node_types=("login", "compute"),
    styles=("on_create",),
    timeout_seconds=120,
)
