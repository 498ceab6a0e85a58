"""The least that makes a cluster: everything not said here has a production default."""

from aws_cdk import App, Stack

from hyperpod_constructs import ComputeGroup, ControllerGroup, LoginGroup, SlurmCluster


def build(app: App) -> None:
    """Fill an app."""
    stack = Stack(app, "Training")
    SlurmCluster(
        stack,
        "Cluster",
        cluster_name="llm-training",
        controller=ControllerGroup(instance_type="ml.m5.2xlarge"),
        login=LoginGroup(instance_type="ml.m5.xlarge"),
        compute=[ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=16, partition="train")],
    )


if __name__ == "__main__":
    example = App()
    build(example)
    example.synth()
