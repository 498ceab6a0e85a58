"""Wrong clusters: for every rule what is wrong, where the message points, and what it must say."""

from hyperpod_constructs.lifecycle_options import LifecycleScripts
from hyperpod_constructs.options import (
    Accounting,
    AccountingKind,
    Capacity,
    DeepHealthCheck,
    LifecycleStyle,
    OnTimeout,
    ReadyWhen,
    TieredStorage,
)
from hyperpod_constructs.specs import ClusterSpec, ControllerGroup, LoginGroup
from tests.core.bad import Bad, external, groups, user
from tests.core.support import (
    SECRET,
    a_cluster,
    a_compute_group,
    with_compute,
)

BAD_CLUSTERS: tuple[Bad, ...] = (
    # The cluster.
    Bad(rule="cluster-name", spec=a_cluster(cluster_name="llm_training"), path="cluster_name", says='"llm-training"'),
    Bad(rule="cluster-name", spec=a_cluster(cluster_name=""), path="cluster_name", says="missing"),
    Bad(rule="cluster-name", spec=a_cluster(cluster_name="a" * 64), path="cluster_name", says="64 characters"),
    Bad(rule="cluster-name", spec=a_cluster(cluster_name="-a"), path="cluster_name", says='use "a"'),
    Bad(rule="cluster-name", spec=a_cluster(cluster_name="a\n"), path="cluster_name", says='"a\\n"'),
    Bad(
        rule="group-names-unique",
        spec=with_compute(name="controller-group"),
        path="compute[0].name",
        says="the name of controller too",
    ),
    Bad(rule="groups-maximum", spec=a_cluster(compute=groups(99)), path="compute", says="101 instance groups"),
    Bad(rule="groups-documented", spec=a_cluster(compute=groups(19)), path="compute", says="the Slurm guide allows 20"),
    Bad(rule="no-compute-group", spec=a_cluster(compute=[]), path="compute", says="add a ComputeGroup"),
    Bad(
        rule="tiered-storage-memory",
        spec=a_cluster(tiered_storage=TieredStorage(memory_percentage=101)),
        path="tiered_storage.memory_percentage",
        says="got 101, allowed: 0 to 100 percent",
    ),
    Bad(
        rule="group-deletion-name",
        spec=a_cluster(allow_group_deletion=["controller-group"]),
        path="allow_group_deletion[0]",
        says="cannot be removed",
    ),
    Bad(
        rule="group-deletion-name",
        spec=a_cluster(allow_group_deletion=["old group"]),
        path="allow_group_deletion[0]",
        says='got "old group"',
    ),
    Bad(
        rule="group-deletion-unused",
        spec=a_cluster(allow_group_deletion=["worker-gpu-a"]),
        path="allow_group_deletion[0]",
        says="still a group of this cluster",
    ),
    Bad(
        rule="experimental-for-slurm",
        spec=with_compute(capacity=Capacity.SPOT),
        path="compute[0].capacity",
        says="try it on a small cluster first",
    ),
    Bad(
        rule="experimental-for-slurm",
        spec=a_cluster(tiered_storage=TieredStorage()),
        path="tiered_storage",
        says="no page of the service documents this for Slurm",
    ),
    # Accounting.
    Bad(
        rule="accounting-complete",
        spec=external(secret=None),
        path="accounting.secret",
        says="an external database has an endpoint and a secret",
    ),
    Bad(
        rule="accounting-complete",
        spec=a_cluster(accounting=Accounting(kind=AccountingKind.NONE, port=3306)),
        path="accounting.port",
        says="use Accounting.external",
    ),
    Bad(
        rule="accounting-endpoint",
        spec=external(endpoint="db.example.com:3306"),
        path="accounting.endpoint",
        says="port=3306",
    ),
    Bad(rule="accounting-endpoint", spec=external(endpoint=5), path="accounting.endpoint", says="got 5"),
    Bad(
        rule="accounting-secret",
        spec=external(secret="hunter2"),
        path="accounting.secret",
        says="keep user and password in the secret",
    ),
    Bad(rule="accounting-port", spec=external(port=0), path="accounting.port", says="got 0, allowed: 1 to 65535"),
    Bad(rule="accounting-port", spec=external(port="3306"), path="accounting.port", says="a whole number"),
    Bad(
        rule="accounting-database-name",
        spec=external(database_name="slurm-acct"),
        path="accounting.database_name",
        says='use "slurm_acct"',
    ),
    Bad(
        rule="accounting-image",
        spec=ClusterSpec(
            cluster_name="a",
            controller=ControllerGroup(instance_type="ml.m5.xlarge", image_release_version="2.1.0"),
            compute=[a_compute_group()],
            accounting=Accounting.external(endpoint="db.example.com", secret=SECRET),
        ),
        path="controller.image_release_version",
        says="pin a newer release",
    ),
    Bad(
        rule="accounting-none",
        spec=a_cluster(accounting=Accounting.none(), lifecycle=LifecycleScripts(style=LifecycleStyle.IMAGE_ONLY)),
        path="accounting",
        says="leave accounting out",
    ),
    # Users.
    Bad(rule="user-name", spec=a_cluster(users=[user(name="Alice")]), path="users[0].name", says='use "alice"'),
    Bad(
        rule="user-name-reserved",
        spec=a_cluster(users=[user(name="slurm")]),
        path="users[0].name",
        says="choose another",
    ),
    Bad(rule="user-id", spec=a_cluster(users=[user(uid=1000)]), path="users[0].uid", says="got 1000, allowed: 2000"),
    Bad(rule="user-id", spec=a_cluster(users=[user(gid=100)]), path="users[0].gid", says="got 100"),
    Bad(
        rule="user-names-unique",
        spec=a_cluster(users=[user(), user(uid=2002)]),
        path="users[1].name",
        says="users[0] (alice) too",
    ),
    Bad(
        rule="user-ids-unique",
        spec=a_cluster(users=[user(), user(name="bob")]),
        path="users[1].uid",
        says="got 2001",
    ),
    Bad(
        rule="user-groups",
        spec=a_cluster(users=[user(groups=["ML Team"])]),
        path="users[0].groups[0]",
        says='use "ml_team"',
    ),
    Bad(
        rule="user-groups",
        spec=a_cluster(users=[user(groups=["ml", "ml"])]),
        path="users[0].groups[1]",
        says="twice",
    ),
    Bad(
        rule="user-key",
        spec=a_cluster(users=[user(ssh_public_keys=["ssh-ed25519 AAAA alice\r\n"])]),
        path="users[0].ssh_public_keys[0]",
        says="strip the line end",
    ),
    Bad(
        rule="user-key",
        spec=a_cluster(users=[user(ssh_public_keys=["-----BEGIN OPENSSH PRIVATE KEY-----"])]),
        path="users[0].ssh_public_keys[0]",
        says="treat the key as lost",
    ),
    Bad(
        rule="user-key",
        spec=a_cluster(users=[user(ssh_public_keys=[" "])]),
        path="users[0].ssh_public_keys[0]",
        says="drop it",
    ),
    Bad(
        rule="user-key-type",
        spec=a_cluster(users=[user(ssh_public_keys=["alice.pub"])]),
        path="users[0].ssh_public_keys[0]",
        says="copy the whole line of the .pub file",
    ),
    Bad(
        rule="user-account",
        spec=a_cluster(users=[user(account="Research")]),
        path="users[0].account",
        says='use "research"',
    ),
    Bad(
        rule="users-need-scripts",
        spec=a_cluster(
            users=[user()],
            login=LoginGroup(
                name="login-group", instance_type="ml.m5.xlarge", lifecycle_style=LifecycleStyle.IMAGE_ONLY
            ),
        ),
        path="login.lifecycle_style",
        says="LifecycleStyle.ON_INIT_COMPLETE",
    ),
    # Tags.
    Bad(rule="tag-key", spec=a_cluster(tags={"aws:team": "a"}), path='tags["aws:team"]', says="aws:"),
    Bad(rule="tag-key", spec=a_cluster(tags={"a#b": "c"}), path='tags["a#b"]', says="letters, digits, spaces"),
    Bad(rule="tag-key", spec=a_cluster(tags={"": "c"}), path='tags[""]', says="give the tag a key"),
    Bad(rule="tag-value", spec=a_cluster(tags={"a": "b" * 257}), path='tags["a"]', says="257 characters"),
    Bad(rule="tag-value", spec=a_cluster(tags={"a": "50%"}), path='tags["a"]', says='got the value "50%"'),
    Bad(rule="tags-maximum", spec=a_cluster(tags={f"k{n}": "" for n in range(47)}), path="tags", says="drop 1"),
    Bad(
        rule="tags-own",
        spec=a_cluster(tags={"hyperpod-constructs:stack-id": "x"}),
        path='tags["hyperpod-constructs:stack-id"]',
        says="which stack owns the cluster",
    ),
    Bad(
        rule="tags-own",
        spec=a_cluster(tags={"hyperpod-constructs:team": "x"}),
        path='tags["hyperpod-constructs:team"]',
        says="choose another",
    ),
    Bad(rule="tags-unique", spec=a_cluster(tags=[("a", "1"), ("a", "2")]), path='tags["a"]', says="twice"),
    # Waiting.
    Bad(
        rule="minimum-outlasts-the-hour",
        spec=a_cluster(compute=[a_compute_group(min_instance_count=8)], ready_when=ReadyWhen.MINIMUM),
        path="compute[0].min_instance_count",
        says="180 minutes, CloudFormation for 60",
    ),
    Bad(
        rule="checks-outlast-the-hour",
        spec=a_cluster(
            compute=[a_compute_group(deep_health_checks=[DeepHealthCheck.INSTANCE_STRESS])], ready_when=ReadyWhen.ALL
        ),
        path="compute[0].deep_health_checks",
        says="45 to 90 minutes",
    ),
    Bad(
        rule="shortage-rolls-back",
        spec=a_cluster(ready_when=ReadyWhen.ALL, on_timeout=OnTimeout.FAIL),
        path="on_timeout",
        says="use OnTimeout.SUCCEED",
    ),
)
