"""Specifications for property tests: likely ones, of which most are accepted, and odd ones, of which few are."""

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from hyperpod_constructs import options
from hyperpod_constructs.bindings import Bindings, GroupBindings, LustreMount, OpenZfsMount
from hyperpod_constructs.instance_types import INSTANCE_TYPES
from hyperpod_constructs.lifecycle_options import LifecycleScripts
from hyperpod_constructs.options import (
    Accounting,
    AutoPatch,
    Batch,
    BatchType,
    Deployment,
    EbsVolume,
    Mount,
    PosixUser,
    ScheduledUpdate,
    TieredStorage,
)
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup, LoginGroup
from tests.core.support import KEY, LIST_TOKEN, LUSTRE, NUMBER_TOKEN, OPEN_ZFS, PLAN, ROLE, SCRIPTS, SECRET, TEXT_TOKEN

_names = st.from_regex(r"[a-zA-Z0-9]{1,5}(-{1,2}[a-zA-Z0-9]{1,5}){0,2}", fullmatch=True)
_types = st.sampled_from(sorted(INSTANCE_TYPES)) | st.just("ml.p9.48xlarge")
_counts = st.integers(3, 20)
_batches = st.builds(Batch, type=st.sampled_from(BatchType), value=st.integers(1, 100))
_deployments = st.none() | st.builds(
    Deployment,
    maximum_batch=_batches,
    rollback_maximum_batch=st.none() | _batches,
    wait_interval_seconds=st.none() | st.integers(0, 3600),
    rollback_alarm_names=st.lists(_names, max_size=3, unique=True),
)
_updates = st.none() | st.builds(
    ScheduledUpdate, schedule_expression=st.just("cron(0 3 ? * SUN *)"), deployment=_deployments
)
_patches = st.none() | st.builds(
    AutoPatch,
    strategy=st.sampled_from(options.PatchingStrategy),
    next_patch_date=st.sampled_from(["", "2027-01-15", "2027-01-15T03:00Z"]),
    idle_wait_window_seconds=st.none() | st.integers(3600, 2160000),
    deployment=_deployments,
)
_common: dict[str, SearchStrategy[Any]] = {
    "instance_type": _types,
    "threads_per_core": st.sampled_from([None, 1, 2]),
    "ebs_volume": st.none() | st.builds(EbsVolume, size_gib=st.integers(1, 16384)),
    "image_id": st.sampled_from(["", "default", "ami-0123456789abcdef0", TEXT_TOKEN]),
    "image_release_version": st.sampled_from(["", "2.1.0", "10.0.3"]),
    "lifecycle_style": st.none() | st.sampled_from(options.LifecycleStyle),
    "network_interface": st.none() | st.sampled_from(options.NetworkInterfaceType),
    "capacity": st.none() | st.sampled_from(options.Capacity),
}
_compute = st.builds(
    ComputeGroup,
    name=_names,
    instance_count=_counts,
    min_instance_count=st.none() | st.integers(0, 3),
    partition=st.just("") | _names,
    scheduled_update=_updates,
    auto_patch=_patches,
    training_plan_arn=st.sampled_from(["", PLAN, TEXT_TOKEN]),
    deep_health_checks=st.lists(st.sampled_from(options.DeepHealthCheck), max_size=3, unique=True),
    **_common,
)
_users = st.builds(PosixUser, name=st.from_regex(r"[a-z]{2,8}", fullmatch=True), uid=st.integers(2000, 60000))
_accounting = st.sampled_from(
    [None, Accounting.none(), Accounting.on_controller(), Accounting.external(endpoint="db.example.com", secret=SECRET)]
)

likely_specs = st.builds(
    ClusterSpec,
    cluster_name=_names,
    controller=st.builds(ControllerGroup, **_common),
    login=st.none() | st.builds(LoginGroup, instance_count=_counts, **_common),
    compute=st.lists(_compute, max_size=4, unique_by=lambda group: group.name.lower()),
    accounting=_accounting,
    users=st.lists(_users, max_size=2, unique_by=(lambda user: user.name, lambda user: user.uid)),
    node_recovery=st.sampled_from(options.NodeRecovery),
    tiered_storage=st.none() | st.builds(TieredStorage, memory_percentage=st.none() | st.integers(0, 100)),
    tags=st.dictionaries(st.text("abc µ٣_.:/=+-@", min_size=1), st.text("abc µ٣_.:/=+-@"), max_size=3),
    lifecycle=st.builds(LifecycleScripts, style=st.sampled_from(options.LifecycleStyle)),
    ready_when=st.sampled_from(options.ReadyWhen),
    on_timeout=st.sampled_from(options.OnTimeout),
)

# What a person, a parser or a bug may put anywhere.
odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(4300, 5000).map(lambda digits: 10**digits),
    st.floats(),
    st.text(max_size=80),
    st.binary(max_size=4),
    st.sampled_from([TEXT_TOKEN, NUMBER_TOKEN, LIST_TOKEN, object(), options.NodeRecovery.NONE, ComputeGroup()]),
    st.lists(st.text(max_size=3) | st.integers() | st.just(ComputeGroup()), max_size=3),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3) | st.integers(), max_size=2),
    st.sampled_from(["a\n", "a\0", "\ud800", "İ", "a" * 2000, "-", "ml.", "/", "//", "..", "aws:x", "DEFAULT", "1e3"]),
)
fields_of_a_group = st.sampled_from([item.name for item in fields(ComputeGroup)])
fields_of_a_cluster = st.sampled_from([item.name for item in fields(ClusterSpec)])
fields_of_a_user = st.sampled_from([item.name for item in fields(PosixUser)])

_mounts = st.sampled_from(
    [
        (),
        (LUSTRE,),
        (LUSTRE, OPEN_ZFS),
        (LustreMount(dns_name=TEXT_TOKEN, mount_name=TEXT_TOKEN, path="/data"),),
        (OpenZfsMount(dns_name="10.0.0.1"),),
        (LUSTRE, LUSTRE),
    ]
)
_maybe_odd = st.sampled_from(["", "x", "a b", "nodes", "s3://", "https://b/c", "é", "\n"])
group_bindings = st.builds(
    GroupBindings,
    execution_role_arn=st.sampled_from([ROLE, TEXT_TOKEN]) | _maybe_odd,
    source_s3_uri=st.sampled_from([SCRIPTS, TEXT_TOKEN]) | _maybe_odd,
    mounts=_mounts,
    volume_kms_key_id=st.sampled_from([None, KEY, TEXT_TOKEN]) | _maybe_odd.filter(bool),
)


def bindings_of(spec: ClusterSpec, values: GroupBindings) -> Bindings:
    """The same values for every group."""
    groups = {group.name: values for group in spec.groups}
    return Bindings(subnet_ids=("subnet-1",), security_group_ids=("sg-1",), groups=groups)


odd_mounts = st.builds(Mount, file_system=odd_values, path=odd_values)
