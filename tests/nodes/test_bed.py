"""Nodes come and go while a bed runs, and each is a machine of its own."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.nodes import Bed, NodeError, wait_for

from .conftest import Place, within

pytestmark = pytest.mark.nodes


def shell(bed: Bed, node: str, text: str) -> str:
    return bed.run(node, ["bash", "-c", text], check=True).stdout.strip()


def test_three_nodes_boot_in_seconds_side_by_side(bed: Bed, place: Callable[[], Place]) -> None:
    places = [place() for _ in range(3)]
    started = time.monotonic()
    wait_for([lambda one=one: bed.add(one.name, one.address) for one in places])  # type: ignore[misc]
    assert time.monotonic() - started < 30
    assert {shell(bed, one.name, "systemctl is-system-running") for one in places} == {"running"}
    for one in places:
        bed.remove(one.name)


def test_a_node_has_its_own_name_address_and_first_process(bed: Bed, node: str) -> None:
    assert shell(bed, node, "hostname") == node
    assert shell(bed, node, "hostname -I") == node.removeprefix("ip-").replace("-", ".")
    assert shell(bed, node, "cat /proc/1/comm") == "systemd"


def test_nodes_reach_each_other_by_name_and_nothing_beyond(bed: Bed, node: str, place: Callable[[], Place]) -> None:
    other = place()
    bed.add(other.name, other.address)
    assert shell(bed, node, f"ping -c1 -W2 {other.name} >/dev/null && echo reached") == "reached"
    assert shell(bed, node, f"getent hosts {other.name}.ec2.internal").split()[0] == other.address
    bed.remove(other.name)
    started = time.monotonic()
    assert bed.run(node, ["ping", "-c1", "-W2", "192.0.2.1"]).exit_code != 0
    assert bed.run(node, ["getent", "hosts", other.name]).exit_code == 2
    assert bed.run(node, ["getent", "hosts", "example.invalid"]).exit_code == 2
    assert time.monotonic() - started < 5, "what is out of reach is refused at once, not after a time-out"


def test_a_resolver_that_has_not_settled_answers_after_its_failures(bed: Bed, node: str) -> None:
    bed.fail_names(4)
    assert bed.run(node, ["getent", "ahostsv4", node]).exit_code != 0
    assert within(10, lambda: bed.run(node, ["getent", "ahostsv4", node]).exit_code == 0)


def test_a_command_gets_input_and_gives_output_errors_and_exit_code(bed: Bed, node: str) -> None:
    result = bed.run(node, ["bash", "-c", "cat; echo wrong >&2; exit 7"], stdin=b"given")
    assert (result.exit_code, result.stdout, result.stderr) == (7, "given", "wrong\n")


@pytest.mark.parametrize("as_service", [True, False])
def test_a_command_over_its_time_is_killed_on_the_node(bed: Bed, node: str, as_service: bool) -> None:
    started = time.monotonic()
    result = bed.run(node, ["sleep", "4321"], timeout_seconds=1, as_service=as_service)
    assert result.exit_code == 124
    assert time.monotonic() - started < 10
    assert within(5, lambda: bed.run(node, ["pgrep", "-x", "sleep"]).exit_code == 1)


def test_a_service_command_has_neither_home_nor_terminal(bed: Bed, node: str) -> None:
    shown = shell(bed, node, "echo ${HOME-unset}; test -t 0 || echo none; umask")
    assert shown.split() == ["unset", "none", "0022"]


def test_lines_are_handed_over_while_the_command_still_runs(bed: Bed, node: str) -> None:
    seen: list[tuple[float, str]] = []
    started = time.monotonic()
    code = bed.follow(
        node,
        ["bash", "-c", "echo first; sleep 1.5; echo second >&2; exit 3"],
        lambda line: seen.append((time.monotonic() - started, line)),
    )
    assert code == 3
    assert [line for _, line in seen] == ["first", "second"]
    assert seen[1][0] - seen[0][0] > 1


def test_files_travel_with_mode_and_owner(bed: Bed, node: str) -> None:
    content = bytes(range(256)) * 5000
    bed.put(node, {"/var/lib/deep/er/file": (content, 0o640)}, owner="slurm:slurm")
    assert bed.get(node, "/var/lib/deep/er/file") == content
    assert shell(bed, node, "stat -c '%a %U' /var/lib/deep/er/file") == "640 slurm"
    with pytest.raises(NodeError, match=r"/no/such on .* cannot be read"):
        bed.get(node, "/no/such")


def test_putting_a_file_through_a_link_stays_on_the_node(bed: Bed, node: str) -> None:
    bed.put(node, {"/etc/slurm/through-link.conf": b"here"})
    assert shell(bed, node, "cat /opt/slurm/etc/through-link.conf") == "here"


def test_a_rebooted_node_keeps_its_disk_and_loses_its_memory(bed: Bed, node: str) -> None:
    shell(bed, node, "echo kept >/var/kept; echo lost >/run/lost; systemctl enable --now munge 2>/dev/null || true")
    before = shell(bed, node, "cat /proc/sys/kernel/random/boot_id")
    bed.reboot(node)
    assert shell(bed, node, "cat /var/kept; ls /run/lost 2>/dev/null || echo gone") == "kept\ngone"
    assert shell(bed, node, "cat /proc/sys/kernel/random/boot_id") != before
    assert next(one["boots"] for one in bed.nodes() if one["name"] == node) == 2


def test_a_node_may_reboot_itself(bed: Bed, node: str) -> None:
    bed.run(node, ["systemctl", "reboot"])
    assert within(20, lambda: next(n["boots"] for n in bed.nodes() if n["name"] == node) == 2)
    assert within(20, lambda: _is_running(bed, node))


def _is_running(bed: Bed, node: str) -> bool:
    try:
        return bed.run(node, ["systemctl", "is-system-running"]).stdout.strip() == "running"
    except NodeError:
        return False


def test_a_replaced_node_has_a_fresh_root_and_the_same_name(bed: Bed, node: str) -> None:
    machine_id = shell(bed, node, "touch /root/old; cat /etc/machine-id")
    bed.replace(node, labels={"instance_id": "i-new"})
    assert shell(bed, node, "ls /root; hostname") == node
    assert shell(bed, node, "cat /etc/machine-id") != machine_id
    assert next(one["labels"] for one in bed.nodes() if one["name"] == node) == {"instance_id": "i-new"}


def test_a_node_that_is_cut_off_is_reached_by_no_other_until_it_is_restored(
    bed: Bed, node: str, place: Callable[[], Place]
) -> None:
    other = place()
    bed.add(other.name, other.address)
    ping = ["ping", "-c1", "-W1", node.removeprefix("ip-").replace("-", ".")]
    assert bed.run(other.name, ping).exit_code == 0
    bed.cut(node)
    assert bed.run(other.name, ping).exit_code != 0
    assert shell(bed, node, "hostname") == node, "the platform still reaches it"
    bed.restore(node)
    assert within(10, lambda: bed.run(other.name, ping).exit_code == 0)
    bed.remove(other.name)


def test_names_and_addresses_are_given_once(bed: Bed, node: str) -> None:
    address = node.removeprefix("ip-").replace("-", ".")
    with pytest.raises(NodeError, match=f"node {node} has that name or address"):
        bed.add(node, "10.250.0.1")
    with pytest.raises(NodeError, match="has that name or address"):
        bed.add("another", address)


@pytest.mark.parametrize(
    ("name", "address", "text"),
    [
        ("Upper_Case", "10.250.0.1", 'got node name "Upper_Case"; allowed: 1 to 63 of a-z'),
        ("ip-1", "8.8.8.8", 'got address "8.8.8.8"; allowed: addresses in 10.0.0.0/8'),
        ("ip-1", "ten", 'got address "ten"; a node needs an IPv4 address'),
    ],
)
def test_wrong_names_and_addresses_are_refused_in_one_sentence(bed: Bed, name: str, address: str, text: str) -> None:
    with pytest.raises(NodeError) as caught:
        bed.add(name, address)
    assert str(caught.value).startswith(text)


def test_an_unknown_node_is_named_with_those_there_are(bed: Bed, node: str) -> None:
    with pytest.raises(NodeError, match=f'no node "nobody"; there are: .*{node}'):
        bed.run("nobody", ["true"])


def test_volumes_are_mounts_of_their_own_that_a_reboot_keeps(bed: Bed, place: Callable[[], Place]) -> None:
    taken = place()
    bed.add(taken.name, taken.address, volumes=["/opt/sagemaker", "/opt/dlami/nvme"])
    shell(bed, taken.name, "mountpoint -q /opt/sagemaker && mountpoint -q /opt/dlami/nvme && touch /opt/sagemaker/x")
    bed.reboot(taken.name)
    assert shell(bed, taken.name, "ls /opt/sagemaker") == "x"
    bed.remove(taken.name)


def test_a_plain_node_has_no_volumes_and_no_daemon_of_slurm_running(bed: Bed, node: str) -> None:
    assert bed.run(node, ["mountpoint", "-q", "/opt/sagemaker"]).exit_code != 0
    units = "munge mariadb slurmdbd slurmctld slurmd"
    assert set(shell(bed, node, f"systemctl is-active {units} || true").split()) == {"inactive"}
    assert set(shell(bed, node, f"systemctl is-enabled {units} || true").split()) == {"disabled"}
    assert bed.run(node, ["test", "-e", "/etc/munge/munge.key"]).exit_code == 1


def test_the_image_has_slurm_where_hyperpod_has_it(bed: Bed, node: str) -> None:
    assert shell(bed, node, "/opt/slurm/sbin/slurmctld -V").startswith("slurm")
    assert shell(bed, node, "ls /opt/slurm/sbin/slurmctld /opt/slurm/lib/slurm/auth_munge.so")
    assert shell(bed, node, "readlink -f /etc/slurm") == "/opt/slurm/etc"
    assert shell(bed, node, "id -u ubuntu; id -nu slurm; id -nu munge; sudo -u ubuntu sudo -n id -u").split() == [
        "1000",
        "slurm",
        "munge",
        "0",
    ]


def test_ssh_host_keys_are_each_nodes_own(bed: Bed, node: str, place: Callable[[], Place]) -> None:
    other = place()
    bed.add(other.name, other.address)
    read = "cat /etc/ssh/ssh_host_*_key.pub"
    assert within(10, lambda: bed.run(other.name, ["bash", "-c", read]).exit_code == 0)
    assert shell(bed, node, read) != shell(bed, other.name, read)
    bed.remove(other.name)


def test_a_full_disk_is_full_for_its_node_alone(bed: Bed, node: str, place: Callable[[], Place]) -> None:
    taken = place()
    bed.add(taken.name, taken.address, disk_mib=64)
    write = ["dd", "if=/dev/zero", "of=/var/big", "bs=1M", "count=80"]
    assert "No space left on device" in bed.run(taken.name, write).stderr
    assert bed.run(node, write).exit_code == 0
    bed.remove(taken.name)


def test_users_log_in_with_a_key_from_one_node_to_another(bed: Bed, node: str, place: Callable[[], Place]) -> None:
    other = place()
    bed.add(other.name, other.address)
    make = "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 && cat ~/.ssh/id_ed25519.pub"
    key = shell(bed, node, f'su - ubuntu -c "{make}"')
    bed.put(other.name, {"/home/ubuntu/.ssh/authorized_keys": (key.encode(), 0o600)}, owner="ubuntu:ubuntu")
    ssh = f"ssh -o BatchMode=yes -o StrictHostKeyChecking=no {other.name} hostname"
    assert shell(bed, node, f"su - ubuntu -c '{ssh}'") == other.name
    bed.remove(other.name)


def test_a_node_may_set_the_parameters_of_its_own_network_alone(bed: Bed, node: str) -> None:
    assert bed.run(node, ["sysctl", "-w", "net.core.somaxconn=4321"]).exit_code == 0
    assert Path("/proc/sys/net/core/somaxconn").read_text().strip() != "4321"
    assert bed.run(node, ["sysctl", "-w", "vm.swappiness=1"]).exit_code != 0
