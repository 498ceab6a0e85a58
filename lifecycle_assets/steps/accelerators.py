"""A compute node whose GPUs are not there must fail before it takes jobs (field report Q-11)."""

import re

from nodelib.errors import StepError
from nodelib.step import Context, Step

# GPUs of the larger types, where one that is missing is a fault of the machine; others count as one at least.
_GPU_COUNTS = {"p4d": 8, "p4de": 8, "p5e": 8, "p5en": 8, "p6-b200": 8, "p6-b300": 8, "p6e-gb200": 4}
_GPU_FAMILIES = re.compile(r"ml\.(p\d|g\d|gr\d)")


def expected_gpus(instance_type: str) -> int:
    """How many NVIDIA GPUs such an instance shows at least; 0 for types without."""
    if not _GPU_FAMILIES.match(instance_type):
        return 0
    family, _, size = instance_type.removeprefix("ml.").partition(".")
    if family == "p5":
        return 8 if size == "48xlarge" else 1
    return _GPU_COUNTS.get(family, 1)


def run(context: Context) -> None:
    """Count the devices.

    Raises:
        StepError: there are fewer than the instance type has.
    """
    expected = expected_gpus(context.identity.instance_type)
    found = sum(
        re.fullmatch(r"nvidia\d+", path.name) is not None for path in context.files.path("/dev").glob("nvidia*")
    )
    if found < expected:
        raise StepError(f"{context.identity.instance_type} has {expected} GPUs, this node shows {found}")
    context.note(f"{found} GPUs")


CHECK_ACCELERATORS = Step(
    name="check_accelerators",
    summary="Fail a compute node that shows fewer GPUs than its instance type has",
    run=run,
    node_types=("compute",),
    feature="accelerator_check",
)
