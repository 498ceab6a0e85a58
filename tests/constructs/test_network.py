"""ClusterNetwork: one zone, rules that name groups, endpoints."""

from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_ec2 as ec2

from hyperpod_constructs import ClusterNetwork, SpecError
from hyperpod_constructs.endpoints import BASE_SERVICES
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


def _interface_services(template: Synthesized) -> set[str]:
    found = [e["Properties"] for e in template.of_type("AWS::EC2::VPCEndpoint").values()]
    names = [e["ServiceName"]["Fn::Join"][1][-1] for e in found if e["VpcEndpointType"] == "Interface"]
    assert len(names) == len(set(names))
    return {name.removeprefix(".") for name in names}


def _node_groups(template: Synthesized) -> set[str]:
    return {
        name
        for name, item in template.of_type("AWS::EC2::SecurityGroup").items()
        if item["Properties"]["GroupDescription"] == "Nodes of the HyperPod cluster"
    }


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


def test_without_a_nat_gateway_nodes_get_endpoints_for_sessions_logs_and_metrics(stack: Stack) -> None:
    ClusterNetwork(stack, "Network", nat_gateways=0)
    assert _interface_services(Synthesized(stack)) == set(BASE_SERVICES)


def test_endpoints_admit_the_nodes_and_nobody_else_because_else_agents_never_register(stack: Stack) -> None:
    ClusterNetwork(stack, "Network", nat_gateways=0, interface_endpoints=["ssm"])
    template = Synthesized(stack)
    (endpoint,) = [
        e for e in template.of_type("AWS::EC2::VPCEndpoint").values() if "SecurityGroupIds" in e["Properties"]
    ]
    group = endpoint["Properties"]["SecurityGroupIds"][0]["Fn::GetAtt"][0]
    admitted = [_rule(item) for item in template.of_type(INGRESS).values() if _rule(item)[0] == group]
    assert [rule[1:] for rule in admitted] == [(next(iter(_node_groups(template))), "tcp", 443, 443)]
    assert "SecurityGroupIngress" not in template.resources[group]["Properties"]


def test_without_internet_nodes_reach_aws_over_https_and_nothing_else_outside(stack: Stack) -> None:
    ClusterNetwork(stack, "Network", nat_gateways=0)
    outside = [
        item["Properties"] for item in Synthesized(stack).of_type(EGRESS).values() if "CidrIp" in item["Properties"]
    ]
    assert [(rule["CidrIp"], rule["IpProtocol"], rule["FromPort"]) for rule in outside] == [("0.0.0.0/0", "tcp", 443)]


def test_an_endpoint_that_exists_already_is_not_made_again_because_its_name_would_clash(stack: Stack) -> None:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=1)
    vpc.add_interface_endpoint("Mine", service=ec2.InterfaceVpcEndpointAwsService.SSM)
    network = ClusterNetwork.from_vpc(stack, "Network", vpc, interface_endpoints=["ssm", "logs"])
    network.add_interface_endpoints("logs")
    endpoints = Synthesized(stack).of_type("AWS::EC2::VPCEndpoint").values()
    names = [str(item["Properties"]["ServiceName"]) for item in endpoints]
    assert len([name for name in names if "ssm" in name]) == 1
    assert len([name for name in names if "logs" in name]) == 1


def test_an_existing_endpoint_is_seen_in_a_stack_with_a_region_too(app: App) -> None:
    stack = Stack(app, "Regional", env=Environment(account="123456789012", region="cn-north-1"))
    vpc = ec2.Vpc(stack, "Vpc", availability_zones=["cn-north-1a"])
    vpc.add_interface_endpoint("Mine", service=ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER)
    vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    ClusterNetwork.from_vpc(stack, "Network", vpc, interface_endpoints=["ecr.dkr"])
    assert len(Synthesized(stack).of_type("AWS::EC2::VPCEndpoint")) == 2


def test_a_vpc_of_this_app_gets_the_s3_endpoint_once(stack: Stack) -> None:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=1)
    ClusterNetwork.from_vpc(stack, "One", vpc)
    ClusterNetwork.from_vpc(stack, "Two", vpc)
    _, endpoint = Synthesized(stack).only("AWS::EC2::VPCEndpoint")
    assert endpoint["Properties"]["VpcEndpointType"] == "Gateway"


def test_a_misspelt_endpoint_is_refused_with_the_list(stack: Stack) -> None:
    with pytest.raises(SpecError, match=r"interface_endpoints\[1\].*ecr\.api"):
        ClusterNetwork(stack, "Network", interface_endpoints=["ssm", "ecr"])


