"""Values of the wrong kind are told apart from wrong values, all of them, and hide no other problem."""

from dataclasses import replace
from typing import Any

import pytest

from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.options import Accounting, NodeRecovery, PosixUser, TieredStorage
from hyperpod_constructs.rules import check, validate
from hyperpod_constructs.specs import ClusterSpec, ControllerGroup, LoginGroup
from tests.core.support import LIST_TOKEN, NUMBER_TOKEN, TEXT_TOKEN, a_cluster, a_compute_group, with_compute

_KIND, _TOKEN = "kind-of-value", "known-at-synth-time"


def _only(spec: Any) -> Problem:
    errors, _ = check(spec)
    (problem,) = errors
    return problem


@pytest.mark.parametrize(
    ("spec", "path", "says"),
    [
        (a_cluster(cluster_name=5), "cluster_name", "got 5 (int), allowed: text"),
        (a_cluster(controller=None), "controller", "a cluster has exactly one controller group"),
        (a_cluster(controller=[ControllerGroup()]), "controller", "allowed: a ControllerGroup"),
        (a_cluster(login=[LoginGroup(), LoginGroup()]), "login", "raise its instance_count"),
        (a_cluster(compute=None), "compute", "got None, allowed: a list of a ComputeGroup"),
        (a_cluster(compute=a_compute_group()), "compute", "allowed: a list of a ComputeGroup"),
        (a_cluster(compute=[ControllerGroup()]), "compute[0]", "arguments of their own"),
        (a_cluster(compute=[{"name": "p5"}]), "compute[0]", "(dict), allowed: a ComputeGroup"),
        (with_compute(instance_count="16"), "compute[0].instance_count", 'got "16" (str), allowed: a whole number'),
        (with_compute(instance_count=16.0), "compute[0].instance_count", "got 16.0 (float), allowed: a whole number"),
        (with_compute(instance_count=True), "compute[0].instance_count", "got True (bool), allowed: a whole number"),
        (with_compute(instance_type=["ml.g5.xlarge"]), "compute[0].instance_type", "(list), allowed: text"),
        (with_compute(ebs_volume=500), "compute[0].ebs_volume", "allowed: an EbsVolume"),
        (with_compute(deep_health_checks="InstanceStress"), "compute[0].deep_health_checks", "a list of DeepHealth"),
        (with_compute(deep_health_checks=["InstanceStress"]), "compute[0].deep_health_checks[0]", "INSTANCE_STRESS"),
        (a_cluster(node_recovery="Automatic"), "node_recovery", "use NodeRecovery.AUTOMATIC"),
        (a_cluster(node_recovery="always"), "node_recovery", "allowed: NodeRecovery.AUTOMATIC, NodeRecovery.NONE"),
        (a_cluster(users=["alice"]), "users[0]", "allowed: a PosixUser"),
        (a_cluster(users=[PosixUser(name="alice", uid="2001")]), "users[0].uid", "a whole number"),  # type: ignore[arg-type]
        (a_cluster(tags=["team"]), "tags", "allowed: a mapping of text to text"),
        (a_cluster(tags={"cost-centre": 4711}), 'tags["cost-centre"]', "numbers go in quotes"),
        (a_cluster(force_instance_counts="no"), "force_instance_counts", "allowed: True or False"),
        (a_cluster(allow_group_deletion="old"), "allow_group_deletion", "allowed: a list of text"),
        (a_cluster(allow_group_deletion={"old"}), "allow_group_deletion", "(set), allowed: a list of text"),
        (a_cluster(accounting="none"), "accounting", "allowed: an Accounting"),
        (a_cluster(tiered_storage=TieredStorage(memory_percentage="20")), "tiered_storage.memory_percentage", "whole"),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_the_wrong_kind_is_named_with_what_is_allowed(spec: ClusterSpec, path: str, says: str) -> None:
    problem = _only(spec)
    assert (problem.path, problem.rule) == (path, _KIND)
    assert says in problem.message


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (a_cluster(cluster_name=TEXT_TOKEN), "cluster_name"),
        (a_cluster(cluster_name=f"train-{TEXT_TOKEN}"), "cluster_name"),
        (with_compute(instance_count=NUMBER_TOKEN), "compute[0].instance_count"),
        (with_compute(instance_type=TEXT_TOKEN), "compute[0].instance_type"),
        (with_compute(instance_types=LIST_TOKEN, instance_type=""), "compute[0].instance_types"),
        (a_cluster(tags={TEXT_TOKEN: "a"}), f'tags["{TEXT_TOKEN}"]'),
        (a_cluster(tags={"stack": TEXT_TOKEN}), 'tags["stack"]'),
        (a_cluster(allow_group_deletion=LIST_TOKEN), "allow_group_deletion"),
    ],
)
def test_a_token_where_the_value_must_be_known_is_said_to_be_one(spec: ClusterSpec, path: str) -> None:
    errors, _ = check(spec)
    assert [(problem.path, problem.rule) for problem in errors if problem.rule == _TOKEN] == [(path, _TOKEN)]
    assert "known at deploy time only" in errors[0].message


def test_something_else_than_a_specification_is_refused_too() -> None:
    with pytest.raises(SpecError, match="allowed: a ClusterSpec"):
        validate("cluster.yaml")  # type: ignore[arg-type]


def test_a_value_of_the_wrong_kind_hides_no_other_problem() -> None:
    errors, _ = check(with_compute(instance_count="16", partition="gpu_a"))
    assert [problem.path for problem in errors] == ["compute[0].instance_count", "compute[0].partition"]


def test_a_value_of_the_wrong_kind_deep_inside_is_reported_once_and_its_siblings_are_checked() -> None:
    user = replace(PosixUser(name="alice", uid=2001), ssh_public_keys=(5,), groups=("ML",))  # type: ignore[arg-type]
    spec = a_cluster(users=[user], accounting=Accounting(kind="External"))  # type: ignore[arg-type]
    paths = [problem.path for problem in check(spec)[0]]
    assert paths == ["accounting.kind", "users[0].ssh_public_keys[0]", "users[0].groups[0]"]


class _Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


_ODD: dict[str, Any] = {
    "no repr": _Hostile(),
    "too many digits": 10**5000,
    "not a number": float("nan"),
    "bytes": b"bytes",
    "a function": validate,
    "half a character": "\ud800",
}


@pytest.mark.parametrize("value", _ODD.values(), ids=_ODD.keys())
def test_a_value_that_cannot_be_shown_is_still_refused_in_words(value: Any) -> None:
    with pytest.raises(SpecError) as caught:
        validate(a_cluster(cluster_name=value, node_recovery=value))
    str(caught.value).encode()


def test_specifications_are_compared_hashed_and_printed_by_their_values() -> None:
    one, other = a_cluster(tags={"a": "b"}), a_cluster(tags=[("a", "b")])
    assert one == other
    assert hash(one) == hash(other)
    assert "my-training-cluster" in repr(one)
    assert a_cluster(node_recovery=NodeRecovery.NONE) != a_cluster()


def test_what_follows_a_value_of_the_wrong_kind_keeps_its_index() -> None:
    errors, _ = check(a_cluster(compute=["p5", a_compute_group(instance_count=-1)]))
    assert [problem.path for problem in errors] == ["compute[0]", "compute[1].instance_count"]
