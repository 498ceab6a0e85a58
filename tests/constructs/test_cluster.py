"""SlurmCluster: what reaches the custom resource, and in which order things are made and deleted."""

import json
from typing import Any

import pytest
from aws_cdk import App, RemovalPolicy, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from hyperpod_constructs import (
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    ExecutionRole,
    LifecycleScripts,
    LifecycleStyle,
    LustreFileSystem,
    Mount,
    OnTimeout,
    ReadyWhen,
    ScriptsBucket,
    SlurmCluster,
    SpecError,
)
from tests.constructs.support import CONTEXT, Synthesized, a_cluster

CLUSTER = "Custom::HyperPodCluster"


def _text(value: Any) -> str:
    """JSON text as CloudFormation would join it, references replaced by their names."""
    if isinstance(value, str):
        return value
    parts = value["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else str(next(iter(part.values()))).replace("'", "") for part in parts)


def _properties(stack: Stack) -> dict[str, Any]:
    _, resource = Synthesized(stack).only(CLUSTER)
    properties = dict(resource["Properties"])
    properties["Cluster"] = json.loads(_text(properties["Cluster"]))
    properties["InstanceGroups"] = {
        name: json.loads(_text(group)) for name, group in properties["InstanceGroups"].items()
    }
    return properties


def test_the_documented_cluster_reaches_the_custom_resource_with_its_types_and_empty_objects(stack: Stack) -> None:
    a_cluster(stack)
    properties = _properties(stack)
    cluster = properties["Cluster"]
    assert properties["FormatVersion"] == "1"
    assert cluster["Request"]["ClusterName"] == "my-training-cluster"
    assert cluster["Request"]["Orchestrator"] == {"Slurm": {}}
    assert cluster["Request"]["NodeProvisioningMode"] == "Continuous"
    assert cluster["GroupOrder"] == ["controller-group", "login-group", "worker-gpu-a"]
    assert properties["InstanceGroups"]["worker-gpu-a"]["InstanceCount"] == 16
    assert properties["InstanceGroups"]["worker-gpu-a"]["SlurmConfig"] == {
        "NodeType": "Compute",
        "PartitionNames": ["gpu-training"],
    }


def test_no_strategy_is_sent_because_continuous_provisioning_refuses_any(stack: Stack) -> None:
    a_cluster(stack)
    assert "SlurmConfigStrategy" not in json.dumps(_properties(stack))


def test_every_group_has_scripts_role_and_file_system(stack: Stack) -> None:
    a_cluster(stack)
    for group in _properties(stack)["InstanceGroups"].values():
        assert group["LifeCycleConfig"]["OnCreate"] == "on_create.sh"
        assert "/my-training-cluster/" in group["LifeCycleConfig"]["SourceS3Uri"]
        assert group["ExecutionRole"]
        (storage,) = group["InstanceStorageConfigs"]
        assert storage["FsxLustreConfig"]["MountPath"] == "/fsx"


def test_options_of_the_deployment_travel_with_the_cluster(stack: Stack) -> None:
    a_cluster(
        stack,
        ready_when=ReadyWhen.ALL,
        on_timeout=OnTimeout.FAIL,
        force_instance_counts=True,
        allow_group_deletion=["old"],
        controller=ControllerGroup(instance_type="ml.m5.xlarge", update_software=True),
    )
    cluster = _properties(stack)["Cluster"]
    assert cluster["ReadyWhen"] == "ALL"
    assert cluster["OnTimeout"] == "FAIL"
    assert cluster["ForceInstanceCounts"] is True
    assert cluster["AllowGroupDeletion"] == ["old"]
    assert cluster["UpdateControllerSoftware"] is True


def test_tags_of_the_app_and_of_the_cluster_reach_it_in_the_apis_casing(app: App, stack: Stack) -> None:
    a_cluster(stack, tags={"team": "ml"})
    Tags.of(app).add("cost-centre", "42")
    assert _properties(stack)["Tags"] == [{"Key": "cost-centre", "Value": "42"}, {"Key": "team", "Value": "ml"}]


def test_a_cluster_without_tags_sends_none(stack: Stack) -> None:
    a_cluster(stack)
    assert "Tags" not in _properties(stack)


def test_all_that_deletion_needs_is_deleted_after_the_cluster(stack: Stack) -> None:
    # Field report C-09: the service drops its interfaces with the role's permissions, from these subnets and groups.
    a_cluster(stack)
    template = Synthesized(stack)
    name, _ = template.only(CLUSTER)
    kinds = (
        "AWS::EC2::VPC",
        "AWS::EC2::Subnet",
        "AWS::EC2::Route",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::NatGateway",
        "AWS::EC2::VPCEndpoint",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::FSx::FileSystem",
        "AWS::S3::Bucket",
        "Custom::CDKBucketDeployment",
        "Custom::S3AutoDeleteObjects",
    )
    for kind in kinds:
        made = set(template.of_type(kind))
        assert made, kind
        assert made <= template.before(name), kind
    policies = {
        key for key in template.of_type("AWS::IAM::Policy") if key.startswith(("ClusterExecutionRole", "HyperPod"))
    }
    assert len(policies) >= 3
    assert policies <= template.before(name)


def test_the_functions_may_pass_the_nodes_role_to_the_service_and_nothing_else(stack: Stack) -> None:
    a_cluster(stack)
    statements = [
        statement
        for policy in Synthesized(stack).of_type("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "iam:PassRole"
    ]
    assert statements
    for statement in statements:
        assert statement["Resource"]["Fn::GetAtt"][0].startswith("ClusterExecutionRole")
        assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}


def test_two_clusters_of_a_stack_share_one_provider(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    a_cluster(stack, "One", cluster_name="one", network=network)
    a_cluster(stack, "Two", cluster_name="two", network=network)
    tokens = [json.dumps(item["Properties"]["ServiceToken"]) for item in Synthesized(stack).of_type(CLUSTER).values()]
    assert len(tokens) == 2
    assert len(set(tokens)) == 1


def test_what_is_brought_is_used_and_not_made_again(stack: Stack) -> None:
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"], private_subnet_ids=["subnet-1"]
    )
    role = iam.Role.from_role_arn(stack, "Role", "arn:aws:iam::123456789012:role/nodes")
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "sagemaker-mine")
    file_system = LustreFileSystem.from_attributes(
        stack,
        "Data",
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx.x",
        mount_name="abcdefgh",
    )
    a_cluster(
        stack,
        vpc=vpc,
        execution_role=role,
        scripts_bucket=ScriptsBucket.from_bucket(stack, "Scripts", bucket),
        file_systems=[file_system],
    )
    template = Synthesized(stack)
    for kind in ("AWS::EC2::VPC", "AWS::FSx::FileSystem", "AWS::S3::Bucket"):
        assert not template.of_type(kind)
    properties = _properties(stack)
    assert properties["Cluster"]["Request"]["VpcConfig"]["Subnets"] == ["subnet-1"]
    assert properties["InstanceGroups"]["login-group"]["ExecutionRole"] == "arn:aws:iam::123456789012:role/nodes"


