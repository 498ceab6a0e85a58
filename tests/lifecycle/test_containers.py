"""Containers: what is there is configured, nothing else is touched."""

import json

import pytest
from nodelib.errors import StepError
from steps.containers import CONFIGURE_CONTAINERS, with_data_root, with_enroot_settings, with_pyxis

from tests.lifecycle.support import Machine, units

TABLE = "/proc/self/mountinfo"
NVME = "99 22 259:3 / /opt/dlami/nvme rw - ext4 /dev/md0 rw\n"
VOLUME = "98 22 259:4 / /opt/sagemaker rw - xfs /dev/nvme1n1 rw\n"


def test_node_without_containers_is_left_alone(machine: Machine) -> None:
    units(machine)
    [result] = machine.run(machine.context("compute"), CONFIGURE_CONTAINERS)
    assert (result.outcome, result.changed) == ("ok", ())


@pytest.mark.parametrize(
    ("table", "folder"),
    [(NVME, "/opt/dlami/nvme"), (VOLUME + NVME, "/opt/sagemaker"), (VOLUME, "/opt/sagemaker")],
)
def test_docker_keeps_its_data_on_the_large_disk(machine: Machine, table: str, folder: str) -> None:
    units(machine, "docker")
    machine.units["docker"] |= {"ActiveState": "active", "UnitFileState": "enabled"}
    machine.put(TABLE, table)
    machine.put("/etc/docker/daemon.json", '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}')
    context = machine.context("compute")
    [result] = machine.run(context, CONFIGURE_CONTAINERS)
    settings = json.loads(machine.get("/etc/docker/daemon.json"))
    assert settings["data-root"] == f"{folder}/docker/data-root"
    assert settings["runtimes"] == {"nvidia": {"path": "nvidia-container-runtime"}}
    assert "restarted docker" in result.changed
    assert machine.run(context, CONFIGURE_CONTAINERS)[0].changed == ()


def test_docker_without_large_disks_is_only_started(machine: Machine) -> None:
    units(machine, "docker")
    machine.put(TABLE, "")
    assert machine.run(machine.context("compute"), CONFIGURE_CONTAINERS)[0].changed == ("started docker",)


def test_nvme_disks_that_are_being_made_are_waited_for(machine: Machine) -> None:
    units(machine, "docker", "dlami-nvme")
    machine.units["dlami-nvme"]["ActiveState"] = "activating"

    def ready() -> None:
        machine.units["dlami-nvme"]["ActiveState"] = "active"
        machine.put(TABLE, NVME)

    machine.clock.after(60, ready)
    machine.run(machine.context("compute"), CONFIGURE_CONTAINERS)
    assert json.loads(machine.get("/etc/docker/daemon.json"))["data-root"].startswith("/opt/dlami/nvme/")


def test_nvme_disks_that_never_come_are_noted(machine: Machine) -> None:
    units(machine, "dlami-nvme")
    machine.units["dlami-nvme"]["ActiveState"] = "activating"
    [result] = machine.run(machine.context("compute"), CONFIGURE_CONTAINERS)
    assert result.outcome == "ok"
    assert result.remarks == ("waited 120 s for dlami-nvme: going on without the NVMe disks",)


def test_broken_daemon_json_is_refused_rather_than_replaced() -> None:
    with pytest.raises(StepError, match=r"/etc/docker/daemon.json: not JSON"):
        with_data_root('{"a": 1}{"b": 2}', "/x")


def test_enroot_settings_replace_lines_and_their_commented_forms() -> None:
    text = "#ENROOT_TEMP_PATH /tmp\nENROOT_DATA_PATH  /old\nENROOT_ROOTFS_WRITABLE yes\n"
    wanted = {"ENROOT_TEMP_PATH": "/nvme/tmp", "ENROOT_DATA_PATH": "/nvme/data", "ENROOT_CACHE_PATH": "/nvme/cache"}
    once = with_enroot_settings(text, wanted)
    assert once == (
        "ENROOT_TEMP_PATH /nvme/tmp\nENROOT_DATA_PATH /nvme/data\nENROOT_ROOTFS_WRITABLE yes\n"
        "ENROOT_CACHE_PATH /nvme/cache\n"
    )
    assert with_enroot_settings(once, wanted) == once


def test_enroot_takes_the_fastest_disk(machine: Machine) -> None:
    units(machine)
    machine.put(TABLE, VOLUME + NVME)
    machine.put("/etc/enroot/enroot.conf", "#ENROOT_DATA_PATH /x\n")
    machine.run(machine.context("compute"), CONFIGURE_CONTAINERS)
    assert "ENROOT_DATA_PATH /opt/dlami/nvme/enroot/data/user-$(id -u)\n" in machine.get("/etc/enroot/enroot.conf")
    assert (machine.root / "opt/dlami/nvme/enroot/data").stat().st_mode & 0o7777 == 0o1777


def test_pyxis_stands_inline_once_and_other_plugins_stay() -> None:
    text = "required /opt/other.so\ninclude /opt/slurm/etc/plugstack.conf.d/*\ninclude plugstack.conf.d/pyxis.conf\n"
    once = with_pyxis(text, "/usr/local/lib/slurm/spank_pyxis.so")
    assert once == "required /opt/other.so\noptional /usr/local/lib/slurm/spank_pyxis.so\n"
    assert with_pyxis(once, "/usr/local/lib/slurm/spank_pyxis.so") == once


def test_only_the_controller_writes_plugstack_and_only_with_the_plugin_there(machine: Machine) -> None:
    units(machine, "slurmctld")
    machine.run(machine.context("controller"), CONFIGURE_CONTAINERS)
    assert not machine.files.exists("/opt/slurm/etc/plugstack.conf")
    machine.put("/usr/local/lib/slurm/spank_pyxis.so", "")
    machine.run(machine.context("compute"), CONFIGURE_CONTAINERS)
    assert not machine.files.exists("/opt/slurm/etc/plugstack.conf")
    machine.run(machine.context("controller"), CONFIGURE_CONTAINERS)
    assert machine.get("/opt/slurm/etc/plugstack.conf") == "optional /usr/local/lib/slurm/spank_pyxis.so\n"
