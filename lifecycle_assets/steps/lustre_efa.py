"""LNet over EFA for a Lustre file system that has it; without this Lustre quietly runs over TCP (field report N-06).

The commands are those of the FSx guide's client set-up. None of it can be tried without the hardware.
"""

from pathlib import Path

from nodelib.errors import StepError
from nodelib.step import Context, Step

DEVICES = "/sys/class/infiniband"
ROUTES = "/proc/net/route"


def run(context: Context) -> None:
    """Add the EFA devices to LNet next to TCP and prefer them.

    Raises:
        StepError: LNet refused something.
    """
    if not any(mount.efa for mount in context.group.mounts):
        return
    devices = sorted(path.name for path in _entries(context.files.path(DEVICES)))
    if not devices:
        context.note("WARNING: the file system has EFA, this instance shows no EFA device: Lustre runs over TCP")
        return
    interface = primary_interface(context.files.read(ROUTES))
    if not interface:
        raise StepError(f"no default route in {ROUTES}, so no interface for LNet's TCP")
    shown = context.runner.run(["lnetctl", "net", "show"], check=False).stdout
    if "net type: efa" in shown:
        return
    for command in commands(interface, devices):
        context.runner.run(command, timeout_seconds=60)
    context.did(f"LNet over EFA: {', '.join(devices)}")


def commands(interface: str, devices: list[str]) -> list[list[str]]:
    """What sets LNet up, in order."""
    return [
        ["modprobe", "lnet"],
        ["modprobe", "kefalnd", f"ipif_name={interface}"],
        ["modprobe", "ksocklnd"],
        ["lnetctl", "lnet", "configure"],
        ["lnetctl", "net", "add", "--net", "tcp", "--if", interface],
        *(["lnetctl", "net", "add", "--net", "efa", "--if", device, "--peer-credits", "32"] for device in devices),
        ["lnetctl", "set", "discovery", "1"],
        ["lnetctl", "udsp", "add", "--src", "efa", "--priority", "0"],
    ]


def primary_interface(routes: str) -> str:
    """The interface of the default route, out of /proc/net/route."""
    rows = (line.split() for line in routes.splitlines()[1:])
    return next((row[0] for row in rows if len(row) > 1 and row[1] == "00000000"), "")


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


SET_UP_LUSTRE_EFA = Step(
    name="set_up_lustre_efa",
    summary="LNet over EFA, where the file system has it",
    run=run,
    styles=("on_create",),
    required=False,
    timeout_seconds=180,
)
