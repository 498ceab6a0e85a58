"""The app of the story in test_custom_resource_life: a cluster, and a resource after it that can be made to fail.

Context: ``groups`` such as ``a=2,b=1``, ``type`` of those groups, ``breaks=yes`` for a resource that fails.
"""

from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2

from hyperpod_constructs import ComputeGroup, ControllerGroup, LoginGroup, SlurmCluster


def build(app: App) -> None:
    """Put everything into one stack."""
    stack = Stack(app, "ClusterLife")
    given = str(app.node.get_context("groups")).split(",")
    kind = app.node.try_get_context("type") or "ml.p5.48xlarge"
    cluster = SlurmCluster(
        stack,
        "Cluster",
        cluster_name="cluster-life",
        controller=ControllerGroup(instance_type="ml.m5.xlarge"),
        login=LoginGroup(instance_type="ml.m5.xlarge"),
        compute=[
            ComputeGroup(name=name, instance_type=kind, instance_count=int(count))
            for name, count in (group.split("=") for group in given)
        ],
        file_systems=[],
    )
    if app.node.try_get_context("breaks"):
        group = ec2.SecurityGroup(stack, "Group", vpc=cluster.network.vpc)
        for name in ("One", "Again"):
            rule = ec2.CfnSecurityGroupIngress(
                stack,
                name,
                ip_protocol="tcp",
                from_port=1,
                to_port=1,
                cidr_ip="10.0.0.0/8",
                group_id=group.security_group_id,
            )
            rule.node.add_dependency(cluster.resource)


if __name__ == "__main__":
    main = App()
    build(main)
    main.synth()
