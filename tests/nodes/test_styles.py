"""The image styles, on both suites: the platform sets Slurm up, beside our script or without one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType, Story, Style, When
from hyperpod_constructs.rehearsal.nodes import SUITES, Bed

from .conftest import SCRIPTS, SlurmCluster, within

pytestmark = pytest.mark.nodes

EXTENSION = """#!/bin/bash
set -eu
mountpoint -q /fsx && echo mounted || echo not yet mounted
touch /var/extended
"""


@pytest.fixture(scope="module", params=sorted(SUITES))
def any_bed(request: pytest.FixtureRequest, bed: Bed, cache: Path) -> Iterator[Bed]:
    """A bed of each suite; that of the default suite is the session's."""
    if request.param == "trixie":
        yield bed
        return
    with Bed(request.param, cache=cache, limit_seconds=600, say=print) as other:
        yield other


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    (tmp_path / "on_init_complete.sh").write_text(EXTENSION)
    return tmp_path


def run_cluster(cluster: SlurmCluster) -> None:
    """Bring up a controller, a login node and a worker, run and account a job, and end it all."""
    try:
        controller = cluster.instance("controller", 1, NodeType.CONTROLLER)
        assert [result.reason for result in cluster.bring_up(controller)] == [""]
        login = cluster.instance("login", 1, NodeType.LOGIN)
        worker = cluster.instance("train", 1, NodeType.COMPUTE)
        assert [result.reason for result in cluster.bring_up(login, worker)] == ["", ""]
        assert cluster.all_idle(login, worker)
        assert cluster.on("login-1", "srun -p train hostname >/fsx/out && cat /fsx/out").strip() == worker.host_name
        assert cluster.on("train-1", "cat /fsx/out").strip() == worker.host_name
        assert within(10, lambda: "COMPLETED" in cluster.on("controller-1", "sacct -n -X -o state"))
        assert cluster.platform.edits == []
    finally:
        cluster.end_all()


def test_on_create_starts_slurm_by_our_script(any_bed: Bed) -> None:
    run_cluster(SlurmCluster(bed=any_bed, network=60, scripts=SCRIPTS))


def test_the_image_alone_starts_slurm(any_bed: Bed) -> None:
    run_cluster(SlurmCluster(bed=any_bed, network=61, style=Style.IMAGE_ONLY))


@pytest.mark.parametrize("when", list(When))
def test_our_script_extends_what_the_image_does_before_beside_or_after_it(
    bed: Bed, extension: Path, when: When
) -> None:
    cluster = SlurmCluster(
        bed=bed,
        network=62 + list(When).index(when),
        style=Style.ON_INIT_COMPLETE,
        scripts=extension,
        entry="on_init_complete.sh",
        story=Story(image_setup=when),
    )
    run_cluster(cluster)
    if when is not When.DURING:
        expected = ["mounted"] if when is When.BEFORE else ["not yet mounted"]
        assert cluster.lines == dict.fromkeys(("controller-1", "login-1", "train-1"), expected)


def test_a_rebooted_node_of_the_image_mounts_and_joins_again(bed: Bed) -> None:
    cluster = SlurmCluster(bed=bed, network=66, style=Style.IMAGE_ONLY)
    try:
        controller = cluster.instance("controller", 1, NodeType.CONTROLLER)
        worker = cluster.instance("train", 1, NodeType.COMPUTE)
        cluster.bring_up(controller)
        cluster.bring_up(worker)
        assert cluster.all_idle(worker)
        cluster.platform.reboot(cluster.plan(worker))
        assert cluster.on("train-1", "findmnt -n -o FSTYPE /fsx; systemctl is-active slurmd").split() == [
            "lustre",
            "active",
        ]
    finally:
        cluster.end_all()
