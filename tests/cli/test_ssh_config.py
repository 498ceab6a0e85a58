"""ssh-config: one marked block, written once, understood by ssh, taken away again."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from hyperpod_constructs.cli.access.ssh_config import with_block
from hyperpod_constructs.cli.failures import CommandError
from tests.cli.live_support import Live
from tests.cli.support import Command
from tests.rehearsal.service.support import NAME

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="the OpenSSH client is not installed")

OWN = "ServerAliveInterval 30\n\nHost *.example.com\n    User me\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(OWN)
    path.chmod(0o600)
    return path


def understood(config: Path, host: str) -> dict[str, str]:
    answer = subprocess.run(["ssh", "-G", "-F", str(config), host], capture_output=True, text=True, check=True)
    return dict(line.partition(" ")[::2] for line in answer.stdout.splitlines())


def test_ssh_reaches_login_and_controller_through_sessions(command: Command, live: Live, config: Path) -> None:
    live.up()
    answer = command("ssh-config", NAME, "--file", config, "--profile", "research", "--region", "eu-west-1")
    assert answer.code == 0, answer.err
    cluster_id = live.sagemaker.describe_cluster(ClusterName=NAME)["ClusterArn"].rpartition("/")[2]
    node = live.instance("login-group")
    found = understood(config, NAME)
    assert (found["hostname"], found["user"]) == (node, "ubuntu")
    assert found["proxycommand"] == (
        f"aws ssm start-session --target sagemaker-cluster:{cluster_id}_login-group-{node} --document-name "
        "AWS-StartSSHSession --parameters portNumber=%p --region eu-west-1 --profile research"
    )
    assert understood(config, f"{NAME}-controller")["hostname"] == live.instance("controller-group")


def test_a_second_run_changes_nothing(command: Command, live: Live, config: Path) -> None:
    live.up()
    command("ssh-config", NAME, "--file", config)
    text, changed_at = config.read_text(), config.stat().st_mtime_ns
    answer = command("ssh-config", NAME, "--file", config)
    assert "was already so" in answer.err
    assert (config.read_text(), config.stat().st_mtime_ns) == (text, changed_at)


def test_a_replaced_node_replaces_its_entry_in_place(command: Command, live: Live, config: Path) -> None:
    live.up()
    command("ssh-config", NAME, "--file", config)
    before = live.instance("login-group")
    live.service.fail_node(before)
    for _ in range(5):
        live.advance(60)
    command("ssh-config", NAME, "--file", config)
    text = config.read_text()
    assert before not in text
    assert text.count(f"# >>> hyperpod-slurm {NAME}") == 1


def test_the_persons_own_settings_hold_as_before(command: Command, live: Live, config: Path) -> None:
    live.up()
    command("ssh-config", NAME, "--file", config)
    assert understood(config, "a.example.com")["user"] == "me"
    assert understood(config, "elsewhere")["serveraliveinterval"] == "30"
    assert config.read_text().endswith(OWN)
    assert stat.S_IMODE(config.stat().st_mode) == 0o600


def test_taking_it_away_leaves_what_was_there(command: Command, live: Live, config: Path) -> None:
    live.up()
    command("ssh-config", NAME, "--file", config)
    answer = command("ssh-config", NAME, "--file", config, "--remove")
    assert (answer.code, config.read_text()) == (0, OWN)
    assert "has no block of" in command("ssh-config", NAME, "--file", config, "--remove").err


def test_two_regions_and_two_clusters_have_blocks_of_their_own(command: Command, live: Live, config: Path) -> None:
    live.up()
    command("ssh-config", NAME, "--file", config)
    command("ssh-config", NAME, "--file", config, "--region", "eu-west-1")
    assert config.read_text().count("# >>> hyperpod-slurm") == 2
    command("ssh-config", NAME, "--file", config, "--region", "eu-west-1", "--remove")
    assert config.read_text().count("# >>> hyperpod-slurm") == 1


def test_compute_nodes_are_there_when_asked_for(command: Command, live: Live, config: Path) -> None:
    live.up()
    command("ssh-config", NAME, "--file", config, "--nodes")
    node = live.nodes("worker-gpu-a")[2]
    host = node["PrivateDnsHostname"].partition(".")[0]
    assert understood(config, f"{NAME}-{host}")["hostname"] == node["InstanceId"]


def test_a_new_file_is_the_persons_only(command: Command, live: Live, tmp_path: Path) -> None:
    live.up()
    path = tmp_path / ".ssh" / "config"
    assert command("ssh-config", NAME, "--file", path).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_own_key_is_used(command: Command, live: Live, config: Path) -> None:
    live.up()
    command("ssh-config", NAME, "--file", config, "-i", "/keys/my key", "-l", "alice")
    found = understood(config, NAME)
    assert (found["identityfile"], found["user"]) == ("/keys/my key", "alice")


def test_a_configuration_that_ssh_does_not_take_stays_as_it_is(command: Command, live: Live, config: Path) -> None:
    live.up()
    config.write_text(f"{OWN}NoSuchOption yes\n")
    answer = command("ssh-config", NAME, "--file", config)
    assert (answer.code, "ssh does not take the configuration" in answer.err) == (1, True)
    assert config.read_text() == f"{OWN}NoSuchOption yes\n"


def test_a_block_that_never_ends_is_not_touched(command: Command, live: Live, config: Path) -> None:
    live.up()
    broken = f"# >>> hyperpod-slurm {NAME} us-east-1 >>>\nHost x\n"
    config.write_text(broken)
    answer = command("ssh-config", NAME, "--file", config)
    assert (answer.code, "line 1 is" in answer.err, config.read_text()) == (1, True, broken)


def test_printing_writes_nothing(command: Command, live: Live, config: Path) -> None:
    live.up()
    answer = command("ssh-config", NAME, "--file", config, "--print")
    assert answer.lines[0] == f"# >>> hyperpod-slurm {NAME} us-east-1 >>>"
    assert config.read_text() == OWN


def test_a_cluster_without_nodes_has_nothing_to_write(
    command: Command, monkeypatch: pytest.MonkeyPatch, config: Path
) -> None:
    Live(monkeypatch, "controller-group=0").create()
    answer = command("ssh-config", NAME, "--file", config)
    assert (answer.code, "has no node with an instance yet" in answer.err) == (1, True)
    assert config.read_text() == OWN


@pytest.mark.parametrize("text", ["", "a\n", "a\n\nb\n", "a"])
def test_putting_a_block_in_and_taking_it_out_is_no_change(text: str) -> None:
    new = "# >>> hyperpod-slurm c r >>>\nHost x\n# <<< hyperpod-slurm c r <<<\n"
    written = with_block(text, "c", "r", new)
    assert with_block(written, "c", "r", new) == written
    assert with_block(written, "c", "r", "") == text


def test_a_line_that_only_looks_like_a_mark_is_kept() -> None:
    text = "    # >>> hyperpod-slurm c r >>> not\n"
    assert with_block(text, "c", "r", "") == text
    with pytest.raises(CommandError, match="line 2 is"):
        with_block("x\n# >>> hyperpod-slurm c r >>>\n", "c", "r", "")
