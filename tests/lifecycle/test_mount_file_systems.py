"""Mounting: idempotent, patient, and never on top of something else."""

import sys

import pytest
from nodelib.mounts import fstab_line, mounted_at, parse_mount_table
from nodelib.node_config import Mount
from nodelib.runner import Result
from steps.mount_file_systems import MOUNT_FILE_SYSTEMS

from tests.lifecycle.support import Machine, node_config

DNS = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
TABLE = "/proc/self/mountinfo"
OTHERS = "22 1 259:1 / / rw - ext4 /dev/root rw\n"


def row(path: str, source: str, kind: str = "lustre") -> str:
    return f"99 22 0:42 / {path} rw,noatime shared:1 - {kind} {source} rw\n"


@pytest.fixture
def node(machine: Machine) -> Machine:
    machine.put(TABLE, OTHERS)
    machine.put("/etc/fstab", "# static\n")
    machine.runner.answer("mount", does=lambda argv, _: machine.put(TABLE, OTHERS + row(argv[-1], argv[-2])))
    return machine


def test_file_system_is_mounted_kept_and_proven(node: Machine) -> None:
    context = node.context("compute")
    [result] = node.run(context, MOUNT_FILE_SYSTEMS)
    assert result.outcome == "ok", node.log
    options = ["mount", "-t", "lustre", "-o", "noatime,flock", f"{DNS}@tcp:/abcdefgh", "/fsx"]
    assert node.runner.ran("mount") == [options]
    assert f"{DNS}@tcp:/abcdefgh /fsx lustre noatime,flock,_netdev,nofail 0 0" in node.get("/etc/fstab")
    assert node.runner.calls[-1].argv[1:] == [str(context.scripts / "files/probe_file_system.py"), "/fsx"]


def test_second_run_mounts_and_changes_nothing(node: Machine) -> None:
    context = node.context("compute")
    node.run(context, MOUNT_FILE_SYSTEMS)
    before = node.snapshot()
    [result] = node.run(context, MOUNT_FILE_SYSTEMS)
    assert (result.changed, len(node.runner.ran("mount")), node.snapshot()) == ((), 1, before)


def test_mount_made_by_the_platform_is_accepted_under_the_server_s_address(node: Machine) -> None:
    node.put(TABLE, OTHERS + row("/fsx", "10.0.3.4@tcp:/abcdefgh"))
    assert node.run(node.context("compute"), MOUNT_FILE_SYSTEMS)[0].outcome == "ok"
    assert node.runner.ran("mount") == []


def test_entry_of_the_platform_in_fstab_stays(node: Machine) -> None:
    node.put("/etc/fstab", "10.0.3.4@tcp:/abcdefgh /fsx lustre defaults 0 0\n")
    node.run(node.context("compute"), MOUNT_FILE_SYSTEMS)
    assert node.get("/etc/fstab") == "10.0.3.4@tcp:/abcdefgh /fsx lustre defaults 0 0\n"


def test_another_file_system_at_the_path_is_an_error(node: Machine) -> None:
    node.put(TABLE, OTHERS + row("/fsx", "10.0.3.4@tcp:/otherone"))
    [result] = node.run(node.context("compute"), MOUNT_FILE_SYSTEMS)
    assert result.remarks == (f"/fsx holds 10.0.3.4@tcp:/otherone (lustre), not {DNS}@tcp:/abcdefgh",)


def test_late_file_system_is_tried_again(node: Machine) -> None:
    tries: list[int] = []

    def mount(argv: list[str], _stdin: str) -> Result | None:
        tries.append(1)
        if len(tries) < 6:
            return Result(2, "", "mount.lustre: name does not resolve")
        node.put(TABLE, OTHERS + row(argv[-1], argv[-2]))
        return None

    node.runner.answer("mount", does=mount)
    assert node.run(node.context("compute"), MOUNT_FILE_SYSTEMS)[0].outcome == "ok"
    assert len(tries) == 6


def test_unreachable_file_system_ends_with_source_last_error_and_advice(node: Machine) -> None:
    node.runner.answer("mount", returncode=5, stderr="mount.lustre failed: Input/output error")
    [result] = node.run(node.context("compute"), MOUNT_FILE_SYSTEMS)
    assert result.outcome == "failed"
    for part in (f"waited 240 s for {DNS}@tcp:/abcdefgh to be mounted at /fsx", "Input/output error", "988"):
        assert part in result.remarks[0]


def test_mount_that_cannot_be_written_to_fails(node: Machine) -> None:
    node.runner.answer(sys.executable, returncode=1, stderr="Read-only file system")
    [result] = node.run(node.context("compute"), MOUNT_FILE_SYSTEMS)
    assert "Read-only file system" in result.remarks[0]


def test_image_style_waits_for_the_platform_before_it_mounts(node: Machine) -> None:
    node.clock.after(5, lambda: node.put(TABLE, OTHERS + row("/fsx", "10.0.3.4@tcp:/abcdefgh")))
    context = node.context("compute", style="on_init_complete")
    [result] = node.run(context, MOUNT_FILE_SYSTEMS)
    assert (result.outcome, node.runner.ran("mount")) == ("ok", [])
    assert node.get("/etc/fstab") == "# static\n", "the image keeps its own mounts"


def test_open_zfs_is_mounted_over_nfs(node: Machine) -> None:
    document = node_config()
    document["groups"]["compute-group"]["mounts"] = [{"type": "open_zfs", "dns_name": DNS, "path": "/home"}]
    node.run(node.context("compute", document), MOUNT_FILE_SYSTEMS)
    [command] = node.runner.ran("mount")
    assert command[:3] == ["mount", "-t", "nfs"]
    assert command[-2:] == [f"{DNS}:/fsx", "/home"]


def test_topmost_of_several_mounts_counts() -> None:
    table = row("/fsx", "a@tcp:/one") + row("/fsx", "b@tcp:/two")
    mounted = mounted_at(table, "/fsx/")
    assert mounted is not None
    assert mounted.source == "b@tcp:/two"


def test_spaces_in_mount_points_are_read() -> None:
    assert parse_mount_table(row("/my\\040data", "x"))[0].path == "/my data"


def test_fstab_line_does_not_keep_a_node_from_booting() -> None:
    assert "nofail" in fstab_line(Mount("lustre", "fs-1.example", "/fsx", "abc")).split()[3].split(",")
