"""The messages as a whole: what a person reads who got many things wrong."""

from dataclasses import replace

import pytest

from hyperpod_constructs.config import check_config
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.options import Accounting, EbsVolume, PosixUser, TieredStorage
from hyperpod_constructs.rules import check, validate
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup, LoginGroup
from tests.core.bad_specs import BAD
from tests.core.support import a_cluster, a_compute_group, bindings_for

# The thirteen wrong configurations that the peers were measured with; the last is legal, so a warning.
_COMPUTE = {"name": "p5", "instance_type": "ml.p5.48xlarge", "instance_count": 16}


def _peers_case(**changes: object) -> ClusterSpec:
    return a_cluster(compute=[ComputeGroup(**(_COMPUTE | changes))])  # type: ignore[arg-type]


_PEERS = {
    "unknown instance type": (_peers_case(instance_type="ml.unknown.48xlarge"), "compute[0].instance_type"),
    "EC2 type without ml.": (_peers_case(instance_type="p5.48xlarge"), "compute[0].instance_type"),
    "duplicate group name": (a_cluster(compute=[a_compute_group(), a_compute_group()]), "compute[1].name"),
    "worker group named like the controller": (_peers_case(name="controller-group"), "compute[0].name"),
    "group name with space and underscore": (_peers_case(name="gpu node_a"), "compute[0].name"),
    "group name of 70 characters": (_peers_case(name="g" * 70), "compute[0].name"),
    "negative count": (_peers_case(instance_count=-4), "compute[0].instance_count"),
    "two controllers": (a_cluster(controller=[ControllerGroup(), ControllerGroup()]), "controller"),
    "no controller": (a_cluster(controller=None), "controller"),
    "no compute group": (a_cluster(compute=[]), "compute"),
    "cluster name with bad characters": (a_cluster(cluster_name="llm_training!"), "cluster_name"),
    "cluster name of 70 characters": (a_cluster(cluster_name="c" * 70), "cluster_name"),
}
_ONLY_WARNED = {"no compute group"}


@pytest.mark.parametrize("name", [name for name in _PEERS if name not in _ONLY_WARNED])
def test_a_wrong_configuration_that_peers_let_through_is_refused(name: str) -> None:
    spec, path = _PEERS[name]
    with pytest.raises(SpecError) as caught:
        validate(spec)
    assert [problem.path for problem in caught.value.problems] == [path]


def test_a_file_system_of_a_size_that_fsx_does_not_have_is_refused() -> None:
    """The thirteenth: file systems are no part of the specification, so it goes through the file form."""
    mapping = {
        "cluster_name": "a",
        "controller": {"instance_type": "ml.m5.xlarge"},
        "compute": [_COMPUTE],
        "file_systems": [{"capacity_gib": 1000}],
    }
    _, errors, _ = check_config(mapping)
    assert [problem.path for problem in errors] == ["file_systems[0].capacity_gib"]
    assert len(_PEERS) + 1 == 13


@pytest.mark.parametrize("name", sorted(_ONLY_WARNED))
def test_a_configuration_that_may_be_meant_is_warned_of(name: str) -> None:
    spec, path = _PEERS[name]
    assert [problem.path for problem in validate(spec)] == [path]


def _twenty_problems() -> ClusterSpec:
    return ClusterSpec(
        cluster_name="llm_training",
        controller=ControllerGroup(instance_type="m5.2xlarge", instance_count=2, threads_per_core=3),
        login=LoginGroup(name="log in", instance_type="", image_id="latest"),
        compute=[
            ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=-1, partition="ml.p5"),
            ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=4, min_instance_count=5),
            ComputeGroup(name="x", instance_type="ml.g5", instance_count=7000, ebs_volume=EbsVolume(size_gib=0)),
        ],
        users=[PosixUser(name="Alice", uid=500), PosixUser(name="root", uid=500, ssh_public_keys=[""])],
        tags={"aws:x": "1", "hyperpod-constructs:stack-id": "2"},
        tiered_storage=TieredStorage(memory_percentage=200),
    )


def test_twenty_problems_are_one_error_that_can_be_read() -> None:
    with pytest.raises(SpecError) as caught:
        validate(_twenty_problems())
    lines = str(caught.value).splitlines()
    assert lines[0] == f'cluster "llm_training": {len(lines) - 1} problems'
    assert len(lines) - 1 >= 20
    assert max(len(line) for line in lines) < 230
    assert all(line.startswith("  ") and ": " in line for line in lines[1:])


def test_hundreds_of_problems_are_shown_in_part_and_kept_whole() -> None:
    problems = [Problem(path=f"compute[{index}].name", message="missing") for index in range(100)]
    error = SpecError(problems)
    assert len(str(error).splitlines()) == 42
    assert "and 60 more" in str(error)
    assert len(error.problems) == 100


def test_problems_stand_in_the_order_of_the_input() -> None:
    paths = [problem.path.partition(".")[0] for problem in check(_twenty_problems())[0]]
    order = ["cluster_name", "controller", "login", "compute[0]", "compute[1]", "compute[2]", "users[0]", "users[1]"]
    assert list(dict.fromkeys(path for path in paths if path in order)) == order


def test_no_message_says_what_to_do_twice_or_ends_like_a_sentence_cut_off() -> None:
    for bad in BAD:
        for problem in (found for level in check(bad.spec, bad.bindings, bad.around) for found in level):
            assert problem.message.count("; use ") <= 1, str(problem)
            assert not problem.message.endswith((";", ",", ":", " ")), str(problem)
            assert "\n" not in str(problem)
            assert len(str(problem)) < 400, str(problem)


def test_what_may_be_a_password_or_a_private_key_is_not_repeated() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----b3BlbnNzaC1rZXktdjE"
    user = PosixUser(name="alice", uid=2001, ssh_public_keys=[key])
    spec = a_cluster(accounting=Accounting.external(endpoint="db.example.com", secret="hunter2"), users=[user])
    for bindings in (None, bindings_for(spec), replace(bindings_for(spec), accounting=None)):
        errors, warnings = check(spec, bindings)
        text = " ".join(map(str, [*errors, *warnings]))
        assert len(errors) == 2
        assert "hunter2" not in text
        assert "b3BlbnNzaC1" not in text
