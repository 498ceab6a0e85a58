"""Where groups go: zones, subnets, security groups, and what is refused because it cannot work."""

import json
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from hyperpod_constructs import (
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    LustreFileSystem,
    SpecError,
)
from tests.constructs.support import Synthesized, a_cluster

P5 = "ml.p5.48xlarge"
CPU = "ml.c5.xlarge"


def _groups(stack: Stack) -> dict[str, str]:
    _, resource = Synthesized(stack).only("Custom::HyperPodCluster")
    return {name: json.dumps(group) for name, group in resource["Properties"]["InstanceGroups"].items()}


def test_the_network_that_a_cluster_makes_is_in_the_zone_of_its_compute_group(stack: Stack) -> None:
    group = ComputeGroup(name="p5", instance_type=P5, instance_count=16, availability_zone="us-east-1d")
    cluster = a_cluster(stack, compute=[group])
    assert cluster.network.availability_zone == "us-east-1d"
    assert all("OverrideVpcConfig" not in text for text in _groups(stack).values())


def test_a_group_in_another_zone_gets_the_subnet_there_and_the_cluster_keeps_its_own(stack: Stack) -> None:
    groups = [
        ComputeGroup(name="p5", instance_type=P5, instance_count=1, availability_zone="us-east-1d"),
        ComputeGroup(name="cpu", instance_type=CPU, instance_count=1, availability_zone="us-east-1a"),
    ]
    cluster = a_cluster(stack, compute=groups)
    other = cluster.network.subnet_in("us-east-1a")
    assert other is not None
    name = stack.get_logical_id(other.node.default_child)  # type: ignore[arg-type]
    texts = _groups(stack)
    assert "OverrideVpcConfig" in texts["cpu"]
    assert name in texts["cpu"]
    assert "OverrideVpcConfig" not in texts["p5"]


def test_a_zone_that_the_network_does_not_have_is_refused(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", availability_zone="us-east-1a")
    group = ComputeGroup(name="p5", instance_type=P5, instance_count=1, availability_zone="us-east-1b")
    with pytest.raises(SpecError, match=r"compute\[0\].availability_zone.*the zones of the network \(us-east-1a\)"):
        a_cluster(stack, network=network, compute=[group])


def test_a_subnet_outside_the_zone_that_is_named_is_refused_because_the_plan_is_there(stack: Stack) -> None:
    subnet = ec2.Subnet.from_subnet_attributes(stack, "Theirs", subnet_id="subnet-1", availability_zone="us-east-1a")
    group = ComputeGroup(
        name="p5", instance_type=P5, instance_count=1, availability_zone="us-east-1b", subnets=[subnet]
    )
    with pytest.raises(SpecError, match=r"compute\[0\].subnets.*got a subnet in us-east-1a, allowed: us-east-1b"):
        a_cluster(stack, compute=[group])


def test_a_file_system_over_efa_in_another_zone_is_refused_because_efa_cannot_cross_zones(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"])
    data = LustreFileSystem(stack, "Data", network=network, efa=True, capacity_gib=19200)
    group = ComputeGroup(name="p5", instance_type=P5, instance_count=1, availability_zone="us-east-1b")
    with pytest.raises(SpecError, match="EFA cannot cross zones"):
        a_cluster(stack, network=network, file_systems=[data], compute=[group])


def test_a_file_system_in_another_zone_is_a_warning_because_it_works_slowly(app: App, stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"])
    group = ComputeGroup(name="cpu", instance_type=CPU, instance_count=1, availability_zone="us-east-1b")
    a_cluster(stack, network=network, compute=[group])
    messages = [str(m.entry.data) for m in app.synth().get_stack_by_name("Training").messages]
    assert any("the group is in us-east-1b, its file system /fsx in us-east-1a" in text for text in messages)


def test_more_nodes_than_addresses_are_refused_because_a_subnet_cannot_grow(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", cidr="10.0.0.0/22")
    group = ComputeGroup(name="p5", instance_type=P5, instance_count=16)
    with pytest.raises(SpecError, match=r"need \d+ addresses.*p5 16 x 32.*the subnet has 507"):
        a_cluster(stack, network=network, compute=[group])


def test_a_network_that_a_cluster_makes_is_refused_where_its_nodes_do_not_fit(stack: Stack) -> None:
    group = ComputeGroup(name="p5", instance_type=P5, instance_count=1100)
    with pytest.raises(SpecError, match=r"network.cidr.*secondary_cidr=100.64.0.0/16 has 65531"):
        a_cluster(stack, compute=[group])


@pytest.mark.parametrize("beside", [True, False])
def test_a_groups_own_security_group_reaches_what_it_must(stack: Stack, beside: bool) -> None:
    network = ClusterNetwork(stack, "Network")
    own = ec2.SecurityGroup(stack, "Own", vpc=network.vpc)
    groups: list[Any] = [network.security_group, own] if beside else [own]
    a_cluster(
        stack,
        network=network,
        compute=[ComputeGroup(name="p5", instance_type=P5, instance_count=1, security_groups=groups)],
    )
    template = Synthesized(stack)
    own_id = stack.get_logical_id(own.node.default_child)  # type: ignore[arg-type]
    rules = [item["Properties"] for item in template.of_type("AWS::EC2::SecurityGroupIngress").values()]
    to_own = [r["SourceSecurityGroupId"]["Fn::GetAtt"][0] for r in rules if r["GroupId"]["Fn::GetAtt"][0] == own_id]
    assert own_id in to_own
    assert len(to_own) == (1 if beside else 4)


def test_a_group_with_a_volume_key_may_use_it_through_the_service_only(stack: Stack) -> None:
    key = kms.Key(stack, "Key")
    a_cluster(
        stack,
        controller=ControllerGroup(instance_type="ml.m5.xlarge", volume_kms_key=key),
    )
    statements = [
        statement
        for policy in Synthesized(stack).of_type("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "kms:CreateGrant"
    ]
    (statement,) = statements
    assert statement["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}
    assert "kms:ViaService" in statement["Condition"]["StringEquals"]
    assert statement["Resource"]["Fn::GetAtt"][0].startswith("Key")
