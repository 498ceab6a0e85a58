"""The smaller steps."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from nodelib.slurm_conf import SlurmConf
from steps.accelerators import CHECK_ACCELERATORS, expected_gpus
from steps.hosts import NAME_HOST
from steps.install_scripts import INSTALL_SCRIPTS
from steps.log_rotation import ROTATE_LOGS
from steps.login_guard import KEEP_LOGIN_NODE_FREE
from steps.lustre_efa import SET_UP_LUSTRE_EFA, primary_interface
from steps.message_of_the_day import GREET
from steps.prolog_epilog import SET_UP_PROLOG_EPILOG
from steps.slurm_settings import SET_SLURM_SETTINGS

from tests.lifecycle.support import ASSETS, Machine, node_config, resource_config, units

HOST = os.uname().nodename


def test_own_name_is_in_hosts_once(machine: Machine) -> None:
    machine.put("/etc/hosts", "127.0.0.1 localhost\n")
    context = machine.context("controller")
    machine.run(context, NAME_HOST)
    before = machine.get("/etc/hosts")
    assert f"10.77.0.10 {HOST}" in before
    assert machine.run(context, NAME_HOST)[0].changed == ()
    assert machine.get("/etc/hosts") == before


def test_name_that_is_in_hosts_already_is_left_alone(machine: Machine) -> None:
    machine.put("/etc/hosts", f"10.9.9.9 {HOST} {HOST.partition('.')[0]}\n")
    assert machine.run(machine.context("controller"), NAME_HOST)[0].changed == ()


def test_scripts_stay_on_the_node_and_old_ones_go(machine: Machine) -> None:
    machine.put("/scripts/lifecycle_script.py", "new")
    machine.put("/scripts/steps/__pycache__/x.pyc", "bytecode")
    machine.put("/opt/hyperpod-constructs/steps/old.py", "old")
    machine.run(machine.context("compute"), INSTALL_SCRIPTS)
    installed = machine.root / "opt/hyperpod-constructs"
    assert [p.relative_to(installed).as_posix() for p in installed.rglob("*") if p.is_file()] == ["lifecycle_script.py"]


def test_precheck_is_a_command_because_s3_drops_the_mode_of_the_program(machine: Machine) -> None:
    machine.put("/scripts/lifecycle_script.py", "new")
    machine.run(machine.context("compute"), INSTALL_SCRIPTS)
    assert machine.get("/usr/local/bin/hyperpod-precheck").endswith('/opt/hyperpod-constructs/hyperpod-precheck "$@"\n')
    assert (machine.root / "usr/local/bin/hyperpod-precheck").stat().st_mode & 0o777 == 0o755
    assert machine.run(machine.context("compute"), INSTALL_SCRIPTS)[0].changed == ()


def login(machine: Machine, state: str = "", code: int = 0) -> Machine:
    units(machine, "hyperpod-constructs-login-guard.timer")
    name = HOST.partition(".")[0]
    machine.runner.answer("scontrol", "--oneliner", returncode=code, stdout=f"NodeName={name} Arch=x State={state} X=1")
    return machine


def test_login_node_is_drained(machine: Machine) -> None:
    [result] = login(machine, "IDLE").run(machine.context("login"), KEEP_LOGIN_NODE_FREE)
    assert result.outcome == "ok", machine.log
    assert machine.runner.ran("scontrol", "update")[0][-2:] == ["state=drain", "reason=login node: takes no jobs"]


@pytest.mark.parametrize(("state", "code"), [("IDLE+DRAIN", 0), ("", 1)])
def test_drained_or_unknown_login_node_is_left_alone(machine: Machine, state: str, code: int) -> None:
    login(machine, state, code).run(machine.context("login"), KEEP_LOGIN_NODE_FREE)
    assert machine.runner.ran("scontrol", "update") == []


def test_logs_are_rotated_unless_another_rule_does(machine: Machine) -> None:
    machine.put("/scripts/files/logrotate.conf", (ASSETS / "files/logrotate.conf").read_text())
    context = machine.context("compute")
    machine.run(context, ROTATE_LOGS)
    assert "/var/log/slurm/*.log {" in machine.get("/etc/logrotate.d/sagemaker-hyperpod-slurm")
    machine.put("/etc/logrotate.d/slurm", "/var/log/slurm/slurmd.log {}\n")
    (machine.root / "etc/logrotate.d/sagemaker-hyperpod-slurm").unlink()
    [result] = machine.run(context, ROTATE_LOGS)
    assert result.remarks == ("/etc/logrotate.d/slurm rotates /var/log/slurm already",)
    assert not machine.files.exists("/etc/logrotate.d/sagemaker-hyperpod-slurm")


def test_message_of_the_day_prints_any_text_as_it_is(machine: Machine) -> None:
    text = """Lab's $(touch F) "blue" team"""
    machine.run(machine.context("login", node_config(message_of_the_day=text)), GREET)
    message = machine.get("/etc/motd.d/50-hyperpod-constructs")
    assert text in message
    assert "login, instance group login-group, ml.m5.xlarge" in message


