"""What a person sees who comes in: what this is, where things are, how to look at them."""

from nodelib.shared import home_base
from nodelib.step import Context, Step

PATH = "/etc/motd.d/50-hyperpod-constructs"


def run(context: Context) -> None:
    """Write the message."""
    context.files.write(PATH, message(context))


def message(context: Context) -> str:
    """The text, the deployment's own last."""
    partitions = [name for group in context.config.groups.values() for name in group.partitions]
    rows = [
        ("cluster", context.config.cluster_name),
        ("this node", f"{context.node_type}, instance group {context.group.name}, {context.identity.instance_type}"),
        ("controller", context.identity.controller_address),
        ("partitions", ", ".join(dict.fromkeys(partitions)) or "none"),
        ("homes", home_base(context)),
        ("shared", ", ".join(mount.path for mount in context.group.mounts) or "no file system"),
        ("logs", "/var/log/provision/provisioning.log, /var/log/slurm, /var/log/aws/clusters"),
        ("try", "sinfo; srun -N2 hostname; sbatch job.sh; squeue; sacct"),
    ]
    own = [context.config.message_of_the_day.rstrip(), ""] if context.config.message_of_the_day else []
    return "\n".join(["", "Amazon SageMaker HyperPod", *(f"  {k:<11} {v}" for k, v in rows), "", *own])


GREET = Step(
    name="write_message_of_the_day",
    summary="Message of the day: what, where and how",
    run=run,
    feature="message_of_the_day",
    required=False,
)
