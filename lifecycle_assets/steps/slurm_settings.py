"""Keys of slurm.conf: what these scripts need, and what the deployment asks for. The platform's keys stay its own."""

from nodelib.errors import DeferredError, StepError
from nodelib.slurm_conf import SLURM_CONF, SlurmConf, is_denied
from nodelib.slurm_control import reconfigure
from nodelib.step import Context, Step

from steps.prolog_epilog import set_prolog_keys


def run(context: Context) -> None:
    """Set the keys; a slurmctld that runs already reads them again.

    Raises:
        StepError: a key belongs to the platform.
        DeferredError: the image has not written slurm.conf yet.
    """
    denied = [key for key in context.config.slurm_settings if is_denied(key)]
    if denied:
        raise StepError(f"slurm_settings: {', '.join(denied)} cannot be set: they belong to the platform or to options")
    conf = SlurmConf(context.files)
    if conf.get("ClusterName") is None:
        raise DeferredError(f"the platform has not written {SLURM_CONF} yet")
    changed = [conf.set(key, value) for key, value in context.config.slurm_settings.items()]
    changed.append(conf.add_word("SlurmctldParameters", "enable_configless"))
    # A node that rebooted by itself comes back into service; one that was failed or drained on purpose does not.
    changed.append(conf.set_default("ReturnToService", "2"))
    # The paths count on every node: one that no script of ours prepared would fail each job.
    prepared = all(group.style != "image_only" for group in context.config.groups.values())
    if context.config.enabled("prolog_epilog") and prepared:
        changed.append(set_prolog_keys(context, conf))
    if any(changed):
        reconfigure(context)


SET_SLURM_SETTINGS = Step(
    name="set_slurm_settings",
    summary="Set keys of slurm.conf: those asked for and those the scripts need; never the platform's",
    run=run,
    node_types=("controller",),
    timeout_seconds=420,
)
