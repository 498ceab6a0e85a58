"""The bed's command line: a cluster to look around in, a command on it, and how long things take."""

import subprocess
import sys
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.agent.bench import Measurement, table
from hyperpod_constructs.rehearsal.nodes.paths import REHEARSAL_DIR_VARIABLE

from .conftest import REPOSITORY, SCRIPTS, within


def command(cache: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    import os

    return subprocess.run(
        [sys.executable, "-m", "hyperpod_constructs.rehearsal.nodes", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, REHEARSAL_DIR_VARIABLE: str(cache.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.nodes
def test_a_cluster_runs_a_command_on_its_login_node_and_ends_with_its_code(machine: None, cache: Path) -> None:
    entry = ["--scripts", str(SCRIPTS), "--on-create", "on_create.sh", "--instance-type", "ml.trn1.32xlarge"]
    wait = "for i in $(seq 300); do sinfo -h -p train -t idle -o %D | grep -qx 1 && break; sleep 0.1; done"
    done = command(cache, "run", "--compute", "1", *entry, "--shell", f"{wait}; srun -p train hostname; exit 7")
    assert (done.returncode, done.stdout) == (7, "ip-10-1-0-21\n"), done.stderr
    assert "ml.trn1.32xlarge: the bed cannot imitate its accelerators" in done.stderr
    assert "workers-1: script: done" in done.stderr


@pytest.mark.nodes
def test_a_script_that_fails_is_one_sentence_after_its_log(machine: None, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "on_create.sh").write_text("#!/bin/sh\necho no such luck\nexit 3\n")
    done = command(cache, "run", "--scripts", str(tmp_path), "--on-create", "on_create.sh", "--shell", "true")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        "controller-1: no such luck",
        "error: controller-1 was not set up: on_create.sh: exit code 3",
    ]


@pytest.mark.nodes
def test_the_doctor_finds_this_machine_well(machine: None, cache: Path) -> None:
    done = command(cache, "doctor")
    assert done.returncode == 0, done.stderr
    assert {line.split()[0] for line in done.stderr.splitlines()} == {"ok"}


@pytest.mark.nodes
def test_the_bench_measures_each_style(machine: None, cache: Path) -> None:
    done = command(cache, "bench", "--repeat", "1", "--on-create", str(SCRIPTS / "on_create.sh"))
    assert done.returncode == 0, done.stderr
    rows = {line[: line.rindex("  ")].strip(): line.split()[-1] for line in done.stdout.splitlines()[1:]}
    assert len(rows) == 4
    assert all(0 < float(most) < 120 for most in rows.values())
    assert any(row.startswith("script start to idle: OnCreate on_create.sh") for row in rows)


@pytest.mark.fast
def test_the_table_shows_median_least_and_most() -> None:
    lines = table([Measurement(what="boot", seconds=(3.0, 1.0, 2.0)), Measurement(what="x", seconds=(4.0,))])
    assert [line.split() for line in lines[1:]] == [["boot", "2.00", "1.00", "3.00"], ["x", "4.00", "4.00", "4.00"]]


@pytest.mark.nodes
def test_a_cluster_that_is_interrupted_ends(machine: None, cache: Path) -> None:
    import os
    import signal

    process = subprocess.Popen(
        [sys.executable, "-m", "hyperpod_constructs.rehearsal.nodes", "run", "--compute", "1"],
        cwd=REPOSITORY,
        env={**os.environ, REHEARSAL_DIR_VARIABLE: str(cache.parent)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process.stderr as said:
        assert any(line.startswith("ready;") for line in said)
        process.send_signal(signal.SIGINT)
        assert within(20, lambda: process.poll() is not None)
    assert process.returncode == 130
