"""Users with fixed ids, homes and keys on a file system that many nodes set up at once."""

import itertools
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from nodelib.errors import StepError
from nodelib.homes import ensure_home
from nodelib.node_files import NodeFiles
from nodelib.shared import home_base, node_lock
from nodelib.ssh import ensure_user_keys, with_host
from nodelib.step import Context
from nodelib.user_database import Account, derived_gid
from steps.home_directories import SET_UP_HOMES
from steps.ssh import SET_UP_SSH
from steps.users import CREATE_USERS

from tests.lifecycle.support import FakeClock, Machine, node_config, units

PASSWD = "root:x:0:0::/root:/bin/bash\nubuntu:x:1000:1000::/home/ubuntu:/bin/bash\n"
ALICE: dict[str, Any] = {"name": "alice", "uid": 2001, "gid": 2001, "groups": ["ml"], "sudo": True}


@pytest.fixture
def node(machine: Machine) -> Machine:
    units(machine, "ssh")
    machine.put("/etc/passwd", PASSWD)
    machine.put("/etc/group", "root:x:0:\nubuntu:x:1000:\n")
    machine.put("/etc/skel/.bashrc", "alias ll='ls -l'\n")
    machine.put("/fsx/x", "")
    machine.runner.answer("useradd", does=lambda argv, _: add_user(machine, argv))
    machine.runner.answer("groupadd", does=lambda argv, _: append(machine, "/etc/group", f"{argv[-1]}:x:{argv[2]}:\n"))
    machine.runner.answer("ssh-keygen", does=generate)
    return machine


def append(machine: Machine, path: str, line: str) -> None:
    machine.put(path, machine.get(path) + line)


def add_user(machine: Machine, argv: list[str]) -> None:
    options = dict(itertools.pairwise(argv))
    ids = f"{options['--uid']}:{options['--gid']}"
    append(machine, "/etc/passwd", f"{argv[-1]}:x:{ids}::{options['--home-dir']}:/bin/bash\n")
    for group in options.get("--groups", "").split(","):
        if group:
            gid = next(line.split(":")[2] for line in machine.get("/etc/group").splitlines() if line.startswith(group))
            rest = "".join(f"{ln}\n" for ln in machine.get("/etc/group").splitlines() if not ln.startswith(group))
            machine.put("/etc/group", rest + f"{group}:x:{gid}:{argv[-1]}\n")


def generate(argv: list[str], _stdin: str) -> None:
    path = Path(argv[-1])
    path.write_text(f"PRIVATE {os.getpid()}\n")
    path.with_suffix(".pub").write_text(f"ssh-ed25519 AAAA{os.getpid()} {argv[argv.index('-C') + 1]}\n")


def with_alice(**changes: Any) -> dict[str, Any]:
    return node_config(users=[{**ALICE, **changes}])


def test_user_is_added_with_fixed_ids_groups_and_home(node: Machine) -> None:
    [result] = node.run(node.context("compute", with_alice()), CREATE_USERS)
    assert result.outcome == "ok", node.log
    [command] = node.runner.ran("useradd")
    assert command[1:7] == ["--uid", "2001", "--gid", "2001", "--home-dir", "/fsx/home/alice"]
    assert ["groupadd", "--gid", str(derived_gid("ml")), "ml"] in node.runner.ran("groupadd")
    sudo = node.root / "etc/sudoers.d/90-hyperpod-constructs-alice"
    assert (sudo.read_text(), sudo.stat().st_mode & 0o777) == ("alice ALL=(ALL) NOPASSWD:ALL\n", 0o440)


def test_second_run_starts_no_process_and_changes_nothing(node: Machine) -> None:
    context = node.context("compute", with_alice())
    node.run(context, CREATE_USERS)
    node.runner.calls.clear()
    before = node.snapshot()
    assert node.run(context, CREATE_USERS)[0].changed == ()
    assert (node.runner.calls, node.snapshot()) == ([], before)


def test_group_id_depends_on_the_name_alone() -> None:
    assert derived_gid("ml") == derived_gid("ml")
    assert {1200 <= derived_gid(name) < 2000 for name in ("ml", "research", "ops")} == {True}


def test_users_may_share_a_primary_group(node: Machine) -> None:
    bob = {**ALICE, "name": "bob", "uid": 2002, "gid": 2001, "groups": []}
    document = node_config(users=[{**ALICE, "groups": []}, bob])
    [result] = node.run(node.context("compute", document), CREATE_USERS)
    assert result.outcome == "ok", node.log
    assert node.runner.ran("groupadd") == [["groupadd", "--gid", "2001", "alice"]]
    assert node.runner.ran("useradd")[1][1:5] == ["--uid", "2002", "--gid", "2001"]


