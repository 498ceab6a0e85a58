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

    def __str__(self) -> str:
        if self.first is None:
            return "all traffic"
        return (
            f"{self.protocol} {self.first}" if self.first == self.last else f"{self.protocol} {self.first}-{self.last}"
        )


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
HTTPS = Ports("443", "HTTPS to AWS services", "tcp", 443, 443)
# FACTS 2.1: slurmdbd on the controller to its database.
DATABASE_PORTS = (Ports("3306", "Slurm accounting database", "tcp", 3306, 3306),)


@dataclass(frozen=True, slots=True)
class Side:
    """A security group as one side of a rule.

    Attributes:
        name: for logical ids; part of the contract.
        group: the group.
        mutable: whether rules may be added to it.
    """

    name: str
    group: ec2.ISecurityGroup
    mutable: bool = True


def allow(scope: Construct, source: Side, target: Side, ports: Iterable[Ports]) -> list[str]:
    """Let the source open connections to the target: an egress rule on the one, an ingress rule on the other.

    The rules are resources of their own, because CDK drops the explicit egress rules of a group that allows all
    outbound traffic (FACTS 2.1), and because a file system must be able to wait for them (field report N-02).

    Args:
        scope: where the rules are made.
        source: group that connects.
        target: group that listens; may be the source.
        ports: what is opened.

    Returns:
        The rules that could not be added, because a group is immutable, in words.
    """
    missing = []
    for item in ports:
        if source.mutable:
            _egress(scope, source, target, item)
        else:
            missing.append(f"egress {item} to {_name_of(target, source)}")
        if target.mutable:
            _ingress(scope, source, target, item)
        else:
            missing.append(f"ingress {item} from {_name_of(source, target)}")
    return missing


def _name_of(other: Side, this: Side) -> str:
    return "itself" if other.group is this.group else f"the group {other.name}"


def _egress(scope: Construct, source: Side, target: Side, ports: Ports) -> None:
    ec2.CfnSecurityGroupEgress(
        scope,
        f"{source.name}To{target.name}{ports.name}Out",
        group_id=source.group.security_group_id,
        destination_security_group_id=target.group.security_group_id,
        ip_protocol=ports.protocol,
        from_port=ports.first,
        to_port=ports.last,
        description=ports.why,
    )


def _ingress(scope: Construct, source: Side, target: Side, ports: Ports) -> None:
    ec2.CfnSecurityGroupIngress(
        scope,
        f"{source.name}To{target.name}{ports.name}In",
        group_id=target.group.security_group_id,
        source_security_group_id=source.group.security_group_id,
        ip_protocol=ports.protocol,
        from_port=ports.first,
        to_port=ports.last,
        description=ports.why,
    )


def allow_https_out(scope: Construct, source: ec2.ISecurityGroup) -> None:
    """Let the source reach AWS services: what a gateway endpoint leads to has public addresses.

    Args:
        scope: where the rule is made.
        source: group that connects.
    """
    ec2.CfnSecurityGroupEgress(
        scope,
        "NodesToServices443Out",
        group_id=source.security_group_id,
        cidr_ip="0.0.0.0/0",
        ip_protocol=HTTPS.protocol,
        from_port=HTTPS.first,
        to_port=HTTPS.last,
        description="HTTPS to S3 through the gateway endpoint; no route leads elsewhere",
    )


def is_mutable(group: ec2.ISecurityGroup) -> bool:
    """Whether rules may be added to the group: an import with ``mutable=False`` says no, and only shows it by deeds.

    Args:
        group: any security group.
    """
    before = {child.node.id for child in group.node.children}
    # A port that nobody opens: of a rule that exists already, CDK makes no second one.
    group.add_ingress_rule(group, ec2.Port.tcp(1))
    added = [child.node.id for child in group.node.children if child.node.id not in before]
    for name in added:
        group.node.try_remove_child(name)
    return bool(added)