@pytest.mark.parametrize(
    ("instance_type", "gpus"),
    [("ml.p5.48xlarge", 8), ("ml.p5.4xlarge", 1), ("ml.g5.xlarge", 1), ("ml.m5.large", 0), ("ml.p6-b200.48xlarge", 8)],
)
def test_expected_gpus_follow_from_the_instance_type(instance_type: str, gpus: int) -> None:
    assert expected_gpus(instance_type) == gpus


def test_node_that_misses_a_gpu_fails_before_slurm(machine: Machine) -> None:
    document = resource_config()
    document["InstanceGroups"][2]["InstanceType"] = "ml.p5.48xlarge"
    context = machine.context("compute")
    context.identity = context.identity.__class__(**{**vars(context.identity), "instance_type": "ml.p5.48xlarge"})
    for number in range(7):
        machine.put(f"/dev/nvidia{number}", "")
    machine.put("/dev/nvidiactl", "")
    [result] = machine.run(context, CHECK_ACCELERATORS)
    assert result.remarks == ("ml.p5.48xlarge has 8 GPUs, this node shows 7",)


def efa_node(machine: Machine) -> Machine:
    machine.put("/proc/net/route", "Iface\tDestination\tGateway\nens5\t00000000\t0100000A\n")
    machine.put("/sys/class/infiniband/rdmap0s6/x", "")
    machine.put("/sys/class/infiniband/rdmap1s6/x", "")
    return machine


def efa_config() -> dict[str, object]:
    document = node_config()
    document["groups"]["compute-group"]["mounts"][0]["efa"] = True
    return document


def test_lustre_over_efa_is_set_up_once(machine: Machine) -> None:
    context = efa_node(machine).context("compute", efa_config())
    [result] = machine.run(context, SET_UP_LUSTRE_EFA)
    assert result.changed == ("LNet over EFA: rdmap0s6, rdmap1s6",)
    added = [argv[4:7] for argv in machine.runner.ran("lnetctl", "net", "add")]
    assert added == [["tcp", "--if", "ens5"], ["efa", "--if", "rdmap0s6"], ["efa", "--if", "rdmap1s6"]]
    machine.runner.answer("lnetctl", "net", "show", stdout="net:\n    - net type: tcp\n    - net type: efa\n")
    assert machine.run(context, SET_UP_LUSTRE_EFA)[0].changed == ()


def test_efa_file_system_on_an_instance_without_efa_is_said_aloud(machine: Machine) -> None:
    [result] = machine.run(machine.context("compute", efa_config()), SET_UP_LUSTRE_EFA)
    assert "WARNING" in result.remarks[0]
    assert machine.runner.calls == []


