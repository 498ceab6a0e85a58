"""ssh: the session's target and words, commands on nodes, keys; with a fake AWS CLI that runs the command here."""

import json
import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hyperpod_constructs.cli.access import sessions
from hyperpod_constructs.cli.access.keys import read_public_key
from hyperpod_constructs.cli.access.target import Target
from hyperpod_constructs.cli.failures import CommandError
from tests.cli.live_support import Live
from tests.cli.support import Command
from tests.rehearsal.service.support import NAME, controller, workers

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOzx+y/z0000000000000000000000000000000 me@[laptop].*"

AWS = """#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys
folder = pathlib.Path(os.environ["FAKE_AWS"])
calls = folder / "calls"
with calls.open("a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
mode = (folder / "mode").read_text() if (folder / "mode").exists() else ""
count = len(calls.read_text().splitlines())
if mode.startswith("throttled") and count <= int(mode.split()[1]):
    sys.exit("An error occurred (ThrottlingException) when calling the StartSession operation: Rate exceeded")
if mode == "not connected":
    sys.exit("An error occurred (TargetNotConnected) when calling the StartSession operation: it is not connected")
if mode == "silent":
    sys.exit(0)
command = json.loads(sys.argv[sys.argv.index("--parameters") + 1])["command"][0]
answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
text = "\\r\\nStarting session with SessionId: x-1\\r\\n" + (answer.stdout + answer.stderr).replace("\\n", "\\r\\n")
if mode == "cut":
    text = text[: text.rindex("hyperpod-slurm-")]
sys.stdout.write(text + "\\r\\nExiting session with sessionId: x-1.\\r\\n")
sys.exit(255 if mode == "wrong code" else 0)
"""


class FakeAws:
    """The AWS CLI's place on PATH.

    Args:
        folder: for its programs and what it notes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home" / "ubuntu"
        self.home.mkdir(parents=True)
        self.program("aws", AWS)
        self.program("session-manager-plugin", "#!/bin/sh\n")
        self.program("sudo", '#!/bin/sh\n[ "$1" = -iu ] && shift 2\nexec "$@"\n')
        self.program("getent", f'#!/bin/sh\n[ "$2" = ubuntu ] && echo ubuntu:x:1000:1000::{self.home}:/bin/bash\n')
        self.program("id", "#!/bin/sh\necho ubuntu\n")
        self.program("chown", "#!/bin/sh\n")
        self.program("install", '#!/bin/sh\nfor last; do :; done\nmkdir -p "$last" && chmod 700 "$last"\n')

    def program(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def behave(self, mode: str) -> None:
        (self.folder / "mode").write_text(mode)

    @property
    def calls(self) -> list[list[str]]:
        found = self.folder / "calls"
        return [json.loads(line) for line in found.read_text().splitlines()] if found.exists() else []

    @property
    def keys(self) -> list[str]:
        return (self.home / ".ssh" / "authorized_keys").read_text().splitlines()


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    folder = tmp_path / "programs"
    folder.mkdir()
    made = FakeAws(folder)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_AWS", str(folder))
    return made


@pytest.fixture
def become(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What this process would have become."""
    found: list[list[str]] = []
    monkeypatch.setattr(sessions, "become", lambda words: found.append([*words]))
    return found


@pytest.fixture
def cluster_id(live: Live) -> Callable[[], str]:
    return lambda: str(live.sagemaker.describe_cluster(ClusterName=NAME)["ClusterArn"].rpartition("/")[2])


def test_a_session_has_the_documented_target_and_the_region(
    command: Command, live: Live, aws: FakeAws, become: list[list[str]], cluster_id: Callable[[], str]
) -> None:
    live.up()
    assert command("ssh", NAME, "controller", "--region", "eu-west-1", "--profile", "research").code == 0
    target = f"sagemaker-cluster:{cluster_id()}_controller-group-{live.instance('controller-group')}"
    assert become == [
        ["aws", "ssm", "start-session", "--target", target, "--region", "eu-west-1", "--profile", "research"]
    ]


def test_without_a_node_the_login_node_is_meant_or_the_controller(
    command: Command, live: Live, aws: FakeAws, become: list[list[str]]
) -> None:
    live.up()
    command("ssh", NAME)
    assert "_login-group-i-" in become[-1][4]


def test_a_cluster_without_a_login_node_is_entered_at_the_controller(
    command: Command, live: Live, aws: FakeAws, become: list[list[str]]
) -> None:
    live.up(controller(), workers(1))
    command("ssh", NAME)
    assert "_controller-group-i-" in become[-1][4]


def test_another_user_is_become_on_the_node(
    command: Command, live: Live, aws: FakeAws, become: list[list[str]]
) -> None:
    live.up()
    command("ssh", NAME, "-l", "alice")
    assert become[-1][5:9] == [
        "--document-name",
        "AWS-StartInteractiveCommand",
        "--parameters",
        '{"command": ["sudo -iu alice"]}',
    ]


def test_ssh_goes_through_the_session(
    command: Command, live: Live, aws: FakeAws, become: list[list[str]], cluster_id: Callable[[], str]
) -> None:
    live.up()
    command("ssh", NAME, "controller", "--over-ssh", "--profile", "50% off")
    node = live.instance("controller-group")
    assert become[-1][-1] == f"ubuntu@{node}"
    proxy = become[-1][2].removeprefix("ProxyCommand=")
    words = shlex.split(proxy)
    assert words[4] == f"sagemaker-cluster:{cluster_id()}_controller-group-{node}"
    assert words[5:] == [
        *("--document-name", "AWS-StartSSHSession", "--parameters", "portNumber=%p"),
        *("--region", "us-east-1", "--profile", "50%% off"),
    ]