def test_user_whose_id_is_taken_is_refused_with_both_names(node: Machine) -> None:
    append(node, "/etc/passwd", "mallory:x:2001:2001::/home/mallory:/bin/sh\n")
    [result] = node.run(node.context("compute", with_alice()), CREATE_USERS)
    assert result.remarks == ("user alice: its id 2001 belongs to mallory on this node",)


def test_user_with_other_ids_is_never_renumbered(node: Machine) -> None:
    append(node, "/etc/passwd", "alice:x:1500:1500::/fsx/home/alice:/bin/bash\n")
    [result] = node.run(node.context("compute", with_alice()), CREATE_USERS)
    assert "user alice has ids 1500:1500 on this node, node_config.json says 2001:2001" in result.remarks[0]


def test_account_files_that_another_process_holds_are_tried_again(node: Machine) -> None:
    tries: list[int] = []

    def locked(argv: list[str], _stdin: str) -> Any:
        tries.append(1)
        return node.result(1, "groupadd: cannot lock /etc/group; try again later.") if len(tries) < 3 else None

    node.runner.answer("groupadd", does=locked)
    node.run(node.context("compute", with_alice(groups=[])), CREATE_USERS)
    assert (len(tries), len(node.runner.ran("useradd"))) == (3, 1)


def test_sudo_that_was_taken_away_is_taken_away_on_the_node(node: Machine) -> None:
    node.run(node.context("compute", with_alice()), CREATE_USERS)
    node.run(node.context("compute", with_alice(sudo=False)), CREATE_USERS)
    assert not node.files.exists("/etc/sudoers.d/90-hyperpod-constructs-alice")


@pytest.mark.parametrize(
    ("changes", "mounts", "expected"),
    [
        ({}, ["/fsx"], "/fsx/home"),
        ({}, ["/fsx", "/home"], "/home"),
        ({"home_path": "/fsx/people/"}, ["/fsx"], "/fsx/people"),
        ({}, [], "/home"),
        ({"features": {"home_directories": False}}, ["/fsx"], "/home"),
    ],
)
def test_homes_are_where_the_file_systems_suggest(
    node: Machine, changes: dict[str, Any], mounts: list[str], expected: str
) -> None:
    document = node_config(**changes)
    document["groups"]["compute-group"]["mounts"] = [
        {"type": "open_zfs" if path == "/home" else "lustre", "dns_name": "fs-1", "mount_name": "a", "path": path}
        for path in mounts
    ]
    assert home_base(node.context("compute", document)) == expected


def test_new_home_starts_with_the_skeleton_and_belongs_to_its_user(node: Machine) -> None:
    context = node.context("compute", with_alice())
    node.run(context, CREATE_USERS, SET_UP_HOMES)
    home = node.root / "fsx/home/alice"
    assert (home / ".bashrc").read_text() == "alias ll='ls -l'\n"
    assert stat.S_IMODE(home.stat().st_mode) == 0o750
    assert stat.S_IMODE((home / ".ssh").stat().st_mode) == 0o700
    assert {node.ownership.get(path) for path in (home, home / ".bashrc", home / ".ssh")} == {(2001, 2001)}


def test_home_that_exists_keeps_everything(node: Machine) -> None:
    node.put("/fsx/home/alice/thesis.txt", "years of work")
    home = node.root / "fsx/home/alice"
    home.chmod(0o755)
    node.ownership.set(home, (7, 7))
    node.run(node.context("compute", with_alice()), CREATE_USERS, SET_UP_HOMES)
    assert [path.name for path in home.iterdir()] == ["thesis.txt"]
    assert (node.ownership.get(home), stat.S_IMODE(home.stat().st_mode)) == ((7, 7), 0o755)


def test_image_user_moves_to_the_shared_file_system_with_the_keys_it_came_with(node: Machine) -> None:
    node.put("/home/ubuntu/.ssh/authorized_keys", "ssh-ed25519 AAAAadmin\n")
    node.run(node.context("compute"), SET_UP_HOMES)
    assert node.get("/fsx/home/ubuntu/.ssh/authorized_keys") == "ssh-ed25519 AAAAadmin\n"
    assert "ubuntu:x:1000:1000::/fsx/home/ubuntu:/bin/bash\n" in node.get("/etc/passwd")
    assert node.runner.calls == [], "usermod would refuse while somebody is logged in"


def test_image_moves_its_user_itself_in_its_style(node: Machine) -> None:
    node.run(node.context("compute", style="on_init_complete"), SET_UP_HOMES)
    assert node.get("/etc/passwd") == PASSWD


