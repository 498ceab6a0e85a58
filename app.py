"""The CDK app of this repository: ``cdk deploy --all`` makes the cluster that the service's documentation shows.

Another cluster: ``cdk deploy --all -c config=my-cluster.json``, or import the constructs into an app of your own.
Two stacks, because what holds data outlives what runs jobs: the cluster's stack can be destroyed and deployed again
while network and file systems stay, and no mistake in the one can touch the other.
"""

import json
from pathlib import Path
from typing import Any

from aws_cdk import App, CfnOutput, RemovalPolicy, Stack

from hyperpod_constructs import SpecError
from hyperpod_constructs.config import read_config
from hyperpod_constructs.config_constructs import configured_cluster, configured_file_systems, configured_network
from hyperpod_constructs.errors import Problem

CLUSTER_STACK, FOUNDATION_STACK = "HyperPod", "HyperPodFoundation"

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
_OUTPUTS = ("ClusterName", "ClusterArn", "LogGroupName", "InstanceCounts", "Warning")


def build_app(app: App) -> Stack:
    """Put the cluster of the app's context into two stacks.

    Args:
        app: context ``config`` names a JSON file with the arguments of ``SlurmCluster`` (docs/cluster.schema.json);
            ``removal=destroy`` also deletes the file systems with their stack.

    Returns:
        The stack of the cluster.

    Raises:
        SpecError: the file cannot be read, or with every problem of the cluster that it describes.
    """
    config = read_config(_mapping(app.node.try_get_context("config")))
    destroys = app.node.try_get_context("removal") == "destroy"
    foundation = Stack(app, FOUNDATION_STACK, description="Network and file systems of a HyperPod cluster")
    network = configured_network(foundation, config)
    file_systems = configured_file_systems(
        foundation, config, network, removal_policy=RemovalPolicy.DESTROY if destroys else RemovalPolicy.RETAIN
    )
    stack = Stack(app, CLUSTER_STACK, description="SageMaker HyperPod cluster orchestrated by Slurm")
    # Also where no value of it is used: a cluster must be gone before its routes and rules go.
    stack.add_stack_dependency(foundation)
    cluster = configured_cluster(stack, "Cluster", config, network=network, file_systems=file_systems)
    for name in _OUTPUTS:
        CfnOutput(stack, name, value=cluster.resource.get_att_string(name))
    return stack


def _mapping(path: str | None) -> Any:
    if not path:
        return DOCUMENTED_CLUSTER
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f'got "{path}", allowed: a JSON file with a cluster: {error}'
        raise SpecError([Problem(path="config", message=message)], subject="context") from error


def main() -> None:
    """Synthesize."""
    app = App()
    build_app(app)
    app.synth()


if __name__ == "__main__":
    main()
