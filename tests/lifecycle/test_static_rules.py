"""Rules for the scripts themselves: what the image's Python takes, and what no script of ours does."""

import ast
import re
import subprocess
import sys
from functools import cache
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


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every piece of a script's syntax, as the image's Python 3.10 reads it."""
    return list(ast.walk(ast.parse(path.read_text(), feature_version=(3, 10))))


def used_names(path: Path) -> set[str]:
    found = {node.id for node in nodes(path) if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
    return found | {alias.name for node in nodes(path) if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_image_s_python_understands_every_script() -> None:
    assert {name(path): found for path in PYTHON if (found := used_names(path) & NEWER_NAMES)} == {}
    groups = [name(path) for path in PYTHON if any(type(node).__name__ == "TryStar" for node in nodes(path))]
    assert groups == []


def test_scripts_need_the_standard_library_only() -> None:
    modules = {
        alias.name for path in PYTHON for node in nodes(path) if isinstance(node, ast.Import) for alias in node.names
    }
    modules |= {node.module or "" for path in PYTHON for node in nodes(path) if isinstance(node, ast.ImportFrom)}
    foreign = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names)
    assert foreign == {"nodelib", "steps"}


@pytest.mark.parametrize(
    ("what", "pattern", "allowed"),
    [
        ("text run as a program", r"\beval\b|shell=True|\bos\.system\b|\bpopen\b", ()),
        ("an error passed over in silence", r"\|\| *(true|:)", ()),
        ("the metadata service", r"169\.254\.169\.254", ()),
        ("host checks switched off", r"StrictHostKeyChecking|UserKnownHostsFile", ()),
        ("files that everybody may write", r"chmod (-R )?777|0o777\b", ()),
        (
            "apt without lock time-out and retries",
            r"\bapt(-get)?\b.*\b(install|update|upgrade)\b",
            ("nodelib/debian_packages.py",),
        ),
        (
            "a download that is not pinned",
            r"\b(curl|wget|git clone|pip3? install|docker pull|urlopen)\b",
            ("nodelib/downloads.py", "files/node_metrics.py"),
        ),
        ("a fixed sleep", r"\btime\.sleep\(|^\s*sleep\b", ("nodelib/waiting.py",)),
        ("Windows line ends", r"\r", ()),
    ],
)
def test_no_script_does_what_none_may(what: str, pattern: str, allowed: tuple[str, ...]) -> None:
    texts = {name(path): path.read_bytes().decode() for path in [*PYTHON, *SHELL]}
    assert [path for path, text in texts.items() if re.search(pattern, text, re.M) and path not in allowed] == [], what


def test_every_package_and_agent_is_fetched_through_the_one_function_that_checks_its_sum() -> None:
    users = [name(path) for path in PYTHON if "fetch_package" in used_names(path)]
    assert users == ["steps/containers.py", "steps/observability.py"]
    opened = [name(path) for path in PYTHON if "urlopen" in used_names(path)]
    assert opened == ["files/node_metrics.py", "nodelib/downloads.py"], "the first asks this node's own slurmctld only"


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
