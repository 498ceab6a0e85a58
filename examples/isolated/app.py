"""No way to the internet: nodes reach AWS over endpoints only; keys are the account's own."""

from aws_cdk import App, Stack
from aws_cdk import aws_kms as kms

from hyperpod_constructs import (
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    LustreFileSystem,
    ScriptsBucket,
    SlurmCluster,
)


def build(app: App) -> None:
    """Fill an app."""
    stack = Stack(app, "Training")
    key = kms.Key(stack, "Key", enable_key_rotation=True)
    network = ClusterNetwork(stack, "Network", nat_gateways=0, availability_zone="use1-az4")
    SlurmCluster(
        stack,
        "Cluster",
        cluster_name="llm-training",
        controller=ControllerGroup(instance_type="ml.m5.2xlarge", volume_kms_key=key),
        compute=[
            ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=4, volume_kms_key=key),
        ],
        network=network,
        file_systems=[LustreFileSystem(stack, "Data", network=network, capacity_gib=19200, efa=True, kms_key=key)],
        scripts_bucket=ScriptsBucket(stack, "Scripts", kms_key=key),
    )


if __name__ == "__main__":
    example = App()
    build(example)
    example.synth()
