"""Slurm on the bed, started by a plain ON_CREATE script; nodes come, go, are replaced, rebooted and cut off."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType, Story

from .conftest import SCRIPTS, SlurmCluster, within

pytestmark = pytest.mark.nodes


def changed_scripts(folder: Path, change: tuple[str, str]) -> Path:
    """The test's scripts with one change in the entry script."""
    target = folder / "scripts"
    shutil.copytree(SCRIPTS, target)
    entry = target / "on_create.sh"
    text = entry.read_text()
    assert change[0] in text
    entry.write_text(text.replace(*change))
    return target


def test_sinfo_shows_both_partitions_with_their_nodes(slurm: SlurmCluster) -> None:
    shown = slurm.on("login-1", "sinfo -h -o '%R %D %T'").split("\n")
    assert {"dev 3 idle", "train 2 idle"} <= set(shown)


def test_srun_answers_from_both_compute_nodes(slurm: SlurmCluster) -> None:
    names = slurm.on("login-1", "srun -p train -N2 --ntasks-per-node=1 hostname").split()
    assert sorted(names) == [slurm.instances[f"train-{n}"].host_name for n in (1, 2)]


def test_a_batch_job_writes_to_the_shared_file_system_and_is_accounted(slurm: SlurmCluster) -> None:
    text = "cd /fsx && sbatch --parsable --wait -p train -N2 -o /fsx/job.out --wrap 'srun hostname'"
    job = slurm.on("login-1", text).strip()
    assert len(slurm.on("train-2", "sort -u /fsx/job.out").split()) == 2
    account = f"sacct -n -X -j {job} -o state,nnodes"
    assert within(10, lambda: slurm.on("login-1", account).split() == ["COMPLETED", "2"])


def test_the_script_ran_as_the_platform_runs_it(slurm: SlurmCluster) -> None:
    first = slurm.lines["controller-1"][0]
    assert first == "script: home=unset umask=0077 folder=/tmp/sagemaker-tests/lifecycle/0123abcd terminal=no"
    log = slurm.on("controller-1", "cat /var/log/provision/provisioning.log").splitlines()
    assert log == slurm.lines["controller-1"]


def test_munge_has_one_key_on_all_nodes_that_only_it_can_read(slurm: SlurmCluster) -> None:
    read = "sha256sum /etc/munge/munge.key; stat -c '%a %U' /etc/munge/munge.key"
    shown = {slurm.on(name, read) for name in slurm.instances}
    assert len(shown) == 1
    assert shown.pop().splitlines()[1] == "400 munge"


def test_a_worker_joins_a_running_cluster_runs_a_job_and_leaves(slurm: SlurmCluster) -> None:
    third = slurm.instance("train", 3, NodeType.COMPUTE)
    assert slurm.bring_up(third)[0].ok
    assert slurm.all_idle(third)
    assert slurm.on("login-1", f"srun -p train -w {third.host_name} hostname").strip() == third.host_name
    slurm.end(third)
    assert third.host_name not in slurm.on("controller-1", "cat /opt/slurm/etc/slurm.conf; sinfo -N -h")
    assert slurm.on("login-1", "srun -p train -N2 hostname | wc -l").strip() == "2"
    assert slurm.platform.edits == []


def test_a_replaced_worker_rejoins_with_a_fresh_root_and_the_same_file_system(slurm: SlurmCluster) -> None:
    old = slurm.instances["train-2"]
    slurm.on("train-2", "touch /root/old /fsx/kept")
    slurm.end(old)
    new = slurm.instance("train", 2, NodeType.COMPUTE)
    assert new.host_name == old.host_name
    assert slurm.bring_up(new)[0].ok
    assert slurm.all_idle(new)
    assert slurm.on("train-2", "ls /root; ls /fsx/kept").strip() == "/fsx/kept"
    assert slurm.on("login-1", f"srun -p train -w {new.host_name} hostname").strip() == new.host_name


def test_a_rebooted_worker_comes_back_idle(slurm: SlurmCluster) -> None:
    worker = slurm.instances["train-1"]
    slurm.platform.reboot(slurm.plan(worker))
    assert slurm.all_idle(worker, seconds=40)
    assert slurm.on("login-1", f"srun -p train -w {worker.host_name} hostname").strip() == worker.host_name


