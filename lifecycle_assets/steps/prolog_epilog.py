"""Folders for prolog and epilog scripts, and a dispatcher that no part of them can make drain a node by accident."""

from nodelib.slurm_conf import FOLDER, SlurmConf
from nodelib.step import Context, Step

SCRIPTS_FOLDER = f"{FOLDER}/scripts"
KINDS = {"Prolog": "prolog", "Epilog": "epilog"}


def run(context: Context) -> None:
    """Put the dispatcher and the folders on the node: the paths in slurm.conf count on every node."""
    dispatcher = (context.scripts / "files" / "job_scripts.sh").read_bytes()
    for kind in KINDS.values():
        context.files.folder(f"{FOLDER}/{kind}.d")
        context.files.write(f"{SCRIPTS_FOLDER}/{kind}.sh", dispatcher, mode=0o755)


def set_prolog_keys(context: Context, conf: SlurmConf) -> bool:
    """Point slurm.conf at the dispatcher, unless the image or a user points it elsewhere; return whether changed."""
    changed = False
    for key, kind in KINDS.items():
        path = f"{SCRIPTS_FOLDER}/{kind}.sh"
        present = conf.get(key)
        if present is None:
            changed = conf.set(key, path) or changed
        elif present != path:
            context.note(f"{key}={present} stays, {kind}.d is not used")
    return changed


SET_UP_PROLOG_EPILOG = Step(
    name="set_up_prolog_epilog",
    summary="Dispatcher and folders for prolog and epilog scripts",
    run=run,
    feature="prolog_epilog",
)
