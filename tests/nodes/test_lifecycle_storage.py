"""File systems and disks that fail around the node scripts, on real nodes."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType, cluster_files
from hyperpod_constructs.rehearsal.agent.cluster import Deviations
from hyperpod_constructs.rehearsal.nodes import Bed

from .conftest import SlurmCluster
from .lifecycle_support import ALICE, launch, node_config, run_again, stage, use

pytestmark = pytest.mark.nodes

MakeCluster = Callable[..., SlurmCluster]
NO_DATABASE = {"kind": "none"}
BOUND = {"MOUNT_TIMEOUT_SECONDS": ("steps/mount_file_systems.py", 3.0)}
# Fills the node's own disk, as a container image that is unpacked onto it does.
FILL = "#!/bin/bash\ndd if=/dev/zero of=/var/filling bs=1M >/dev/null 2>&1\n! df --output=avail / | grep -q ' [1-9]'\n"


def test_file_system_that_never_answers_fails_the_node_with_a_hint(
    bed: Bed, make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    use(cluster, stage(tmp_path, node_config(cluster, accounting=NO_DATABASE), bounds=BOUND))
    cluster.instance("controller", 1, NodeType.CONTROLLER)
    source = cluster.mounts[0].source
    bed.add_file_system(source)
    bed.set_file_system_reachable(source, reachable=False)
    [result] = launch(cluster, cluster.instance("train", 1, NodeType.COMPUTE))
    assert (result.ok, result.exit_code) == (False, 1)
    last = cluster.lines["train-1"][-1]
    assert f"FAILED: step mount_file_systems: waited 3 s for {source} to be mounted at /fsx; the last attempt:" in last
    assert "are TCP ports 988 and 1018-1023 open in both security groups?" in last
    assert cluster.on("train-1", "systemctl is-active slurmd; true").strip() == "inactive"


def test_file_system_that_answers_late_is_mounted_and_nothing_is_said_twice(
    bed: Bed, make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    use(cluster, stage(tmp_path, node_config(cluster, accounting=NO_DATABASE)))
    source = cluster.mounts[0].source
    bed.add_file_system(source)
    bed.set_file_system_reachable(source, reachable=False)
    later = threading.Timer(6, lambda: bed.set_file_system_reachable(source, reachable=True))
    later.start()
    [result] = launch(cluster, cluster.instance("controller", 1, NodeType.CONTROLLER))
    later.join()
    assert result.ok, cluster.lines
    assert "SUCCEEDED" in cluster.lines["controller-1"][-1]
    assert cluster.on("controller-1", "findmnt -n -o SOURCE /fsx").strip() == source


def test_full_disk_fails_the_node_in_words_and_a_second_try_succeeds(make_cluster: MakeCluster, tmp_path: Path) -> None:
    cluster = make_cluster()
    steps = [{"name": "fill", "path": "user_steps/0/fill.sh", "stage": "before_slurm", "node_types": ["compute"]}]
    config = node_config(cluster, accounting=NO_DATABASE, user_steps=steps)
    use(cluster, stage(tmp_path, config, {"user_steps/0/fill.sh": FILL}))
    assert launch(cluster, cluster.instance("controller", 1, NodeType.CONTROLLER))[0].ok, cluster.lines
    worker = cluster.instance("train", 1, NodeType.COMPUTE)
    [result] = launch(cluster, worker)
    assert (result.ok, result.exit_code) == (False, 1)
    text = "\n".join(cluster.lines["train-1"])
    assert "FAILED: step start_slurm_node: " in text
    assert "cannot be written: No space left on device" in text
    cluster.on("train-1", "rm /var/filling; sed -i '2d' /tmp/*/*/*/user_steps/0/fill.sh")
    steps_again = run_again(cluster, "train-1")["steps"]
    assert [step["step"] for step in steps_again if step["outcome"] != "ok"] == []
    assert cluster.all_idle(worker)


def test_group_whose_instances_are_null_in_the_platform_s_file_harms_nobody_else(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    use(cluster, stage(tmp_path, node_config(cluster, accounting=NO_DATABASE)))

    def tell() -> None:
        files = cluster_files(
            f"test{cluster.network}",
            cluster.instances.values(),
            mounts=cluster.mounts,
            deviations=Deviations(null_groups=("train",)),
        )
        cluster.platform.update(files)

    cluster.tell = tell  # type: ignore[method-assign]
    controller, login = (
        cluster.instance("controller", 1, NodeType.CONTROLLER),
        cluster.instance("login", 1, NodeType.LOGIN),
    )
    cluster.instance("train", 1, NodeType.COMPUTE)
    assert [result.reason for result in launch(cluster, controller, login)] == ["", ""], cluster.lines
    assert "null" in cluster.on("controller-1", "cat /opt/ml/config/resource_config.json")


def test_20_nodes_that_set_up_the_same_homes_and_keys_at_once_make_each_once(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    people = [{**ALICE, "name": f"user{number}", "uid": 3000 + number, "gid": 3000 + number} for number in range(3)]
    use(cluster, stage(tmp_path, node_config(cluster, accounting=NO_DATABASE, users=people)))
    nodes = [cluster.instance("controller", 1, NodeType.CONTROLLER), cluster.instance("login", 1, NodeType.LOGIN)]
    assert [result.reason for result in launch(cluster, *nodes)] == ["", ""], cluster.lines
    cluster.on("controller-1", "rm -r /fsx/home/user* && mkdir /fsx/start")
    # Each process is a node of its own name; all wait for one signal, so that they start at the same moment.
    command = (
        "for n in $(seq 10); do unshare --uts sh -c 'hostname $0; until test -e /fsx/start/now; do sleep 0.05; done;"
        " exec python3 -B /opt/hyperpod-constructs/lifecycle_script.py --only set_up_homes set_up_ssh'"
        ' "$(hostname)-$n"'
        ' >/var/log/out.$n 2>&1 & pids="$pids $!"; done; for pid in $pids; do wait $pid || exit 1; done'
    )
    failed: list[BaseException] = []

    def twenty(node: str) -> None:
        try:
            cluster.on(node, command)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=twenty, args=(node,)) for node in ("controller-1", "login-1")]
    for thread in threads:
        thread.start()
    cluster.on("controller-1", "sleep 1; touch /fsx/start/now")
    for thread in threads:
        thread.join()
    logs = [cluster.on(node, "cat /var/log/out.*") for node in ("controller-1", "login-1")]
    assert not failed, logs
    assert sum(log.count("SUCCEEDED") for log in logs) == 20
    for person in people:
        home = f"/fsx/home/{person['name']}"
        assert cluster.on("login-1", f"grep -c ssh-ed25519 {home}/.ssh/authorized_keys").strip() == "1"
        shown = cluster.on("login-1", f"stat -c '%a %u' {home} {home}/.ssh {home}/.ssh/id_ed25519").split()
        uid = str(person["uid"])
        assert shown == ["750", uid, "700", uid, "600", uid]
        own = f"ssh-keygen -y -f {home}/.ssh/id_ed25519 | cut -d' ' -f2; cut -d' ' -f2 {home}/.ssh/id_ed25519.pub"
        assert len(set(cluster.on("login-1", own).split())) == 1, "both halves are of one pair"
    assert cluster.on("login-1", "find /fsx/home -maxdepth 1 -name '.*.*'").strip() == "", "no half-made home stays"
    hosts = cluster.on("login-1", "cut -d' ' -f1 /fsx/.hyperpod/*/ssh_known_hosts | sort").split()
    assert len(hosts) == len(set(hosts)) == 22
