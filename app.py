"""The CDK app of this repository: ``cdk deploy`` makes the cluster that the service's documentation shows.

Another cluster: ``cdk deploy -c config=my-cluster.json``, or import the constructs into an app of your own.
"""

import json
from pathlib import Path
from typing import Any

from aws_cdk import App, CfnOutput, RemovalPolicy, Stack

from hyperpod_constructs import (
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    LoginGroup,
    LustreFileSystem,
    SlurmCluster,
)

# The three groups that the service's documentation shows for continuous provisioning.
DOCUMENTED_CLUSTER: dict[str, Any] = {
    "cluster_name": "my-training-cluster",
    "controller": {"name": "controller-group", "instance_type": "ml.m5.xlarge"},
    "login": {"name": "login-group", "instance_type": "ml.m5.xlarge"},
    "compute": [
        {
            "name": "worker-gpu-a",
            "instance_type": "ml.p5.48xlarge",
            "instance_count": 16,
            "partition": "gpu-training",
        }
    ],
}


def build_app(app: App) -> Stack:
    """Put the cluster of the app's context into a stack.

    Args:
        app: context ``config`` names a JSON file; ``removal=destroy`` also deletes the file system with the stack.
    """
    path = app.node.try_get_context("config")
    config = json.loads(Path(path).read_text()) if path else DOCUMENTED_CLUSTER
    keep = app.node.try_get_context("removal") != "destroy"
    stack = Stack(app, "HyperPod", description="SageMaker HyperPod cluster orchestrated by Slurm")
    network = ClusterNetwork(stack, "Network")
    file_system = LustreFileSystem(
        stack,
        "FileSystem",
        network=network,
        removal_policy=RemovalPolicy.RETAIN if keep else RemovalPolicy.DESTROY,
    )
    cluster = SlurmCluster(
        stack,
        "Cluster",
        cluster_name=config["cluster_name"],
        controller=ControllerGroup(**config["controller"]),
        login=LoginGroup(**config["login"]) if "login" in config else None,
        compute=[ComputeGroup(**group) for group in config["compute"]],
        network=network,
        file_systems=[file_system],
    )
    for name in ("ClusterName", "ClusterArn", "LogGroupName", "InstanceCounts", "Warning"):
        CfnOutput(stack, name, value=cluster.resource.get_att_string(name))
    return stack


def main() -> None:
    """Synthesize."""
    app = App()
    build_app(app)
    app.synth()


if __name__ == "__main__":
    main()
