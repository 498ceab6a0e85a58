"""FSx for Lustre file systems for a cluster."""

from typing import Self

from aws_cdk import RemovalPolicy
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from hyperpod_constructs.bindings import LustreMount
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.network import ClusterNetwork

_DEPLOYMENT = "PERSISTENT_2"
_THROUGHPUTS = (125, 250, 500, 1000)  # FACTS 4.1, PERSISTENT_2 on SSD, MB/s for each TiB
_VERSION = "2.15"  # the image's client is 2.15, and 2.10 servers are out of its range (FACTS 4.1)


class LustreFileSystem(Construct):
    """A persistent FSx for Lustre file system in the cluster's zone.

    Kept when the stack goes, with the subnet, VPC and security group that it stands on, unless ``removal_policy`` is
    ``DESTROY``. A change of network or deployment type would replace it and lose its data.

    Args:
        scope: parent construct.
        id: construct id.
        network: gives the subnet, the security group, and the rules that creation waits for.
        capacity_gib: 1200, or a multiple of 2400 GiB (FACTS 4.1); 1200 by default. Can only grow.
        throughput_mb_per_s_per_tib: 125, 250, 500 or 1000; 250 by default.
        mount_path: where nodes mount it; ``/fsx`` by default.
        removal_policy: ``RETAIN`` by default.

    Raises:
        SpecError: sizes that FSx does not have.

    Example:
        >>> from aws_cdk import App, Stack
        >>> stack = Stack(App(), "Storage")
        >>> file_system = LustreFileSystem(stack, "Data", network=ClusterNetwork(stack, "Network"), capacity_gib=4800)
        >>> file_system.mount_path
        '/fsx'
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: ClusterNetwork,
        capacity_gib: int = 1200,
        throughput_mb_per_s_per_tib: int = 250,
        mount_path: str = "/fsx",
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        _check(capacity_gib, throughput_mb_per_s_per_tib)
        super().__init__(scope, id)
        group, rules = network.add_lustre_access()
        resource = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=_VERSION,
            storage_capacity=capacity_gib,
            storage_type="SSD",
            subnet_ids=[network.subnets[0].subnet_id],
            security_group_ids=[group.security_group_id],
            lustre_configuration=fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type=_DEPLOYMENT,
                per_unit_storage_throughput=throughput_mb_per_s_per_tib,
                data_compression_type="LZ4",
                metadata_configuration=fsx.CfnFileSystem.MetadataConfigurationProperty(mode="AUTOMATIC"),
            ),
        )
        # FSx checks the rules when the file system is made: without this it fails now and then (field report N-02).
        resource.node.add_dependency(rules)
        resource.apply_removal_policy(removal_policy)
        if removal_policy is RemovalPolicy.RETAIN:
            network.retain(group)
        self.resource: fsx.CfnFileSystem | None = resource
        self._describe(resource.ref, resource.attr_dns_name, resource.attr_lustre_mount_name, mount_path)

    @classmethod
    def from_attributes(
        cls, scope: Construct, id: str, *, file_system_id: str, dns_name: str, mount_name: str, mount_path: str = "/fsx"
    ) -> Self:
        """Use an existing file system. Its security group must admit the nodes on 988 and 1018-1023 (FACTS 2.1).

        Args:
            scope: parent construct.
            id: construct id.
            file_system_id: ``fs-...``.
            dns_name: as ``describe-file-systems`` shows it.
            mount_name: as ``describe-file-systems`` shows it.
            mount_path: where nodes mount it.
        """
        imported = cls.__new__(cls)
        Construct.__init__(imported, scope, id)
        imported.resource = None
        imported._describe(file_system_id, dns_name, mount_name, mount_path)
        return imported

    @property
    def mount(self) -> LustreMount:
        """How nodes mount it, by default."""
        return self.mount_at(self.mount_path)

    def mount_at(self, path: str) -> LustreMount:
        """How nodes mount it at a path of your choice.

        Args:
            path: absolute path on the node.
        """
        return LustreMount(dns_name=self.dns_name, mount_name=self.mount_name, path=path)

    def _describe(self, file_system_id: str, dns_name: str, mount_name: str, mount_path: str) -> None:
        self.file_system_id = file_system_id
        self.dns_name = dns_name
        self.mount_name = mount_name
        self.mount_path = mount_path


def _check(capacity_gib: int, throughput: int) -> None:
    problems = []
    if capacity_gib != 1200 and (capacity_gib <= 0 or capacity_gib % 2400):
        near = max(2400, round(capacity_gib / 2400) * 2400)
        message = f"got {capacity_gib}, allowed: 1200 or a multiple of 2400; use {near}"
        problems.append(Problem(path="capacity_gib", message=message))
    if throughput not in _THROUGHPUTS:
        allowed = ", ".join(str(number) for number in _THROUGHPUTS)
        problems.append(Problem(path="throughput_mb_per_s_per_tib", message=f"got {throughput}, allowed: {allowed}"))
    if problems:
        raise SpecError(problems, subject="Lustre file system")
