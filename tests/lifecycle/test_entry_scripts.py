"""The entry scripts as the platform starts them: real processes, files below a temporary root."""

import json
from pathlib import Path

import pytest

from tests.lifecycle.support import Machine, node_config, run_entry

CHECK = ("--only", "check_configuration")


@pytest.mark.parametrize("style", ["on_create", "on_init_complete"])
def test_success_is_logged_to_stdout_and_the_provisioning_log(machine: Machine, assets: Path, style: str) -> None:
    machine.is_node("controller")
    (assets / "node_config.json").write_text(json.dumps(node_config(style=style)))
    done = run_entry(assets, machine.root, *CHECK, entry=f"{style}.sh")
    assert done.returncode == 0, done.stdout
    first, last = done.stdout.splitlines()
    assert "[1/1] check_configuration: ok in 0.0" in first
    assert "controller of instance group controller-group, 10.77.0.10" in first
    assert "SUCCEEDED: 1 steps" in last
    assert machine.get("/var/log/provision/provisioning.log") == done.stdout
    summary = json.loads(machine.get("/var/log/provision/lifecycle_rerun_summary.json"))
    assert (summary["succeeded"], summary["style"], summary["node_type"]) == (True, style, "controller")
    assert not list(assets.rglob("__pycache__"))


def test_failed_step_is_named_with_its_cause_on_the_last_line(machine: Machine, assets: Path) -> None:
    machine.is_node("compute")
    document = node_config(user_steps=[{"name": "tune", "path": "user/tune.sh"}])
    (assets / "node_config.json").write_text(json.dumps(document))
    done = run_entry(assets, machine.root, *CHECK)
    assert done.returncode == 1
    last = machine.get("/var/log/provision/provisioning.log").splitlines()[-1]
    assert f"FAILED: step check_configuration: user steps are missing in {assets}: user/tune.sh" in last


def test_newer_configuration_is_refused_in_one_line(machine: Machine, assets: Path) -> None:
    machine.is_node("compute")
    (assets / "node_config.json").write_text(json.dumps(node_config(version=2)))
    done = run_entry(assets, machine.root)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1
    assert "node_config.json has version 2, these scripts know versions up to 1: deploy the scripts" in done.stdout


def test_unknown_step_name_is_refused_with_the_names_there_are(machine: Machine, assets: Path) -> None:
    machine.is_node("compute")
    (assets / "node_config.json").write_text(json.dumps(node_config()))
    done = run_entry(assets, machine.root, "--only", "chekc")
    assert done.returncode == 2
    assert "no such step on this node: chekc; there are: check_configuration" in done.stdout


def test_wrong_argument_is_one_line_and_exit_code_3(machine: Machine, assets: Path) -> None:
    done = run_entry(assets, machine.root, "--colour")
    assert (done.returncode, len(done.stdout.splitlines())) == (3, 1)
