"""The controller's Slurm: wait for the platform's part of slurm.conf, then start slurmctld. Never slurmd."""

from nodelib.errors import StepTimeoutError
from nodelib.slurm_conf import SLURM_CONF, SlurmConf
from nodelib.slurm_control import wait_for_controller
from nodelib.step import Context, Step
from nodelib.systemd import ensure_not_running, ensure_running, unit_states, write_unit
from nodelib.waiting import wait_for

SLURM_CONF_TIMEOUT_SECONDS = 300.0
START_TIMEOUT_SECONDS = 120.0

# A condition is checked before the unit's own pre-start step, which deletes slurm.conf (FACTS 6.2). Renaming or
# masking the unit would not outlive an image that brings it back.
_NEVER_SLURMD = """\
# slurmd must not run on the controller: its start deletes slurm.conf.
[Unit]
ConditionPathExists=/run/hyperpod-constructs/slurmd-may-run-on-the-controller
"""


def wait_for_slurm_conf(context: Context) -> None:
    """Wait until the platform has written its keys.

    Raises:
        StepTimeoutError: it has not.
    """

    def written() -> bool | None:
        conf = SlurmConf(context.files)
        return (conf.get("ClusterName") is not None and conf.get("SlurmctldHost") is not None) or None

    try:
        wait_for(
            written,
            what=f"the platform to write ClusterName and SlurmctldHost into {SLURM_CONF}",
            timeout_seconds=SLURM_CONF_TIMEOUT_SECONDS,
            clock=context.clock,
        )
    except StepTimeoutError as error:
        raise StepTimeoutError(f"{error}; see /var/log/aws/clusters/sagemaker-cluster-agent.log") from error


def start(context: Context) -> None:
    """Start slurmctld and wait until it answers.

    Raises:
        StepError: it does not; with the end of its journal.
    """
    write_unit(context, "slurmd.service.d/50-hyperpod-constructs.conf", _NEVER_SLURMD)
    ensure_not_running(context, unit_states(context, "slurmd"))
    ensure_running(context, "slurmctld", timeout_seconds=START_TIMEOUT_SECONDS)
    wait_for_controller(context, START_TIMEOUT_SECONDS)


WAIT_FOR_SLURM_CONF = Step(
    name="wait_for_slurm_conf",
    summary="Wait for the platform's keys in slurm.conf",
    run=wait_for_slurm_conf,
    node_types=("controller",),
    styles=("on_create",),
    timeout_seconds=310,
)

START_SLURM_CONTROLLER = Step(
    name="start_slurm_controller",
    summary="Start slurmctld and wait until it answers; see to it that slurmd never runs here",
    run=start,
    node_types=("controller",),
    styles=("on_create",),
    timeout_seconds=250,
)
