"""Rules for the scripts themselves: what the image's Python takes, and what no script of ours does."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nodelib.engine import TOTAL_TIMEOUT_SECONDS
from nodelib.node_config import FEATURE_DEFAULTS, parse_node_config
from steps import all_steps

from tests.lifecycle.support import ASSETS, NODE_TYPES, Machine, node_config, units

PYTHON = sorted(ASSETS.rglob("*.py"))
SHELL = sorted(ASSETS.rglob("*.sh"))
# Names that Python 3.11 or later brought to modules that we use.
NEWER_NAMES = {"StrEnum", "Self", "ExceptionGroup", "file_digest", "TaskGroup", "batched", "override", "UTC", "tomllib"}


def name(path: Path) -> str:
    return path.relative_to(ASSETS).as_posix()


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_image_s_python_understands_every_script(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 10))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert not used & NEWER_NAMES
    assert not [node for node in ast.walk(tree) if isinstance(node, getattr(ast, "TryStar", ()))]


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_scripts_need_the_standard_library_only(path: Path) -> None:
    tree = ast.parse(path.read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    foreign = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names)
    assert foreign <= {"nodelib", "steps"}


@pytest.mark.parametrize("path", [*PYTHON, *SHELL], ids=name)
def test_no_script_does_what_none_may(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\beval\b|\|\| *true|169\.254\.169\.254|shell=True|StrictHostKeyChecking|chmod 777", text)
    assert not re.search(r"\bapt-get\b", text) or path.name == "debian_packages.py"
    assert not re.search(r"\btime\.sleep\(", text) or path.name == "waiting.py"
    assert b"\r" not in path.read_bytes()


def test_no_file_has_the_name_that_the_service_refuses() -> None:
    assert [path for path in ASSETS.rglob("*") if path.name == "provisioning_parameters.json"] == []


@pytest.mark.parametrize("path", SHELL, ids=name)
def test_bash_takes_every_shell_script(path: Path) -> None:
    assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0


def test_every_feature_switches_a_step() -> None:
    config = parse_node_config(node_config())
    assert {step.feature for step in all_steps(config)} - {""} == set(FEATURE_DEFAULTS)


def test_step_names_are_unique_and_fit_a_command_line() -> None:
    names = [step.name for step in all_steps(parse_node_config(node_config()))]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)


def test_whole_run_ends_within_20_minutes() -> None:
    assert TOTAL_TIMEOUT_SECONDS < 20 * 60
    assert max(step.timeout_seconds for step in all_steps(parse_node_config(node_config()))) < TOTAL_TIMEOUT_SECONDS


@pytest.mark.parametrize("style", ["on_create", "on_init_complete"])
@pytest.mark.parametrize("node_type", NODE_TYPES)
def test_daemons_are_started_by_our_steps_in_one_style_only(style: str, node_type: str) -> None:
    config = parse_node_config(node_config())
    names = {step.name for step in all_steps(config) if step.applies(config, node_type, style)}
    starts = {"start_munge", "start_slurm_controller", "start_slurm_node", "configure_accounting"} & names
    expected = {"start_munge", "start_slurm_controller", "configure_accounting"}
    if node_type != "controller":
        expected = {"start_munge", "start_slurm_node"}
    assert starts == (expected if style == "on_create" else set())


def test_full_default_set_on_a_compute_node_stays_far_below_120_child_processes(machine: Machine) -> None:
    units(machine, "munge", "slurmd", "slurmctld", "slurmdbd", "ssh", slurmd="argv[]=/x $SLURMD_OPTIONS ;")
    for path in ("files/job_scripts.sh", "files/logrotate.conf", "files/probe_file_system.py"):
        machine.put(f"/scripts/{path}", (ASSETS / path).read_text())
    machine.put("/proc/self/mountinfo", "")
    machine.put("/etc/munge/munge.key", "")
    machine.put("/etc/passwd", "root:x:0:0::/root:/bin/bash\n")
    context = machine.context("compute")
    steps = [s for s in all_steps(context.config) if s.applies(context.config, "compute", "on_create")]
    results = machine.run(context, *steps)
    assert [result.step for result in results if result.outcome != "ok"] == [], machine.log
    assert len(machine.runner.calls) < 30
    machine.put("/proc/self/mountinfo", "9 1 0:4 / /fsx rw - lustre 10.0.0.1@tcp:/abcdefgh rw\n")
    before = machine.snapshot()
    machine.runner.calls.clear()
    again = machine.run(context, *steps)
    assert [result.step for result in again if result.changed] == []
    assert machine.snapshot() == before
    assert len(machine.runner.calls) < 15
