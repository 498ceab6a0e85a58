"""The file form: the same specifications, from mappings, with problems that name the key."""

import ast
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs import config_rules
from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.config import check_config, read_config
from hyperpod_constructs.config_options import (
    ClusterConfig,
    LustreConfig,
    NetworkConfig,
    OpenZfsConfig,
    Reference,
    ReferenceKind,
    RemovalPolicyName,
)
from hyperpod_constructs.config_rules import config_bindings
from hyperpod_constructs.errors import SpecError
from hyperpod_constructs.lustre_options import LustreStorageType
from hyperpod_constructs.options import (
    Accounting,
    Batch,
    BatchType,
    DeepHealthCheck,
    LifecycleStyle,
    Mount,
    NodeRecovery,
    ReadyWhen,
)
from tests.core.support import KEY, LUSTRE, PLAN, ROLE, SECRET, a_cluster

_CONSTRUCTS = Path(__file__).parents[2] / "hyperpod_constructs"


def _mapping(**changes: Any) -> dict[str, Any]:
    documented: dict[str, Any] = {
        "cluster_name": "my-training-cluster",
        "controller": {"name": "controller-group", "instance_type": "ml.m5.xlarge"},
        "login": {"name": "login-group", "instance_type": "ml.m5.xlarge"},
        "compute": [_compute()],
    }
    return documented | changes


def _compute(**changes: Any) -> dict[str, Any]:
    group = {
        "name": "worker-gpu-a",
        "instance_type": "ml.p5.48xlarge",
        "instance_count": 16,
        "partition": "gpu-training",
    }
    return group | changes


def _existing(**changes: Any) -> dict[str, Any]:
    return {"file_system_id": "fs-1", "dns_name": LUSTRE.dns_name, "mount_name": "abcdefgh"} | changes


