"""Security group rules as resources of their own, owned by the network: storage and cluster may be two stacks."""

from collections.abc import Iterable
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from constructs import Construct


@dataclass(frozen=True, slots=True)
class Ports:
    """A range of ports of one protocol, or all traffic.

    Attributes:
        name: for logical ids; part of the contract.
        why: description of the rule, as the EC2 console shows it.
        protocol: ``tcp``, ``udp``, or ``-1`` for all traffic.
        first: first port; ``None`` for all traffic.
        last: last port; ``None`` for all traffic.
    """

    name: str
    why: str
    protocol: str
    first: int | None = None
    last: int | None = None


# FACTS 2.1: EFA checks for rules that name the group itself; a rule for 0.0.0.0/0 does not count.
ALL_TRAFFIC = Ports("All", "all traffic between nodes, as EFA demands", "-1")
# FACTS 2.1: the FSx guide's range; older pages have 1021-1023.
LUSTRE_PORTS = (Ports("988", "Lustre", "tcp", 988, 988), Ports("1018", "Lustre", "tcp", 1018, 1023))
# FACTS 2.1: inbound on the file system.
OPEN_ZFS_PORTS = tuple(
    Ports(f"{protocol}{first}", "NFS", protocol, first, last)
    for protocol in ("tcp", "udp")
    for first, last in ((111, 111), (2049, 2049), (20001, 20003))
)


def allow(
    scope: Construct, source: ec2.ISecurityGroup, target: ec2.ISecurityGroup, ports: Iterable[Ports], name: str
) -> None:
    """Let the source open connections to the target: an egress rule on the one, an ingress rule on the other.

    The rules are resources of their own, because CDK drops the explicit egress rules of a group that allows all
    outbound traffic (FACTS 2.1), and because a file system must be able to wait for them (field report N-02).

    Args:
        scope: where the rules are made.
        source: group that connects.
        target: group that listens; may be the source.
        ports: what is opened.
        name: direction, for logical ids: ``NodesToNodes``.
    """
    for item in ports:
        ec2.CfnSecurityGroupEgress(
            scope,
            f"{name}{item.name}Out",
            group_id=source.security_group_id,
            destination_security_group_id=target.security_group_id,
            ip_protocol=item.protocol,
            from_port=item.first,
            to_port=item.last,
            description=item.why,
        )
        ec2.CfnSecurityGroupIngress(
            scope,
            f"{name}{item.name}In",
            group_id=target.security_group_id,
            source_security_group_id=source.security_group_id,
            ip_protocol=item.protocol,
            from_port=item.first,
            to_port=item.last,
            description=item.why,
        )
