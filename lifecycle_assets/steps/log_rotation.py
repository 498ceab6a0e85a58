"""Rotation of Slurm's logs, under the name that the platform uses for it (FACTS 7.3)."""

from nodelib.step import Context, Step

FOLDER = "/etc/logrotate.d"
NAME = "sagemaker-hyperpod-slurm"


def run(context: Context) -> None:
    """Write the rule, unless another file rotates the same logs: logrotate skips what is named twice."""
    others = (path for path in sorted(context.files.path(FOLDER).glob("*")) if path.name != NAME and path.is_file())
    other = next((path.name for path in others if "/var/log/slurm/" in path.read_text(errors="replace")), None)
    if other is not None:
        context.note(f"{FOLDER}/{other} rotates /var/log/slurm already")
        return
    text = (context.scripts / "files" / "logrotate.conf").read_text(encoding="utf-8")
    context.files.write(f"{FOLDER}/{NAME}", text)


ROTATE_LOGS = Step(
    name="rotate_logs",
    summary="Rotate Slurm's logs at 50 MB",
    run=run,
    styles=("on_create",),
    feature="log_rotation",
    required=False,
)
