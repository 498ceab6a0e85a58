"""Keep the accounting history on the shared file system."""

from nodelib import backup, database
from nodelib.shared import shared_root
from nodelib.step import Context, Step
from nodelib.systemd import UNIT_FOLDER, ensure_running, reload_units, unit_states
from nodelib.units import PREFIX, ensure_timer, step_command

DUMP_STEP = "dump_accounting"


def schedule(context: Context) -> None:
    """Dump every quarter of an hour (or as configured), and when the controller shuts down."""
    if context.config.accounting.kind != "on_controller":
        context.note("the accounting database is not on the controller")
        return
    if not shared_root(context):
        context.note("no shared file system to keep the accounting history on: a software update loses it")
        return
    command = step_command([DUMP_STEP])
    description = "Dump Slurm's accounting database"
    ensure_timer(context, "accounting-dump", description, command, context.config.accounting_backup_minutes)
    _dump_at_shutdown(context, command)


def _dump_at_shutdown(context: Context, command: str) -> None:
    unit = f"{PREFIX}-accounting-shutdown.service"
    text = (
        "[Unit]\nDescription=Dump Slurm's accounting database at shutdown\n"
        # Ordered after these at boot, and so before them at shutdown.
        f"After={database.UNIT}.service\nRequiresMountsFor={shared_root(context)}\n\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n"
        f"ExecStop={command}\nTimeoutStopSec=120\n\n[Install]\nWantedBy=multi-user.target\n"
    )
    if context.files.write(f"{UNIT_FOLDER}/{unit}", text):
        reload_units(context)
    ensure_running(context, unit)


def dump(context: Context) -> None:
    """Write the dump now.

    Raises:
        StepError: it cannot be written.
    """
    if context.config.accounting.kind != "on_controller":
        context.note("the accounting database is not on the controller")
        return
    if not unit_states(context, database.UNIT)[database.UNIT].is_running:
        context.note(f"{database.UNIT} is not running")
        return
    backup.dump(context)


SCHEDULE_ACCOUNTING_DUMP = Step(
    name="schedule_accounting_dump",
    summary="Dump the controller's accounting database to the shared file system, by timer and at shutdown",
    run=schedule,
    node_types=("controller",),
    feature="accounting_backup",
    required=False,
    timeout_seconds=90,
)

DUMP_ACCOUNTING = Step(
    name=DUMP_STEP,
    summary="Dump the accounting database now (the timer's step)",
    run=dump,
    node_types=("controller",),
    feature="accounting_backup",
    timeout_seconds=660,
    on_demand=True,
)