def test_a_group_may_have_its_own_file_systems_at_its_own_paths(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    data = LustreFileSystem(stack, "Data", network=network)
    scratch = LustreFileSystem(stack, "Scratch", network=network)
    group = ComputeGroup(
        name="p5",
        instance_type="ml.p5.48xlarge",
        instance_count=1,
        file_systems=[Mount(file_system=scratch, path="/scratch")],
    )
    a_cluster(stack, network=network, file_systems=[data], compute=[group])
    (storage,) = _properties(stack)["InstanceGroups"]["p5"]["InstanceStorageConfigs"]
    assert storage["FsxLustreConfig"]["MountPath"] == "/scratch"
    assert storage["FsxLustreConfig"]["DnsName"].startswith("[Scratch")


def test_image_only_ships_no_script_and_makes_no_upload(stack: Stack) -> None:
    a_cluster(stack, lifecycle=LifecycleScripts(style=LifecycleStyle.IMAGE_ONLY))
    template = Synthesized(stack)
    assert not template.of_type("Custom::CDKBucketDeployment")
    assert not template.of_type("AWS::S3::Bucket")
    assert all("LifeCycleConfig" not in group for group in _properties(stack)["InstanceGroups"].values())


def test_a_group_may_have_a_style_of_its_own(stack: Stack) -> None:
    group = ComputeGroup(
        name="p5",
        instance_type="ml.p5.48xlarge",
        instance_count=1,
        lifecycle_style=LifecycleStyle.ON_INIT_COMPLETE,
    )
    a_cluster(stack, compute=[group])
    config = _properties(stack)["InstanceGroups"]["p5"]["LifeCycleConfig"]
    assert config["OnInitComplete"] == "on_init_complete.sh"
    assert "OnCreate" not in config


def test_every_problem_is_told_at_once_and_nothing_is_made(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    before = len(stack.node.find_all())
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-east-1a"], private_subnet_ids=["subnet-1"]
    )
    made = len(stack.node.find_all()) - before
    with pytest.raises(SpecError) as caught:
        a_cluster(
            stack,
            cluster_name="a_b",
            compute=[ComputeGroup(name="worker", instance_type="ml.p5.48xlarge", instance_count=-1)],
            network=network,
            vpc=vpc,
        )
    assert {problem.path for problem in caught.value.problems} == {"cluster_name", "compute[0].instance_count", "vpc"}
    assert len(stack.node.find_all()) == before + made


def test_a_probable_mistake_is_a_warning_of_the_construct(app: App, stack: Stack) -> None:
    a_cluster(stack, compute=[ComputeGroup(name="p5", instance_type="ml.p7.48xlarge", instance_count=1)])
    messages = app.synth().get_stack_by_name("Training").messages
    assert any("did you mean" in str(message.entry.data) for message in messages)


def test_the_cluster_is_deleted_with_its_stack_unless_told_otherwise(stack: Stack) -> None:
    a_cluster(stack)
    _, resource = Synthesized(stack).only(CLUSTER)
    assert resource["DeletionPolicy"] == "Delete"
    assert resource["Properties"]["ServiceTimeout"] == "3600"


def test_storage_and_cluster_may_live_in_two_stacks(app: App) -> None:
    storage = Stack(app, "Storage")
    network = ClusterNetwork(storage, "Network")
    data = LustreFileSystem(storage, "Data", network=network, removal_policy=RemovalPolicy.DESTROY)
    training = Stack(app, "Training")
    a_cluster(training, network=network, file_systems=[data])
    assert not Synthesized(training).of_type("AWS::FSx::FileSystem")
    assert [stack.stack_name for stack in training.dependencies] == ["Storage"]


def test_metrics_carry_the_services_namespace_and_dimension(stack: Stack) -> None:
    metric = a_cluster(stack).metric("cluster_node_count")
    assert metric.namespace == "/aws/sagemaker/Clusters"
    assert metric.metric_name == "cluster_node_count"
    assert metric.dimensions is not None
    assert list(metric.dimensions) == ["ClusterId"]


def test_a_cluster_can_be_connected_to_like_any_other_construct(stack: Stack) -> None:
    cluster = a_cluster(stack)
    other = ec2.SecurityGroup(stack, "Other", vpc=cluster.network.vpc)
    other.connections.allow_from(cluster, ec2.Port.tcp(3306))
    assert any(
        item["Properties"].get("FromPort") == 3306
        for item in Synthesized(stack).of_type("AWS::EC2::SecurityGroupIngress").values()
    )


def test_the_same_arguments_give_the_same_template() -> None:
    def synthesized() -> dict[str, Any]:
        app = App(context=CONTEXT, builtin_cloud_formation_validation=False)
        Stack(app, "Earlier")
        stack = Stack(app, "Training")
        a_cluster(stack)
        return Synthesized(stack).json

    assert synthesized() == synthesized()


def test_an_imported_cluster_has_grants_and_metrics_but_no_resource(stack: Stack) -> None:
    imported = SlurmCluster.from_cluster_attributes(
        stack,
        "Other",
        cluster_name="other",
        cluster_arn="arn:aws:sagemaker:us-east-1:123456789012:cluster/abcde01234yz",
    )
    assert imported.cluster_id == "abcde01234yz"
    assert imported.log_group_name == "/aws/sagemaker/Clusters/other/abcde01234yz"
    user = iam.User(stack, "User")
    imported.grant_describe(user)
    template = Synthesized(stack)
    assert sorted(item["Type"] for item in template.resources.values()) == ["AWS::IAM::Policy", "AWS::IAM::User"]


def test_a_cluster_is_not_kept_without_what_it_stands_on(stack: Stack) -> None:
    with pytest.raises(SpecError, match="can neither run nor be deleted"):
        a_cluster(stack, removal_policy=RemovalPolicy.RETAIN)


def test_a_cluster_is_kept_on_network_and_role_of_another_stack(app: App, stack: Stack) -> None:
    base = Stack(app, "Base")
    a_cluster(
        stack,
        removal_policy=RemovalPolicy.RETAIN,
        network=ClusterNetwork(base, "Network"),
        execution_role=ExecutionRole(base, "Role").role,
        file_systems=[],
    )
    _, resource = Synthesized(stack).only(CLUSTER)
    assert resource["DeletionPolicy"] == "Retain"