def test_default_route_names_the_interface() -> None:
    assert primary_interface("Iface Destination\neth1 0000A00A\nens5 00000000\n") == "ens5"
    assert primary_interface("") == ""


def dispatch(folder: Path, kind: str = "prolog") -> int:
    script = folder / f"{kind}.sh"
    script.write_bytes((ASSETS / "files/job_scripts.sh").read_bytes())
    environment = {"PATH": "/usr/bin:/bin", "HYPERPOD_JOB_SCRIPTS": str(folder)}
    return subprocess.run(["bash", str(script)], env=environment, check=False, timeout=10).returncode


def test_prolog_with_empty_or_missing_folders_succeeds(tmp_path: Path) -> None:
    assert dispatch(tmp_path) == 0
    (tmp_path / "prolog.d").mkdir()
    assert dispatch(tmp_path) == 0


def test_only_a_required_part_can_fail_the_prolog(tmp_path: Path) -> None:
    folder = tmp_path / "prolog.d"
    folder.mkdir()
    (folder / "10-bad.sh").write_text("exit 3\n")
    (folder / "20-good.sh").write_text(f"echo ran > {tmp_path}/ran\n")
    assert dispatch(tmp_path) == 0
    assert (tmp_path / "ran").read_text() == "ran\n"
    (folder / "30-check.required.sh").write_text("exit 4\n")
    assert dispatch(tmp_path) == 4
    assert dispatch(tmp_path, "epilog") == 0


def test_dispatcher_is_executable_on_the_node(machine: Machine) -> None:
    machine.put("/scripts/files/job_scripts.sh", (ASSETS / "files/job_scripts.sh").read_text())
    machine.run(machine.context("compute"), SET_UP_PROLOG_EPILOG)
    scripts = [machine.root / f"opt/slurm/etc/scripts/{kind}.sh" for kind in ("prolog", "epilog")]
    assert [script.stat().st_mode & 0o777 for script in scripts] == [0o755, 0o755]


def test_summary_is_json_for_other_tools(machine: Machine) -> None:
    machine.run(machine.context("login"), GREET)
    assert json.loads(machine.get("/var/log/provision/lifecycle_summary.json"))["version"] == 1


@pytest.mark.parametrize("switched", ["prolog_epilog", "containers", "log_rotation", "home_directories", ""])
@pytest.mark.parametrize("with_agents", [False, True])
def test_prolog_that_slurm_is_told_of_is_on_every_node_and_needs_nothing_else(
    machine: Machine, switched: str, with_agents: bool
) -> None:
    # A prolog that wrote into a folder of another feature once failed every job (field report Q-03).
    agents = [{"name": "x", "url": "s3://b/x", "sha256": "0" * 64}] if with_agents else []
    document = node_config(features={switched: False} if switched else {}, agents=agents)
    machine.put("/scripts/files/job_scripts.sh", (ASSETS / "files/job_scripts.sh").read_text())
    machine.put("/opt/slurm/etc/slurm.conf", "ClusterName=demo\nSlurmUser=root\n")
    units(machine, "slurmctld")
    told = []
    for node_type in ("compute", "login", "controller"):
        context = machine.context(node_type, document)
        steps = [
            s for s in (SET_UP_PROLOG_EPILOG, SET_SLURM_SETTINGS) if s.applies(context.config, node_type, "on_create")
        ]
        assert {result.outcome for result in machine.run(context, *steps)} <= {"ok"}, machine.log
        told = [SlurmConf(machine.files).get(key) for key in ("Prolog", "Epilog")]
    if switched == "prolog_epilog":
        assert told == [None, None]
        return
    for path in told:
        assert path is not None
        script = machine.root / path.lstrip("/")
        # As slurmd starts it: by itself, with next to no environment, and where nothing can be written.
        done = subprocess.run(
            [script], env={"HYPERPOD_JOB_SCRIPTS": str(script.parent.parent)}, cwd="/proc", check=False
        )
        assert done.returncode == 0
