"""Our own systemd units: they run steps again from the copy of the scripts that stays on the node."""

from collections.abc import Sequence

from nodelib.step import Context
from nodelib.systemd import UNIT_FOLDER, ensure_running, reload_units

# /tmp, where the platform puts the scripts, is emptied at boot.
INSTALLED_SCRIPTS = "/opt/hyperpod-constructs"
PREFIX = "hyperpod-constructs"
DEFERRED_UNIT = f"{PREFIX}-deferred.service"


def step_command(steps: Sequence[str]) -> str:
    """A command line for a unit that runs steps by name."""
    return f"/usr/bin/python3 -B {INSTALLED_SCRIPTS}/lifecycle_script.py --only {' '.join(steps)}"


def service_text(description: str, command: str, *, more: Sequence[str] = ()) -> str:
    """A one-shot service."""
    lines = ["[Unit]", f"Description={description}", "", "[Service]", "Type=oneshot", f"ExecStart={command}", *more]
    return "\n".join(lines) + "\n"


def ensure_timer(context: Context, name: str, description: str, command: str, minutes: int) -> None:
    """Have a command run a minute after the timer's start and then every so many minutes."""
    unit = f"{PREFIX}-{name}"
    timer = (
        f"[Unit]\nDescription={description}\n\n[Timer]\nOnActiveSec=1min\nOnUnitActiveSec={minutes}min\n"
        "AccuracySec=10s\n\n[Install]\nWantedBy=timers.target\n"
    )
    written = context.files.write(f"{UNIT_FOLDER}/{unit}.service", service_text(description, command))
    changed = context.files.write(f"{UNIT_FOLDER}/{unit}.timer", timer)
    if written or changed:
        reload_units(context)
    ensure_running(context, f"{unit}.timer", restart=changed)


def ensure_retry(context: Context, steps: Sequence[str]) -> None:
    """Have steps that were deferred run again every 15 s in the background until they succeed."""
    text = (
        "[Unit]\nDescription=Steps of the node scripts that waited for Slurm\nStartLimitIntervalSec=0\n\n"
        f"[Service]\nType=simple\nExecStart={step_command(steps)} --deferred\nRestart=on-failure\nRestartSec=15\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
    if context.files.write(f"{UNIT_FOLDER}/{DEFERRED_UNIT}", text):
        reload_units(context)
    # Enabled: a reboot must not forget it. Not waited for: it takes as long as Slurm takes.
    context.runner.run(["systemctl", "enable", DEFERRED_UNIT])
    context.runner.run(["systemctl", "start", "--no-block", DEFERRED_UNIT])
