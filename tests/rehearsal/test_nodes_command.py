"""``hyperpod-slurm rehearse`` with real nodes: what it shows, and that no node outlives it, however it ends."""

import json
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.nodes import BedClient
from hyperpod_constructs.rehearsal.session import Rehearsal

from .command_support import LONGEST_SECONDS, SYSTEM_PATH, assembly, processes_of, run, start
from .nodes_support import SlurmCluster

pytestmark = [
    pytest.mark.rehearsal,
    pytest.mark.nodes,
    pytest.mark.xdist_group("rehearsal"),
    pytest.mark.usefixtures("machine"),
]

STORY_SECONDS = 300.0


@pytest.fixture(scope="module")
def synthesized(machine: None, rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assembly of a cluster in the image's own style, with scripts of ours after the image's set-up."""
    cluster = SlurmCluster(rehearsal, tmp_path_factory.mktemp("command"), "shown", "ON_INIT_COMPLETE")
    config = cluster.config(16)
    config["compute"][0]["partition"] = "gpu"
    file = cluster.folder / "cluster.json"
    file.write_text(json.dumps(config))
    rehearsal.synth(context={"config": str(file)})
    return cluster.kept_assembly()


def test_the_story_ends_with_jobs_on_nodes_that_the_uploaded_scripts_set_up(synthesized: Path, folder: Path) -> None:
    """On the newer suite, since the other tests of real nodes have the default one."""
    shutil.copytree(synthesized, folder / "assembly")
    arguments = ("--app=assembly", "--suite=forky", "--nodes=auto")
    code, output, error = run(folder, *arguments, path=SYSTEM_PATH, longest_seconds=STORY_SECONDS)
    assert (code, error) == (0, ""), output
    shown = [line.strip() for line in output.splitlines()]
    real = next(line for line in shown if line.startswith("Real Slurm nodes: "))
    hosts = dict(re.findall(r"(\S+) \((ip-[\d-]+)\)", real))
    assert set(hosts) == {"head-1", "entry-1", "train-1", "train-2"}
    job = shown[shown.index("$ srun --partition=gpu -N2 hostname") + 1 :][:2]
    assert sorted(job) == sorted([hosts["train-1"], hosts["train-2"]])
    assert any(re.match(r"gpu\s+up\s+infinite\s+2\s+idle", line) for line in shown), output
    assert f"written by {hosts['train-1']}" in shown
    assert any(line.startswith(f"On entry-1 ({hosts['entry-1']}), Slurm 26.05") for line in shown)
    assert shown[-2] == "Left behind: nothing."
    assert not bed_of(folder).socket.exists()


def bed_of(folder: Path) -> BedClient:
    ready = next((folder / ".rehearsal" / "runs").glob("*/bed.ready"))
    return BedClient(Path(json.loads(ready.read_text())["socket"]))


def test_a_kept_rehearsal_keeps_its_nodes_says_how_to_reach_them_and_stop_ends_them(folder: Path) -> None:
    app = assembly(folder, {"Topic": {"Type": "AWS::SNS::Topic"}})
    code, output, error = run(folder, f"--app={app}", "--nodes=1", "--keep", path=SYSTEM_PATH)
    assert (code, error) == (0, ""), output
    bed = bed_of(folder)
    bed.add("ip-10-3-0-9", "10.3.0.9")
    assert [node["name"] for node in bed.nodes()] == ["ip-10-3-0-9"]
    assert run(folder, "--stop") == (0, "ended 1 rehearsal\n", "")
    assert processes_of(folder) == []
    assert not bed.socket.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_interruption_ends_the_nodes_too(number: signal.Signals, folder: Path) -> None:
    process = start(folder, f"--app={assembly(folder, {})}", "--nodes=1", path=SYSTEM_PATH)
    deadline = time.monotonic() + LONGEST_SECONDS
    while not list((folder / ".rehearsal" / "runs").glob("*/service.ready")):
        assert time.monotonic() < deadline, "the service did not come up"
        time.sleep(0.05)
    bed = bed_of(folder)
    bed.add("ip-10-3-0-8", "10.3.0.8")
    process.send_signal(number)
    _, error = process.communicate(timeout=LONGEST_SECONDS)
    assert "Traceback" not in error
    while processes_of(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(folder) == []
    assert not bed.socket.exists()
