"""Units: looked at in one call, started only when they are not running, restarted only when told to."""

from collections.abc import Mapping
from dataclasses import dataclass

from nodelib.errors import StepError
from nodelib.step import Context

_PROPERTIES = ("LoadState", "ActiveState", "SubState", "UnitFileState", "Result", "ExecStart")
UNIT_FOLDER = "/etc/systemd/system"


@dataclass(frozen=True)
class UnitState:
    """What systemd says of a unit."""

    load: str = ""
    active: str = ""
    sub: str = ""
    enabled: str = ""
    result: str = ""
    start_command: str = ""

    @property
    def exists(self) -> bool:
        """Whether there is such a unit that could be started."""
        return self.load not in ("", "not-found", "masked")

    @property
    def is_running(self) -> bool:
        """Whether it is started."""
        return self.active == "active"

    @property
    def is_enabled(self) -> bool:
        """Whether it is started at boot."""
        return self.enabled not in ("", "disabled", "masked", "bad")

    @property
    def waits_for_restart(self) -> bool:
        """Whether systemd tries again and again to start it."""
        return self.active == "activating"


def unit_states(context: Context, *units: str) -> dict[str, UnitState]:
    """States of several units, with one child process."""
    command = ["systemctl", "show", f"--property={','.join(_PROPERTIES)}", *units]
    blocks = context.runner.run(command).stdout.strip("\n").split("\n\n")
    states = [_parse(block) for block in blocks]
    return dict(zip(units, states + [UnitState()] * (len(units) - len(states)), strict=False))


def ensure_running(context: Context, unit: str, *, restart: bool = False, timeout_seconds: float = 60) -> None:
    """Have a unit running now and after each boot.

    Args:
        context: of the step.
        unit: its name.
        restart: its configuration changed: restart it if it was running before.
        timeout_seconds: for its start.

    Raises:
        StepError: it does not exist or does not start; with the last lines of its journal.
    """
    state = unit_states(context, unit)[unit]
    if not state.exists:
        raise StepError(f"{unit}: the image has no such systemd unit")
    if not state.is_enabled or not state.is_running:
        _systemctl(context, ["enable", "--now", unit], unit, timeout_seconds)
        context.did(f"started {unit}")
    elif restart:
        _systemctl(context, ["restart", unit], unit, timeout_seconds)
        context.did(f"restarted {unit}")


def ensure_not_running(context: Context, states: Mapping[str, UnitState]) -> None:
    """Stop and disable units that must not run on this node."""
    for unit, state in states.items():
        if state.exists and (state.is_running or state.waits_for_restart or state.is_enabled):
            _systemctl(context, ["disable", "--now", unit], unit, 60)
            context.did(f"stopped {unit}")


def write_unit(context: Context, name: str, text: str) -> bool:
    """Write a unit or drop-in and let systemd read it; return whether it changed."""
    changed = context.files.write(f"{UNIT_FOLDER}/{name}", text)
    if changed:
        reload_units(context)
    return changed


def reload_units(context: Context) -> None:
    """Let systemd read all unit files and /etc/fstab again."""
    context.runner.run(["systemctl", "daemon-reload"])


def journal_tail(context: Context, unit: str, lines: int = 5) -> str:
    """The last lines a unit wrote, on one line."""
    command = ["journalctl", "--unit", unit, "--lines", str(lines), "--no-pager", "--output", "cat"]
    return " | ".join(context.runner.run(command, check=False).stdout.split("\n")).strip(" |")


def _systemctl(context: Context, arguments: list[str], unit: str, timeout_seconds: float) -> None:
    try:
        context.runner.run(["systemctl", *arguments], timeout_seconds=timeout_seconds)
    except StepError as error:
        tail = journal_tail(context, unit)
        raise StepError(f"{unit} does not start: {tail}" if tail else str(error)) from error


def _parse(block: str) -> UnitState:
    values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    return UnitState(
        load=values.get("LoadState", ""),
        active=values.get("ActiveState", ""),
        sub=values.get("SubState", ""),
        enabled=values.get("UnitFileState", ""),
        result=values.get("Result", ""),
        start_command=values.get("ExecStart", ""),
    )
