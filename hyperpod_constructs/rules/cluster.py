"""Rules of the cluster as a whole."""

from collections.abc import Iterator

from hyperpod_constructs import limits
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, hyphenated, repeated, shown

RULES = RuleBook()


@RULES.error("cluster-name", limits.CLUSTER_NAME.source)
def cluster_name(case: Case) -> Iterator[Finding]:
    """A cluster's name has letters, digits and inner hyphens, 1 to 63 characters."""
    name = case.spec.cluster_name
    if message := bad_name(name, limits.CLUSTER_NAME, instead=hyphenated(name)):
        yield "cluster_name", message


@RULES.error("group-names-unique", "FACTS 5.1")
def group_names_unique(case: Case) -> Iterator[Finding]:
    """No two groups of a cluster have the same name."""
    groups = case.spec.paths_and_groups
    for index, first in repeated([group.name for _, group in groups]):
        path, group = groups[index]
        if group.name:
            yield (
                f"{path}.name",
                f"got {shown(group.name)}, the name of {groups[first][0]} too, allowed: one group a name; rename one",
            )


@RULES.warning("no-compute-group", "PEERS 4")
def no_compute_group(case: Case) -> Iterator[Finding]:
    """A cluster without a compute group runs no job."""
    if not case.spec.compute:
        yield "compute", "the cluster has no compute group, so no job can run; add a ComputeGroup"
