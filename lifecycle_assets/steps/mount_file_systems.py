"""Mount the shared file systems of this node's group."""

import sys

from nodelib.errors import StepError, StepTimeoutError
from nodelib.mounts import MOUNT_TABLE, fstab_line, is_same, kind_of, mounted_at, options_of, source_of
from nodelib.node_config import Mount
from nodelib.step import Context, Step
from nodelib.systemd import reload_units
from nodelib.text import with_block
from nodelib.waiting import wait_for

# Names resolve late on a fresh node (field report L-05), and a file system may still be becoming available.
MOUNT_TIMEOUT_SECONDS = 240.0
ONE_MOUNT_TIMEOUT_SECONDS = 60.0
# The platform mounts by itself in the image styles, possibly while we run (FACTS 4.4).
PLATFORM_MOUNT_TIMEOUT_SECONDS = 20.0
PROBE_TIMEOUT_SECONDS = 120.0


def run(context: Context) -> None:
    """Mount what is not mounted, keep it over a reboot, and prove that it can be written to.

    Raises:
        StepError: a path holds another file system, or one cannot be mounted or used.
    """
    for mount in context.group.mounts:
        _ensure_mounted(context, mount)
        _prove_usable(context, mount)


def _ensure_mounted(context: Context, mount: Mount) -> None:
    if context.style == "on_init_complete":
        _wait_for_platform(context, mount)
    if not _is_mounted(context, mount):
        _mount(context, mount)
    if context.style == "on_create":
        _keep_over_reboot(context, mount)


def _is_mounted(context: Context, mount: Mount) -> bool:
    mounted = mounted_at(context.files.read(MOUNT_TABLE), mount.path)
    if mounted is None:
        return False
    if not is_same(mount, mounted):
        raise StepError(f"{mount.path} holds {mounted.source} ({mounted.kind}), not {source_of(mount)}")
    return True


def _wait_for_platform(context: Context, mount: Mount) -> None:
    try:
        wait_for(
            lambda: _is_mounted(context, mount) or None,
            what=f"the platform to mount {mount.path}",
            timeout_seconds=PLATFORM_MOUNT_TIMEOUT_SECONDS,
            clock=context.clock,
        )
    except StepTimeoutError as error:
        context.note(str(error))


def _mount(context: Context, mount: Mount) -> None:
    context.files.folder(mount.path)
    command = ["mount", "-t", kind_of(mount), "-o", options_of(mount), source_of(mount), mount.path]
    last = ""

    def attempt() -> bool | None:
        nonlocal last
        try:
            context.runner.run(command, timeout_seconds=ONE_MOUNT_TIMEOUT_SECONDS)
        except StepError as error:
            last = str(error)
            # Somebody else, the platform, may have been faster.
            return _is_mounted(context, mount) or None
        return True

    try:
        wait_for(
            attempt,
            what=f"{source_of(mount)} to be mounted at {mount.path}",
            timeout_seconds=MOUNT_TIMEOUT_SECONDS,
            clock=context.clock,
            first_pause_seconds=1,
            longest_pause_seconds=10,
        )
    except StepTimeoutError as error:
        raise StepTimeoutError(f"{error}; the last attempt: {last}{_hint(mount, last)}") from error
    context.did(f"mounted {mount.path}")


def _hint(mount: Mount, message: str) -> str:
    if mount.type == "lustre" and "Input/output error" in message:
        return (
            "; error 5 means that the file system does not answer (are TCP ports 988 and 1018-1023 open in both "
            "security groups?) or that client and file system versions do not fit (2.15 clients need 2.12 or later)"
        )
    return ""


def _keep_over_reboot(context: Context, mount: Mount) -> None:
    table = context.files.read("/etc/fstab")
    entries = [line.split() for line in table.splitlines() if not line.startswith("#")]
    ours = fstab_line(mount)
    if any(entry[1:2] == [mount.path] and " ".join(entry) != ours for entry in entries):
        return  # the platform's entry stays
    if context.files.edit("/etc/fstab", lambda text: with_block(text, f"mount {mount.path}", [ours])):
        reload_units(context)


def _prove_usable(context: Context, mount: Mount) -> None:
    probe = str(context.scripts / "files" / "probe_file_system.py")
    last = ""

    def attempt() -> bool | None:
        nonlocal last
        try:
            context.runner.run([sys.executable, probe, mount.path], timeout_seconds=30)
        except StepError as error:
            last = str(error)
            return None
        return True

    try:
        wait_for(
            attempt,
            what=f"a file to be written, read and removed in {mount.path}",
            timeout_seconds=PROBE_TIMEOUT_SECONDS,
            clock=context.clock,
            first_pause_seconds=1,
        )
    except StepTimeoutError as error:
        raise StepTimeoutError(f"{error}; the last attempt: {last}") from error


MOUNT_FILE_SYSTEMS = Step(
    name="mount_file_systems",
    summary="Mount the group's FSx file systems, keep them over a reboot, prove them by a file",
    run=run,
    timeout_seconds=420,
)
