"""What the tests of the core share: the documented cluster, values for its bindings, golden files."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from hyperpod_constructs.bindings import AccountingBindings, Bindings, GroupBindings, LustreMount, OpenZfsMount
from hyperpod_constructs.options import AccountingKind, LifecycleStyle
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup, LoginGroup

GOLDENS = Path(__file__).parents[1] / "goldens"

ROLE = "arn:aws:iam::111122223333:role/hyperpod-nodes"
SCRIPTS = "s3://sagemaker-scripts-111122223333-us-east-1/0123456789abcdef"
KEY = "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/large-models-2027"
SECRET = "arn:aws:secretsmanager:us-east-1:111122223333:secret:slurm-accounting-AbCdEf"
LUSTRE = LustreMount(
    dns_name="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", mount_name="abcdefgh", path="/fsx", efa=False
)
OPEN_ZFS = OpenZfsMount(dns_name="fs-0fedcba9876543210.fsx.us-east-1.amazonaws.com", path="/home")
# What the CDK puts in place of a value that is known at deploy time only.
TEXT_TOKEN = "${Token[Subnet.Id.123]}"
NUMBER_TOKEN = -1.8881545897087626e289
LIST_TOKEN = ["#{Token[TOKEN.42]}"]


def a_cluster(**changes: Any) -> ClusterSpec:
    """The cluster of the service's page on continuous provisioning; any argument may be changed."""
    arguments: dict[str, Any] = {
        "cluster_name": "my-training-cluster",
        "controller": ControllerGroup(name="controller-group", instance_type="ml.m5.xlarge"),
        "login": LoginGroup(name="login-group", instance_type="ml.m5.xlarge"),
        "compute": [a_compute_group()],
    }
    return ClusterSpec(**(arguments | changes))


def a_compute_group(**changes: Any) -> ComputeGroup:
    """The compute group of that page; any field may be changed."""
    group = ComputeGroup(
        name="worker-gpu-a", instance_type="ml.p5.48xlarge", instance_count=16, partition="gpu-training"
    )
    return replace(group, **changes)


def with_compute(**changes: Any) -> ClusterSpec:
    """The documented cluster with its compute group changed."""
    return a_cluster(compute=[a_compute_group(**changes)])


def bindings_for(spec: ClusterSpec, **changes: Any) -> Bindings:
    """Values of every group as a deployment gives them; any value of every group may be changed."""

    def group_bindings(style: LifecycleStyle) -> GroupBindings:
        uri = None if style is LifecycleStyle.IMAGE_ONLY else SCRIPTS
        values: dict[str, Any] = {"execution_role_arn": ROLE, "source_s3_uri": uri, "mounts": (LUSTRE,)}
        return GroupBindings(**(values | changes))

    external = spec.accounting is not None and spec.accounting.kind is AccountingKind.EXTERNAL
    return Bindings(
        subnet_ids=("subnet-0123456789abcdef0",),
        security_group_ids=("sg-0123456789abcdef0",),
        groups={group.name: group_bindings(spec.style_of(group)) for group in spec.groups},
        accounting=AccountingBindings(endpoint="db.example.com", secret_arn=SECRET, port=3306) if external else None,
    )


def check_golden(name: str, value: Any) -> None:
    """Compare with the golden file, or write it when HYPERPOD_GOLDENS=write; a written file is reviewed as a change."""
    path = GOLDENS / name
    text = value if isinstance(value, str) else json.dumps(value, indent=2) + "\n"
    if os.environ.get("HYPERPOD_GOLDENS") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path} differs; if that is meant: make goldens"
