"""munge, slurmctld and slurmd: the right ones on each node, started once."""

import pytest
from nodelib.errors import StepError
from nodelib.runner import Result
from nodelib.slurm_control import wait_for_database
from steps.munge import START_MUNGE
from steps.slurm_controller import START_SLURM_CONTROLLER, WAIT_FOR_SLURM_CONF
from steps.slurm_node import START_SLURM_NODE

from tests.lifecycle.support import CONTROLLER, Machine, node_config, units

IMAGE_SLURMD = (
    "{ path=/opt/slurm/sbin/slurmd ; argv[]=/opt/slurm/sbin/slurmd --systemd $SLURMD_OPTIONS ; ignore_errors=no }"
)
DROP_IN = "/etc/systemd/system/slurmd.service.d/50-hyperpod-constructs.conf"


@pytest.fixture
def node(machine: Machine) -> Machine:
    units(machine, "munge", "slurmctld", "slurmd", "slurmdbd", slurmd=IMAGE_SLURMD)
    machine.put("/etc/munge/munge.key", "k")
    machine.runner.answer("munge", stdout="MUNGE:credential:")
    machine.runner.answer("scontrol", "ping", stdout="Slurmctld(primary) at ip-10-77-0-10 is UP\n")
    return machine


def test_munge_is_proven_by_a_credential(node: Machine) -> None:
    [result] = node.run(node.context("compute"), START_MUNGE)
    assert result.changed == ("started munge",)
    assert node.runner.calls[-1].argv == ["unmunge"]
    assert node.runner.calls[-1].stdin == "MUNGE:credential:"


def test_missing_munge_key_is_waited_for_and_then_named(node: Machine) -> None:
    (node.root / "etc/munge/munge.key").unlink()
    [result] = node.run(node.context("compute"), START_MUNGE)
    assert "waited 120 s for the platform to write /etc/munge/munge.key" in result.remarks[0]
    assert node.runner.ran("systemctl") == []


def test_compute_node_takes_its_configuration_from_the_controller(node: Machine) -> None:
    [result] = node.run(node.context("compute"), START_SLURM_NODE)
    assert result.outcome == "ok", node.log
    options = node.get("/etc/default/hyperpod-constructs-slurmd")
    assert options == f'SLURMD_OPTIONS="--conf-server {CONTROLLER}:6817"\n'
    drop_in = node.get(DROP_IN)
    assert "ExecStartPre=+/bin/sh -c 'mountpoint -q /fsx || mount /fsx'" in drop_in
    assert "StartLimitIntervalSec=0" in drop_in
    assert "ExecStart=/" not in drop_in, "the image's unit takes the option from its environment"
    assert node.runner.ran("systemctl", "start") == [["systemctl", "start", "slurmd"]]


def test_second_run_restarts_nothing(node: Machine) -> None:
    node.run(node.context("compute"), START_SLURM_NODE)
    [result] = node.run(node.context("compute"), START_SLURM_NODE)
    assert result.changed == ()
    assert len(node.runner.ran("systemctl", "start")) == 1
    assert node.runner.ran("systemctl", "restart") == []


def test_moved_controller_restarts_slurmd(node: Machine) -> None:
    context = node.context("compute")
    node.run(context, START_SLURM_NODE)
    node.put("/etc/default/hyperpod-constructs-slurmd", 'SLURMD_OPTIONS="--conf-server 10.77.9.9:6817"\n')
    assert "restarted slurmd" in node.run(context, START_SLURM_NODE)[0].changed


def test_unit_without_the_variable_gets_its_command_again(machine: Machine) -> None:
    units(machine, "slurmd", slurmd="{ path=/usr/sbin/slurmd ; argv[]=/usr/sbin/slurmd -D -s ; ignore_errors=no }")
    machine.run(machine.context("compute"), START_SLURM_NODE)
    assert "ExecStart=\nExecStart=/usr/sbin/slurmd -D -s --conf-server 10.77.0.10:6817\n" in machine.get(DROP_IN)


def test_node_unknown_to_the_controller_is_left_to_systemd(node: Machine) -> None:
    node.runner.answer("systemctl", "start", "slurmd", returncode=1)
    node.units["slurmd"]["ActiveState"] = "activating"
    [result] = node.run(node.context("compute"), START_SLURM_NODE)
    assert result.outcome == "ok"
    assert "systemd tries again every 5 s until the controller knows this node" in result.remarks[0]