def test_the_command_can_be_printed_without_the_programs(
    command: Command, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.up()
    monkeypatch.setenv("PATH", "/nowhere")
    answer = command("ssh", NAME, "--print")
    assert answer.code == 0
    assert shlex.split(answer.out)[:3] == ["aws", "ssm", "start-session"]


def test_missing_programs_are_named_with_what_to_do(
    command: Command, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.up()
    monkeypatch.setenv("PATH", "/nowhere")
    answer = command("ssh", NAME)
    assert answer.err == (
        "hyperpod-slurm: aws, session-manager-plugin: not found on PATH; install the AWS CLI, version 2; "
        "install the Session Manager plugin of the AWS CLI\n"
    )


def test_a_commands_output_and_exit_code_come_back(command: Command, live: Live, aws: FakeAws) -> None:
    live.up()
    answer = command("ssh", NAME, "controller", "--", "sh", "-c", "echo 'two  words'; exit 7")
    assert (answer.code, answer.out) == (7, "two  words\n")


def test_the_exit_code_is_the_commands_whatever_the_session_says(command: Command, live: Live, aws: FakeAws) -> None:
    live.up()
    aws.behave("wrong code")
    assert command("ssh", NAME, "controller", "--", "true").code == 0


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("silent", "no session with sagemaker-cluster:"),
        ("cut", "the output was cut by the session before its end"),
        ("not connected", "is not connected: the node may still be starting, or its role lacks the ssmmessages"),
        ("throttled 99", "ThrottlingException"),
    ],
)
def test_a_session_that_fails_is_said(command: Command, live: Live, aws: FakeAws, mode: str, says: str) -> None:
    live.up()
    aws.behave(mode)
    answer = command("ssh", NAME, "controller", "--", "true")
    assert (answer.code, answer.out) == (1, "")
    assert says in answer.err


def test_throttling_is_waited_out(command: Command, live: Live, aws: FakeAws) -> None:
    live.up()
    aws.behave("throttled 2")
    assert command("ssh", NAME, "controller", "--", "echo", "here").out == "here\n"
    assert live.waits == [1.0, 2.0]


@pytest.fixture
def public_key(tmp_path: Path) -> Path:
    path = tmp_path / "id_ed25519.pub"
    path.write_text(f"{KEY}\n")
    return path


def test_a_key_is_added_once_and_read_back(command: Command, live: Live, aws: FakeAws, public_key: Path) -> None:
    live.up()
    first = command("ssh", NAME, "login", "--add-key", public_key)
    assert (first.code, "the key is now among ubuntu's" in first.err) == (0, True), first.err
    second = command("ssh", NAME, "login", "--add-key", public_key)
    assert "the key was already among ubuntu's" in second.err
    assert aws.keys == [KEY]
    assert stat.S_IMODE((aws.home / ".ssh" / "authorized_keys").stat().st_mode) == 0o600
    assert len(aws.calls) == 4
    assert {"--region", "us-east-1"} <= set(aws.calls[0])


def test_a_key_is_compared_as_text_and_as_a_whole(command: Command, live: Live, aws: FakeAws, public_key: Path) -> None:
    live.up()
    (aws.home / ".ssh").mkdir()
    # As a pattern the key would match this one.
    (aws.home / ".ssh" / "authorized_keys").write_text(f"{KEY.replace('[laptop].*', 'lxyz')}\n# {KEY} old\n")
    command("ssh", NAME, "login", "--add-key", public_key)
    assert aws.keys[-1] == KEY


def test_a_key_that_did_not_arrive_is_an_error_whatever_the_session_says(
    command: Command, live: Live, aws: FakeAws, public_key: Path
) -> None:
    live.up()
    aws.program("tee", "#!/bin/sh\ncat >/dev/null\n")
    answer = command("ssh", NAME, "login", "--add-key", public_key)
    assert (answer.code, answer.err) == (
        1,
        "hyperpod-slurm: the key is not in ubuntu's authorized_keys although the session reported no error\n",
    )


def test_a_user_that_is_not_on_the_node_is_named(command: Command, live: Live, aws: FakeAws, public_key: Path) -> None:
    live.up()
    answer = command("ssh", NAME, "login", "--add-key", public_key, "-l", "alice")
    assert answer.err == "hyperpod-slurm: the key was not added for alice: there is no user alice\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n", "must not leave this machine"),
        ("hello", "is no public key"),
        (f"{KEY}\n{KEY}", "is no public key"),
        ("", "is no public key"),
    ],
)
def test_what_is_no_public_key_is_not_sent(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(CommandError, match=says):
        read_public_key(tmp_path / "key")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["-l", "a b"], 2), (["-l", "-x"], 2), (["--add-key", "/no/such.pub"], 1), (["nobody"], 1)],
)
def test_wrong_arguments_end_in_one_sentence(
    command: Command, live: Live, aws: FakeAws, arguments: list[str], code: int
) -> None:
    live.up()
    answer = command("ssh", NAME, *arguments)
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (code, "", 1)
    assert aws.calls == []


def test_a_group_name_with_hyphens_stays_whole_in_the_target() -> None:
    target = Target(cluster_id="abc", group="worker-gpu-a", instance_id="i-1", region="us-east-1")
    assert target.name == "sagemaker-cluster:abc_worker-gpu-a-i-1"
