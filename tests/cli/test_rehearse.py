"""The command line as a shell user meets it; the rehearsal itself is tested in tests/rehearsal."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from hyperpod_constructs.cli.rehearse import context_of

REPOSITORY = Path(__file__).parents[2]


def run(*arguments: str, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *python, "-m", "hyperpod_constructs.cli", *arguments],
        cwd=REPOSITORY,
        env=os.environ | {"COLUMNS": "200", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_help_costs_less_than_three_tenths_of_a_cpu_second() -> None:
    costs = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(costs) < 0.3


@pytest.mark.parametrize("arguments", [("--help",), ("rehearse", "--help")])
def test_the_help_tells_the_exit_codes(arguments: tuple[str, ...]) -> None:
    output = " ".join(run(*arguments).stdout.split())
    assert (
        "Exit codes: 0 done, 1 failed (one message on standard error says why), 2 wrong usage, 130 interrupted."
        in output
    )


def test_neither_the_cdk_nor_boto3_is_imported_for_the_help() -> None:
    code = (
        "import sys\n"
        "import hyperpod_constructs.cli.application, hyperpod_constructs.rehearsal.runner\n"
        "print([name for name in ('aws_cdk', 'boto3', 'botocore', 'jsii') if name in sys.modules])\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert answer.stdout == "[]\n"


@pytest.fixture
def without_typer(tmp_path: Path) -> Path:
    """Python that finds no typer: a finder in front of all others says so."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'typer' else find(name, *rest)\n"
    )
    return tmp_path


def test_without_the_extra_one_sentence_says_how_to_get_it(without_typer: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "hyperpod_constructs.cli"],
        env=os.environ | {"PYTHONPATH": f"{without_typer}{os.pathsep}{REPOSITORY}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 1
    assert answer.stderr == (
        "hyperpod-slurm: the command line needs typer, which the extra [cli] brings: "
        "pip install 'hyperpod-constructs[cli]'\n"
    )


def test_wrong_usage_is_exit_code_two() -> None:
    assert run("rehearse", "--no-such-option").returncode == 2
    assert run("rehearse", "--port=70000").returncode == 2
    assert run("rehearse", "--context=novalue").returncode == 2


def test_context_is_read_as_cdk_reads_it() -> None:
    assert context_of(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize("pair", ["novalue", "=value", ""])
def test_context_without_a_key_or_a_value_is_refused(pair: str) -> None:
    with pytest.raises(typer.BadParameter, match="expected KEY=VALUE"):
        context_of([pair])


def test_the_version_is_the_packages() -> None:
    assert run("--version").stdout.startswith("hyperpod-constructs 0.")
