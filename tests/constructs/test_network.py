"""ClusterNetwork: one zone, rules that name groups, endpoints."""

from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2

from hyperpod_constructs import ClusterNetwork, SpecError
from tests.constructs.support import Synthesized

INGRESS = "AWS::EC2::SecurityGroupIngress"
EGRESS = "AWS::EC2::SecurityGroupEgress"


def _rule(item: dict[str, Any]) -> tuple[object, ...]:
    properties = item["Properties"]
    other = properties.get("SourceSecurityGroupId") or properties["DestinationSecurityGroupId"]
    return (
        properties["GroupId"]["Fn::GetAtt"][0],
        other["Fn::GetAtt"][0],
        properties["IpProtocol"],
        properties.get("FromPort"),
        properties.get("ToPort"),
    )


def test_nodes_and_file_systems_share_one_zone_because_efa_and_lustre_cannot_cross_zones(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    subnets = Synthesized(stack).of_type("AWS::EC2::Subnet")
    assert len(network.subnets) == 1
    assert len(subnets) == 2
    assert {str(item["Properties"]["AvailabilityZone"]) for item in subnets.values()} == {
        "{'Fn::Select': [0, {'Fn::GetAZs': ''}]}"
    }


def test_a_p5_node_takes_32_addresses_so_the_nodes_subnet_is_a_17(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    blocks = [item["Properties"]["CidrBlock"] for item in Synthesized(stack).of_type("AWS::EC2::Subnet").values()]
    assert "10.0.128.0/17" in blocks
    assert network.subnet_address_count == 32763


def test_the_node_group_names_itself_both_ways_because_efa_checks_for_it(stack: Stack) -> None:
    ClusterNetwork(stack, "Network")
    template = Synthesized(stack)
    (group,) = template.of_type("AWS::EC2::SecurityGroup")
    itself = (group, group, "-1", None, None)
    assert [_rule(item) for item in template.of_type(INGRESS).values()] == [itself]
    assert [_rule(item) for item in template.of_type(EGRESS).values()] == [itself]


def test_lustre_ports_are_open_between_nodes_and_file_system_both_ways_and_within_it(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    lustre, _ = network.add_lustre_access()
    template = Synthesized(stack)
    nodes_id = stack.get_logical_id(network.security_group.node.default_child)  # type: ignore[arg-type]
    lustre_id = stack.get_logical_id(lustre.node.default_child)  # type: ignore[arg-type]
    pairs = [(nodes_id, lustre_id), (lustre_id, nodes_id), (lustre_id, lustre_id)]
    ports = [("tcp", 988, 988), ("tcp", 1018, 1023)]
    wanted = {(here, there, *port) for here, there in pairs for port in ports}
    ingress = {_rule(item) for item in template.of_type(INGRESS).values()}
    egress = {_rule(item) for item in template.of_type(EGRESS).values()}
    assert {rule for rule in ingress if rule[2] == "tcp"} == wanted
    assert {rule for rule in egress if rule[2] == "tcp"} == wanted


def test_no_rule_is_written_twice_however_many_file_systems_ask_for_it(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    assert network.add_lustre_access() == network.add_lustre_access()
    rules = [_rule(item) for item in Synthesized(stack).of_type(INGRESS).values()]
    assert len(rules) == len(set(rules)) == 7


def test_nothing_from_outside_reaches_a_group(stack: Stack) -> None:
    ClusterNetwork(stack, "Network").add_lustre_access()
    template = Synthesized(stack)
    assert not any("CidrIp" in item["Properties"] for item in template.of_type(INGRESS).values())
    assert not any(
        "SecurityGroupIngress" in g["Properties"] for g in template.of_type("AWS::EC2::SecurityGroup").values()
    )


def test_scripts_come_over_an_s3_gateway_endpoint_not_over_the_nat_gateway(stack: Stack) -> None:
    ClusterNetwork(stack, "Network")
    _, endpoint = Synthesized(stack).only("AWS::EC2::VPCEndpoint")
    assert endpoint["Properties"]["VpcEndpointType"] == "Gateway"


def test_without_a_nat_gateway_there_is_no_public_subnet(stack: Stack) -> None:
    ClusterNetwork(stack, "Network", nat_gateways=0)
    template = Synthesized(stack)
    assert not template.of_type("AWS::EC2::NatGateway")
    assert len(template.of_type("AWS::EC2::Subnet")) == 1


def test_an_existing_vpc_is_used_as_it_is_and_only_groups_and_rules_are_added(app: App, stack: Stack) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"], private_subnet_ids=["subnet-1"]
    )
    network = ClusterNetwork.from_vpc(stack, "Network", vpc)
    template = Synthesized(stack)
    assert {item["Type"] for item in template.resources.values()} == {"AWS::EC2::SecurityGroup", INGRESS, EGRESS}
    assert [subnet.subnet_id for subnet in network.subnets] == ["subnet-1"]
    assert network.subnet_address_count is None


def test_contradicting_arguments_are_all_reported_at_once(stack: Stack) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"], private_subnet_ids=["subnet-1"]
    )
    with pytest.raises(SpecError) as caught:
        ClusterNetwork(stack, "Network", vpc=vpc, availability_zone="us-east-1a", nat_gateways=3)
    assert [problem.path for problem in caught.value.problems] == ["network.availability_zone", "network.nat_gateways"]


def test_a_vpc_without_a_private_subnet_is_refused_because_nodes_get_no_public_address(stack: Stack) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"])
    with pytest.raises(SpecError, match="no private subnet"):
        ClusterNetwork.from_vpc(stack, "Network", vpc)