def _problems(**changes: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        read_config(_mapping(**changes))
    return {problem.path: problem.message for problem in caught.value.problems}


def test_the_documented_cluster_reads_as_it_is_written_in_python() -> None:
    assert read_config(_mapping()) == ClusterConfig(spec=a_cluster())


def test_every_kind_of_value_is_read() -> None:
    config = read_config(
        _mapping(
            compute=[
                _compute(
                    deep_health_checks=["InstanceStress", "INSTANCE_CONNECTIVITY"],
                    lifecycle_style="on_init_complete",
                    ebs_volume={"size_gib": 500},
                    training_plan_arn=PLAN,
                    availability_zone="use1-az4",
                    scheduled_update={
                        "schedule_expression": "cron(0 3 ? * SUN *)",
                        "deployment": {"maximum_batch": {"type": "CAPACITY_PERCENTAGE", "value": 10}},
                    },
                )
            ],
            node_recovery="None",
            ready_when="minimum",
            tags={"team": "llm"},
            users=[{"name": "alice", "uid": 2001, "ssh_public_keys": ["ssh-ed25519 AAAA alice"]}],
            accounting={"endpoint": "db.example.com", "secret": SECRET, "port": 3307},
            removal_policy="retain",
        )
    )
    (group,) = config.spec.compute
    assert group.deep_health_checks == (DeepHealthCheck.INSTANCE_STRESS, DeepHealthCheck.INSTANCE_CONNECTIVITY)
    assert group.lifecycle_style is LifecycleStyle.ON_INIT_COMPLETE
    assert group.scheduled_update is not None
    assert group.scheduled_update.deployment is not None
    assert group.scheduled_update.deployment.maximum_batch == Batch(type=BatchType.CAPACITY_PERCENTAGE, value=10)
    assert config.spec.node_recovery is NodeRecovery.NONE
    assert config.spec.ready_when is ReadyWhen.MINIMUM
    assert config.spec.tag_pairs == (("team", "llm"),)
    assert config.spec.users[0].ssh_public_keys == ("ssh-ed25519 AAAA alice",)
    assert config.spec.accounting == Accounting.external(endpoint="db.example.com", secret=SECRET, port=3307)
    assert config.removal_policy is RemovalPolicyName.RETAIN


@pytest.mark.parametrize(
    ("text", "accounting"), [("none", Accounting.none()), ("on_controller", Accounting.on_controller()), (None, None)]
)
def test_accounting_may_be_a_word(text: str | None, accounting: Accounting | None) -> None:
    assert read_config(_mapping(accounting=text)).spec.accounting == accounting


def test_ids_and_arns_become_references_for_the_constructs_to_resolve() -> None:
    group = _compute(
        execution_role=ROLE,
        volume_kms_key=KEY,
        subnets=["subnet-0123456789abcdef0"],
        security_groups=["sg-0123456789abcdef0"],
        file_systems=["fsx", {"name": "home", "path": "/shared"}],
    )
    systems = [{"type": "lustre"}, {"type": "open_zfs", "name": "home"}]
    config = read_config(_mapping(compute=[group], file_systems=systems))
    (read,) = config.spec.compute
    assert read.execution_role == Reference(kind=ReferenceKind.EXECUTION_ROLE, value=ROLE)
    assert read.subnets == (Reference(kind=ReferenceKind.SUBNET, value="subnet-0123456789abcdef0"),)
    home = Reference(kind=ReferenceKind.FILE_SYSTEM, value="home")
    assert read.file_systems == (
        Reference(kind=ReferenceKind.FILE_SYSTEM, value="fsx"),
        Mount(file_system=home, path="/shared"),
    )
    assert config.file_systems == (LustreConfig(), OpenZfsConfig())
    bound = config_bindings(config).groups["worker-gpu-a"]
    assert [mount.path for mount in bound.mounts] == ["/fsx", "/shared"]
    assert (bound.execution_role_arn, bound.volume_kms_key_id) == (ROLE, KEY)


def test_an_empty_list_of_file_systems_is_not_the_default_one() -> None:
    assert read_config(_mapping(file_systems=[])).file_systems == ()
    assert config_bindings(read_config(_mapping(file_systems=[]))).groups["login-group"].mounts == ()
    assert config_bindings(read_config(_mapping())).groups["login-group"].mounts[0].path == "/fsx"


def test_a_request_can_be_made_of_a_file_alone() -> None:
    config = read_config(_mapping())
    request = create_cluster_request(config.spec, config_bindings(config))
    assert request["InstanceGroups"][2]["ExecutionRole"] == "${Token[execution role ARN]}"


def test_the_network_and_the_file_systems_pass_on_what_was_given_and_nothing_else() -> None:
    network = {"vpc_id": "vpc-0123456789abcdef0", "subnet_ids": ["subnet-0123456789abcdef0"], "flow_logs": False}
    system = {"type": "lustre", "storage_type": "INTELLIGENT_TIERING", "throughput_mb_per_s": 4000, "name": "data"}
    config = read_config(_mapping(network=network, file_systems=[system]))
    assert config.network == NetworkConfig(
        vpc_id="vpc-0123456789abcdef0", subnet_ids=["subnet-0123456789abcdef0"], flow_logs=False
    )
    assert config.network.arguments() == {"flow_logs": False}
    assert config.file_systems is not None
    assert config.file_systems[0].arguments() == {
        "mount_path": "/fsx",
        "storage_type": LustreStorageType.INTELLIGENT_TIERING,
        "throughput_mb_per_s": 4000,
    }


@pytest.mark.parametrize(
    ("changes", "path", "says"),
    [
        ({"cluster_nam": "a"}, "cluster_nam", 'did you mean "cluster_name"?'),
        ({"compute": [_compute(instance_typ="x")]}, "compute[0].instance_typ", 'did you mean "instance_type"?'),
        ({"zzz": 1}, "zzz", "allowed: cluster_name, controller"),
        ({"compute": {"p5": {}}}, "compute", "(a mapping), allowed: a list"),
        ({"compute": ["p5", _compute()]}, "compute[0]", "a mapping with the keys name, instance_type"),
        ({"controller": "ml.m5.xlarge"}, "controller", "a mapping with the keys"),
        ({"node_recovery": "sometimes"}, "node_recovery", "allowed: Automatic, None"),
        ({"compute": [_compute(instance_count="16")]}, "compute[0].instance_count", "allowed: a whole number"),
        ({"compute": [_compute(subnets="subnet-1")]}, "compute[0].subnets", "allowed: a list"),
        ({"compute": [_compute(subnets=["10.0.0.0/16"])]}, "compute[0].subnets[0]", "the id of a subnet"),
        ({"compute": [_compute(execution_role="nodes")]}, "compute[0].execution_role", "the ARN of an IAM role"),
        ({"compute": [_compute(file_systems=["scratch"])]}, "compute[0].file_systems[0]", "one of file_systems: fsx"),
        ({"compute": [_compute(file_systems=[5])]}, "compute[0].file_systems[0]", "the name of one of file_systems"),
        ({"compute": [_compute(scheduled_update={})]}, "compute[0].scheduled_update.schedule_expression", "missing"),
        ({"users": [{"uid": 2001}]}, "users[0].name", "missing"),
        ({"tags": ["a"]}, "tags", "allowed: a mapping of text to text"),
        ({"tags": {"a": 1}}, 'tags["a"]', "numbers go in quotes"),
        ({"accounting": {"endpoint": "db.example.com"}}, "accounting.secret", "missing"),
        ({"accounting": {"endpoint": "a", "secret": SECRET, "host": "a"}}, "accounting.host", "unknown key"),
        ({"accounting": 5}, "accounting", "on_controller, none, or a mapping"),
        ({"file_systems": [{"type": "nfs"}]}, "file_systems[0].type", "allowed: lustre, open_zfs"),
        ({"file_systems": ["/fsx"]}, "file_systems[0]", "a mapping with the keys type"),
        ({"file_systems": [{"capacity_gib": 1000}]}, "file_systems[0].capacity_gib", "use 1200"),
        ({"file_systems": [{"type": "open_zfs", "capacity_gib": 10}]}, "file_systems[0].capacity_gib", "64 to 524288"),
        ({"file_systems": [{"mount_path": "/etc"}]}, "file_systems[0]", "the node needs itself"),
        ({"file_systems": [_existing(dns_name=None)]}, "file_systems[0].dns_name", "missing; an existing file system"),
        ({"file_systems": [_existing(capacity_gib=1200)]}, "file_systems[0].capacity_gib", "for a new one only"),
        ({"file_systems": [{}, {}]}, "file_systems[1].name", "the name of file_systems[0] too"),
        ({"file_systems": [{"efa": "yes"}]}, "file_systems[0].efa", "allowed: True or False"),
        ({"network": {"vpc_id": "my-vpc"}}, "network.vpc_id", "the id of a VPC"),
        ({"network": {"subnet_ids": ["subnet-0123456789abcdef0"]}}, "network.subnet_ids", "given without vpc_id"),
        ({"network": {"nat_gateways": "two"}}, "network.nat_gateways", "a whole number"),
        ({"network": {"cidr": "10.0.0.0/33"}}, "network.cidr", "an IPv4 block of /16"),
        ({"network": {"secondary_cidr": "10.0.128.0/17"}}, "network.secondary_cidr", "overlaps 10.0.0.0/16"),
        ({"network": {"availability_zone": "a"}}, "network.availability_zone", "such as us-east-1a or use1-az4"),
        (
            {"network": {"availability_zones": ["use1-az4", "b"]}},
            "network.availability_zones[1]",
            "such as us-east-1a or use1-az4",
        ),
        ({"cluster_name": 123}, "cluster_name", "got 123 (int), allowed: text; write it in quotes"),
        ({"compute": [_compute(instance_count="2")]}, "compute[0].instance_count", "write the number without quotes"),
        ({"compute": [_compute(image_release_version=2.1)]}, "compute[0].image_release_version", "write it in quotes"),
        ({"force_instance_counts": "no"}, "force_instance_counts", "write it without quotes"),
        ({"network": {"vpc_id": "vpc-01234567", "cidr": "10.0.0.0/16"}}, "network.cidr", "of a new VPC only"),
        ({"execution_role": 5}, "execution_role", "allowed: text"),
        ({"execution_role": "nodes"}, "execution_role", "the ARN of an IAM role"),
        ({"removal_policy": "keep"}, "removal_policy", "allowed: destroy, retain"),
    ],
)
def test_a_wrong_mapping_is_refused_with_the_path_of_the_key(changes: dict[str, Any], path: str, says: str) -> None:
    problems = _problems(**changes)
    assert says in problems[path]
    assert list(problems) == [path]


@pytest.mark.parametrize("mapping", [None, [], "cluster.yaml", 5])
def test_something_else_than_a_mapping_is_refused(mapping: object) -> None:
    with pytest.raises(SpecError, match="a mapping with the keys cluster_name, controller"):
        read_config(mapping)


def test_an_empty_mapping_says_what_is_missing() -> None:
    _, errors, _ = check_config({})
    assert [problem.path for problem in errors] == ["cluster_name", "controller"]


def test_problems_of_keys_values_and_rules_come_together_in_the_order_of_the_input() -> None:
    problems = _problems(cluster_name="a_b", compute=[_compute(instance_typ="x", partition="a.b")], node_recovery="no")
    assert list(problems) == ["cluster_name", "compute[0].instance_typ", "compute[0].partition", "node_recovery"]


def test_a_zone_in_the_network_is_enough_for_a_training_plan() -> None:
    plan = [_compute(training_plan_arn=PLAN)]
    _, errors, warnings = check_config(_mapping(compute=plan))
    assert ([problem.rule for problem in warnings], errors) == (["training-plan-zone"], [])
    assert check_config(_mapping(compute=plan, network={"availability_zone": "use1-az4"}))[1:] == ([], [])


def _init_of(module: str, name: str) -> ast.FunctionDef:
    """A construct's ``__init__``, read without importing the CDK."""
    tree = ast.parse((_CONSTRUCTS / module).read_text())
    (cls,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    (init,) = [node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    return init


# What a file cannot give: objects, and what the app decides.
_OBJECTS = {"network", "subnet", "kms_key", "data_repositories", "removal_policy", "vpc", "subnets", "security_group"}


@pytest.mark.parametrize(
    ("module", "name", "options"),
    [
        ("network.py", "ClusterNetwork", NetworkConfig),
        ("lustre.py", "LustreFileSystem", LustreConfig),
        ("open_zfs.py", "OpenZfsFileSystem", OpenZfsConfig),
    ],
)
def test_the_keys_of_a_part_are_the_arguments_of_its_construct(module: str, name: str, options: Any) -> None:
    keys = {item for item in options.__dataclass_fields__ if item not in options.not_passed}
    arguments = {argument.arg for argument in _init_of(module, name).args.kwonlyargs}
    assert keys == arguments - _OBJECTS


def test_the_defaults_that_the_file_is_checked_with_are_those_of_the_construct() -> None:
    init = _init_of("open_zfs.py", "OpenZfsFileSystem")
    defaults = dict(zip((one.arg for one in init.args.kwonlyargs), init.args.kw_defaults, strict=True))
    shown = {name: ast.unparse(default) for name, default in defaults.items() if default is not None}
    assert shown["capacity_gib"] == str(config_rules.DEFAULT_OPEN_ZFS_GIB)
    assert shown["record_size_kib"] == str(config_rules.DEFAULT_RECORD_SIZE_KIB)
    assert shown["backup_retention_days"] == str(config_rules.DEFAULT_BACKUP_DAYS)


def test_the_block_of_a_new_vpc_that_the_file_is_checked_with_is_that_of_the_network() -> None:
    tree = ast.parse((_CONSTRUCTS / "network.py").read_text())
    values = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    assert ast.literal_eval(values["_VPC_CIDR"]) == config_rules._DEFAULT_CIDR
