"""Where Slurm nodes cannot run, one sentence says why, and the rest of the rehearsal goes on without them."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.bed_process import NodesUnavailableError, RealNodes, machine_problem, start_bed
from hyperpod_constructs.rehearsal.failures import RehearsalError
from hyperpod_constructs.rehearsal.nodes import SUITES, doctor, host, tree
from hyperpod_constructs.rehearsal.nodes.errors import BedUnavailable
from hyperpod_constructs.rehearsal.runner import Story, real_nodes
from hyperpod_constructs.rehearsal.slurm_story import imitation_lines

pytestmark = [pytest.mark.rehearsal]


class Heard:
    """What was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def step(self, text: str) -> None:
        self.lines.append(text)

    def line(self, text: str = "") -> None:
        self.lines.append(text)

    def detail(self, text: str, done: int = 0, total: int = 0) -> None:
        """Not looked at."""

    def close(self) -> None:
        """Not looked at."""


@pytest.fixture(autouse=True)
def a_good_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has everything, whatever this one has; each test takes one thing away."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("NO_APT", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(host, "available_memory_mib", lambda: 4000)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(doctor, "_check_cgroups", lambda: host.Finding(subject="cgroups", found="writable"))


def story(root: Path, nodes: str = "auto") -> Story:
    return Story(root=root, nodes=nodes)


def not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


def no_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "apt-get" else f"/usr/bin/{name}")


def no_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 100 * 2**20})())


def no_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")


def forbidden_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_APT", "1")
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "mmdebstrap" else f"/usr/bin/{name}")


def no_cgroups(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> Path:
        raise BedUnavailable("cgroups are not writable: /sys/fs/cgroup/x: Read-only file system; run where root may")

    monkeypatch.undo()
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(host, "available_memory_mib", lambda: 4000)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(doctor, "create_bed_cgroup", refuse)


PROBLEMS = [
    (not_root, "got user id 1000; namespaces and mounts need root; run the same command as root"),
    (no_debian, "no apt-get here; the nodes are made of Debian packages; use a machine with Debian"),
    (no_space, "100 MiB free at"),
    (no_linux, "got darwin; Slurm nodes need Linux; use a Linux machine for this part"),
    (forbidden_packages, "install mmdebstrap; NO_APT forbids it here"),
    (no_cgroups, "cgroups are not writable: /sys/fs/cgroup/x: Read-only file system"),
]


@pytest.mark.parametrize(("lack", "words"), PROBLEMS, ids=[lack.__name__ for lack, _ in PROBLEMS])
def test_what_a_machine_lacks_is_one_line_and_the_rehearsal_goes_on(
    lack: object, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lack(monkeypatch)  # type: ignore[operator]
    heard = Heard()
    assert real_nodes(story(tmp_path), heard) is None
    (line,) = heard.lines
    assert line.startswith(f"No Slurm nodes here, all instances are simulated: {words}")
    assert "\n" not in line


@pytest.mark.parametrize(("lack", "words"), PROBLEMS, ids=[lack.__name__ for lack, _ in PROBLEMS])
def test_in_ci_what_a_machine_lacks_is_a_failure(
    lack: object, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lack(monkeypatch)  # type: ignore[operator]
    monkeypatch.setenv("CI", "true")
    with pytest.raises(NodesUnavailableError) as caught:
        real_nodes(story(tmp_path), Heard())
    assert str(caught.value).startswith(f"Slurm nodes cannot run here: {words}")
    assert str(caught.value).endswith("; --nodes none rehearses all the rest")


def test_nodes_that_were_asked_for_by_number_are_not_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    not_root(monkeypatch)
    with pytest.raises(NodesUnavailableError, match="Slurm nodes cannot run here: got user id 1000"):
        real_nodes(story(tmp_path, "2"), Heard())


def test_no_nodes_are_asked_for_and_the_machine_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CI", "true")
    not_root(monkeypatch)
    heard = Heard()
    assert real_nodes(story(tmp_path, "none"), heard) is None
    assert heard.lines == []


def test_a_tree_that_cannot_be_built_is_one_line_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise BedUnavailable("building the trixie tree failed: E: Unable to fetch; all of it is in build.log")

    monkeypatch.setattr(tree, "_build", fail)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10**12})())
    heard = Heard()
    assert real_nodes(story(tmp_path), heard) is None
    assert heard.lines[-1] == (
        "No Slurm nodes here, all instances are simulated: "
        "building the trixie tree failed: E: Unable to fetch; all of it is in build.log"
    )


@pytest.mark.parametrize("nodes", ["0", "9", "-1", "many", "", "2.5"])
def test_a_number_of_nodes_that_is_none_is_refused_with_what_is_allowed(nodes: str, tmp_path: Path) -> None:
    with pytest.raises(RehearsalError) as caught:
        real_nodes(story(tmp_path, nodes), Heard())
    assert str(caught.value) == f"got --nodes {nodes}; allowed: auto, none, or a number from 1 to 8"


def test_a_suite_that_there_is_not_is_an_error_even_where_nodes_are_optional(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match='got suite "sid"; allowed: trixie, forky') as caught:
        real_nodes(Story(root=tmp_path, suite="sid"), Heard())
    assert not isinstance(caught.value, NodesUnavailableError)


def test_a_bed_that_does_not_start_is_told_in_its_own_words(tmp_path: Path) -> None:
    """The tree's place is taken by a file, so that the process that holds the bed fails before any node."""
    (tmp_path / "nodes").write_text("not a folder")
    with pytest.raises(NodesUnavailableError) as caught:
        start_bed(RealNodes(), root=tmp_path, folder=tmp_path)
    assert "\n" not in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_type_that_cannot_be_imitated_is_said_once_and_never_stops_the_rehearsal() -> None:
    groups = [{"InstanceType": name} for name in ("ml.m5.xlarge", "ml.trn1.32xlarge", "ml.trn1.32xlarge")]
    (line,) = imitation_lines({"InstanceGroups": groups})
    assert line == "ml.trn1.32xlarge: the bed cannot imitate its accelerators; the node is one without them"


def test_the_machine_is_looked_at_for_the_root_that_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_space(monkeypatch)
    assert str(tmp_path) in machine_problem(tmp_path)
    (tree.tree_dir(SUITES["trixie"], tmp_path / "nodes")).mkdir(parents=True)
    assert machine_problem(tmp_path) == ""


def test_the_services_arguments_name_the_bed_and_the_groups() -> None:
    arguments = RealNodes(of_each_group={"head": 1, "train": 3}, at_most=6).service_arguments(
        Path("/run/bed.sock"), "http://127.0.0.1:1", "us-west-2", "123456789012"
    )
    assert "--launcher-option=bed=/run/bed.sock" in arguments
    assert [argument for argument in arguments if argument.startswith("--real-nodes")] == [
        "--real-nodes=head=1",
        "--real-nodes=train=3",
        "--real-nodes-at-most=6",
    ]