def test_a_zone_id_reaches_the_subnet_because_zone_names_differ_from_account_to_account(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", availability_zone="use1-az4")
    subnets = [item["Properties"] for item in Synthesized(stack).of_type("AWS::EC2::Subnet").values()]
    assert {subnet["AvailabilityZoneId"] for subnet in subnets} == {"use1-az4"}
    assert not any("AvailabilityZone" in subnet for subnet in subnets)
    assert network.availability_zone == "use1-az4"


def test_the_first_of_several_zones_is_the_clusters_and_the_others_wait_for_groups(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", availability_zones=["us-east-1b", "us-east-1d"], nat_gateways=2)
    assert network.availability_zone == "us-east-1b"
    assert len(network.subnets) == 1
    other = network.subnet_in("us-east-1d")
    assert other is not None
    assert other.availability_zone == "us-east-1d"
    assert network.subnet_in("us-east-1a") is None
    assert len(Synthesized(stack).of_type("AWS::EC2::NatGateway")) == 2


def test_a_second_address_block_holds_the_nodes_with_routes_and_s3(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", secondary_cidr="100.64.0.0/16")
    template = Synthesized(stack)
    name = stack.get_logical_id(network.subnets[0].node.default_child)  # type: ignore[arg-type]
    assert template.resources[name]["Properties"]["CidrBlock"] == "100.64.0.0/16"
    assert set(template.of_type("AWS::EC2::VPCCidrBlock")) <= template.before(name)
    tables = {
        item["Properties"]["RouteTableId"]["Ref"]
        for item in template.of_type("AWS::EC2::SubnetRouteTableAssociation").values()
        if item["Properties"]["SubnetId"]["Ref"] == name
    }
    routes = [r["Properties"] for r in template.of_type("AWS::EC2::Route").values()]
    assert [r for r in routes if r["RouteTableId"]["Ref"] in tables and "NatGatewayId" in r]
    _, endpoint = template.only("AWS::EC2::VPCEndpoint")
    assert {item["Ref"] for item in endpoint["Properties"]["RouteTableIds"]} == tables


def test_with_ipv6_subnets_have_both_kinds_of_addresses_and_nodes_reach_out_over_both(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", ipv6=True)
    template = Synthesized(stack)
    assert all("Ipv6CidrBlock" in item["Properties"] for item in template.of_type("AWS::EC2::Subnet").values())
    name = stack.get_logical_id(network.security_group.node.default_child)  # type: ignore[arg-type]
    egress = template.resources[name]["Properties"]["SecurityGroupEgress"]
    assert {rule.get("CidrIp") or rule["CidrIpv6"] for rule in egress} == {"0.0.0.0/0", "::/0"}


def test_a_brought_group_gets_the_rules_that_efa_and_lustre_need(stack: Stack) -> None:
    group = ec2.SecurityGroup.from_security_group_id(stack, "Mine", "sg-mine")
    ClusterNetwork(stack, "Network", security_group=group).add_lustre_access()
    template = Synthesized(stack)
    own = [i["Properties"] for i in template.of_type(INGRESS).values() if i["Properties"]["GroupId"] == "sg-mine"]
    assert {rule["IpProtocol"] for rule in own if rule["SourceSecurityGroupId"] == "sg-mine"} == {"-1"}
    assert {rule["FromPort"] for rule in own if rule["IpProtocol"] == "tcp"} == {988, 1018}


def test_an_immutable_group_gets_no_rule_and_a_warning_that_lists_what_it_must_have(app: App, stack: Stack) -> None:
    group = ec2.SecurityGroup.from_security_group_id(stack, "Mine", "sg-mine", mutable=False)
    ClusterNetwork(stack, "Network", security_group=group).add_lustre_access()
    template = Synthesized(stack)
    rules = [*template.of_type(INGRESS).values(), *template.of_type(EGRESS).values()]
    assert not [rule for rule in rules if rule["Properties"]["GroupId"] == "sg-mine"]
    text = " ".join(str(message.entry.data) for message in app.synth().get_stack_by_name("Training").messages)
    for words in ("egress all traffic to itself", "ingress all traffic from itself", "ingress tcp 1018-1023 from the"):
        assert words in text


def test_a_further_group_reaches_nodes_and_file_systems_and_names_itself(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    network.add_lustre_access()
    other = ec2.SecurityGroup(stack, "Other", vpc=network.vpc)
    network.admit(stack, "Big", other)
    template = Synthesized(stack)
    other_id = stack.get_logical_id(other.node.default_child)  # type: ignore[arg-type]
    (nodes,) = _node_groups(template)
    everything = {(rule[0], rule[1]) for item in template.of_type(INGRESS).values() if (rule := _rule(item))[2] == "-1"}
    assert {(other_id, other_id), (other_id, nodes), (nodes, other_id)} <= everything
    lustre = {rule[3] for item in template.of_type(INGRESS).values() if other_id in (rule := _rule(item))[:2]}
    assert {988, 1018} <= lustre


def test_subnets_of_other_zones_are_not_the_clusters_because_the_service_would_pick_one(stack: Stack) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-1",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-a", "subnet-b"],
    )
    network = ClusterNetwork.from_vpc(
        stack, "Network", vpc, subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
    )
    assert [subnet.subnet_id for subnet in network.subnets] == ["subnet-a"]
    other = network.subnet_in("us-east-1b")
    assert other is not None
    assert other.subnet_id == "subnet-b"


def test_a_subnet_known_by_its_id_alone_is_taken_as_it_is(stack: Stack) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"])
    subnet = ec2.Subnet.from_subnet_id(stack, "Subnet", "subnet-1")
    network = ClusterNetwork.from_vpc(stack, "Network", vpc, subnets=[subnet])
    assert network.availability_zone == ""
    assert network.subnet_address_count is None


def test_a_vpc_without_dns_support_is_refused_because_file_systems_are_found_by_name(stack: Stack) -> None:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=1, enable_dns_support=False, enable_dns_hostnames=False)
    with pytest.raises(SpecError, match="no DNS support"):
        ClusterNetwork.from_vpc(stack, "Network", vpc)


def test_a_database_has_two_small_subnets_of_its_own_in_two_zones(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    assert network.database_subnets() == network.database_subnets()
    names = [stack.get_logical_id(s.node.default_child) for s in network.database_subnets()]  # type: ignore[arg-type]
    template = Synthesized(stack)
    zones = [str(template.resources[name]["Properties"]["AvailabilityZone"]) for name in names]
    assert len(set(zones)) == 2


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
