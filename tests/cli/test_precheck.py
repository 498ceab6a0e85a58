"""The check of nodes: what one node finds."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.precheck_support import LUSTRE, LUSTRE_CONFIG, SHOWN_NODE, FakeMachine  # isort: skip
from nodelib.node_config import Mount
from nodelib.precheck import runtime_checks as runtime
from nodelib.precheck import storage_checks as storage
from nodelib.precheck.checks import examine, known
from nodelib.precheck.findings import Finding, ok
from nodelib.precheck.launch import node_states
from nodelib.precheck.machine import TIMED_OUT, run

FSX = Mount(**LUSTRE_CONFIG)


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


def problem(finding: Finding) -> str:
    assert (finding.state == "failed") == bool(finding.problem) == bool(finding.remedy)
    return finding.problem


def looked(**values: Any) -> str:
    return json.dumps({"written": "/fsx", "error": "", "free_bytes": 10**12, "free_share": 0.9, **values})


# One node: storage


def test_a_file_system_that_is_mounted_and_writable_is_fine(machine: FakeMachine) -> None:
    machine.answer("/", 0, looked())
    assert storage.file_systems(machine, [FSX], []) == [ok("/fsx", "lustre 10.1.0.5@tcp:/abcdefgh")]


def test_a_file_system_that_is_not_mounted_is_named_with_the_step_that_mounts_it(machine: FakeMachine) -> None:
    machine.put("/proc/self/mountinfo", "")
    (finding,) = storage.file_systems(machine, [FSX], [])
    assert problem(finding) == "not mounted"
    assert finding.remedy.endswith("lifecycle_script.py --only mount_file_systems")


def test_another_file_system_in_its_place_is_named(machine: FakeMachine) -> None:
    machine.put("/proc/self/mountinfo", LUSTRE.replace("abcdefgh", "zzzzzzzz"))
    (finding,) = storage.file_systems(machine, [FSX], [])
    assert "10.1.0.5@tcp:/zzzzzzzz is mounted instead of fs-0123456789abcdef0" in problem(finding)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((TIMED_OUT, ""), "does not answer within 15 s"),
        ((0, looked(error="Read-only file system")), "cannot be written in /fsx: Read-only file system"),
        ((0, looked(error="No space left on device")), "cannot be written in /fsx: No space left on device"),
        ((0, looked(free_bytes=10**6, free_share=0.001)), "is full: 1 MiB left"),
        ((1, "Traceback: boom"), "cannot be written in /fsx: Traceback: boom"),
    ],
)
def test_a_file_system_that_does_not_work_is_named(machine: FakeMachine, answer: tuple[int, str], says: str) -> None:
    machine.answer("/", *answer)
    (finding,) = storage.file_systems(machine, [FSX], [])
    assert problem(finding) == says


def test_the_probe_really_writes_where_the_user_may(machine: FakeMachine, tmp_path: Path) -> None:
    from nodelib.precheck.probe import probe

    found = probe(str(tmp_path / "fsx"), "/nowhere")
    assert (found["written"], found["error"]) == (str(tmp_path / "fsx"), "")
    assert found["free_bytes"] > 0
    assert list((tmp_path / "fsx").glob(".hyperpod-precheck*")) == []
    assert probe(str(tmp_path / "no"), "/nowhere")["error"] == "No such file or directory"


def test_without_a_configuration_every_shared_mount_is_looked_at(machine: FakeMachine) -> None:
    machine.answer("/", 0, looked())
    assert [one.check for one in storage.file_systems(machine, [], [])] == ["/fsx"]
    assert [one.check for one in storage.file_systems(machine, [FSX], ["/data/"])] == ["/fsx", "/data"]


def test_a_home_on_the_shared_file_system_is_fine(machine: FakeMachine) -> None:
    assert storage.home(machine) == ok("home", "/fsx/home/alice")


def test_a_home_on_the_nodes_own_disk_is_named(machine: FakeMachine) -> None:
    machine.put("/home/alice/.profile", "")
    machine.own("/home/alice")
    machine.account.pw_dir = "/home/alice"
    assert "is on this node's own disk" in problem(storage.home(machine))


def test_a_home_that_is_not_there_or_is_somebody_elses_is_named(machine: FakeMachine) -> None:
    machine.account.pw_dir = "/fsx/home/bob"
    assert problem(storage.home(machine)) == "/fsx/home/bob is not there"
    machine.account.pw_dir = "/fsx/home/alice"
    machine.account.pw_uid += 1
    assert "belongs to uid" in problem(storage.home(machine))


def test_root_needs_no_shared_home(machine: FakeMachine) -> None:
    machine.account.pw_uid = 0
    assert storage.home(machine).state == "absent"


def test_the_mount_that_holds_a_path_is_the_longest() -> None:
    table = f"1 0 8:1 / / rw - ext4 /dev/root rw\n{LUSTRE}\n31 1 0:45 / /fsx/home rw - nfs4 fs-1:/fsx rw"
    assert [storage.holding(table, path).source for path in ("/etc", "/fsx/a", "/fsx/home/a", "/fsxy")] == [  # type: ignore[union-attr]
        "/dev/root",
        "10.1.0.5@tcp:/abcdefgh",
        "fs-1:/fsx",
        "/dev/root",
    ]


def test_a_full_disk_is_named(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        f_bavail, f_blocks, f_frsize, f_files, f_favail, f_fsid = 10, 10**6, 4096, 0, 0, 7

    monkeypatch.setattr("os.statvfs", lambda _: Full)
    assert problem(storage.disks(machine)) == "/ is full: 0 MiB left"


# One node: what runs on it


def test_slurmd_runs_or_is_named(machine: FakeMachine, tmp_path: Path) -> None:
    assert runtime.slurmd(machine) == ok("slurmd")
    machine.process(700, "bash")
    assert problem(runtime.slurmd(machine)) == "not running"
    machine.process(701, "slurmctld")
    assert runtime.slurmd(machine).state == "absent"


def test_the_controller_answers_or_is_named(machine: FakeMachine) -> None:
    machine.answer("scontrol ping", 0, "Slurmctld(primary) at ip-10-1-0-10 is UP\n")
    assert runtime.controller(machine) == ok("controller")
    machine.answer("scontrol ping", 1, "Slurmctld(primary) at ip-10-1-0-10 is DOWN\n")
    assert "is DOWN" in problem(runtime.controller(machine))


def test_munge_takes_its_own_credential(machine: FakeMachine) -> None:
    assert runtime.munge(machine).state == "absent"
    machine.answer("munge -n", 0, "MUNGE:abc:")
    machine.answer("unmunge", 0, "STATUS: Success")
    assert runtime.munge(machine) == ok("munge")
    machine.answer("munge -n", 1, "munge: Error: Failed to access socket")
    assert "Failed to access socket" in problem(runtime.munge(machine))


def containers(machine: FakeMachine) -> None:
    machine.answer("docker version", 0)
    machine.answer("enroot version", 0)
    machine.process(800, "dockerd")
    machine.put("/etc/docker/daemon.json", '{"data-root": "/opt/dlami/nvme/docker/data-root"}')
    machine.put("/etc/enroot/enroot.conf", "ENROOT_DATA_PATH /opt/dlami/nvme/enroot/data/user-$(id -u)\n")
    machine.put("/opt/slurm/etc/plugstack.conf", "optional /usr/local/lib/slurm/spank_pyxis.so\n")
    machine.put("/proc/self/mountinfo", f"{LUSTRE}\n40 1 9:0 / /opt/dlami/nvme rw - xfs /dev/md0 rw\n")


def test_containers_on_the_large_disk_are_fine(machine: FakeMachine) -> None:
    assert runtime.containers(machine).state == "absent"
    containers(machine)
    assert runtime.containers(machine) == ok("containers", "docker enroot pyxis")


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("/etc/docker/daemon.json", "{}", "Docker's data is in /var/lib/docker, on the small disk"),
        ("/etc/docker/daemon.json", "{", "/etc/docker/daemon.json is not JSON"),
        ("/etc/enroot/enroot.conf", "", "Enroot's data is in each user's home, not on /opt/dlami/nvme"),
        ("/opt/slurm/etc/plugstack.conf", "# spank_pyxis.so\n", "plugstack.conf does not name Pyxis"),
        ("/proc/800/comm", "bash\n", "dockerd does not run"),
    ],
)
def test_a_container_set_up_that_is_wrong_is_named(machine: FakeMachine, path: str, text: str, says: str) -> None:
    containers(machine)
    machine.put(path, text)
    assert says in problem(runtime.containers(machine))


def test_gpus_are_as_many_as_slurm_has_configured(machine: FakeMachine) -> None:
    assert runtime.gpus(machine).state == "absent"
    machine.answer("scontrol --oneliner show node here", 0, SHOWN_NODE.format(2))
    assert problem(runtime.gpus(machine)) == "0 of 2 are there"
    machine.put("/dev/nvidia0", "")
    machine.put("/dev/nvidia1", "")
    machine.put("/dev/nvidiactl", "")
    assert runtime.gpus(machine) == ok("gpus", "2")
    machine.answer("nvidia-smi -L", 0, "GPU 0: NVIDIA H100\n")
    finding = runtime.gpus(machine)
    assert problem(finding) == "1 of 2 are there"
    assert "scontrol update node=here" in finding.remedy


@pytest.mark.parametrize(("gres", "count"), [("8", 8), ("h100:8(S:0-1)", 8), ("a10g:1,gpu:l4:2", 3)])
def test_every_form_of_a_gres_is_counted(machine: FakeMachine, gres: str, count: int) -> None:
    machine.answer("scontrol --oneliner show node here", 0, SHOWN_NODE.format(gres))
    assert problem(runtime.gpus(machine)) == f"0 of {count} are there"


def test_efa_is_asked_for_on_types_that_have_it(machine: FakeMachine) -> None:
    assert runtime.efa(machine, "ml.m5.xlarge").state == "absent"
    assert problem(runtime.efa(machine, "ml.p5.48xlarge")) == "ml.p5.48xlarge shows no EFA device"
    machine.put("/sys/class/infiniband/rdmap16s27/node_guid", "")
    assert runtime.efa(machine, "ml.p5.48xlarge") == ok("efa", "1")


def test_the_configured_mounts_are_those_of_the_nodes_group(machine: FakeMachine) -> None:
    group = {"node_type": "compute", "style": "on_create", "partitions": ["train"], "mounts": [LUSTRE_CONFIG]}
    other = {"node_type": "controller", "style": "on_create", "partitions": [], "mounts": []}
    config = {"version": 1, "cluster_name": "a", "groups": {"train": group, "controller": other}}
    machine.put("/opt/hyperpod-constructs/node_config.json", json.dumps(config))
    assert known(machine) == ((), ""), "without the platform's files: what every group has"
    machine.put("/proc/net/fib_trie", "  |-- 10.1.0.21\n  /32 host LOCAL\n")
    instances = [{"InstanceName": "train-1", "CustomerIpAddress": "10.1.0.21", "InstanceId": "i-1"}]
    controller = [{"InstanceName": "controller-1", "CustomerIpAddress": "10.1.0.10", "InstanceId": "i-0"}]
    groups = [
        {"Name": "train", "InstanceType": "ml.p5.48xlarge", "Instances": instances},
        {"Name": "controller", "InstanceType": "ml.m5.xlarge", "Instances": controller},
    ]
    machine.put("/opt/ml/config/resource_config.json", json.dumps({"InstanceGroups": groups}))
    assert known(machine) == ((FSX,), "ml.p5.48xlarge")


def test_a_program_that_hangs_is_left_behind() -> None:
    begun = time.monotonic()
    assert run(["sleep", "30"], timeout_seconds=0.2).code == TIMED_OUT
    assert time.monotonic() - begun < 5


def test_the_default_partitions_nodes_are_known_with_their_states(machine: FakeMachine) -> None:
    machine.answer("sinfo --noheader --format=%P", 0, "dev*\ntrain\n")
    machine.answer("sinfo --noheader --Node --partition=dev", 0, "a idle\nb down*\n")
    assert node_states(machine, "") == {"a": "idle", "b": "down*"}


def test_a_whole_look_names_each_check_once(machine: FakeMachine) -> None:
    machine.answer("/", 0, looked())
    names = [finding.check for finding in examine(machine, []).findings]
    assert len(names) == len(set(names))
    assert names[:3] == ["/fsx", "home", "slurmd"]
