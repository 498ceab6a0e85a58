"""The EC2 types that a cluster's network needs and the emulator does not know, and a refusal that it does not make.

No packet flows here: a rule, an address, a gateway and a flow log are records that the EC2 API shows. See ../README.md.
"""

from __future__ import annotations

import datetime
import ipaddress
import secrets
from typing import TYPE_CHECKING, Any

from . import seams

if TYPE_CHECKING:
    from .seams import Attributes, Created, Properties


def _new_id(prefix: str) -> str:
    return f"{prefix}-{secrets.token_hex(9)[:17]}"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def create_address(_logical_id: str, properties: Properties, _stack: str) -> Created:
    allocation = _new_id("eipalloc")
    public_ip = str(ipaddress.IPv4Address("198.51.100.0") + secrets.randbelow(254) + 1)  # TEST-NET-2: nobody's address
    seams.addresses()[allocation] = {
        "AllocationId": allocation,
        "PublicIp": public_ip,
        "Domain": properties.get("Domain", "vpc"),
        "AssociationId": None,
        "InstanceId": None,
        "NetworkInterfaceId": None,
        "PrivateIpAddress": None,
    }
    seams.tag(allocation, properties.get("Tags", []))
    return public_ip, {"AllocationId": allocation, "PublicIp": public_ip}


def delete_address(public_ip: str, _properties: Properties) -> None:
    store = seams.addresses()
    for allocation in [key for key, record in store.items() if record["PublicIp"] == public_ip]:
        del store[allocation]
        seams.untag(allocation)


def create_nat_gateway(_logical_id: str, properties: Properties, _stack: str) -> Created:
    subnet = seams.subnets().get(properties["SubnetId"])
    if subnet is None:
        raise ValueError(f"The subnet ID '{properties['SubnetId']}' does not exist")
    allocation = properties.get("AllocationId", "")
    if properties.get("ConnectivityType", "public") == "public" and allocation not in seams.addresses():
        raise ValueError(f"Elastic IP address {allocation!r} could not be found")
    gateway = _new_id("nat")
    seams.nat_gateways()[gateway] = {
        "NatGatewayId": gateway,
        "SubnetId": properties["SubnetId"],
        "VpcId": subnet["VpcId"],
        "AllocationId": allocation,
        "ConnectivityType": properties.get("ConnectivityType", "public"),
        "State": "available",
        "CreateTime": _now(),
        "Tags": properties.get("Tags", []),
    }
    seams.tag(gateway, properties.get("Tags", []))
    return gateway, {"NatGatewayId": gateway}


def delete_nat_gateway(gateway: str, _properties: Properties) -> None:
    seams.nat_gateways().pop(gateway, None)
    seams.untag(gateway)


def create_flow_log(_logical_id: str, properties: Properties, _stack: str) -> Created:
    flow_log = _new_id("fl")
    seams.flow_logs()[flow_log] = {
        "FlowLogId": flow_log,
        "ResourceId": properties["ResourceId"],
        "ResourceType": properties["ResourceType"],
        "TrafficType": properties.get("TrafficType", "ALL"),
        "LogDestinationType": properties.get("LogDestinationType", "cloud-watch-logs"),
        "LogDestination": properties.get("LogDestination") or properties.get("LogGroupName", ""),
        "FlowLogStatus": "ACTIVE",
        "CreationTime": _now(),
    }
    seams.tag(flow_log, properties.get("Tags", []))
    return flow_log, {"Id": flow_log}


def delete_flow_log(flow_log: str, _properties: Properties) -> None:
    seams.flow_logs().pop(flow_log, None)
    seams.untag(flow_log)


class SecurityGroupRule:
    """AWS::EC2::SecurityGroupIngress and SecurityGroupEgress: one rule in a group's list, refused if it is there
    already.
    """

    def __init__(self, is_egress: bool) -> None:
        self._is_egress = is_egress
        self._list = "IpPermissionsEgress" if is_egress else "IpPermissions"

    def create(self, _logical_id: str, properties: Properties, _stack: str) -> Created:
        group_id = properties["GroupId"]
        group = seams.security_group(group_id)
        for key in ("SourceSecurityGroupId", "DestinationSecurityGroupId"):
            if properties.get(key):
                seams.security_group(properties[key])
        rule = seams.permission(properties)
        if any(seams.same_permission(rule, other) for other in group[self._list]):
            raise ValueError("the specified rule already exists")
        rule_id = seams.security_group_rule_id(group_id, self._is_egress, rule)
        rule["SecurityGroupRuleId"] = rule_id
        group[self._list].append(rule)
        return rule_id, {"Id": rule_id}

    def delete(self, rule_id: str, properties: Properties) -> None:
        group = seams.security_group(properties["GroupId"])
        group[self._list] = [rule for rule in group[self._list] if rule.get("SecurityGroupRuleId") != rule_id]


def _refers_to(rule: dict[str, Any], group_id: str) -> bool:
    return any(pair.get("GroupId") == group_id for pair in rule.get("UserIdGroupPairs", []))


def refuse_to_delete_a_group_in_use() -> None:
    """EC2 does not delete a group that a rule of another group names (DependencyViolation)."""
    handler = seams.handlers("AWS::EC2::SecurityGroup")
    delete = handler["delete"]

    def checked(group_id: str, properties: Properties) -> None:
        users = [
            group["GroupId"]
            for group in seams.security_groups()
            if group["GroupId"] != group_id
            and any(_refers_to(rule, group_id) for rule in (*group["IpPermissions"], *group["IpPermissionsEgress"]))
        ]
        if users:
            raise ValueError(
                f"resource {group_id} has a dependent object (DependencyViolation): rules of {', '.join(users)} name it"
            )
        delete(group_id, properties)

    handler["delete"] = checked


def give_vpcs_their_attributes() -> None:
    """Fn::GetAtt CidrBlock of a VPC, which the emulator leaves out."""
    handler = seams.handlers("AWS::EC2::VPC")
    create = handler["create"]

    def with_attributes(logical_id: str, properties: Properties, stack: str) -> Created:
        vpc_id, attributes = create(logical_id, properties, stack)
        complete: Attributes = {"CidrBlock": properties.get("CidrBlock"), "CidrBlockAssociations": [], **attributes}
        return vpc_id, complete

    handler["create"] = with_attributes


def install() -> None:
    """Add the types and the refusals to the engine."""
    seams.register("AWS::EC2::EIP", create_address, delete_address)
    seams.register("AWS::EC2::NatGateway", create_nat_gateway, delete_nat_gateway)
    seams.register("AWS::EC2::FlowLog", create_flow_log, delete_flow_log)
    for resource_type, rule in (
        ("AWS::EC2::SecurityGroupIngress", SecurityGroupRule(is_egress=False)),
        ("AWS::EC2::SecurityGroupEgress", SecurityGroupRule(is_egress=True)),
    ):
        seams.register(resource_type, rule.create, rule.delete)
    refuse_to_delete_a_group_in_use()
    give_vpcs_their_attributes()
