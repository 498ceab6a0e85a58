"""Rules of how much a deployment can carry."""

from collections.abc import Iterator

from hyperpod_constructs.payload import STEP_FUNCTIONS_INPUT_BYTES, waiter_input_bytes
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook

RULES = RuleBook("What a deployment can carry")


@RULES.error("payload-size", "Step Functions developer guide, quotas; docs/limits.md")
def payload_size(case: Case) -> Iterator[Finding]:
    """An update, which carries the new and the old description of the cluster, fits into a waiter's input."""
    groups = case.spec.groups
    if case.bindings is None:
        return
    if not all(group.name in case.bindings.groups and group.all_instance_types for group in groups):
        return  # other rules report these
    size = waiter_input_bytes(case.spec, case.bindings)
    if size > STEP_FUNCTIONS_INPUT_BYTES:
        yield (
            "compute",
            f"the {len(groups)} groups take {size} bytes in an update, which carries them twice, allowed: "
            f"{STEP_FUNCTIONS_INPUT_BYTES} (a waiter's input); give groups fewer fields of their own, merge groups, or "
            "make two clusters",
        )
