"""Accounting history outside the cluster, and people who may run it or only log in to it."""

from aws_cdk import App, Stack

from hyperpod_constructs import (
    AccountingDatabase,
    ClusterAdminPolicy,
    ClusterNetwork,
    ClusterUserPolicy,
    ComputeGroup,
    ControllerGroup,
    LoginGroup,
    LustreFileSystem,
    SlurmCluster,
)


def build(app: App) -> None:
    """Fill an app."""
    foundation = Stack(app, "Foundation")
    network = ClusterNetwork(foundation, "Network")
    data = LustreFileSystem(foundation, "Data", network=network)
    database = AccountingDatabase(foundation, "Accounting", network=network)
    stack = Stack(app, "Training")
    cluster = SlurmCluster(
        stack,
        "Cluster",
        cluster_name="llm-training",
        controller=ControllerGroup(instance_type="ml.m5.2xlarge"),
        login=LoginGroup(instance_type="ml.m5.xlarge"),
        compute=[ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=16)],
        network=network,
        file_systems=[data],
        accounting=database.accounting(database_name="slurm_acct_db"),
    )
    ClusterAdminPolicy(stack, "Admins", cluster=cluster)
    ClusterUserPolicy(stack, "Scientists", cluster=cluster)


if __name__ == "__main__":
    example = App()
    build(example)
    example.synth()