def test_slurmd_that_cannot_start_fails_with_its_journal(node: Machine) -> None:
    node.runner.answer("systemctl", "start", "slurmd", returncode=1)
    node.runner.answer("journalctl", stdout="slurmd: error: something\nslurmd: fatal: bad\n")
    [result] = node.run(node.context("compute"), START_SLURM_NODE)
    assert result.remarks == ("slurmd does not start: slurmd: error: something | slurmd: fatal: bad",)


def test_slurmctld_left_running_by_the_image_is_stopped_on_a_compute_node(node: Machine) -> None:
    node.units["slurmctld"] |= {"ActiveState": "active", "UnitFileState": "enabled"}
    [result] = node.run(node.context("compute"), START_SLURM_NODE)
    assert "stopped slurmctld" in result.changed
    assert ["systemctl", "disable", "--now", "slurmctld"] in node.runner.ran("systemctl", "disable")


def test_controller_starts_slurmctld_and_never_slurmd(node: Machine) -> None:
    node.units["slurmd"] |= {"UnitFileState": "enabled"}
    [result] = node.run(node.context("controller"), START_SLURM_CONTROLLER)
    assert result.outcome == "ok", node.log
    assert ["systemctl", "disable", "--now", "slurmd"] in node.runner.ran("systemctl", "disable")
    assert "ConditionPathExists=/run/hyperpod-constructs/slurmd-may" in node.get(DROP_IN)
    assert node.runner.ran("systemctl", "enable") == [["systemctl", "enable", "--now", "slurmctld"]]


def test_slurmctld_that_never_answers_fails_with_its_journal(node: Machine) -> None:
    node.runner.answer("scontrol", "ping", returncode=1, stdout="Slurmctld(primary) at ip-10-77-0-10 is DOWN\n")
    node.runner.answer("journalctl", stdout="slurmctld: fatal: CLUSTER ID MISMATCH\n")
    [result] = node.run(node.context("controller"), START_SLURM_CONTROLLER)
    assert "waited 120 s for slurmctld to answer" in result.remarks[0]
    assert "CLUSTER ID MISMATCH" in result.remarks[0]


def test_image_without_slurm_is_named(machine: Machine) -> None:
    units(machine)
    [result] = machine.run(machine.context("compute"), START_SLURM_NODE)
    assert result.remarks == ("slurmd: the image has no such systemd unit",)


def test_late_slurm_conf_is_waited_for(machine: Machine) -> None:
    machine.put("/opt/slurm/etc/slurm.conf", "SlurmUser=slurm\n")
    late = "ClusterName=demo\nSlurmctldHost=ip-10-77-0-10(10.77.0.10)\n"
    machine.clock.after(90, lambda: machine.put("/opt/slurm/etc/slurm.conf", late))
    assert machine.run(machine.context("controller"), WAIT_FOR_SLURM_CONF)[0].outcome == "ok"
    assert 90 <= machine.clock.now - 1000 < 96


def test_slurm_conf_that_never_comes_points_to_the_agent_s_log(machine: Machine) -> None:
    [result] = machine.run(machine.context("controller"), WAIT_FOR_SLURM_CONF)
    assert "sagemaker-cluster-agent.log" in result.remarks[0]


def test_login_node_tries_more_seldom_and_keeps_its_configuration(node: Machine) -> None:
    node.run(node.context("login", node_config()), START_SLURM_NODE)
    assert "RestartSec=30\nRuntimeDirectoryPreserve=yes\n" in node.get(DROP_IN)


def dying(machine: Machine, deaths: int) -> None:
    """A slurmdbd that ends so often before it answers."""
    units(machine, "slurmdbd")
    left = iter([True] * deaths)

    def answer(_argv: list[str], _stdin: str) -> Result:
        ended = next(left, False)
        machine.units["slurmdbd"]["ActiveState"] = "failed" if ended else "active"
        return Result(1 if ended else 0)

    machine.runner.answer("sacctmgr", does=answer)
    machine.runner.answer("journalctl", stdout="fatal: parse error\n")


def test_slurmdbd_that_meets_a_starting_database_and_ends_is_started_again(machine: Machine) -> None:
    dying(machine, 2)
    wait_for_database(machine.context("controller"), 60)
    assert len(machine.runner.ran("systemctl", "start", "slurmdbd")) == 2
    assert machine.clock.now < 1010


def test_slurmdbd_that_ends_every_time_fails_the_step_long_before_its_bound(machine: Machine) -> None:
    dying(machine, 99)
    with pytest.raises(StepError, match=r"slurmdbd ended 4 times: fatal: parse error"):
        wait_for_database(machine.context("controller"), 240)
    assert machine.clock.now < 1010