def test_keys_are_made_once_and_accepted_everywhere(node: Machine) -> None:
    document = with_alice(ssh_public_keys=["ssh-ed25519 AAAAhome alice@home"])
    context = node.context("compute", document)
    node.run(context, CREATE_USERS, SET_UP_HOMES, SET_UP_SSH)
    folder = node.root / "fsx/home/alice/.ssh"
    authorized = (folder / "authorized_keys").read_text()
    assert (folder / "id_ed25519.pub").read_text() in authorized
    assert "ssh-ed25519 AAAAhome alice@home\n" in authorized
    modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in ("id_ed25519", "authorized_keys")}
    assert modes == {"id_ed25519": 0o600, "authorized_keys": 0o600}
    before = node.snapshot()
    assert node.run(context, SET_UP_SSH)[0].changed == ()
    assert node.snapshot() == before


def test_key_taken_out_of_the_deployment_is_taken_out_and_the_user_s_own_stay(node: Machine) -> None:
    node.put("/fsx/home/alice/.ssh/authorized_keys", "ssh-rsa AAAAmine\n")
    context = node.context("compute", with_alice(ssh_public_keys=["ssh-ed25519 AAAAold"]))
    node.run(context, CREATE_USERS, SET_UP_HOMES, SET_UP_SSH)
    assert "AAAAold" in node.get("/fsx/home/alice/.ssh/authorized_keys")
    node.run(node.context("compute", with_alice()), SET_UP_SSH)
    authorized = node.get("/fsx/home/alice/.ssh/authorized_keys")
    assert ("AAAAold" in authorized, "ssh-rsa AAAAmine\n" in authorized) == (False, True)


def test_host_keys_of_a_replaced_node_replace_those_it_had(node: Machine) -> None:
    text = with_host("a,10.0.0.1 ssh-ed25519 OLD\nb,10.0.0.2 ssh-ed25519 B\n", "a", ["a,10.0.0.1 ssh-ed25519 NEW"])
    assert text == "a,10.0.0.1 ssh-ed25519 NEW\nb,10.0.0.2 ssh-ed25519 B\n"


def test_ssh_server_that_its_socket_starts_is_left_to_it(node: Machine) -> None:
    units(node, "ssh", "ssh.socket")
    node.units["ssh.socket"]["ActiveState"] = "active"
    node.run(node.context("compute"), SET_UP_HOMES, SET_UP_SSH)
    assert node.runner.ran("systemctl", "enable") == []


def test_missing_home_is_named(node: Machine) -> None:
    with pytest.raises(StepError, match="/fsx/home/alice: the home of alice is not there"):
        ensure_user_keys(node.context("compute"), Account("alice", 2001, 2001, "/fsx/home/alice", "/bin/bash"), ())


def in_20_processes(node: Machine, context: Context, work: Any) -> list[int]:
    """Run work in 20 processes that start together, as 20 nodes; return their exit codes."""
    read_end, write_end = os.pipe()
    children = []
    for _ in range(20):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(write_end)
                os.read(read_end, 1)  # until the parent closes the pipe
                context.clock = RealClock()
                context.files = NodeFiles(node.root, node.ownership)
                work()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    os.close(read_end)
    os.close(write_end)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


class RealClock(FakeClock):
    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / 10)
        time.sleep(min(seconds, 0.02))


def test_20_nodes_at_once_make_one_home_and_one_key_pair(node: Machine) -> None:
    context = node.context("compute")
    account = Account("alice", 2001, 2001, "/fsx/home/alice", "/bin/bash")
    node.put("/fsx/home/x", "")

    def work() -> None:
        ensure_home(context, account.home, (2001, 2001), "/etc/skel")
        ensure_user_keys(context, account, ("ssh-ed25519 AAAAhome",))

    assert in_20_processes(node, context, work) == [0] * 20
    folder = node.root / "fsx/home/alice/.ssh"
    lines = (folder / "authorized_keys").read_text().splitlines()
    assert len(lines) == len(set(lines)) == 4, "two keys between two marks"
    private, public = (folder / "id_ed25519").read_text(), (folder / "id_ed25519.pub").read_text()
    assert private.split()[1] == public.split()[1].removeprefix("AAAA"), "both of one pair"
    names = sorted(path.name for path in (node.root / "fsx/home").iterdir())
    assert names == ["alice", "x"], "no draft is left behind"


def test_lock_held_by_another_node_for_ever_is_an_error_that_names_it(node: Machine) -> None:
    context = node.context("compute")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        with node_lock(context, "/fsx/lock"):
            os.write(write_end, b"x")
            os.close(write_end)
            signal.pause()
    os.read(read_end, 1)
    try:
        message = "waited 120 s for the lock /fsx/lock, which another node holds"
        with pytest.raises(StepError, match=message), node_lock(context, "/fsx/lock"):
            pytest.fail("the lock is held")
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(read_end)
        os.close(write_end)
    with node_lock(context, "/fsx/lock"):
        pass  # a lock ends with its holder
