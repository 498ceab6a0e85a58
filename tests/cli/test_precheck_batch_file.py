"""Batch files: what HyperPod's Slurm does not do with their options."""

from pathlib import Path

import pytest

from tests.cli.live_support import Live

from tests.cli.precheck_support import FakeMachine  # isort: skip
from nodelib.precheck.batch_file import Surroundings, options_of, remarks_on, surroundings

from tests.cli.support import Command
from tests.cli.test_ssh import FakeAws
from tests.rehearsal.service.support import NAME

GOOD = """#!/bin/bash
#SBATCH --job-name=train
#SBATCH --partition=train
#SBATCH -N 4
#SBATCH --exclusive --open-mode=append
#SBATCH --output=/fsx/logs/%j.out   # on the shared file system

srun --auto-resume=1 python train.py
"""
AROUND = Surroundings({"train": 4, "dev": 6}, {"train": 8, "dev": 8}, has_pyxis=False)


def remarks(text: str, around: Surroundings = AROUND) -> list[tuple[str, int, str]]:
    return [(one.level, one.line, one.text) for one in remarks_on(text, around)]


def test_there_is_nothing_to_say_of_a_good_file() -> None:
    assert remarks(GOOD) == []


@pytest.mark.parametrize(
    ("change", "level", "line", "says"),
    [
        (("#!/bin/bash\n", ""), "wrong", 1, "first line is not #!"),
        (("\n", "\r\n"), "wrong", 1, "Windows line ends"),
        (("srun --auto", "hostname\n#SBATCH --time=1\nsrun --auto"), "wrong", 9, "stands after the first command"),
        (("--job-name=train", "--auto-resume=1"), "wrong", 2, "is an option of srun"),
        (("#SBATCH --partition=train\n", ""), "doubtful", 0, "names no partition"),
        (("--partition=train", "--partition=dev"), "doubtful", 3, "partition dev holds every node"),
        (("--partition=train", "-p gpu"), "wrong", 3, "there is no partition gpu; there are: dev, train"),
        (("--partition=train", "-phyperpod-system-maintenance"), "wrong", 3, "is the platform's own"),
        (("-N 4", "-N 5-8"), "wrong", 4, "wants 5 nodes, partition train has 4"),
        (("--job-name=train", "--gpus-per-node=16"), "wrong", 2, "wants 16 GPUs of a node"),
        (("--job-name=train", "--gres=gpu:h100:9"), "wrong", 2, "wants 9 GPUs of a node"),
        (("/fsx/logs/%j.out", "/tmp/%j.out"), "doubtful", 6, "is on the node's own disk"),
        (("--exclusive ", ""), "wrong", 8, "add #SBATCH --exclusive"),
        ((" --open-mode=append", ""), "doubtful", 8, "add #SBATCH --open-mode=append"),
        (("--job-name=train", "--gres=gpu:8"), "doubtful", 2, "is requeued instead of resumed"),
        (("--job-name=train", "--gres=gpu:8 --no-requeue"), "doubtful", 2, "--no-requeue forbids even that"),
        (("python train.py", "train ${SLURM_JOB_NODELIST}"), "doubtful", 8, "is the old list"),
        (("python train.py", "--container-image=x train"), "wrong", 8, "Pyxis is not in Slurm's plugstack.conf"),
        (("--job-name=train", "--reservation=hyperpod-deep-health-check"), "wrong", 2, "is the platform's own"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(change: tuple[str, str], level: str, line: int, says: str) -> None:
    found = [one for one in remarks(GOOD.replace(*change)) if one[0] == level and one[1] == line and says in one[2]]
    assert len(found) == 1, remarks(GOOD.replace(*change))


def test_without_slurm_only_the_file_itself_is_judged() -> None:
    text = GOOD.replace("--partition=train", "--partition=gpu").replace("-N 4", "-N 99")
    assert remarks(text, Surroundings()) == []


def test_a_comment_and_a_commented_command_are_neither() -> None:
    text = GOOD.replace("srun --auto-resume=1", "# srun --auto-resume=1\nsrun").replace("--exclusive ", "")
    assert remarks(text) == []


def test_options_are_read_in_every_form() -> None:
    text = '#!/bin/bash\n#SBATCH -N4 -p=a --output "my file" --exclusive -o last\n#SBATCH --gres gpu:1\n'
    assert {name: value for name, (value, _) in options_of(text).items()} == {
        "--nodes": "4",
        "--partition": "a",
        "--output": "last",
        "--exclusive": "",
        "--gres": "gpu:1",
    }


def test_slurm_says_what_the_cluster_has(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path)
    assert surroundings(machine) == Surroundings()
    machine.answer("sinfo --noheader --format=%R|%D|%G", 0, "dev|3|gpu:8\ndev|1|(null)\ntrain|3|gpu:h100:8(S:0-1)\n")
    machine.put("/run/slurm/conf/plugstack.conf", "optional /usr/lib/slurm/spank_pyxis.so\n")
    assert surroundings(machine) == Surroundings({"dev": 4, "train": 3}, {"dev": 8, "train": 8}, True)


def test_the_command_looks_at_a_local_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "train.sbatch"
    path.write_text(GOOD.replace("--job-name=train", "--auto-resume=1"))
    answer = command("precheck", "--batch-file", path)
    assert answer.code == 1
    assert answer.lines[0].startswith(f"{path}:2: wrong: --auto-resume is an option of srun")
    path.write_text(GOOD)
    assert command("precheck", "--batch-file", path).code == 0
    assert command("precheck", "--batch-file", tmp_path / "none").code == 2


@pytest.mark.parametrize("arguments", [[], [NAME, "--batch-file", "x"], [NAME, "-l", "a b"], [NAME, "-N", "0"]])
def test_wrong_arguments_are_wrong_usage(command: Command, live: Live, arguments: list[str]) -> None:
    assert command("precheck", *arguments).code == 2


def test_the_nodes_are_checked_from_the_login_node(
    command: Command, live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hyperpod_constructs.cli import precheck

    folder = tmp_path / "programs"
    folder.mkdir()
    aws = FakeAws(folder)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_AWS", str(folder))
    program = folder / "hyperpod-precheck"
    monkeypatch.setattr(precheck, "PROGRAM", str(program))
    live.up()
    missing = command("precheck", NAME, "-p", "train")
    assert (missing.code, "its scripts are of an older release" in missing.err) == (1, True)
    program.write_text("import sys\nprint('checked', *sys.argv[1:])\nsys.exit(1)\n")
    answer = command("precheck", NAME, "-p", "train", "-N", "2", "--json")
    assert (answer.code, answer.out) == (1, "checked --partition train --nodes 2 --json\n")
    assert "_login-group-i-" in aws.calls[-1][3]
