"""A bed ends with whoever started it and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.nodes import Bed, BedError, NodeError, registry
from hyperpod_constructs.rehearsal.nodes.cgroup import own_cgroup
from hyperpod_constructs.rehearsal.nodes.paths import CGROUP_PREFIX, RUNTIME_DIR

from .conftest import REPOSITORY, within

pytestmark = pytest.mark.nodes

# A process of its own that starts a bed with one node, says so, and then does what the test wants.
STARTER = """
import sys, time
from pathlib import Path
from hyperpod_constructs.rehearsal.nodes import Bed
with Bed(cache=Path(sys.argv[1]), limit_seconds=float(sys.argv[2])) as bed:
    bed.add("ip-10-0-0-10", "10.0.0.10")
    print(bed.socket.parent.name, flush=True)
    {then}
"""


def processes_of(bed_id: str) -> list[int]:
    """Every process of this machine that names the bed or runs in its control group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "cgroup").read_text() + (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if bed_id in text:
                found.append(int(entry.name))
    return found


def left_of(bed_id: str) -> list[str]:
    """What there is of a bed on this machine, in words."""
    group = own_cgroup(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    assert group is not None
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if bed_id in line or "/run/bed" in line]
    return [
        *(["folder"] if (RUNTIME_DIR / bed_id).exists() else []),
        *(["control group"] if (group / f"{CGROUP_PREFIX}{bed_id}").exists() else []),
        *(f"process {number}" for number in processes_of(bed_id)),
        *(f"mount {line}" for line in mounts),
        *(["links"] if "node1" in links or "bridge0" in links else []),
    ]


@pytest.fixture
def started(machine: None, cache: Path) -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def start(started: list["subprocess.Popen[str]"], cache: Path, then: str, limit: float = 60) -> tuple[int, str]:
    """Start a bed in a process of its own; the number of that process and the bed's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", STARTER.format(then=then), str(cache), str(limit)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    started.append(process)
    assert process.stdout is not None
    bed_id = process.stdout.readline().strip()
    assert bed_id
    assert len(processes_of(bed_id)) > 5, "the test can see a bed's processes"
    return process.pid, bed_id


@pytest.mark.parametrize(
    "then",
    ["pass", "raise RuntimeError('the test of a user fails')", "import os; os._exit(3)"],
    ids=["normal end", "error", "exit without any cleaning"],
)
def test_nothing_is_left_when_the_starter_ends(started: list["subprocess.Popen[str]"], cache: Path, then: str) -> None:
    _, bed_id = start(started, cache, f"time.sleep(0.2); {then}")
    started[0].wait(30)
    assert within(15, lambda: left_of(bed_id) == []), left_of(bed_id)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_starter_is_ended_by_a_signal(
    started: list["subprocess.Popen[str]"], cache: Path, number: signal.Signals
) -> None:
    process, bed_id = start(started, cache, "time.sleep(60)")
    os.kill(process, number)
    assert within(15, lambda: left_of(bed_id) == []), left_of(bed_id)


def test_a_bed_ends_when_its_time_is_over(started: list["subprocess.Popen[str]"], cache: Path) -> None:
    _, bed_id = start(started, cache, "time.sleep(60)", limit=4)
    assert within(20, lambda: left_of(bed_id) == []), left_of(bed_id)


def test_a_killed_supervisor_takes_the_nodes_along_and_the_next_run_sweeps_the_rest(
    started: list["subprocess.Popen[str]"], cache: Path
) -> None:
    _, bed_id = start(started, cache, "time.sleep(60)")
    registration = json.loads((RUNTIME_DIR / bed_id / "bed.json").read_text())
    os.kill(registration["supervisor"], signal.SIGKILL)
    assert within(10, lambda: not any("process" in item or "mount" in item for item in left_of(bed_id)))
    assert "folder" in left_of(bed_id), "what only a sweep can remove"
    assert bed_id in registry.sweep()
    assert left_of(bed_id) == []


def test_a_sweep_leaves_running_beds_alone(bed: Bed) -> None:
    assert bed.socket.parent.name not in registry.sweep()
    assert bed.call("ping") == {"suite": "trixie"}


def test_the_inotify_limit_is_put_back_by_the_last_bed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, machine: None
) -> None:
    limit = tmp_path / "max_user_instances"
    limit.write_text("128")
    monkeypatch.setattr(registry, "INOTIFY_LIMIT", limit)
    monkeypatch.setattr(registry, "RUNTIME_DIR", tmp_path / "run")
    monkeypatch.setattr(registry, "bed_dir", lambda bed_id: tmp_path / "run" / bed_id)
    first, second = registry.register(), registry.register()
    assert int(limit.read_text()) == registry.INOTIFY_WANTED
    registry.unregister(first)
    assert int(limit.read_text()) == registry.INOTIFY_WANTED
    registry.unregister(second)
    assert limit.read_text() == "128"


def test_two_beds_at_once_have_the_same_names_and_addresses_and_nothing_in_common(bed: Bed, cache: Path) -> None:
    source = "fs-0c1b2c3d4e5f60718.fsx.us-west-2.amazonaws.com@tcp:/shared"
    name, address = "ip-10-8-0-10", "10.8.0.10"
    with Bed(cache=cache, limit_seconds=120) as other:
        for one in (bed, other):
            one.add(name, address)
            one.add_file_system(source)
            one.run(name, ["mount", "-t", "lustre", source, "/fsx"], check=True)
        bed.run(name, ["touch", "/fsx/of-the-first", "/root/of-the-first"], check=True)
        assert other.run(name, ["ls", "/fsx", "/root"], check=True).stdout.split() == ["/fsx:", "/root:"]
        other.remove(name)
        assert bed.run(name, ["hostname"], check=True).stdout.strip() == name
    assert bed.run(name, ["hostname"], check=True).stdout.strip() == name, "the other's end is not ours"
    bed.remove(name)


def test_a_full_bed_refuses_one_more_node(machine: None, cache: Path) -> None:
    with Bed(cache=cache, limit_seconds=60, maximum_nodes=1) as small:
        small.add("ip-10-0-0-10", "10.0.0.10")
        with pytest.raises(NodeError, match="the bed is full: 1 nodes; start it with a larger maximum_nodes"):
            small.add("ip-10-0-0-11", "10.0.0.11")


def test_a_bed_that_ended_says_so(machine: None, cache: Path) -> None:
    with Bed(cache=cache, limit_seconds=60) as short:
        short.add("ip-10-0-0-10", "10.0.0.10")
    with pytest.raises(BedError, match=r"does not answer .* it may have ended"):
        short.nodes()


def test_a_caller_that_hangs_up_ends_its_command(bed: Bed, node: str) -> None:
    program = (
        "import sys; from pathlib import Path; from hyperpod_constructs.rehearsal.nodes import BedClient;"
        "BedClient(Path(sys.argv[1])).run(sys.argv[2], ['sleep', '5432'])"
    )
    caller = subprocess.Popen([sys.executable, "-c", program, str(bed.socket), node], cwd=REPOSITORY)
    is_asleep = ["pgrep", "-x", "sleep"]
    assert within(10, lambda: bed.run(node, is_asleep).exit_code == 0)
    caller.kill()
    caller.wait()
    assert within(10, lambda: bed.run(node, is_asleep).exit_code == 1)


def test_a_bed_starts_in_seconds_with_its_tree_at_hand(machine: None, bed: Bed, cache: Path) -> None:
    started = time.monotonic()
    with Bed(cache=cache, limit_seconds=60):
        assert time.monotonic() - started < 10
