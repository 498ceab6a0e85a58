"""Start munge, which Slurm's daemons and commands prove themselves with."""

from nodelib.errors import StepTimeoutError
from nodelib.step import Context, Step
from nodelib.systemd import ensure_running
from nodelib.waiting import wait_for

KEY = "/etc/munge/munge.key"
KEY_TIMEOUT_SECONDS = 120.0


def run(context: Context) -> None:
    """Wait for the platform's key, start the daemon, prove it by one credential.

    Raises:
        StepError: there is no key, or munge does not work.
    """
    try:
        wait_for(
            lambda: context.files.exists(KEY) or None,
            what=f"the platform to write {KEY}",
            timeout_seconds=KEY_TIMEOUT_SECONDS,
            clock=context.clock,
        )
    except StepTimeoutError as error:
        raise StepTimeoutError(f"{error}: every node of a cluster gets the same key from it") from error
    ensure_running(context, "munge")
    credential = context.runner.run(["munge", "--no-input"]).stdout
    context.runner.run(["unmunge"], stdin=credential)


START_MUNGE = Step(
    name="start_munge",
    summary="Wait for the cluster's munge key, start munge, prove it",
    run=run,
    styles=("on_create",),
    timeout_seconds=180,
)
