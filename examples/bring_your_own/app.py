"""Everything exists already: the template holds only what is ours, the cluster and its custom resource."""

from aws_cdk import Annotations, App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from hyperpod_constructs import (
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    LoginGroup,
    LustreFileSystem,
    OpenZfsFileSystem,
    ScriptsBucket,
    SlurmCluster,
)


def build(app: App) -> None:
    """Fill an app."""
    stack = Stack(app, "Training")
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["us-east-1a"],
        private_subnet_ids=["subnet-0123456789abcdef0"],
        private_subnet_route_table_ids=["rtb-0123456789abcdef0"],
    )
    # mutable=False: its rules are somebody else's business; a warning lists what they must allow.
    nodes = ec2.SecurityGroup.from_security_group_id(stack, "Nodes", "sg-0123456789abcdef0", mutable=False)
    network = ClusterNetwork.from_vpc(stack, "Network", vpc, security_group=nodes)
    data = LustreFileSystem.from_attributes(
        stack,
        "Data",
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        mount_name="abcdefgh",
        availability_zone="us-east-1a",
    )
    homes = OpenZfsFileSystem.from_attributes(
        stack,
        "Homes",
        file_system_id="fs-0123456789abcdef1",
        dns_name="fs-0123456789abcdef1.fsx.us-east-1.amazonaws.com",
    )
    account = "arn:aws:iam::123456789012:role"
    # mutable=False: a warning lists the exact statements that it must have.
    role = iam.Role.from_role_arn(stack, "NodeRole", f"{account}/hyperpod-nodes", mutable=False)
    key = kms.Key.from_key_arn(stack, "Key", "arn:aws:kms:us-east-1:123456789012:key/0123456789ab")
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "sagemaker-our-scripts")
    cluster = SlurmCluster(
        stack,
        "Cluster",
        cluster_name="llm-training",
        controller=ControllerGroup(instance_type="ml.m5.2xlarge", volume_kms_key=key),
        login=LoginGroup(instance_type="ml.m5.xlarge"),
        compute=[ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=16)],
        network=network,
        file_systems=[data, homes],
        execution_role=role,
        scripts_bucket=ScriptsBucket.from_bucket(stack, "Scripts", bucket),
    )
    for part, warning in ((network, "security-group-rules"), (cluster, "role-statements")):
        Annotations.of(part).acknowledge_warning(f"hyperpod-constructs:{warning}", "checked on 2026-11-30")


if __name__ == "__main__":
    example = App()
    build(example)
    example.synth()
