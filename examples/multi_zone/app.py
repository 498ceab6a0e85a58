"""Groups in two zones: GPUs where their reservation is, processors where there are some; one partition each."""

from aws_cdk import Annotations, App, Stack

from hyperpod_constructs import ClusterNetwork, ComputeGroup, ControllerGroup, EbsVolume, LoginGroup, SlurmCluster


def build(app: App) -> None:
    """Fill an app."""
    stack = Stack(app, "Training")
    # The first zone is the cluster's, with controller and file system. Ids mean the same place in every account.
    network = ClusterNetwork(
        stack,
        "Network",
        availability_zones=["use1-az4", "use1-az6"],
        nat_gateways=2,
        secondary_cidr="100.64.0.0/16",
    )
    cluster = SlurmCluster(
        stack,
        "Cluster",
        cluster_name="llm-training",
        controller=ControllerGroup(instance_type="ml.m5.2xlarge"),
        login=LoginGroup(instance_type="ml.m5.xlarge"),
        compute=[
            ComputeGroup(
                name="p5",
                instance_type="ml.p5.48xlarge",
                instance_count=16,
                min_instance_count=8,
                ebs_volume=EbsVolume(size_gib=500),
            ),
            ComputeGroup(
                name="preprocess",
                instance_type="ml.c5.18xlarge",
                instance_count=4,
                availability_zone="use1-az6",
            ),
        ],
        network=network,
    )
    Annotations.of(cluster).acknowledge_warning(
        "hyperpod-constructs:file-system-zone", "the preprocessing reads little; its traffic between zones is accepted"
    )


if __name__ == "__main__":
    example = App()
    build(example)
    example.synth()
