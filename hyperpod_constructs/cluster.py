"""The HyperPod cluster."""

from collections.abc import Mapping, Sequence

import jsii
from aws_cdk import (
    Annotations,
    CustomResource,
    Duration,
    Fn,
    ITaggable,
    RemovalPolicy,
    Stack,
    TagManager,
    TagType,
)
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from hyperpod_constructs import rules
from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.bindings import Bindings
from hyperpod_constructs.buckets import ScriptsBucket
from hyperpod_constructs.cluster_base import ClusterBase, ImportedCluster
from hyperpod_constructs.cluster_checks import check_cluster
from hyperpod_constructs.cluster_properties import RESOURCE_TYPE, RenderedTags, cluster_properties
from hyperpod_constructs.cluster_tags import TagsCheck
from hyperpod_constructs.group_bindings import bindings_of, roles_of
from hyperpod_constructs.lifecycle import ScriptsDeployment
from hyperpod_constructs.lifecycle_options import LifecycleScripts
from hyperpod_constructs.limits import CLOUDFORMATION_WAIT_MINUTES
from hyperpod_constructs.lustre import LustreFileSystem
from hyperpod_constructs.network import ClusterNetwork
from hyperpod_constructs.node_config import node_config
from hyperpod_constructs.observability import CostGuard, Observability
from hyperpod_constructs.open_zfs import OpenZfsFileSystem
from hyperpod_constructs.options import (
    Accounting,
    LifecycleStyle,
    NodeRecovery,
    OnTimeout,
    PosixUser,
    ReadyWhen,
    TieredStorage,
)
from hyperpod_constructs.placement import (
    add_endpoints,
    admit_security_groups,
    check_zones,
    database_of,
    network_for,
    surroundings_of,
)
from hyperpod_constructs.provider import ClusterProvider
from hyperpod_constructs.role_grants import grant_features, grant_scripts
from hyperpod_constructs.roles import ExecutionRole
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup, LoginGroup
from hyperpod_constructs.user_steps import user_step_files
from hyperpod_constructs.watching import Watching

_TAG_PRIORITY = 100  # as a tag on a resource itself; Tags.of() uses the same