def test_a_worker_that_is_cut_off_goes_down_and_comes_back(slurm: SlurmCluster) -> None:
    worker = slurm.instances["train-1"]
    slurm.bed.cut(worker.host_name)
    try:
        assert within(60, lambda: slurm.state(worker).startswith("down")), slurm.state(worker)
    finally:
        slurm.bed.restore(worker.host_name)
    assert slurm.all_idle(worker, seconds=60)


def test_gpus_are_handed_out_though_they_are_stand_ins(slurm: SlurmCluster) -> None:
    worker = slurm.instance("gpu", 4, NodeType.COMPUTE, "ml.p5.48xlarge")
    assert slurm.bring_up(worker)[0].ok
    assert slurm.all_idle(worker)
    assert slurm.on("login-1", "srun -p gpu --gres=gpu:3 bash -c 'echo $CUDA_VISIBLE_DEVICES'").strip() == "0,1,2"
    slurm.end(worker)


def test_a_worker_that_slurm_learns_of_late_joins_then(make_cluster: Callable[..., SlurmCluster]) -> None:
    cluster = make_cluster(story=Story(slurm_conf_delay_seconds=2, node_lines_delay_seconds=6))
    controller = cluster.instance("controller", 1, NodeType.CONTROLLER)
    assert cluster.bring_up(controller)[0].seconds > 2, "the script had to wait for slurm.conf"
    worker = cluster.instance("train", 1, NodeType.COMPUTE)
    result = cluster.bring_up(worker)[0]
    assert result.ok
    assert result.seconds < 6
    assert worker.host_name not in cluster.on("controller-1", "cat /opt/slurm/etc/slurm.conf")
    assert cluster.all_idle(worker, seconds=40)


def test_a_script_that_edits_a_platform_owned_key_fails_its_node(
    make_cluster: Callable[..., SlurmCluster], tmp_path: Path
) -> None:
    edit = "sed -i s#^TaskPlugin=.*#TaskPlugin=task/affinity# $etc/slurm.conf"
    scripts = changed_scripts(tmp_path, ('echo "script: done"', edit))
    cluster = make_cluster(scripts=scripts)
    result = cluster.bring_up(cluster.instance("controller", 1, NodeType.CONTROLLER))[0]
    assert (result.ok, result.exit_code) == (False, 0)
    assert 'TaskPlugin was set: "TaskPlugin=task/affinity" instead of "TaskPlugin=task/none"' in result.reason
    assert cluster.platform.edits == list(result.edits)


def test_a_failing_script_is_reported_with_its_code_and_last_lines(
    make_cluster: Callable[..., SlurmCluster], tmp_path: Path
) -> None:
    scripts = changed_scripts(tmp_path, ("systemctl enable --now munge", "echo 'no munge here' >&2; exit 23"))
    cluster = make_cluster(scripts=scripts)
    result = cluster.bring_up(cluster.instance("controller", 1, NodeType.CONTROLLER))[0]
    assert (result.ok, result.exit_code, result.reason) == (False, 23, "on_create.sh: exit code 23")
    assert cluster.lines["controller-1"][-1] == "no munge here"


def test_a_hanging_script_is_killed_for_its_time(make_cluster: Callable[..., SlurmCluster], tmp_path: Path) -> None:
    scripts = changed_scripts(tmp_path, ('echo "script: done"', "sleep 300"))
    cluster = make_cluster(scripts=scripts, story=Story(script_timeout_seconds=8))
    result = cluster.bring_up(cluster.instance("controller", 1, NodeType.CONTROLLER))[0]
    assert (result.ok, result.exit_code, result.reason) == (False, 124, "on_create.sh: no end after 8 s")
    assert (
        cluster.lines["controller-1"][-1]
        == "script: role=controller controller=" + cluster.instances["controller-1"].address
    )


def test_windows_line_ends_fail_as_they_do_on_the_platform(
    make_cluster: Callable[..., SlurmCluster], tmp_path: Path
) -> None:
    scripts = changed_scripts(tmp_path, ("#!/bin/bash\n", "#!/bin/bash\r\n"))
    cluster = make_cluster(scripts=scripts)
    assert cluster.bring_up(cluster.instance("controller", 1, NodeType.CONTROLLER))[0].exit_code == 127


def test_a_missing_entry_script_is_named_with_what_there_is(make_cluster: Callable[..., SlurmCluster]) -> None:
    cluster = make_cluster(entry="start.sh")
    result = cluster.bring_up(cluster.instance("controller", 1, NodeType.CONTROLLER))[0]
    assert result.reason.endswith("has no start.sh; it has: on_create.sh, role.py")
