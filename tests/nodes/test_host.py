"""What a machine lacks for a bed is said in one sentence, and trees are built once. Nothing is booted here."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.nodes import BedError, BedUnavailable, cgroup, host, tree
from hyperpod_constructs.rehearsal.nodes.__main__ import main
from hyperpod_constructs.rehearsal.nodes.suites import SUITES, Suite, suite_named

pytestmark = pytest.mark.fast

TRIXIE = SUITES["trixie"]
HOST = "hyperpod_constructs.rehearsal.nodes.host"


def silent(text: str) -> None:
    """Say nothing."""


@pytest.fixture
def good_host(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine on which all is well, whatever this one is."""
    monkeypatch.setattr(f"{HOST}.sys.platform", "linux")
    monkeypatch.setattr(host, "is_root", lambda: True)
    monkeypatch.setattr(host, "available_memory_mib", lambda: 8000)
    monkeypatch.setattr(f"{HOST}.shutil.which", lambda program: f"/usr/bin/{program}")
    monkeypatch.delenv("NO_APT", raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("sys.platform", "darwin", "got darwin; Slurm nodes need Linux"),
        ("is_root", lambda: False, "namespaces and mounts need root; run the same command as root"),
        ("available_memory_mib", lambda: 100, "100 MiB of memory free; a small bed needs 700 MiB"),
        ("shutil.which", lambda program: None, "no apt-get here; the nodes are made of Debian packages"),
    ],
)
def test_a_machine_that_cannot_carry_a_bed_is_told_why(
    good_host: pytest.MonkeyPatch, tmp_path: Path, name: str, value: object, words: str
) -> None:
    good_host.setattr(f"{HOST}.{name}", value)
    with pytest.raises(BedUnavailable) as caught:
        host.require_host(build=True, folder=tmp_path, say=silent)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_space_names_the_folder_and_the_way_out(good_host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = type("Usage", (), {"free": 300 * 2**20})
    good_host.setattr(f"{HOST}.shutil.disk_usage", lambda place: usage)
    with pytest.raises(BedUnavailable, match=f"300 MiB free at {tmp_path}; .* 2500 MiB; .* HYPERPOD_REHEARSAL_DIR"):
        host.require_host(build=True, folder=tmp_path / "not/there/yet", say=silent)
    host.require_host(build=False, folder=tmp_path, say=silent)  # a tree that is built needs none


def test_missing_packages_are_installed_and_it_is_said_before(good_host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said: list[str] = []
    installed: list[list[str]] = []
    good_host.setattr(host, "missing_packages", lambda *, build: ["iproute2", "mmdebstrap"])

    def install(arguments: list[str]) -> None:
        installed.append(arguments)
        said.append("installed")

    good_host.setattr(host, "run_apt", install)
    host.require_host(build=True, folder=tmp_path, say=said.append)
    assert installed == [["install", "--no-install-recommends", "iproute2", "mmdebstrap"]]
    assert said == ["installing iproute2, mmdebstrap by apt-get (NO_APT=1 forbids this)", "installed"]


def test_no_apt_forbids_it_in_one_sentence(good_host: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good_host.setenv("NO_APT", "1")
    good_host.setattr(host, "missing_packages", lambda *, build: ["mmdebstrap"])
    good_host.setattr(host, "run_apt", lambda arguments: pytest.fail("apt-get was called"))
    with pytest.raises(BedUnavailable, match="packages missing: mmdebstrap; NO_APT forbids installing them"):
        host.require_host(build=True, folder=tmp_path, say=silent)


def test_a_failing_apt_updates_its_lists_and_tries_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def run(command: list[str], **options: object) -> "subprocess.CompletedProcess[str]":
        calls.append(command[5])
        failed = command[5] == "install" and calls.count("install") == 1
        return subprocess.CompletedProcess(command, 100 if failed else 0, "", "E: Unable to locate package x")

    monkeypatch.setattr(f"{HOST}.subprocess.run", run)
    host.run_apt(["install", "x"])
    assert calls == ["install", "update", "install"]


def test_an_apt_that_goes_on_failing_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 100, "Reading\n", "E: Unable to locate package x\n")
    monkeypatch.setattr(f"{HOST}.subprocess.run", lambda *arguments, **options: failed)
    with pytest.raises(BedUnavailable, match="apt-get install failed: E: Unable to locate package x; repair apt"):
        host.run_apt(["install", "x"])


@pytest.mark.parametrize(
    ("mountinfo", "membership", "expected"),
    [
        ("30 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "0::/user.slice/a", "/sys/fs/cgroup/user.slice/a"),
        ("30 1 0:2 / /sys/fs/cgroup/unified rw - cgroup2 none rw", "1:cpu:/x\n0::/", "/sys/fs/cgroup/unified"),
        ("30 1 0:2 /box /sys/fs/cgroup rw shared:4 - cgroup2 none rw", "0::/box/in", "/sys/fs/cgroup/in"),
        ("30 1 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", "1:cpu:/x\n0::/", None),
        ("30 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "1:cpu:/x", None),
    ],
)
def test_our_own_control_group_is_found(mountinfo: str, membership: str, expected: str | None) -> None:
    found = cgroup.own_cgroup(mountinfo, membership)
    assert (str(found) if found else None) == expected


def test_control_groups_that_cannot_be_written_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "own_cgroup", lambda mountinfo, membership: Path("/proc"))
    with pytest.raises(BedUnavailable, match=r"cgroups are not writable: /proc/hyperpod-bed-x: .* --privileged"):
        cgroup.create_bed_cgroup("x")


def test_no_unified_hierarchy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "own_cgroup", lambda mountinfo, membership: None)
    with pytest.raises(BedUnavailable, match="no cgroup2 file system is mounted here"):
        cgroup.create_bed_cgroup("x")


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("http://archive.test/debian/ bookworm stable\n", "http://archive.test/debian"),
        (
            "http://a.test/debian-security/ bookworm-security x\nhttp://a.test/debian bookworm s\n",
            "http://a.test/debian",
        ),
        ("http://a.test/debian/ bookworm-updates x\n", None),
        ("http://a.test/ubuntu/ noble noble\n", None),
        ("", None),
    ],
)
def test_the_archive_of_the_host_is_used(listed: str, expected: str | None) -> None:
    assert tree.debian_archive(listed) == expected


