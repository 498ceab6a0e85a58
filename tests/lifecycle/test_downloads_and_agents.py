"""What is fetched is pinned, checked and retried; agents run what was pinned."""

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from nodelib.debian_packages import install_files
from nodelib.downloads import fetch_package
from nodelib.errors import StepError
from nodelib.node_config import Agent, Package
from steps.containers import INSTALL_CONTAINER_PACKAGES
from steps.observability import RUN_AGENTS, unit_text

from tests.lifecycle.support import Machine, node_config, units

CONTENT = b"a package"
SHA = hashlib.sha256(CONTENT).hexdigest()
PACKAGE = Package("enroot", "https://host/enroot.deb", SHA)


def fetches(*contents: bytes | OSError) -> Any:
    answers = iter(contents)

    def fetch(_url: str, target: Path) -> None:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        target.write_bytes(answer)

    return fetch


def s3(machine: Machine, content: bytes) -> None:
    machine.runner.answer("aws", "s3", "cp", does=lambda argv, _: Path(argv[-1]).write_bytes(content) and None)


def test_failed_fetch_is_tried_again(machine: Machine) -> None:
    context = machine.context("compute")
    path = fetch_package(context, PACKAGE, fetches(OSError("reset"), OSError("reset"), CONTENT))
    assert path.read_bytes() == CONTENT
    assert machine.clock.now == 1000 + 2 + 4


def test_fetch_that_always_fails_names_the_address(machine: Machine) -> None:
    fetch = fetches(*[OSError("no route")] * 5)
    with pytest.raises(StepError, match=r"https://host/enroot.deb: not fetched in 5 tries: no route"):
        fetch_package(machine.context("compute"), PACKAGE, fetch)


def test_wrong_content_is_not_used(machine: Machine) -> None:
    with pytest.raises(StepError, match=f"{SHA} is pinned; it was not used"):
        fetch_package(machine.context("compute"), PACKAGE, fetches(b"something else"))
    assert list((machine.root / "var/cache/hyperpod-constructs").iterdir()) == []


def test_file_that_is_there_is_not_fetched_again(machine: Machine) -> None:
    context = machine.context("compute")
    fetch_package(context, PACKAGE, fetches(CONTENT))
    assert fetch_package(context, PACKAGE, fetches()).read_bytes() == CONTENT


def test_apt_waits_for_the_lock_and_holds_the_lustre_client(machine: Machine) -> None:
    failures = iter([100, 100, 0])
    machine.runner.answer("apt-get", does=lambda _argv, _stdin: machine.result(next(failures), "lock"))
    machine.runner.answer("dpkg-query", stdout="lustre-client-modules-6.8.0-1-aws\n")
    install_files(machine.context("compute"), [Path("/x.deb")])
    assert machine.runner.calls[1].argv == ["apt-mark", "hold", "lustre-client-modules-6.8.0-1-aws"]
    assert len(machine.runner.ran("apt-get")) == 3
    assert "DPkg::Lock::Timeout=120" in machine.runner.ran("apt-get")[0]


def test_container_packages_are_installed_once(machine: Machine) -> None:
    s3(machine, CONTENT)
    package = {"name": "enroot", "url": "s3://bucket/enroot.deb", "sha256": SHA}
    context = machine.context("compute", node_config(container_packages=[package]))
    assert machine.run(context, INSTALL_CONTAINER_PACKAGES)[0].outcome == "ok", machine.log
    assert len(machine.runner.ran("apt-get")) == 1
    machine.runner.calls.clear()
    assert machine.run(context, INSTALL_CONTAINER_PACKAGES)[0].changed == ()
    assert machine.runner.calls == []


def test_nothing_is_installed_unless_asked_for(machine: Machine) -> None:
    machine.run(machine.context("compute"), INSTALL_CONTAINER_PACKAGES, RUN_AGENTS)
    assert machine.runner.calls == []


def test_agent_runs_the_pinned_program_on_its_node_types_only(machine: Machine) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("node_exporter-1/node_exporter")
        member.size = len(b"program")
        archive.addfile(member, io.BytesIO(b"program"))
    content = buffer.getvalue()
    s3(machine, content)
    name = "hyperpod-constructs-agent-node-exporter.service"
    units(machine, name)
    agent = {
        "name": "node-exporter",
        "url": "s3://bucket/exporter.tar.gz",
        "sha256": hashlib.sha256(content).hexdigest(),
        "program": "node_exporter-1/node_exporter",
        "node_types": ["compute"],
        "arguments": ["--web.listen-address=:9100"],
    }
    context = machine.context("compute", node_config(agents=[agent]))
    [result] = machine.run(context, RUN_AGENTS)
    assert result.outcome == "ok", machine.log
    assert f"started {name}" in result.changed
    [program] = (machine.root / "opt/hyperpod-constructs-agents").iterdir()
    assert (program.read_bytes(), program.stat().st_mode & 0o777) == (b"program", 0o755)
    assert machine.run(context, RUN_AGENTS)[0].changed == ()
    machine.run(machine.context("compute"), RUN_AGENTS)
    assert not machine.files.exists(f"/etc/systemd/system/{name}"), "an agent taken out is taken away"
    machine.run(machine.context("login", node_config(agents=[agent])), RUN_AGENTS)
    assert not machine.files.exists(f"/etc/systemd/system/{name}")


def test_agent_arguments_mean_themselves_to_systemd() -> None:
    agent = Agent("x", (), PACKAGE, "", ("--label=50%", "$HOME", "two words"))
    assert "ExecStart=/opt/x --label=50%% '$$HOME' 'two words'\n" in unit_text(agent, "/opt/x")
