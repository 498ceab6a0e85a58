"""VPC endpoints of a cluster: which AWS services nodes reach without the internet, and why."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aws_cdk import aws_ec2 as ec2
from constructs import IConstruct

from hyperpod_constructs.errors import Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """An interface endpoint that nodes without internet may need.

    Attributes:
        service: the service's name behind ``com.amazonaws.<region>.``.
        why: what stops working without it.
        feature: the feature that needs it; empty if every cluster does.
    """

    service: str
    why: str
    feature: str = ""

    @property
    def id(self) -> str:
        """Construct id; part of the contract."""
        return "".join(part.capitalize() for part in self.service.replace(".", "-").split("-"))


# FACTS 2.2, field report N-09. No page of the service lists them for Slurm: this follows from what runs on a node.
ENDPOINTS: Final = (
    Endpoint(service="ssm", why="sessions to nodes: the SSM agent registers itself"),
    Endpoint(service="ssmmessages", why="sessions to nodes: the channel of a session"),
    Endpoint(service="ec2messages", why="sessions to nodes: older SSM agents"),
    Endpoint(service="logs", why="lifecycle and health logs from nodes"),
    Endpoint(service="monitoring", why="metrics from nodes"),
    Endpoint(service="sagemaker.api", why="aws sagemaker commands on nodes, such as list-cluster-nodes"),
    Endpoint(service="fsx", why="fsx:DescribeFileSystems of scripts that set up EFA to Lustre", feature="fsx"),
    Endpoint(service="secretsmanager", why="the accounting database's password", feature="accounting"),
    Endpoint(service="kms", why="decrypting secrets and scripts that a key of yours protects", feature="kms"),
    Endpoint(service="sts", why="temporary credentials for tools of yours", feature="sts"),
    Endpoint(service="ecr.api", why="container images: permissions", feature="containers"),
    Endpoint(
        service="ecr.dkr",
        why="container images: manifests; their layers come over the S3 endpoint",
        feature="containers",
    ),
    Endpoint(service="aps-workspaces", why="remote write to Amazon Managed Prometheus", feature="prometheus"),
)
_BEFORE_SERVICE = re.compile(r"^(cn\.)?com\.amazonaws\.([a-z]{2}(-[a-z]+)+-\d+)?\.?")
_BY_SERVICE = {endpoint.service: endpoint for endpoint in ENDPOINTS}
BASE_SERVICES: Final = tuple(endpoint.service for endpoint in ENDPOINTS if not endpoint.feature)
"""What every cluster without internet needs."""


def services_for(*features: str) -> tuple[str, ...]:
    """Services that some features need, besides the base.

    Args:
        features: of ``fsx``, ``accounting``, ``kms``, ``sts``, ``containers``, ``prometheus``.
    """
    return tuple(endpoint.service for endpoint in ENDPOINTS if endpoint.feature in features)


def unknown_services(services: Iterable[str]) -> list[Problem]:
    """A problem for each service that is not in the table."""
    allowed = ", ".join(_BY_SERVICE)
    return [
        Problem(
            path=f"network.interface_endpoints[{index}]",
            message=f'got "{service}", allowed: {allowed}; add others with vpc.add_interface_endpoint()',
        )
        for index, service in enumerate(services)
        if service not in _BY_SERVICE
    ]


def endpoint_of(service: str) -> Endpoint:
    """The endpoint of a service of the table."""
    return _BY_SERVICE[service]


def existing_services(vpc: IConstruct) -> set[str]:
    """Services for which the app makes an endpoint in this VPC; imported VPCs show none of theirs.

    Args:
        vpc: the VPC.

    Returns:
        What stands behind ``com.amazonaws.<region>.``, such as ``s3``.
    """
    return {
        _BEFORE_SERVICE.sub("", _service_text(item))
        for item in vpc.node.root.node.find_all()
        if isinstance(item, ec2.CfnVPCEndpoint) and _is_in(item, vpc)
    }


def _is_in(endpoint: ec2.CfnVPCEndpoint, vpc: IConstruct) -> bool:
    stack = endpoint.stack
    return bool(stack.resolve(endpoint.vpc_id) == stack.resolve(getattr(vpc, "vpc_id", None)))


def _service_text(endpoint: ec2.CfnVPCEndpoint) -> str:
    """The service's name, without the region where that is a reference."""
    name = endpoint.stack.resolve(endpoint.service_name)
    parts = name["Fn::Join"][1] if isinstance(name, dict) and "Fn::Join" in name else [name]
    return "".join(part for part in parts if isinstance(part, str))
