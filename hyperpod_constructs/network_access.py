"""Who reaches whom in a cluster's network: a security group for each kind of thing, and rules between it and nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Annotations
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from hyperpod_constructs.security import (
    ALL_TRAFFIC,
    DATABASE_PORTS,
    HTTPS,
    LUSTRE_PORTS,
    OPEN_ZFS_PORTS,
    Ports,
    Side,
    allow,
    is_mutable,
)

WARNING_ID = "hyperpod-constructs:security-group-rules"
NODES = "Nodes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of thing that nodes connect to.

    Attributes:
        name: for logical ids; part of the contract.
        description: of its security group.
        ports: that nodes connect to.
        mutual: whether it also connects to nodes and to its own kind.
    """

    name: str
    description: str
    ports: Sequence[Ports]
    mutual: bool = False


# FACTS 2.1: Lustre's servers open connections to clients and among themselves; with EFA everything must be open.
LUSTRE = Kind(name="Lustre", description="FSx file systems (Lustre)", ports=LUSTRE_PORTS, mutual=True)
LUSTRE_EFA = Kind(name="LustreEfa", description="FSx file systems (Lustre with EFA)", ports=(ALL_TRAFFIC,), mutual=True)
OPEN_ZFS = Kind(name="OpenZfs", description="FSx file systems (OpenZFS)", ports=OPEN_ZFS_PORTS)
DATABASE = Kind(name="Database", description="Slurm accounting database", ports=DATABASE_PORTS)
ENDPOINTS = Kind(name="Endpoints", description="Interface endpoints that nodes use", ports=(HTTPS,))


class NetworkAccess:
    """The security groups of a network and the rules between them.

    Args:
        scope: the network; holds groups and rules.
        vpc: of the groups.
        nodes: group of the nodes, which gets the rule for itself that EFA looks for (FACTS 2.1).
    """

    def __init__(self, scope: Construct, vpc: ec2.IVpc, nodes: ec2.ISecurityGroup) -> None:
        self._scope = scope
        self._vpc = vpc
        self._nodes = Side(NODES, nodes, is_mutable(nodes))
        self._made: dict[str, tuple[Kind, ec2.ISecurityGroup, Construct]] = {}
        missing = allow(Construct(scope, "NodeRules"), self._nodes, self._nodes, [ALL_TRAFFIC])
        _warn(scope, NODES, missing)

    def to(self, kind: Kind) -> tuple[ec2.ISecurityGroup, Construct]:
        """The group of a kind of thing and its rules; made at the first call.

        Args:
            kind: what nodes connect to.
        """
        if kind.name not in self._made:
            group = ec2.SecurityGroup(
                self._scope,
                f"{kind.name}SecurityGroup",
                vpc=self._vpc,
                description=kind.description,
                allow_all_outbound=False,
            )
            rules = Construct(self._scope, f"{kind.name}Rules")
            self._made[kind.name] = (kind, group, rules)
            side = Side(kind.name, group)
            missing = _connect(rules, self._nodes, side, kind)
            if kind.mutual:
                allow(rules, side, side, kind.ports)
            _warn(self._scope, NODES, missing)
        _, group_made, rules_made = self._made[kind.name]
        return group_made, rules_made

    def connect(self, scope: Construct, kind: Kind, group: ec2.ISecurityGroup) -> None:
        """Add the rules between the nodes and a group that exists already; see ``ClusterNetwork.connect``.

        Args:
            scope: where the rules are made.
            kind: what the group belongs to.
            group: the group.
        """
        _warn(scope, kind.name, _connect(scope, self._nodes, Side(kind.name, group, is_mutable(group)), kind))

    def admit(self, scope: Construct, name: str, group: ec2.ISecurityGroup, *, beside_nodes: bool) -> None:
        """Let the nodes of a further group take part; see ``ClusterNetwork.admit``.

        Args:
            scope: where the rules are made.
            name: for logical ids.
            group: the further group.
            beside_nodes: whether its nodes are in the network's group too, so that only the rule for itself is new.
        """
        side = Side(name, group, is_mutable(group))
        missing = allow(scope, side, side, [ALL_TRAFFIC])
        if beside_nodes:
            _warn(scope, name, missing)
            return
        missing += allow(scope, side, self._nodes, [ALL_TRAFFIC])
        missing += allow(scope, self._nodes, side, [ALL_TRAFFIC])
        for kind, other, _ in self._made.values():
            missing += _connect(scope, side, Side(kind.name, other), kind)
        _warn(scope, name, missing)


def _connect(rules: Construct, nodes: Side, other: Side, kind: Kind) -> list[str]:
    missing = allow(rules, nodes, other, kind.ports)
    return missing + (allow(rules, other, nodes, kind.ports) if kind.mutual else [])


def _warn(scope: Construct, name: str, missing: Sequence[str]) -> None:
    if missing:
        text = f"the security group {name} is imported with mutable=False, so it must already allow: "
        Annotations.of(scope).add_warning_v2(WARNING_ID, text + "; ".join(missing))