@jsii.implements(ec2.IConnectable, ITaggable)
class SlurmCluster(ClusterBase):
    """A SageMaker HyperPod cluster orchestrated by Slurm, continuously provisioned.

    Whatever is not given is created with production defaults. Every problem of the arguments is reported at once,
    before anything is made.

    Args:
        scope: parent construct.
        id: construct id.
        cluster_name: the cluster's name and its physical id; fixed for the life of the cluster.
        controller: the group of the Slurm controller.
        compute: the groups that run jobs.
        login: the group of the login nodes; none by default.
        network: by default a new one.
        vpc: short for ``ClusterNetwork.from_vpc``; not together with ``network``.
        file_systems: of every group that names none of its own; by default one new Lustre file system at /fsx;
            none if empty.
        lifecycle: what the node scripts do; by default they set nodes up and start Slurm.
        scripts_bucket: by default a new one.
        execution_role: of every group that has none of its own; by default a new one.
        accounting: by default MariaDB on the controller.
        users: Linux users on every node; none by default.
        node_recovery: what is done with faulty nodes; automatic by default.
        tags: of the cluster, besides those that ``Tags.of()`` applies.
        ready_when: when the deployment is done; once controller and login groups are in service by default.
        on_timeout: what happens near CloudFormation's hour; success with a warning by default.
        force_instance_counts: whether the template's counts win over live ones that somebody else changed.
        allow_group_deletion: names of groups that may be removed although they have nodes.
        removal_policy: of the cluster; ``DESTROY`` by default.
        tiered_storage: checkpoints in the nodes' memory; none by default. Experimental for Slurm.
        observability: metrics, dashboard, alarms, notifications, log retention; nothing is made by default.
        cost_guard: tells of groups that fail, and are billed, again and again; nothing is made by default.

    Attributes:
        observability: what was made of the argument; ``None`` without it.
        cost_guard: what was made of the argument; ``None`` without it.

    Raises:
        SpecError: with every problem of the arguments.

    Example:
        >>> from aws_cdk import App, Stack
        >>> cluster = SlurmCluster(
        ...     Stack(App(), "Training"),
        ...     "Cluster",
        ...     cluster_name="llm-training",
        ...     controller=ControllerGroup(instance_type="ml.m5.2xlarge"),
        ...     login=LoginGroup(instance_type="ml.m5.xlarge"),
        ...     compute=[ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=16)],
        ... )
        >>> cluster.cluster_name
        'llm-training'
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        controller: ControllerGroup,
        compute: Sequence[ComputeGroup],
        login: LoginGroup | None = None,
        network: ClusterNetwork | None = None,
        vpc: ec2.IVpc | None = None,
        file_systems: Sequence[LustreFileSystem | OpenZfsFileSystem] | None = None,
        lifecycle: LifecycleScripts | None = None,
        scripts_bucket: ScriptsBucket | None = None,
        execution_role: iam.IRole | None = None,
        accounting: Accounting | None = None,
        users: Sequence[PosixUser] = (),
        node_recovery: NodeRecovery = NodeRecovery.AUTOMATIC,
        tags: Mapping[str, str] | None = None,
        ready_when: ReadyWhen = ReadyWhen.IN_SERVICE,
        on_timeout: OnTimeout = OnTimeout.SUCCEED,
        force_instance_counts: bool = False,
        allow_group_deletion: Sequence[str] = (),
        removal_policy: RemovalPolicy = RemovalPolicy.DESTROY,
        tiered_storage: TieredStorage | None = None,
        observability: Observability | None = None,
        cost_guard: CostGuard | None = None,
    ) -> None:
        self.spec = ClusterSpec(
            cluster_name=cluster_name,
            controller=controller,
            login=login,
            compute=compute,
            accounting=accounting,
            users=users,
            node_recovery=node_recovery,
            tiered_storage=tiered_storage,
            tags=tags or (),
            lifecycle=lifecycle or LifecycleScripts(),
            ready_when=ready_when,
            on_timeout=on_timeout,
            force_instance_counts=force_instance_counts,
            allow_group_deletion=allow_group_deletion,
        )
        # Before anything is made: a half-made tree would only hide the message.
        watching = Watching(self.spec, Stack.of(scope).region, observability, cost_guard)
        keep = removal_policy is RemovalPolicy.RETAIN
        check_cluster(self.spec, network, vpc, keep=keep, role=execution_role, scope=scope, others=watching.problems())
        super().__init__(scope, id)
        self.cluster_name = cluster_name
        self.network = network or network_for(self, self.spec, vpc)
        check_zones(self.spec, self.network)
        self.file_systems = _file_systems(self, file_systems, self.network)
        admit_security_groups(self, self.spec, self.network)
        add_endpoints(self.spec, self.network, self.file_systems)
        self.execution_role: iam.IRole = execution_role or ExecutionRole(self, "ExecutionRole").role
        self._roles = roles_of(self.spec, self.execution_role)
        grant_features(self, self.spec, self._roles, has_file_systems=bool(self.file_systems))
        self._tag_manager = TagManager(TagType.STANDARD, RESOURCE_TYPE)
        for key, value in self.spec.tag_pairs:
            self._tag_manager.set_tag(key, value, _TAG_PRIORITY)
        self.node.add_validation(TagsCheck(self.spec, self._tag_manager))
        watching.prepare(self)
        self.scripts = self._deploy_scripts(scripts_bucket, watching)
        self.resource = self._create_resource(removal_policy)
        self.cluster_arn = self.resource.get_att_string("ClusterArn")
        self.cluster_id = self.resource.get_att_string("ClusterId")
        self.log_group_name = self.resource.get_att_string("LogGroupName")
        self.observability = watching.observe(self, list(self._roles.values()))
        self.cost_guard = watching.guard(self)

    @property
    def tags(self) -> TagManager:
        """The tags of the cluster: those given, and those that ``Tags.of()`` applies to any scope around it."""
        return self._tag_manager

    @property
    def connections(self) -> ec2.Connections:
        """Who may connect to the nodes, and whom they may connect to."""
        return self.network.connections

    @classmethod
    def from_cluster_attributes(cls, scope: Construct, id: str, *, cluster_name: str, cluster_arn: str) -> ClusterBase:
        """Refer to a cluster that exists, for grants, metrics and events.

        Args:
            scope: parent construct.
            id: construct id.
            cluster_name: its name.
            cluster_arn: its ARN, which ends in the cluster's id; may be a token.
        """
        cluster_id = Fn.select(1, Fn.split("/", cluster_arn))
        return ImportedCluster(scope, id, cluster_name=cluster_name, cluster_arn=cluster_arn, cluster_id=cluster_id)

    def _deploy_scripts(self, bucket: ScriptsBucket | None, watching: Watching) -> ScriptsDeployment | None:
        """Upload the scripts, unless every group is set up by its image alone."""
        bindings = self._bindings(None)
        self._warn(bindings)
        if all(self.spec.style_of(group) is LifecycleStyle.IMAGE_ONLY for group in self.spec.groups):
            return None
        bucket = bucket or ScriptsBucket(self, "ScriptsBucket")
        config = watching.node_config(node_config(self.spec, bindings))
        scripts = ScriptsDeployment(
            self,
            "Scripts",
            bucket=bucket,
            cluster_name=self.cluster_name,
            config=config,
            user_files=user_step_files(self.spec.lifecycle.user_steps),
        )
        if not bucket.nodes_may_read:
            grant_scripts(self._roles.values(), bucket.bucket, scripts.prefix)
        return scripts

    def _create_resource(self, removal_policy: RemovalPolicy) -> CustomResource:
        provider = ClusterProvider.of(self)
        provider.allow_pass_role(role.role_arn for role in self._roles.values())
        bindings = self._bindings(self.scripts.source_s3_uri if self.scripts else None)
        request = create_cluster_request(self.spec, bindings)
        resource = CustomResource(
            self,
            "Resource",
            service_token=provider.service_token,
            resource_type=RESOURCE_TYPE,
            properties=cluster_properties(Stack.of(self), self.spec, request, RenderedTags.of(self._tag_manager)),
            removal_policy=removal_policy,
            service_timeout=Duration.minutes(CLOUDFORMATION_WAIT_MINUTES),
        )
        self._order(resource, provider)
        return resource

    def _bindings(self, source_s3_uri: str | None) -> Bindings:
        return bindings_of(
            self.spec,
            network=self.network,
            file_systems=self.file_systems,
            roles=self._roles,
            source_s3_uri=source_s3_uri,
        )

    def _order(self, resource: CustomResource, provider: ClusterProvider) -> None:
        """Make the cluster after, and so delete it before, all that it needs to be deleted itself.

        The service drops its network interfaces with the role's permissions, from our subnets and groups, over our
        routes: a cluster that loses one of them first stays in Deleting for ever (field report C-09).
        """
        parts = [*self.file_systems, *database_of(self.spec), *dict.fromkeys(self._roles.values())]
        # A VPC that the app brings has its routes outside of our network; an imported one has no resources to wait for.
        resource.node.add_dependency(self.network, self.network.vpc, provider, *parts)
        if self.scripts is not None:
            resource.node.add_dependency(self.scripts, self.scripts.bucket)

    def _warn(self, bindings: Bindings) -> None:
        surroundings = surroundings_of(self.spec, self.network, self.file_systems)
        for problem in rules.validate(self.spec, bindings, surroundings):
            Annotations.of(self).add_warning_v2(f"hyperpod-constructs:{problem.rule}", str(problem))


def _file_systems(
    scope: Construct, file_systems: Sequence[LustreFileSystem | OpenZfsFileSystem] | None, network: ClusterNetwork
) -> tuple[LustreFileSystem | OpenZfsFileSystem, ...]:
    if file_systems is not None:
        return tuple(file_systems)
    return (LustreFileSystem(scope, "FileSystem", network=network),)
