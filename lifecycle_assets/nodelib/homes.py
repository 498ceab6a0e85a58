"""Home directories on a file system that 20 nodes set up at the same time.

A home is made complete under another name and then renamed: one node wins, the others find it done.
"""

import os
import shutil
import socket
from pathlib import Path

from nodelib.errors import StepError
from nodelib.node_files import Owner
from nodelib.step import Context

HOME_MODE = 0o750


def ensure_home(context: Context, home: str, owner: Owner, skeleton: str) -> bool:
    """Have a home directory; one that exists keeps its content, mode and owner. Return whether this node made it.

    Args:
        context: of the step.
        home: its path.
        owner: user and group id.
        skeleton: folder whose content a new home starts with.

    Raises:
        StepError: it cannot be made.
    """
    target = context.files.path(home)
    if target.exists():
        return False
    draft = target.with_name(f".{target.name}.{socket.gethostname()}.{os.getpid()}")
    try:
        _make_draft(context, draft, context.files.path(skeleton), owner)
        # Onto a directory with content this fails: another node was faster.
        draft.rename(target)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if target.exists():
            return False
        raise StepError(f"{home}: cannot be made: {error.strerror}") from error
    context.files.changed.append(home)
    return True


def _make_draft(context: Context, draft: Path, skeleton: Path, owner: Owner) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    if skeleton.is_dir():
        shutil.copytree(skeleton, draft, symlinks=True, dirs_exist_ok=True)
    (draft / ".ssh").mkdir(mode=0o700, exist_ok=True)
    (draft / ".ssh").chmod(0o700)
    for path in [draft, *draft.rglob("*")]:
        context.files.ownership.set(path, owner)
    draft.chmod(HOME_MODE)
