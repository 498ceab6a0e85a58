"""Slurm takes the partition names that the rules take, and does not know the one that they refuse."""

from collections.abc import Callable

import pytest

from hyperpod_constructs import ComputeGroup, ControllerGroup
from hyperpod_constructs.rehearsal.agent import NodeType
from hyperpod_constructs.rules import check
from hyperpod_constructs.specs import ClusterSpec

from .conftest import SlurmCluster, within

pytestmark = pytest.mark.nodes

# Names that read like words of Slurm's own, like numbers or ranges, or that are as long as a name may be.
_ODD = ("ALL", "1-2", "a--b", "p" * 63)
_REFUSED = "Default"


def _is_accepted(partition: str) -> bool:
    group = ComputeGroup(name="group", instance_type="ml.c5.xlarge", instance_count=1, partition=partition)
    spec = ClusterSpec(cluster_name="a", controller=ControllerGroup(instance_type="ml.m5.xlarge"), compute=[group])
    return not check(spec)[0]


def test_slurm_and_the_rules_agree_on_partition_names(make_cluster: Callable[..., SlurmCluster]) -> None:
    assert all(_is_accepted(name) for name in _ODD)
    assert not _is_accepted(_REFUSED)
    cluster = make_cluster()
    controller = cluster.instance("controller", 1, NodeType.CONTROLLER)
    workers = [
        cluster.instance(name, number, NodeType.COMPUTE) for number, name in enumerate((*_ODD, _REFUSED), start=1)
    ]
    assert all(result.ok for result in cluster.bring_up(controller, *workers))
    assert within(30, lambda: len(cluster.on("controller-1", "sinfo -h -N -p dev").splitlines()) == len(workers))
    shown = set(cluster.on("controller-1", "sinfo -h -o %R").split())
    assert shown == {"dev", *_ODD}
    for name, worker in zip(_ODD, workers, strict=False):
        assert cluster.on("controller-1", f"srun -p {name} hostname").strip() == worker.host_name
    refusal = cluster.on("controller-1", f"sbatch -p {_REFUSED} --wrap hostname 2>&1 || true")
    assert "invalid partition specified" in refusal
