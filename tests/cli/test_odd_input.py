"""Whatever is in a file: words, never a traceback, and never a sound verdict on nonsense."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.cli.checking.account import PREFLIGHT, VALIDATION
from hyperpod_constructs.cli.checking.outcome import Check, Outcome
from hyperpod_constructs.cli.checking.subject import subject_of
from hyperpod_constructs.cli.reading.cluster_file import load_cluster_file
from hyperpod_constructs.cli.reading.documents import Document
from hyperpod_constructs.cli.reading.request_file import load_classic, load_request
from tests.cli.support import FakeAccount, account_of, classic_pair, healthy_answers
from tests.core.full_specs import FULL, full_bindings

GOLDENS = Path(__file__).parents[1] / "goldens" / "requests"
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**30,
    1.5,
    "",
    "x",
    "a b",
    "ß" * 300,
    "${Token[A]}",
    [],
    [None],
    {},
    {"x": 1},
)
CLUSTER: dict[str, Any] = {
    "cluster_name": "my-training-cluster",
    "controller": {"instance_type": "ml.m5.xlarge", "subnets": ["subnet-12345678"], "security_groups": ["sg-12345678"]},
    "login": {"instance_type": "ml.m5.xlarge", "instance_count": 2},
    "compute": [{"name": "a", "instance_type": "ml.p5.48xlarge", "instance_count": 2, "ebs_volume": {"size_gib": 5}}],
    "network": {"availability_zone": "us-east-1a"},
    "file_systems": [{"capacity_gib": 1200}, {"type": "open_zfs"}],
    "users": [{"name": "alice", "uid": 2001}],
    "tags": {"team": "a"},
    "lifecycle": {"user_steps": [{"source": "x.sh"}], "slurm_settings": {"MaxJobCount": "5"}},
    "accounting": {"endpoint": "db.example.com", "secret": "arn:aws:secretsmanager:us-east-1:111122223333:secret:x"},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def mutated(value: Any, seed: int) -> Any:
    """The value with one to three of its parts replaced, dropped or doubled."""
    chance = random.Random(seed)  # noqa: S311
    changed = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        path = chance.choice([*places(changed)] or [()])
        if not path:
            return chance.choice(ODD)
        target = changed
        for key in path[:-1]:
            target = target[key]
        act = chance.randrange(4)
        if act == 0:
            del target[path[-1]]
        elif act == 1 and isinstance(target, list):
            target.append(copy.deepcopy(target[path[-1]]))
        else:
            target[path[-1]] = copy.deepcopy(chance.choice(ODD))
    return changed


def document(value: Any, name: str = "x.json") -> Document:
    return Document(path=Path(name), value=value)


def failed(checks: Any) -> list[Check]:
    return [check for check in checks if check.outcome is Outcome.FAILED]


@pytest.mark.parametrize("seed", range(0, 150, 50))
def test_odd_classic_files_are_told_in_words(seed: int) -> None:
    for number in range(seed, seed + 50):
        pair = mutated([*classic_pair()], number)
        request, parameters = pair if isinstance(pair, list) and len(pair) == 2 else (pair, pair)
        loaded = load_classic(document(request), document(parameters, "y.json"))
        assert all(check.text and "\n" not in check.text for check in loaded.checks)
        subject_of(loaded.request, loaded.parameters)


@pytest.mark.parametrize("seed", range(0, 150, 50))
def test_odd_requests_are_told_in_words(seed: int) -> None:
    everything = json.loads((GOLDENS / "everything.json").read_text())
    for number in range(seed, seed + 50):
        loaded = load_request(document(mutated(everything, number)))
        assert all(check.text for check in loaded.checks)
        subject_of(loaded.request)


@pytest.mark.parametrize("seed", range(0, 150, 50))
def test_odd_cluster_files_are_told_in_words(seed: int) -> None:
    for number in range(seed, seed + 50):
        loaded = load_cluster_file(document(mutated(CLUSTER, number)))
        assert failed(loaded.checks) or loaded.request["InstanceGroups"]


@pytest.mark.parametrize("odd", ODD)
def test_something_else_than_a_cluster_is_never_sound(odd: Any) -> None:
    assert failed(load_request(document(odd)).checks)
    assert failed(load_cluster_file(document(odd)).checks)
    assert failed(load_classic(document(odd), document(odd)).checks)


def test_requests_of_every_feature_are_read_back_as_they_were_built() -> None:
    from hyperpod_constructs.api_request import create_cluster_request
    from hyperpod_constructs.cli.reading.requests import read_request, roles_of_request

    request = create_cluster_request(FULL, full_bindings())
    reading = read_request(request, roles_of_request(request))
    assert reading.spec is not None
    again = create_cluster_request(reading.spec, reading.bindings)
    for group, same in zip(request["InstanceGroups"], again["InstanceGroups"], strict=True):
        # How a scheduled or automatic update goes over a group is no rule's subject and is not read back.
        for one in (group, same):
            for name in ("ScheduledUpdateConfig", "AutoPatchConfig"):
                one.get(name, {}).pop("DeploymentConfig", None)
        assert same == group
    assert {**again, "InstanceGroups": []} == {**request, "InstanceGroups": []}


@pytest.mark.parametrize("looks", [VALIDATION, PREFLIGHT])
def test_answers_with_nothing_in_them_are_told_in_words(looks: Any) -> None:
    request, _ = classic_pair()
    subject = subject_of(request)
    empty: dict[str, Any] = {
        "ec2": {
            name: {}
            for name in (
                "DescribeSubnets",
                "DescribeSecurityGroups",
                "DescribeRouteTables",
                "DescribeInstanceTypeOfferings",
            )
        },
        "s3": {"ListObjectsV2": {}},
        "iam": {"GetRole": {"Role": {}}, "ListAttachedRolePolicies": {}},
        "service-quotas": {"ListServiceQuotas": {}},
    }
    account: FakeAccount = account_of(healthy_answers() | empty)
    for look in looks:
        for check in look(subject, account):
            assert check.text
