"""Keep a copy of the scripts on the node: timers and units run steps from it, and so does a person later."""

from nodelib.step import Context, Step
from nodelib.units import INSTALLED_SCRIPTS

PRECHECK = "/usr/local/bin/hyperpod-precheck"
# A command of its own, because S3 drops the mode of the program beside the scripts.
_PRECHECK_COMMAND = f"""#!/bin/sh
exec python3 -B {INSTALLED_SCRIPTS}/hyperpod-precheck "$@"
"""


def run(context: Context) -> None:
    """Copy what differs; a run from the copy itself has nothing to do."""
    if context.scripts != context.files.path(INSTALLED_SCRIPTS):
        context.files.copy_tree(context.scripts, INSTALLED_SCRIPTS)
    context.files.write(PRECHECK, _PRECHECK_COMMAND, mode=0o755)


INSTALL_SCRIPTS = Step(
    name="install_scripts",
    summary="Copy the scripts to /opt/hyperpod-constructs, from where timers and people run steps again",
    run=run,
)