def test_a_machine_without_package_lists_gets_them_first(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "http://archive.test/debian/ bookworm stable\n"
    updates: list[list[str]] = []
    monkeypatch.setattr(tree, "run_apt", updates.append)
    monkeypatch.setattr(tree, "_index_targets", lambda: listed if updates else "")
    assert tree._archive_uri() == "http://archive.test/debian"
    assert updates == [["update"]]


def test_a_machine_of_another_distribution_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "run_apt", lambda arguments: None)
    monkeypatch.setattr(tree, "_index_targets", lambda: "http://archive.test/ubuntu/ noble noble\n")
    with pytest.raises(BedUnavailable, match="apt on this machine knows no Debian archive"):
        tree._archive_uri()


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces mmdebstrap by a slow stand-in; what it built."""
    built: list[str] = []

    def build(suite: Suite, target: Path, log: Path) -> None:
        built.append(suite.name)
        (target / "etc").mkdir(parents=True)
        time.sleep(0.3)

    monkeypatch.setattr(tree, "require_host", lambda **options: None)
    monkeypatch.setattr(tree, "_run_mmdebstrap", build)
    monkeypatch.setattr(tree, "_add_image_users", lambda root: None)
    monkeypatch.setattr(tree, "_has_nspawn", lambda folder: True)
    monkeypatch.setattr(tree, "_find_nspawn", lambda folder: (Path("/usr/bin/systemd-nspawn"), None))
    monkeypatch.setattr(tree, "running_beds", list)
    return built


def test_two_at_once_build_one_tree(builder: list[str], tmp_path: Path) -> None:
    said: list[str] = []
    threads = [
        threading.Thread(target=tree.ensure_tree, args=(TRIXIE, tmp_path), kwargs={"say": said.append})
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert builder == ["trixie"]
    assert "another run is building the same tree: waiting for it" in said


def test_a_failed_build_leaves_no_tree_and_the_next_one_builds(
    builder: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(root: Path) -> None:
        raise BedUnavailable("no chroot here")

    with monkeypatch.context() as patch:
        patch.setattr(tree, "_add_image_users", fail)
        with pytest.raises(BedUnavailable, match="no chroot here"):
            tree.ensure_tree(TRIXIE, tmp_path, say=silent)
    assert not tree.is_built(TRIXIE, tmp_path)
    tree.ensure_tree(TRIXIE, tmp_path, say=silent)
    assert builder == ["trixie", "trixie"]
    assert [path.name for path in (tmp_path / "trixie").iterdir()] == [f"tree-{TRIXIE.tree_key}"]


def test_what_a_killed_build_left_is_removed(builder: list[str], tmp_path: Path) -> None:
    (tmp_path / "trixie/tree-old.partial/etc").mkdir(parents=True)
    tree.ensure_tree(TRIXIE, tmp_path, say=silent)
    assert not (tmp_path / "trixie/tree-old.partial").exists()


@pytest.mark.parametrize("in_use", [False, True])
def test_a_tree_of_other_packages_is_removed_unless_a_bed_may_stand_on_it(
    builder: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_use: bool
) -> None:
    monkeypatch.setattr(tree, "running_beds", lambda: ["a bed"] if in_use else [])
    (tmp_path / "trixie/tree-0000000000").mkdir(parents=True)
    tree.ensure_tree(TRIXIE, tmp_path, say=silent)
    assert (tmp_path / "trixie/tree-0000000000").exists() is in_use


def test_a_lock_that_is_never_freed_does_not_wait_for_ever(tmp_path: Path) -> None:
    with tree.locked(tmp_path / "lock", say=silent):
        waiting = tree.locked(tmp_path / "lock", say=silent, timeout_seconds=0.3)
        with pytest.raises(BedError, match="was held by another build for 0 s"):
            waiting.__enter__()


def test_an_unknown_suite_is_refused_with_those_there_are() -> None:
    with pytest.raises(BedError, match='got suite "sid"; allowed: trixie, forky; choose one of these'):
        suite_named("sid")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["build", "sid"], 'error: got suite "sid"; allowed: trixie, forky'),
        (["exec", "--bed", "none", "ip-1"], "error: no bed "),
        (["run", "--compute", "0"], "error: got --compute 0; allowed: 1 or more"),
        (["run", "--on-create", "x.sh"], "error: --scripts goes with exactly one of"),
        (["run", "--scripts", "/nowhere", "--on-create", "x.sh"], "error: there is no x.sh in /nowhere"),
    ],
)
def test_bad_input_on_the_command_line_is_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_importing_the_bed_does_not_import_the_cdk() -> None:
    program = (
        "import sys, hyperpod_constructs.rehearsal.nodes, hyperpod_constructs.rehearsal.agent;"
        "sys.exit(', '.join(name for name in sys.modules if name.split('.')[0] in ('aws_cdk', 'jsii', 'boto3')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
