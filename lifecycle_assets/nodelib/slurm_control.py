"""Speaking to a running slurmctld and slurmdbd, which are busy at times (field reports Q-05, Q-10)."""

from collections.abc import Callable, Sequence

from nodelib.errors import StepError, StepTimeoutError
from nodelib.runner import Result
from nodelib.step import Context
from nodelib.systemd import journal_tail, unit_states
from nodelib.waiting import wait_for

LIST_CLUSTERS = ("sacctmgr", "-n", "-P", "show", "cluster", "format=cluster")
RECONFIGURE_TRIES = 6
RECONFIGURE_PAUSE_SECONDS = 5.0
# slurmdbd waits for its database by itself, but ends when it meets one that is just starting.
DAEMON_RESTARTS = 3


def controller_answers(context: Context) -> bool:
    """Whether slurmctld answers."""
    result = _ask(context, ["scontrol", "ping"], timeout_seconds=15)
    return result.returncode == 0 and " is UP" in result.stdout


def wait_for_controller(context: Context, timeout_seconds: float) -> None:
    """Wait until slurmctld answers.

    Raises:
        StepTimeoutError: it does not; with the end of its journal.
    """
    _wait(context, "slurmctld", controller_answers, timeout_seconds)


def database_answers(context: Context) -> bool:
    """Whether slurmdbd answers and reaches its database."""
    return _ask(context, LIST_CLUSTERS, timeout_seconds=30).returncode == 0


def wait_for_database(context: Context, timeout_seconds: float) -> None:
    """Wait until slurmdbd answers and reaches its database.

    Raises:
        StepTimeoutError: it does not; with the end of its journal.
    """
    _wait(context, "slurmdbd", database_answers, timeout_seconds)


def reconfigure(context: Context) -> None:
    """Let slurmctld and, through it, all nodes read the configuration again; nothing to do if it does not run.

    Raises:
        StepError: slurmctld refused every time.
    """
    if not unit_states(context, "slurmctld")["slurmctld"].is_running:
        return
    for attempt in range(1, RECONFIGURE_TRIES + 1):
        result = _ask(context, ["scontrol", "reconfigure"], timeout_seconds=60)
        if result.returncode == 0:
            context.did("slurmctld reconfigured")
            return
        if attempt < RECONFIGURE_TRIES:
            context.clock.sleep(RECONFIGURE_PAUSE_SECONDS)
    raise StepError(f"scontrol reconfigure failed {RECONFIGURE_TRIES} times: {result.stderr.strip()}")


def _ask(context: Context, command: Sequence[str], *, timeout_seconds: float) -> Result:
    """Run a command that may fail; one that hangs, because the daemon is stuck, has failed too."""
    try:
        return context.runner.run(command, check=False, timeout_seconds=timeout_seconds)
    except StepTimeoutError as error:
        return Result(1, "", str(error))


def _wait(context: Context, unit: str, answers: Callable[[Context], bool], timeout_seconds: float) -> None:
    restarts = 0

    def probe() -> bool | None:
        nonlocal restarts
        if answers(context):
            return True
        if unit_states(context, unit)[unit].active != "failed":
            return None
        # One that ends every time, for a mistake in its configuration say, is not worth the whole wait.
        if restarts == DAEMON_RESTARTS:
            raise StepError(f"{unit} ended {restarts + 1} times: {journal_tail(context, unit)}")
        restarts += 1
        context.runner.run(["systemctl", "start", unit], check=False)
        context.note(f"{unit} ended and was started again")
        return None

    try:
        wait_for(probe, what=f"{unit} to answer", timeout_seconds=timeout_seconds, clock=context.clock)
    except StepTimeoutError as error:
        raise StepTimeoutError(f"{error}; its journal ends: {journal_tail(context, unit)}") from error
