"""A cluster with everything beneath it: Lustre linked to S3, OpenZFS, an accounting database."""

from aws_cdk import App, RemovalPolicy, Stack
from aws_cdk import aws_s3 as s3

from hyperpod_constructs import (
    AccountingDatabase,
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    DataRepository,
    LustreFileSystem,
    OpenZfsFileSystem,
    SlurmCluster,
)

GONE = RemovalPolicy.DESTROY

app = App()
stack = Stack(app, "Full")
network = ClusterNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"])
datasets = s3.Bucket(stack, "Datasets", removal_policy=GONE)
data = LustreFileSystem(
    stack,
    "Data",
    network=network,
    data_repositories=[DataRepository(path="/datasets", bucket=datasets)],
    removal_policy=GONE,
)
homes = OpenZfsFileSystem(stack, "Homes", network=network, removal_policy=GONE)
database = AccountingDatabase(stack, "Accounting", network=network, removal_policy=GONE)
SlurmCluster(
    stack,
    "Cluster",
    cluster_name="full",
    controller=ControllerGroup(instance_type="ml.m5.xlarge"),
    compute=[ComputeGroup(name="workers", instance_type="ml.m5.xlarge", instance_count=1)],
    network=network,
    file_systems=[data, homes],
    accounting=database.accounting(),
)
app.synth()
