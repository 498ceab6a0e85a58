"""What is checked of a cluster's arguments before anything is made: a half-made tree would only hide the message."""

from collections.abc import Iterator, Sequence

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from hyperpod_constructs import rules
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.network import ClusterNetwork
from hyperpod_constructs.rules.rule import shown
from hyperpod_constructs.specs import ClusterSpec
from hyperpod_constructs.user_steps import problems as step_problems

_STEPS = "lifecycle.user_steps"


def check_cluster(
    spec: ClusterSpec,
    network: ClusterNetwork | None,
    vpc: ec2.IVpc | None,
    *,
    keep: bool,
    role: iam.IRole | None,
    scope: Construct,
    others: Sequence[Problem],
) -> None:
    """Refuse arguments that cannot become a cluster.

    Args:
        spec: the cluster.
        network: as given.
        vpc: as given.
        keep: whether the cluster is to stay when its stack goes.
        role: execution role as given.
        scope: where the cluster is to be made.
        others: problems that were found elsewhere.

    Raises:
        SpecError: with every problem.
    """
    errors, _ = rules.check(spec)
    # Files are looked at only where the steps are of the right kind at all.
    if not any(problem.path.startswith(_STEPS) for problem in errors):
        errors += _files_of_steps(spec)
    errors += others
    if keep and not (_outlives(network, scope) and _outlives(role, scope)):
        message = (
            "got RETAIN, allowed: RETAIN only with a network and an execution_role of another stack or imported; "
            "a cluster that is kept without them can neither run nor be deleted"
        )
        errors.append(Problem(path="removal_policy", message=message, rule="keep-with-what-it-stands-on"))
    if network is not None and vpc is not None:
        message = "given together with network, allowed: one of them; vpc is short for ClusterNetwork.from_vpc"
        errors.append(Problem(path="vpc", message=message, rule="network-or-vpc"))
    if errors:
        raise SpecError(errors, subject=f"cluster {shown(spec.cluster_name)}")


def _files_of_steps(spec: ClusterSpec) -> Iterator[Problem]:
    for index, step in enumerate(spec.lifecycle.user_steps):
        for field, message in step_problems(step):
            yield Problem(path=f"{_STEPS}[{index}].{field}", message=message, rule="user-step-files")


def _outlives(part: ClusterNetwork | iam.IRole | None, scope: Construct) -> bool:
    """Whether a part stays when the scope's stack goes."""
    if part is None:
        return False
    if isinstance(part, ClusterNetwork) and not part.is_owned:
        return True
    return part.node.default_child is None or Stack.of(part) is not Stack.of(scope)
