"""What of an instance type the nodes of a bed imitate, in one sentence."""

from hyperpod_constructs.instance_types import is_accelerated, is_known
from hyperpod_constructs.rehearsal.agent.slurm_files import gpu_count


def imitation_note(instance_type: str) -> str:
    """What a node of that type lacks on the bed; empty when nothing that matters to node scripts is missing.

    The node is made all the same: a type that cannot be imitated never stops a rehearsal.
    """
    gpus = gpu_count(instance_type)
    if gpus:
        return (
            f"{instance_type}: its {gpus} GPU{'s are' if gpus > 1 else ' is a'} stand-in{'s' if gpus > 1 else ''} "
            "that Slurm counts and hands out; there is no driver, CUDA or EFA"
        )
    if is_accelerated(instance_type):
        return f"{instance_type}: the bed cannot imitate its accelerators; the node is one without them"
    if not is_known(instance_type):
        return f"{instance_type}: not a type known here; the node is one without accelerators"
    return ""
