"""The node finds out who it is from files that are late, stale or incomplete."""

import json
from typing import Any

import pytest
from nodelib.errors import ConfigError
from nodelib.identity import Identity, wait_for_identity
from nodelib.node_config import parse_node_config

from tests.lifecycle.support import COMPUTE, CONTROLLER, NODE_TYPES, Machine, fib_trie, node_config, resource_config


def find(machine: Machine, document: dict[str, Any] | None = None) -> Identity:
    config = parse_node_config(document or node_config())
    return wait_for_identity(config, machine.root, machine.clock, timeout_seconds=180)


@pytest.mark.parametrize("node_type", NODE_TYPES)
def test_role_follows_from_own_address(machine: Machine, node_type: str) -> None:
    machine.is_node(node_type)
    identity = find(machine)
    assert identity.group.node_type == node_type
    assert identity.instance_id == f"i-{node_type}"
    assert identity.controller_address == CONTROLLER
    assert machine.clock.now == 1000.0, "nothing to wait for, so no pause"


def test_file_that_appears_after_40_seconds_is_waited_for(machine: Machine) -> None:
    machine.put("/proc/net/fib_trie", fib_trie(COMPUTE))
    machine.clock.after(40, lambda: machine.is_node("compute"))
    assert find(machine).group.name == "compute-group"
    assert 40 <= machine.clock.now - 1000 < 50


def test_half_written_file_is_read_again(machine: Machine) -> None:
    machine.put("/proc/net/fib_trie", fib_trie(COMPUTE))
    machine.put("/opt/ml/config/resource_config.json", '{"InstanceGroups": [{"Na')
    machine.clock.after(3, lambda: machine.is_node("compute"))
    assert find(machine).group.name == "compute-group"


def test_stale_file_without_this_node_ends_with_what_is_missing(machine: Machine) -> None:
    machine.put("/proc/net/fib_trie", fib_trie("10.77.0.99"))
    machine.put("/opt/ml/config/resource_config.json", json.dumps(resource_config()))
    with pytest.raises(ConfigError, match=r"waited 180 s for an entry for this node \(addresses: 10\.77\.0\.99\)"):
        find(machine)


def test_group_whose_instances_are_null_is_passed_over(machine: Machine) -> None:
    document = resource_config()
    document["InstanceGroups"].insert(0, {"Name": "later", "InstanceType": "ml.p5.48xlarge", "Instances": None})
    machine.is_node("compute", document)
    assert find(machine).group.name == "compute-group"


def test_controller_address_of_the_platform_wins(machine: Machine) -> None:
    document = {**resource_config(), "SlurmConfig": {"PrimaryControllerIp": "10.77.0.12"}}
    machine.is_node("compute", document)
    assert find(machine).controller_address == "10.77.0.12"


def test_worker_waits_until_the_controller_is_listed(machine: Machine) -> None:
    document = resource_config()
    document["InstanceGroups"][0]["Instances"] = None
    machine.is_node("compute", document)
    with pytest.raises(ConfigError, match="the controller's address"):
        find(machine)


def test_group_added_by_hand_takes_its_role_from_provisioning_parameters(machine: Machine) -> None:
    document = resource_config()
    document["InstanceGroups"][2]["Name"] = "added"
    machine.is_node("compute", document)
    parameters = {
        "version": "1.0.0",
        "controller_group": "controller-group",
        "worker_groups": [{"instance_group_name": "added", "partition_name": "x"}],
    }
    machine.put("/opt/ml/config/provisioning_parameters.json", json.dumps(parameters))
    group = find(machine).group
    assert (group.name, group.node_type, group.mounts[0].path) == ("added", "compute", "/fsx")


def test_unknown_group_without_provisioning_parameters_is_refused_by_name(machine: Machine) -> None:
    document = resource_config()
    document["InstanceGroups"][2]["Name"] = "added"
    machine.is_node("compute", document)
    with pytest.raises(ConfigError, match="node type of instance group added"):
        find(machine)


def test_predecessor_under_the_same_address_is_told_apart_by_instance_id(machine: Machine) -> None:
    document = resource_config()
    old = dict(document["InstanceGroups"][2]["Instances"][0], InstanceId="i-old")
    document["InstanceGroups"][2]["Instances"].insert(0, old)
    machine.is_node("compute", document)
    machine.put("/var/lib/cloud/data/instance-id", "i-compute\n")
    assert find(machine).instance_id == "i-compute"


def test_loopback_is_no_address_of_a_node(machine: Machine) -> None:
    document = resource_config(compute="127.0.0.1")
    machine.is_node("login", document)
    assert find(machine).group.node_type == "login"


def test_ipv6_address_identifies_a_node(machine: Machine) -> None:
    machine.put("/proc/net/if_inet6", "20010db8000000000000000000000007 02 40 00 80 eth0\n")
    document = resource_config(compute="2001:db8::7")
    machine.put("/opt/ml/config/resource_config.json", json.dumps(document))
    assert find(machine).address == "2001:db8::7"
