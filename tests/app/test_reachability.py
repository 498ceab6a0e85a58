"""Who reaches whom, resolved from templates as EC2 would: a connection needs egress here and ingress there."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.app.support import APPS, assembly

NODES, OUTSIDE = "Nodes", "0.0.0.0/0"
LUSTRE = [988, 1018, 1019, 1020, 1021, 1022, 1023]


@dataclass(frozen=True)
class Rule:
    """One rule: which group, which direction, which peer, which ports."""

    group: str
    is_egress: bool
    peer: str
    protocol: str
    first: int
    last: int

    def covers(self, protocol: str, port: int) -> bool:
        return self.protocol == "-1" or (self.protocol == protocol and self.first <= port <= self.last)


class Firewall:
    """All rules of an app; groups go by their logical id."""

    def __init__(self, name: str) -> None:
        self.groups: dict[str, str] = {}
        self.rules: list[Rule] = []
        for template in assembly(name).templates.values():
            for logical_id, resource in template["Resources"].items():
                self._read(logical_id, resource["Type"], resource.get("Properties", {}))

    def _read(self, logical_id: str, kind: str, properties: dict[str, Any]) -> None:
        if kind == "AWS::EC2::SecurityGroup":
            self.groups[logical_id] = properties["GroupDescription"]
            for is_egress in (True, False):
                inline = properties.get("SecurityGroupEgress" if is_egress else "SecurityGroupIngress", [])
                self.rules += [_rule(logical_id, is_egress, item) for item in inline]
            # EC2 opens everything out of a group that is made without egress rules.
            if not properties.get("SecurityGroupEgress"):
                self.rules.append(Rule(logical_id, True, OUTSIDE, "-1", 0, 65535))
        elif kind in ("AWS::EC2::SecurityGroupEgress", "AWS::EC2::SecurityGroupIngress"):
            self.rules.append(_rule(_name(properties["GroupId"]), kind.endswith("Egress"), properties))

    def group(self, description: str) -> str:
        (found,) = [name for name, text in self.groups.items() if text.startswith(description)]
        return found

    def connects(self, source: str, target: str, port: int, protocol: str = "tcp") -> bool:
        out = [r for r in self.rules if r.group == source and r.is_egress and r.peer in (target, OUTSIDE)]
        into = [r for r in self.rules if r.group == target and not r.is_egress and r.peer == source]
        return any(r.covers(protocol, port) for r in out) and any(r.covers(protocol, port) for r in into)


def _rule(group: str, is_egress: bool, item: dict[str, Any]) -> Rule:
    peers = ("DestinationSecurityGroupId", "SourceSecurityGroupId", "CidrIp", "CidrIpv6")
    peer = next(item[name] for name in peers if name in item)
    return Rule(
        group, is_egress, _name(peer), str(item["IpProtocol"]), item.get("FromPort", 0), item.get("ToPort", 65535)
    )


def _name(value: Any) -> str:
    return value["Fn::GetAtt"][0] if isinstance(value, dict) else str(value)


WITH_NETWORK = [name for name in APPS if name != "bring_your_own"]


@pytest.mark.parametrize("name", WITH_NETWORK)
@pytest.mark.parametrize(("protocol", "port"), [("tcp", 6817), ("tcp", 6818), ("tcp", 51234), ("udp", 4000)])
def test_every_node_reaches_every_node(name: str, protocol: str, port: int) -> None:
    firewall = Firewall(name)
    nodes = firewall.group(NODES)
    assert firewall.connects(nodes, nodes, port, protocol)


@pytest.mark.parametrize("name", WITH_NETWORK)
def test_efa_finds_rules_that_name_the_nodes_group_itself(name: str) -> None:
    firewall = Firewall(name)
    nodes = firewall.group(NODES)
    for is_egress in (True, False):
        assert Rule(nodes, is_egress, nodes, "-1", 0, 65535) in firewall.rules


@pytest.mark.parametrize("name", WITH_NETWORK)
@pytest.mark.parametrize("port", LUSTRE)
def test_nodes_and_lustre_servers_reach_each_other_on_every_port_of_lustre(name: str, port: int) -> None:
    firewall = Firewall(name)
    nodes, lustre = firewall.group(NODES), firewall.group("FSx file systems (Lustre")
    assert firewall.connects(nodes, lustre, port)
    assert firewall.connects(lustre, nodes, port)
    assert firewall.connects(lustre, lustre, port)


def test_lustre_without_efa_opens_no_other_port() -> None:
    firewall = Firewall("minimal")
    nodes, lustre = firewall.group(NODES), firewall.group("FSx file systems (Lustre")
    opened = {port for port in (22, 443, 987, 989, 1017, 1024, 2049) if firewall.connects(nodes, lustre, port)}
    assert opened == set()


@pytest.mark.parametrize(("protocol", "port"), [("tcp", 2049), ("udp", 111), ("tcp", 20003)])
def test_nodes_reach_home_directories_and_homes_reach_nobody(protocol: str, port: int) -> None:
    firewall = Firewall("shared_storage")
    nodes, homes = firewall.group(NODES), firewall.group("FSx file systems (OpenZFS")
    assert firewall.connects(nodes, homes, port, protocol)
    assert not firewall.connects(homes, nodes, port, protocol)


def test_nodes_reach_the_database_on_its_port_only_and_it_reaches_nobody() -> None:
    firewall = Firewall("external_database")
    nodes, database = firewall.group(NODES), firewall.group("Slurm accounting database")
    assert firewall.connects(nodes, database, 3306)
    assert not firewall.connects(nodes, database, 22)
    assert not firewall.connects(database, nodes, 3306)


def test_nodes_without_internet_reach_endpoints_over_https() -> None:
    firewall = Firewall("isolated")
    assert firewall.connects(firewall.group(NODES), firewall.group("Interface endpoints"), 443)


@pytest.mark.parametrize("name", WITH_NETWORK)
def test_nothing_from_outside_reaches_any_group(name: str) -> None:
    firewall = Firewall(name)
    strangers = [rule for rule in firewall.rules if not rule.is_egress and rule.peer not in firewall.groups]
    assert strangers == []


@pytest.mark.parametrize("name", WITH_NETWORK)
def test_storage_and_database_reach_nothing_outside(name: str) -> None:
    firewall = Firewall(name)
    nodes = firewall.group(NODES)
    outwards = [r for r in firewall.rules if r.is_egress and r.peer == OUTSIDE and r.group != nodes]
    assert outwards == []


def test_nodes_without_internet_reach_nothing_outside_but_https_for_the_s3_endpoint() -> None:
    firewall = Firewall("isolated")
    nodes = firewall.group(NODES)
    outwards = [r for r in firewall.rules if r.is_egress and r.peer == OUTSIDE and r.group == nodes]
    assert outwards == [Rule(nodes, True, OUTSIDE, "tcp", 443, 443)]


@pytest.mark.parametrize("name", WITH_NETWORK)
def test_no_rule_is_written_twice_because_ec2_refuses_the_second(name: str) -> None:
    rules = Firewall(name).rules
    assert len(rules) == len(set(rules))
