"""One storage for two clusters: data linked to S3 on Lustre, homes on OpenZFS, in a stack that outlives clusters."""

from aws_cdk import App, RemovalPolicy, Stack
from aws_cdk import aws_s3 as s3

from hyperpod_constructs import (
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    DataRepository,
    LoginGroup,
    LustreFileSystem,
    OpenZfsFileSystem,
    PosixUser,
    SlurmCluster,
)

USERS = [PosixUser(name="alice", uid=2001), PosixUser(name="bob", uid=2002)]


def build(app: App) -> None:
    """Fill an app."""
    storage = Stack(app, "Storage")
    network = ClusterNetwork(storage, "Network", availability_zone="use1-az4")
    access_logs = s3.Bucket(
        storage, "AccessLogs", enforce_ssl=True, block_public_access=s3.BlockPublicAccess.BLOCK_ALL, versioned=True
    )
    datasets = s3.Bucket(
        storage,
        "Datasets",
        enforce_ssl=True,
        versioned=True,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        server_access_logs_bucket=access_logs,
        removal_policy=RemovalPolicy.RETAIN,
    )
    data = LustreFileSystem(
        storage,
        "Data",
        network=network,
        capacity_gib=9600,
        throughput_mb_per_s_per_tib=500,
        data_repositories=[DataRepository(path="/datasets", bucket=datasets, prefix="train")],
    )
    homes = OpenZfsFileSystem(storage, "Homes", network=network, capacity_gib=1024)
    for name, instance_type, count in (("research", "ml.g6.12xlarge", 4), ("production", "ml.p5.48xlarge", 16)):
        stack = Stack(app, name.capitalize())
        SlurmCluster(
            stack,
            "Cluster",
            cluster_name=name,
            controller=ControllerGroup(instance_type="ml.m5.2xlarge"),
            login=LoginGroup(instance_type="ml.m5.xlarge"),
            compute=[ComputeGroup(name="gpu", instance_type=instance_type, instance_count=count)],
            network=network,
            file_systems=[data, homes],
            users=USERS,
        )


if __name__ == "__main__":
    example = App()
    build(example)
    example.synth()
