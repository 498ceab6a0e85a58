"""Installing Debian packages beside first-boot updates that hold dpkg's lock (field reports L-06, S-06)."""

from collections.abc import Sequence
from pathlib import Path

from nodelib.errors import StepError
from nodelib.step import Context

TRIES = 5
LOCK_TIMEOUT_SECONDS = 120
# An upgrade that takes a newer kernel along leaves the node without its Lustre modules.
HELD_PATTERNS = ("lustre-client-modules-*", "lustre-client-utils")
_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}


def installed_version(context: Context, name: str) -> str:
    """The version of an installed package; empty if it is not installed."""
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev} ${Version}", name]
    result = context.runner.run(command, check=False)
    status, _, version = result.stdout.partition(" ")
    return version.strip() if result.returncode == 0 and status.startswith("ii") else ""


def install_files(context: Context, files: Sequence[Path]) -> None:
    """Install package files that are on the node already, with what they depend on.

    Raises:
        StepError: apt failed every time.
    """
    _hold_lustre(context)
    options = ["-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT_SECONDS}", "--yes", "--no-install-recommends"]
    command = ["apt-get", *options, "--allow-downgrades", "install", *(str(file) for file in files)]
    for attempt in range(1, TRIES + 1):
        result = context.runner.run(command, check=False, timeout_seconds=600, environment=_ENVIRONMENT)
        if result.returncode == 0:
            return
        if attempt < TRIES:
            context.clock.sleep(5 * attempt)
    raise StepError(f"apt-get install failed {TRIES} times: {result.stderr.strip()[-500:]}")


def _hold_lustre(context: Context) -> None:
    command = ["dpkg-query", "--show", "--showformat=${Package}\\n", *HELD_PATTERNS]
    names = context.runner.run(command, check=False).stdout.split()
    if names:
        context.runner.run(["apt-mark", "hold", *names])
